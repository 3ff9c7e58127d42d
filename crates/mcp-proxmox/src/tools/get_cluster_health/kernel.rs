//! What the kernels of nodes complained of in the last day: disks, memory, file systems that fail, and processes
//! that had to be killed for want of memory.
//!
//! A kernel calls much an error that is none, above all while it starts. **Of mere errors only those count that
//! tell of something that breaks**; what it calls critical always counts.

use super::{
    facts::Facts,
    report::{Report, Severity},
};
use crate::{
    answer::{log_text, measure},
    in_order::InOrder as _,
    logs::journal::Found,
};

/// How far back is looked, in seconds.
pub(super) const SECONDS: i64 = 86_400;
/// The severity that always counts: critical, alert and emergency.
const CRITICAL: u8 = 2;
/// How many messages are quoted.
const QUOTED: usize = 2;
/// What an error that counts has in it, in lower case.
const TELLING: [&str; 26] = [
    "i/o error",
    "i/o failure",
    "medium error",
    "nvme",
    "ata bus error",
    "failed command",
    "critical target error",
    "unrecovered read error",
    "out of memory",
    "oom-kill",
    "hardware error",
    "machine check",
    "uncorrect",
    "ecc",
    "zfs:",
    "ext4-fs error",
    "xfs",
    "btrfs",
    "md/raid",
    "disk failure",
    "remounting filesystem read-only",
    "blocked for more than",
    "lockup",
    "self-detected stall",
    "segmentation",
    "bug:",
];

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut n_whole = 0;
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        let read = match &said.kernel {
            Ok(read) => read,
            Err(reason) => {
                report.missed_on(&node.name, "kernel errors", reason);
                continue;
            }
        };
        if read.gave_up || read.is_too_large || read.broken.is_some() {
            report.missed_on(&node.name, "older kernel errors of the last day", OLDER);
        } else {
            n_whole += 1;
        }
        let telling: Vec<&Found> = read.found.iter().filter(|found| is_telling(found)).collect();
        let Some(worst) = telling.iter().map(|found| found.level).min() else { continue };
        let severity = if worst <= CRITICAL { Severity::Critical } else { Severity::Warning };
        let n = match telling.len() {
            1 => "an error".to_owned(),
            n => format!("{n} errors"),
        };
        report.found(
            severity,
            format!("the kernel of {} logged {n} in the last day", node.name),
            quoted(&telling, facts.now),
            format!("get_system_log node={} unit=kernel severity=error", node.name),
        );
    }
    if n_whole > 0 {
        report.checked("kernel errors of the last day");
    }
}

/// Why a part was not looked at.
const OLDER: &str = "the newest 1,000 entries of its journal were looked at";

fn is_telling(found: &Found) -> bool {
    let text = found.message.to_ascii_lowercase();
    found.level <= CRITICAL && !found.is_guessed || TELLING.iter().any(|part| text.contains(part))
}

/// The newest of the most severe, each text once.
fn quoted(telling: &[&Found], now: i64) -> String {
    let mut sorted: Vec<&&Found> = telling.iter().rev().collect();
    sorted.order_by_key(|found| found.level);
    sorted.dedup_by(|a, b| a.message == b.message);
    let quotes = sorted.into_iter().take(QUOTED).map(|found| {
        let ago = found.time.and_then(|time| u64::try_from(now - time / 1_000_000).ok());
        let ago = ago.map(|ago| format!(" ({} ago)", measure::Duration(ago))).unwrap_or_default();
        format!("`{}`{ago}", log_text::brief(&found.message).replace('`', "'"))
    });
    quotes.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::journal::Read;

    fn found(level: u8, ago: i64, message: &str) -> Found {
        Found {
            time: Some((Facts::nothing().now - ago) * 1_000_000),
            from: "kernel".to_owned(),
            level,
            is_guessed: false,
            message: message.to_owned(),
        }
    }

    fn reported(read: Result<Read, String>) -> Report {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.nodes[0].said().kernel = read;
        let mut report = Report::default();
        check(&facts, &mut report);
        report
    }

    #[test]
    fn what_breaks_is_told_with_the_worst_words_and_what_only_sounds_bad_is_not() {
        let complaints = vec![
            found(3, 7300, "ACPI BIOS Error (bug): Could not resolve symbol"),
            found(2, 3600, "zfs: Pool `rpool` has encountered an uncorrectable I/O failure"),
            found(3, 120, "blk_update_request: I/O error, dev sda, sector 7"),
        ];
        let report = reported(Ok(Read { found: complaints, ..Read::default() }));
        let findings = report.findings();
        assert_eq!(findings.len(), 1);
        let (severity, what, evidence) = &findings[0];
        assert_eq!(*severity, Severity::Critical);
        assert_eq!(*what, "the kernel of a logged 2 errors in the last day");
        assert_eq!(
            *evidence,
            "`zfs: Pool 'rpool' has encountered an uncorrectable I/O failure` (1h ago); \
             `blk_update_request: I/O error, dev sda, sector 7` (2m ago)"
        );
        assert_eq!(report.was_checked(), "kernel errors of the last day");
    }

    #[test]
    fn errors_of_starting_up_are_none_and_mere_errors_are_a_warning() {
        let noise = vec![found(3, 60, "[Firmware Info]: CPU has no SGX")];
        assert!(reported(Ok(Read { found: noise, ..Read::default() })).findings().is_empty());
        let killed = vec![found(3, 60, "Out of memory: Killed process 4711 (kvm)")];
        let report = reported(Ok(Read { found: killed, ..Read::default() }));
        assert_eq!(report.findings()[0].0, Severity::Warning);
    }

    #[test]
    fn what_was_not_read_is_not_called_well() {
        let report = reported(Err("no".to_owned()));
        assert_eq!(report.not_checked(), ["kernel errors of a: no"]);
        assert_eq!(report.was_checked(), "");
        let report = reported(Ok(Read { gave_up: true, ..Read::default() }));
        assert_eq!(
            report.not_checked(),
            [format!("older kernel errors of the last day of a: {OLDER}")]
        );
        assert_eq!(report.was_checked(), "");
    }
}
