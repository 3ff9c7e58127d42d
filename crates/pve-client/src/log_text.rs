//! A line of a log: text without bounds, of which only so much is kept as anybody would read.

use crate::perl::FromPerl;

/// How much of a line is kept, in bytes. The rest is counted and forgotten.
const KEPT: usize = 8 << 10;

/// The beginning of a line, and how long the whole line is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogText {
    /// Its first 8 KiB. It may have several lines, and holds whatever somebody wrote.
    pub text: String,
    /// The length of the whole, in bytes.
    pub length: usize,
}

impl FromPerl for LogText {
    fn from_text(text: &str) -> Option<Self> {
        let mut end = text.len().min(KEPT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        Some(Self { text: text.get(..end).unwrap_or_default().to_owned(), length: text.len() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_costs_no_memory() {
        let line = LogText::from_text(&"é".repeat(1 << 20)).unwrap();
        assert_eq!(line.length, 2 << 20);
        assert!(line.text.len() <= KEPT && line.text.capacity() < 2 * KEPT);
        assert_eq!(LogText::from_text("").unwrap(), LogText::default());
    }
}
