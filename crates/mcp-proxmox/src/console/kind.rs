//! What is on a console, in words: a prompt, a panic, a menu.

use super::display::Drawn;

/// Words that tell what somebody sees, wherever they stand.
const WORDS: [(&str, &[&str]); 7] = [
    ("kernel panic", &["kernel panic - not syncing", "end kernel panic"]),
    (
        "file system check",
        &[
            "unexpected inconsistency",
            "recovering journal",
            "fsck from util-linux",
            "checking file systems",
            "checking filesystems",
            "run fsck manually",
        ],
    ),
    (
        "emergency shell",
        &[
            "you are in emergency mode",
            "give root password for maintenance",
            "(initramfs)",
            "grub rescue>",
        ],
    ),
    (
        "boot menu",
        &[
            "gnu grub",
            "systemd-boot",
            "isolinux",
            "boot menu",
            "will be executed automatically in",
            "will boot automatically in",
        ],
    ),
    (
        "boot loader",
        &[
            "booting from hard disk",
            "grub loading",
            "welcome to grub",
            "loading linux ",
            "loading initial ramdisk",
        ],
    ),
    (
        "firmware",
        &[
            "seabios",
            "booting from",
            "bdsdxe",
            "tianocore",
            "uefi interactive shell",
            "ipxe",
            "no bootable device",
        ],
    ),
    ("kernel log", &["linux version ", "] systemd[1]:", "welcome to "]),
];

/// What there is to see, the most telling first.
pub(crate) fn of(drawn: &Drawn) -> Vec<&'static str> {
    let mut seen = Vec::new();
    let last = drawn.screen.iter().rev().find(|line| !line.is_empty());
    if let Some(last) = last {
        seen.extend(prompt(last));
    }
    let lines: Vec<String> =
        drawn.earlier.iter().chain(&drawn.screen).map(|line| line.to_lowercase()).collect();
    let has = |word: &&str| lines.iter().any(|line| line.contains(word));
    seen.extend(WORDS.iter().filter(|(_, words)| words.iter().any(has)).map(|(name, _)| *name));
    if drawn.is_full_screen {
        seen.push("full-screen program");
    }
    seen
}

/// Whether a boot has come to its end: somebody can log in, or has to, or nothing goes on.
pub(crate) fn ends_boot(drawn: &Drawn) -> bool {
    let ends = ["login prompt", "shell prompt", "kernel panic", "emergency shell"];
    of(drawn).iter().any(|seen| ends.contains(seen))
}

/// What the last line waits for. The blank behind a prompt was trimmed away.
fn prompt(line: &str) -> Option<&'static str> {
    let line = line.trim_end();
    let lower = line.to_lowercase();
    if lower.ends_with("login:") {
        return Some("login prompt");
    }
    if lower.ends_with("password:") || lower.contains("passphrase") && lower.ends_with(':') {
        return Some("password prompt");
    }
    let is_short = line.chars().count() <= 100;
    // A percentage or a price is no prompt.
    let before = line.trim_end_matches(['#', '$', '>']);
    let ends_in_one = line.len() == before.len() + 1;
    let is_apart = before.is_empty()
        || before.ends_with([' ', ']', ')', '~', '/', ':'])
        || before.contains(['@', ':', '~']);
    (is_short && ends_in_one && is_apart).then_some("shell prompt")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(lines: &[&str]) -> Vec<&'static str> {
        let screen = lines.iter().map(|line| (*line).to_owned()).collect();
        of(&Drawn { earlier: Vec::new(), screen, cursor: None, is_full_screen: false })
    }

    #[test]
    fn prompts_are_told_from_what_looks_like_one() {
        assert_eq!(seen(&["", "ct-web login:"]), ["login prompt"]);
        assert_eq!(seen(&["Password:"]), ["password prompt"]);
        for shell in
            ["~ #", "root@web01:~#", "[root@web01 ~]$", "$", "Shell>", "user@host:/var/log$"]
        {
            let expected: &[&str] = if shell == "Shell>" { &[] } else { &["shell prompt"] };
            assert_eq!(seen(&[shell]), expected, "{shell}");
        }
        for text in ["100%", "costs 5$", "done", "## title ##", "<b>"] {
            assert!(seen(&[text]).is_empty(), "{text}: {:?}", seen(&[text]));
        }
    }

    #[test]
    fn what_a_boot_shows_is_named() {
        assert_eq!(seen(&["Booting from ROM.."]), ["firmware"]);
        assert_eq!(
            seen(&["[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs"]),
            ["kernel panic"]
        );
        assert_eq!(
            seen(&["/dev/sda1: UNEXPECTED INCONSISTENCY; RUN fsck MANUALLY."]),
            ["file system check"]
        );
        assert_eq!(seen(&["GNU GRUB  version 2.12"]), ["boot menu"]);
    }
}
