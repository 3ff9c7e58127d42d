//! What shells complete of our commands: the script for bash is run by bash, as it does behind a tab. fish and zsh are
//! asked by `.ci/checks/shells.py`, which installs them.

use std::process::{Command, Stdio};

use crate::process::{program, run};

/// What bash offers behind these words, of which the last is being typed. None where there is no bash.
fn offered(words: &[&str]) -> Option<Vec<String>> {
    const TAB: &str = r#"
        eval "$SCRIPT"
        compopt() { :; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        completion=$(complete -p mcp-proxmox)
        completion=${completion#*-F }
        ${completion% *} mcp-proxmox "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let (code, script, stderr) = run(program().args(["completions", "bash"]));
    assert_eq!(code, 0, "{stderr}");
    let mut bash = Command::new("bash");
    bash.args(["-c", TAB, "bash", "mcp-proxmox"]).args(words).env("SCRIPT", script);
    let output = bash.stdin(Stdio::null()).output().ok()?;
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.is_empty(), "{words:?}: {told}");
    let offered = String::from_utf8(output.stdout).unwrap();
    Some(offered.split_whitespace().map(str::to_owned).collect())
}

#[cfg(target_os = "linux")]
#[test]
fn bash_completes_what_stands_behind_a_command() {
    for (words, wanted) in [
        (&["config", "cl"][..], &["claude-code", "claude-desktop"][..]),
        (&["config", "cursor", "--via", ""], &["binary", "npx", "docker"]),
        (&["call", "--sa"], &["--save"]),
        (&["call", "list_n"], &["list_nodes", "list_networks"]),
        (&["--demo", "call", "start_"], &["start_vm"]),
        (&["check", "--ho"], &["--host"]),
        (&["check", "--access-tier", ""], &["read", "write"]),
        (&["--confirm", "de"], &["destructive"]),
        (&["tools", "--output", "s"], &["structured"]),
        (&["completions", "z"], &["zsh"]),
        (&["com"], &["completions"]),
    ] {
        let Some(offered) = offered(words) else { return };
        assert_eq!(offered, wanted, "{words:?}");
    }
    let all = offered(&["call", ""]).unwrap_or_default();
    let missing =
        mcp_proxmox::catalog::ALL.iter().find(|entry| !all.iter().any(|name| name == entry.name));
    assert!(missing.is_none(), "{:?} is not offered", missing.map(|entry| entry.name));
}

#[test]
fn other_shells_are_told_the_values_too() {
    let script = |shell| run(program().args(["completions", shell])).1;
    for shell in ["zsh", "fish"] {
        for word in ["destructive", "structured", "docker", "get_vm_screenshot"] {
            assert!(script(shell).contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn what_is_offered_is_not_what_alone_is_taken_and_mistakes_are_still_told_together() {
    let flags = ["tools", "--access-tier", "Admin", "--output", "x", "--confirm", "y"];
    let (code, _, stderr) = run(program().args(flags));
    assert_eq!(code, 2);
    for variable in ["PVE_ACCESS_TIER: ", "PVE_OUTPUT: ", "PVE_CONFIRM: "] {
        assert!(stderr.contains(variable), "{stderr}");
    }
    assert_eq!(run(program().args(["tools", "--access-tier", "WRITE"])).0, 0);
}
