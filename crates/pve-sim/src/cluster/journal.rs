//! The journal of a node, and the log that the cluster keeps of what its daemons did.
//!
//! **Invariant:** an entry's place is its number from the beginning of the journal, so that a cursor
//! stays right when entries are added. A long journal needs no memory: what stands before its real
//! entries is made up when it is asked for.

/// A node's journal.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    /// How many uneventful entries stand before the others, one a second.
    pub filler: u64,
    /// The entries, the oldest first.
    pub entries: Vec<JournalEntry>,
}

/// An entry of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalEntry {
    /// When, in microseconds since 1970.
    pub time: u64,
    /// Who, `pvestatd`.
    pub identifier: String,
    /// The unit that it belongs to, `pvestatd.service`. The kernel's entries have none.
    pub unit: Option<String>,
    /// The process. The kernel's entries have none.
    pub pid: Option<u32>,
    /// How severe, from 0 (emergency) to 7 (debug).
    pub priority: u8,
    /// What. It may have several lines.
    pub message: String,
    /// In which run of the machine, counted from 0.
    pub boot: u8,
}

/// An entry of the cluster's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterLogEntry {
    /// When, in Unix seconds.
    pub time: u64,
    /// The node that wrote it.
    pub node: String,
    /// Who did it: a user, or a token with its whole id.
    pub user: String,
    /// Which daemon wrote it, `pvedaemon`.
    pub tag: String,
    /// How severe, from 0 to 7.
    pub priority: u8,
    /// What.
    pub message: String,
}

impl Journal {
    /// How many entries there are.
    pub fn len(&self) -> u64 {
        self.filler + u64::try_from(self.entries.len()).unwrap_or(0)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of this number, from 0 on.
    pub fn get(&self, nth: u64) -> Option<JournalEntry> {
        match nth.checked_sub(self.filler) {
            Some(real) => self.entries.get(usize::try_from(real).ok()?).cloned(),
            None => Some(self.made_up(nth)),
        }
    }

    fn made_up(&self, nth: u64) -> JournalEntry {
        let end = self.entries.first().map_or(1_796_000_000_000_000, |entry| entry.time);
        let time = end.saturating_sub((self.filler - nth) * 1_000_000);
        let mut entry =
            JournalEntry::new(time, "pvestatd", 6, &format!("status update {nth}, nothing to do"));
        entry.boot = self.entries.first().map_or(0, |entry| entry.boot);
        entry
    }

    /// The number of the first entry at this time or later, in microseconds.
    pub(crate) fn first_at(&self, time: u64) -> u64 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = u64::midpoint(low, high);
            if self.get(middle).is_some_and(|entry| entry.time < time) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl JournalEntry {
    /// An entry of a service; of the kernel where that is its identifier.
    pub fn new(time: u64, identifier: &str, priority: u8, message: &str) -> Self {
        let is_kernel = identifier == "kernel";
        Self {
            time,
            identifier: identifier.to_owned(),
            unit: (!is_kernel).then(|| format!("{identifier}.service")),
            pid: (!is_kernel).then(|| 200 + identifier.bytes().map(u32::from).sum::<u32>()),
            priority,
            message: message.to_owned(),
            boot: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_comes_before_what_is_there() {
        let last = JournalEntry::new(2_000_000_000_000_000, "kernel", 3, "oops");
        let journal = Journal { filler: 1_000_000, entries: vec![last.clone()] };
        assert_eq!(journal.len(), 1_000_001);
        assert_eq!(journal.get(1_000_000), Some(last));
        assert_eq!(journal.get(999_999).unwrap().time, 1_999_999_999_000_000);
        assert_eq!(journal.first_at(1_999_999_999_000_000), 999_999);
        assert_eq!(journal.first_at(u64::MAX), 1_000_001);
    }
}
