//! What the sources of a search gave, folded source by source so that a log of thousands of lines that fit
//! costs no more than what can be shown of it.

use crate::answer::log_text::{Fold, Folded};

/// A line that was found.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) time: i64,
    /// `journal pve1`, `task pve1`, `cluster log`.
    pub(super) source: String,
    /// What has to be the same for two lines to be the same.
    pub(super) name: String,
    pub(super) level: u8,
    pub(super) is_guessed: bool,
    pub(super) message: String,
}

/// What a source gave.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// The lines, those that repeat as one, the one that came last at the end.
    pub(super) found: Vec<Folded<Hit>>,
    /// How many lines were found, with those that are not kept.
    pub(super) total: u64,
    /// How many of the lines that were folded are not kept.
    pub(super) n_dropped: usize,
    pub(super) missing: Vec<String>,
    /// How many sources gave nothing at all, since they did not answer or refused.
    pub(super) n_silent: usize,
    pub(super) notes: Vec<String>,
    /// Sources that were not looked through to the beginning, and the time back to which they were, in
    /// seconds since 1970.
    pub(super) partial: Vec<(String, Option<i64>)>,
    /// How the token gets what it lacks, where logs were refused for that.
    pub(super) advice: Vec<String>,
    /// Whether a journal came as text.
    pub(super) is_text: bool,
}

impl Hits {
    /// Adds what was found in a source.
    pub(super) fn add(&mut self, found: impl IntoIterator<Item = Hit>, limit: usize) {
        let mut fold = Fold::default();
        for hit in found {
            let key = format!("{} {}", hit.source, hit.name);
            let message = hit.message.clone();
            fold.add(hit.time, &key, &message, hit);
        }
        let mut found = fold.finish();
        self.total += found.iter().map(|line| line.count).sum::<u64>();
        let n_dropped = found.len().saturating_sub(limit);
        self.n_dropped += n_dropped;
        self.found.extend(found.drain(n_dropped..));
    }

    /// Adds those of another source.
    pub(super) fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.total += other.total;
        self.n_dropped += other.n_dropped;
        self.missing.extend(other.missing);
        self.n_silent += other.n_silent;
        self.partial.extend(other.partial);
        self.is_text |= other.is_text;
        self.advice.extend(other.advice);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}
