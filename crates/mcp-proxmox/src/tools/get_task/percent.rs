//! How far a task is, by what its log says.

/// How far the last line says that tells: of a backup the guest that is being saved, and nothing between
/// two guests.
pub(super) fn latest<'a>(lines: impl Iterator<Item = &'a str>) -> Option<f64> {
    let mut percent = None;
    for line in lines {
        if is_other_guest(line) {
            percent = None;
        }
        percent = of_line(line).or(percent);
    }
    percent
}

/// Whether a backup's log goes on with another guest here.
fn is_other_guest(line: &str) -> bool {
    is_start_of_guest(line) || is_end_of_guest(line)
}

pub(super) fn is_start_of_guest(line: &str) -> bool {
    line.contains("Starting Backup of VM ")
}

pub(super) fn is_end_of_guest(line: &str) -> bool {
    line.contains("Finished Backup of VM ") || line.starts_with("ERROR: Backup of VM ")
}

/// The percentage in the lines that tell progress. Others tell shares of something else: how much was
/// reused, how much of a disk is empty.
fn of_line(line: &str) -> Option<f64> {
    let line = without_time(line).trim();
    let line = line.strip_prefix("INFO:").unwrap_or(line).trim_start();
    // A backup: `INFO:  45% (1.0 GiB of 2.0 GiB) in 3s`.
    let first = line.split_once('%').filter(|(number, _)| is_number(number));
    if let Some((number, after)) = first {
        return (after.is_empty() || after.starts_with(' ')).then(|| share(number)).flatten();
    }
    // A restore: `progress 45% (read …)`; an old migration: `progression: 45.12 % busy`.
    let after = line.split_once("progress ").or_else(|| line.split_once("progression: "));
    if let Some((_, after)) = after {
        return share(after.split_once('%')?.0.trim());
    }
    // A disk that is moved: `transferred 1.2 GiB of 32.0 GiB (3.75%) in 10s`.
    if line.contains("transferred ") && line.contains(" of ") {
        return share(line.split_once("%)")?.0.rsplit_once('(')?.1);
    }
    // qemu-img: `    (45.00/100%)`.
    line.strip_prefix('(')?.strip_suffix("/100%)").and_then(share)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

fn share(number: &str) -> Option<f64> {
    let share: f64 = number.parse().ok().filter(|_| is_number(number))?;
    (0.0..=100.0).contains(&share).then_some(share)
}

/// A line of a migration without the time in front of it, `2025-04-15 11:04:06 `.
pub(super) fn without_time(line: &str) -> &str {
    let is_time = line.get(..20).is_some_and(|time| {
        time.bytes().zip(b"0000-00-00 00:00:00 ").all(|(is, like)| match like {
            b'0' => is.is_ascii_digit(),
            b' ' => is == b' ' || is == b'T',
            like => is == *like,
        })
    });
    if is_time { line.get(20..).unwrap_or(line) } else { line }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn progress_is_read_from_the_lines_that_tell_it() {
        for (line, wanted) in [
            ("INFO:  45% (1.0 GiB of 2.0 GiB) in 3s, read: 1.1 GiB/s", 45.0),
            ("INFO: 100% (2.0 GiB of 2.0 GiB) in 3s", 100.0),
            ("transferred 1.2 GiB of 32.0 GiB (3.75%) in 10s", 3.75),
            (
                "2025-04-15 11:04:06 mirror-scsi0: transferred 16.2 GiB of 32.0 GiB (50.66%) in 2m 3s",
                50.66,
            ),
            (
                "drive-scsi0: transferred: 12 bytes remaining: 3 bytes total: 15 bytes progression: 80.00 % busy: 1 ready: 0",
                80.0,
            ),
            ("progress 45% (read 123 bytes, duration 3 sec)", 45.0),
            ("    (45.00/100%)", 45.0),
        ] {
            assert_eq!(of_line(line), Some(wanted), "{line}");
        }
        for line in [
            "INFO: done",
            "%",
            "100.5.1%",
            "250%",
            "é%",
            "INFO: backup was done incrementally, reused 92.40 GiB (92%)",
            "INFO: backup is sparse: 20.00 GiB (62%) total zero data",
            "INFO: transferred 100.00 GiB in 101 seconds (1013.9 MiB/s)",
            "WARN: storage is 95% full",
        ] {
            assert_eq!(of_line(line), None, "{line}");
        }
    }

    #[test]
    fn one_guests_end_is_not_the_tasks() {
        let log = [
            "INFO: 100% (2 of 2) in 3s",
            "INFO: reused 9 GiB (92%)",
            "INFO: Finished Backup of VM 100 (00:01)",
        ];
        assert_eq!(latest(log.into_iter().take(2)), Some(100.0));
        assert_eq!(latest(log.into_iter()), None);
        let next = log
            .into_iter()
            .chain(["INFO: Starting Backup of VM 101 (qemu)", "INFO:   7% (1 of 9) in 1s"]);
        assert_eq!(latest(next), Some(7.0));
    }

    #[test]
    fn only_a_time_goes() {
        assert_eq!(without_time("2025-04-15 11:04:06 ERROR: x"), "ERROR: x");
        for line in ["ERROR: x", "2025-04-15 ERROR: x y z", "é2025-04-15 11:04:06 x", ""] {
            assert_eq!(without_time(line), line);
        }
    }

    proptest! {
        #[test]
        fn any_line_tells_a_share_or_nothing(text in ".{0,60}", junk in "(INFO: |progress |transferred | of |[0-9.%() ]){0,12}") {
            for line in [&text, &junk] {
                prop_assert!(of_line(line).is_none_or(|share| (0.0..=100.0).contains(&share)), "{line}");
            }
        }
    }
}
