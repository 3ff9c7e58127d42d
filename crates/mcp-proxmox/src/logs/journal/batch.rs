//! The entries of one answer, with their times.

use jiff::Timestamp;
use pve_client::journal::{Cursor, End, Entry, Journal};

use super::super::stamp::{self, Known, Stamp};
use crate::answer::log_text;

/// An entry as it came.
#[derive(Debug)]
pub(super) struct Raw {
    pub(super) time: Option<i64>,
    pub(super) identifier: String,
    pub(super) from: String,
    pub(super) level: Option<u8>,
    pub(super) text: String,
    pub(super) length: usize,
    pub(super) is_boot: bool,
}

/// What one request gave.
#[derive(Debug)]
pub(super) struct Batch {
    /// The entries, the oldest first, and between them the places where the machine started again.
    pub(super) rows: Vec<Raw>,
    /// How many entries there are.
    pub(super) n_entries: u32,
    /// The place of the oldest.
    pub(super) first: Option<Cursor>,
    /// An entry from which the batch can be asked for again.
    pub(super) end: Option<Cursor>,
    /// Whether that entry is one of the batch.
    pub(super) included: u32,
}

impl Batch {
    /// The entries up to `end`.
    pub(super) fn of(journal: Journal, end: &End) -> Self {
        let seconds = |cursor: &Option<Cursor>| Some(cursor.as_ref()?.time()? / 1_000_000);
        let (first, last) = (seconds(&journal.first), seconds(&journal.last));
        let (end, included, known) = match end {
            End::Before(cursor) => {
                let next = cursor.time().map(|time| time / 1_000_000);
                (Some(cursor.clone()), 0, Known { first, last: None, next })
            }
            // The reader stopped at the first entry that is too late, if there is one.
            End::Until(until) if last.is_some_and(|time| time >= *until) => {
                (journal.last.clone(), 0, Known { first, last: None, next: last })
            }
            _ => (journal.last.clone(), 1, Known { first, last, next: None }),
        };
        let is_entry = |entry: &&Entry| !matches!(entry, Entry::Reboot(_));
        let n_entries = journal.entries.iter().filter(is_entry).count();
        let n_entries = u32::try_from(n_entries).unwrap_or(u32::MAX);
        let first = journal.first.clone();
        Self { rows: rows(journal.entries, known), n_entries, first, end, included }
    }
}

fn rows(entries: Vec<Entry>, known: Known) -> Vec<Raw> {
    let stamp = |entry: &Entry| match entry {
        Entry::Line(line) => Stamp::read(&line.text).map(|(stamp, _)| stamp),
        _ => None,
    };
    let stamps: Vec<_> = entries.iter().map(stamp).collect();
    let times = stamp::times(&stamps, known, Timestamp::now().as_second());
    let mut rows: Vec<Raw> =
        entries.into_iter().zip(times).map(|(entry, time)| Raw::of(entry, time)).collect();
    log_text::hide_keys(&mut rows, |row| &mut row.text);
    // A machine started when it wrote its first entry.
    let mut next = None;
    for row in rows.iter_mut().rev() {
        if row.is_boot {
            row.time = row.time.or(next);
        }
        next = row.time;
    }
    rows
}

impl Raw {
    /// The entry; `time` is that of a line of text, in seconds since 1970.
    fn of(entry: Entry, time: Option<i64>) -> Self {
        match entry {
            Entry::Reboot(time) => Self {
                time,
                identifier: String::new(),
                from: String::new(),
                level: Some(6),
                text: "-- the node started again --".to_owned(),
                length: 0,
                is_boot: true,
            },
            Entry::Record(record) => {
                let identifier = record.identifier.unwrap_or_default();
                let pid = record.pid.map(|pid| format!("[{pid}]")).unwrap_or_default();
                Self {
                    time: record.time,
                    from: format!("{identifier}{pid}"),
                    identifier,
                    level: Some(record.priority),
                    length: record.message.length,
                    text: record.message.text,
                    is_boot: false,
                }
            }
            Entry::Line(line) => {
                let read = Stamp::read(&line.text);
                let rest = read.map_or(line.text.as_str(), |(_, rest)| rest);
                // The name of the host says nothing: one node was asked.
                let rest = rest.split_once(' ').map_or(rest, |(_, rest)| rest);
                let (from, text) = rest.split_once(": ").unwrap_or(("", rest));
                let identifier = from.split('[').next().unwrap_or_default();
                Self {
                    time: time.map(|seconds| seconds * 1_000_000),
                    identifier: identifier.to_owned(),
                    from: from.to_owned(),
                    level: None,
                    length: line.length.saturating_sub(line.text.len()) + text.len(),
                    text: text.to_owned(),
                    is_boot: false,
                }
            }
        }
    }
}
