//! Lines that say the same again and again, said once with their number.

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
};

use super::is_vmid;

use crate::in_order::InOrder as _;

/// A line, and how often it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folded<T> {
    /// The last of the lines.
    pub line: T,
    /// How many there were.
    pub count: u64,
    /// When the first was written, in seconds since 1970.
    pub first: i64,
    /// When the last was written.
    pub last: i64,
}

/// Folds lines. Lines are the same where they differ only in numbers that say nothing by themselves:
/// fractions, and numbers of five digits and more that are not those of guests.
#[derive(Debug)]
pub struct Fold<T> {
    /// By a number that stands for source and text, since these are long.
    places: HashMap<u64, usize>,
    numbers: RandomState,
    folded: Vec<Folded<T>>,
}

impl<T> Default for Fold<T> {
    fn default() -> Self {
        Self { places: HashMap::new(), numbers: RandomState::new(), folded: Vec::new() }
    }
}

impl<T> Fold<T> {
    /// Adds a line with its source and text.
    pub fn add(&mut self, time: i64, source: &str, text: &str, line: T) {
        let key = self.numbers.hash_one((source, without_numbers(text)));
        let place = *self.places.entry(key).or_insert(self.folded.len());
        match self.folded.get_mut(place) {
            Some(same) => {
                same.count += 1;
                same.first = same.first.min(time);
                if time >= same.last {
                    (same.last, same.line) = (time, line);
                }
            }
            None => self.folded.push(Folded { line, count: 1, first: time, last: time }),
        }
    }

    /// The lines, the one that came last at the end.
    pub fn finish(mut self) -> Vec<Folded<T>> {
        self.folded.order_by_key(|folded| folded.last);
        self.folded
    }
}

/// The text with a mark for every number that does not matter. A vmid or a port matters.
fn without_numbers(text: &str) -> String {
    let mut key = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (vmid, behind) = after.split_at_checked(digits).unwrap_or((after, ""));
        let ahead = text.get(..text.len() - after.len()).unwrap_or_default();
        if is_vmid(ahead, behind) {
            key.push_str(before);
            key.push_str(vmid);
            rest = behind;
            continue;
        }
        let end = after.find(|c: char| !c.is_ascii_hexdigit() && c != '.').unwrap_or(after.len());
        let (number, after) = after.split_at_checked(end).unwrap_or((after, ""));
        key.push_str(before);
        let n_points = number.matches('.').count();
        // An address has three points, and is somebody.
        let says_nothing =
            (n_points == 1 && !number.ends_with('.')) || (n_points == 0 && number.len() >= 5);
        key.push_str(if says_nothing { "#" } else { number });
        rest = after;
    }
    key.push_str(rest);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_again_is_counted() {
        let mut fold = Fold::default();
        for (time, text) in [
            (10, "status update time (5.169 seconds)"),
            (30, "status update time (5.2 seconds)"),
            (20, "VM 107 started with PID 62701"),
            (25, "VM 108 started with PID 62702"),
        ] {
            fold.add(time, "pve1", text, text);
        }
        fold.add(5, "pve2", "VM 107 started with PID 62701", "elsewhere");
        let folded = fold.finish();
        let counts: Vec<_> =
            folded.iter().map(|line| (line.count, line.first, line.last)).collect();
        assert_eq!(counts, [(1, 5, 5), (1, 20, 20), (1, 25, 25), (2, 10, 30)]);
        assert_eq!(folded[3].line, "status update time (5.2 seconds)");
    }

    #[test]
    fn addresses_and_vmids_tell_lines_apart() {
        assert_ne!(without_numbers("from 10.0.0.1"), without_numbers("from 10.0.0.2"));
        assert_ne!(without_numbers("VM 107"), without_numbers("VM 108"));
        assert_ne!(without_numbers("VM 10001 x"), without_numbers("VM 10002 x"));
        assert_ne!(
            without_numbers("qemu-server/10001.conf"),
            without_numbers("qemu-server/10002.conf")
        );
        assert_eq!(without_numbers("pid 10001 x"), without_numbers("pid 10002 x"));
        assert_eq!(without_numbers("UPID:00001873:"), without_numbers("UPID:0000FFFF:"));
    }
}
