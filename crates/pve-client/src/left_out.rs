//! What of an answer could not be read, kept for whoever has to say so.
//!
//! An entry of a list that cannot be read loses no other, and without a word it would look as if it were not there.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// How many entries of which answers could not be read. A clone counts in the same place.
#[derive(Clone, Debug, Default)]
pub struct LeftOut(Arc<Mutex<BTreeMap<String, usize>>>);

impl LeftOut {
    /// Counts entries of an answer, by its path without the query. Of an answer that comes twice the larger number
    /// counts: they are the same entries.
    pub(crate) fn add(&self, path: &str, n_unreadable: usize) {
        if n_unreadable > 0 {
            let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(path.to_owned()).or_default();
            *count = n_unreadable.max(*count);
        }
    }

    /// The paths, each with how many entries of its answer could not be read.
    pub fn by_path(&self) -> Vec<(String, usize)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(path, count)| (path.clone(), *count)).collect()
    }
}
