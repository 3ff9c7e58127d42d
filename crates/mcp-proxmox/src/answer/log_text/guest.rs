//! Numbers of guests among other numbers: `VM 107` is one, `107%` and `5.107 seconds` are not.

/// Words behind which a number is that of a guest.
const WORDS: [&str; 23] = [
    "vm",
    "vms",
    "ct",
    "cts",
    "vmid",
    "vmids",
    "guest",
    "guests",
    "container",
    "qm",
    "pct",
    "lxc",
    "qemu",
    "server",
    "kvm",
    "vzdump",
    "tap",
    "veth",
    "fwbr",
    "fwpr",
    "fwln",
    "base",
    "subvol",
];
/// What may stand between.
const BETWEEN: [char; 10] = [' ', ',', '-', '/', '@', ':', '=', '\'', '"', '('];

/// Whether a number between these two texts is that of a guest: in `VM 107`, `VMs 100, 107`,
/// `vm-107-disk-0`, `tap107i0`, `107.scope`, `qm start 107`, `107-0: replication`, and in the identifier
/// of a task.
pub fn is_vmid(before: &str, after: &str) -> bool {
    let is_replication =
        after.strip_prefix('-').and_then(|rest| rest.split_once(':')).is_some_and(|(job, _)| {
            !job.is_empty() && job.len() < 4 && job.bytes().all(|b| b.is_ascii_digit())
        });
    let is_file = [".scope", ".conf", ".service"].iter().any(|end| after.starts_with(end));
    // `UPID:pve1:0000194B:000B9F42:6B0D1689:qmstart:107:`: the sixth part, and no other number of it.
    let is_of_task = after.starts_with(':')
        && before
            .rsplit_once("UPID:")
            .is_some_and(|(_, parts)| parts.ends_with(':') && parts.matches(':').count() == 5);
    let is_within = before.rsplit_once("UPID:").is_some_and(|(_, parts)| !parts.contains(' '));
    is_replication || is_file || is_of_task || (!is_within && is_behind_word(before))
}

fn is_behind_word(before: &str) -> bool {
    let mut rest = before;
    // Others of a list may stand in front.
    for _ in 0..64 {
        let trimmed = rest.trim_end_matches(BETWEEN);
        let without = trimmed.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let word = trimmed.get(without.len()..).unwrap_or_default();
        if word.is_empty() {
            let number = trimmed.trim_end_matches(|c: char| c.is_ascii_digit());
            if number.len() == trimmed.len() || !number.ends_with([' ', ',']) {
                return false;
            }
            rest = number;
            continue;
        }
        let is_known = |word: &str| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known));
        if is_known(word) || (word == "id" && without.ends_with('-')) {
            return true;
        }
        // `qm start 107`.
        let command = without.trim_end();
        let command = command.rsplit(|c: char| !c.is_ascii_alphabetic()).next();
        return matches!(command, Some("qm" | "pct"));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_told_from_other_numbers() {
        let split = |line: &str| {
            let (before, after) = line.split_once("10007").unwrap();
            is_vmid(before, after)
        };
        for line in [
            "VM 10007 started",
            "backup of VMs 100, 101, 10007",
            "vzdump 100 10007 --mode stop",
            "vm-10007-disk-0",
            "tap10007i0",
            "10007.scope: Deactivated",
            "/etc/pve/qemu-server/10007.conf",
            "pve-container@10007.service",
            "qm start 10007",
            "kvm -id 10007",
            "UPID:pve1:00000001:00000001:6B000001:qmstart:10007:root@pam:",
            "10007-0: start replication job",
            "vmid=10007",
            "service vm:10007",
        ] {
            assert!(split(line), "{line}");
        }
        for line in [
            "10007%",
            "INFO: 10007 GiB",
            "status update 10007",
            "with PID 10007",
            "port 10007 ssh2",
            "worker 10007 finished",
            "in 10007 seconds",
            "x 5, 10007",
            "UPID:pve1:10007:00000001:6B000001:qmstart:107:root@pam:",
            "UPID:vm:10007:00000001:6B000001:qmstart:107:root@pam:",
        ] {
            assert!(!split(line), "{line}");
        }
    }
}
