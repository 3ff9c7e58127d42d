//! Takes one member or item out of a JSON file that people wrote.
//!
//! Its comma goes with it, its line where it had one of its own, and the comment behind it on that line.

use std::ops::Range;

use super::{Document, Hole, Kind, Scan, find};

impl Document {
    /// Takes out what stands at `path`, if anything does. The items of a list are named by their numbers.
    pub(in super::super) fn remove(&mut self, path: &[&str]) -> Result<(), String> {
        let Some((name, parent)) = path.split_last() else { return Ok(()) };
        let root = self.root()?;
        let Hole::At(container) = find(&root, parent)? else { return Ok(()) };
        let (items, place): (Vec<_>, _) = match &container.kind {
            Kind::Object(members) => (
                members.iter().map(|member| member.start..member.value.span.end).collect(),
                members.iter().position(|member| member.key == *name),
            ),
            Kind::Array(items) => {
                (items.iter().map(|item| item.span.clone()).collect(), name.parse().ok())
            }
            Kind::Scalar => (Vec::new(), None),
        };
        if let Some(place) = place {
            self.cut(container.span.end, &items, place);
        }
        Ok(())
    }

    fn cut(&mut self, container_end: usize, items: &[Range<usize>], place: usize) {
        let Some(item) = items.get(place) else { return };
        let comma = self.comma(item.end);
        let last = comma.map_or(item.end, |comma| comma + 1);
        let end = Scan { text: &self.text, at: last, depth: 0 }.end_of_item(last, container_end);
        let after = |at: usize| self.text.get(at..).unwrap_or_default();
        let blanks = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
        let ends_line = after(end + blanks(after(end))).starts_with(['\n', '\r']);
        let before = self.text.get(..item.start).unwrap_or_default();
        let before = before.trim_end_matches([' ', '\t']);
        let range = match before.strip_suffix('\n') {
            Some(line) if ends_line => line.strip_suffix('\r').unwrap_or(line).len()..end,
            _ if comma.is_some() => item.start..last + blanks(after(last)),
            _ => before.len()..item.end,
        };
        // The one before is the last now.
        let needless = items.get(place.wrapping_sub(1)).filter(|_| comma.is_none());
        let needless = needless.and_then(|item| self.comma(item.end));
        self.text.replace_range(range, "");
        if let Some(comma) = needless {
            self.text.replace_range(comma..=comma, "");
        }
    }

    /// Where the comma behind an item is.
    fn comma(&self, end: usize) -> Option<usize> {
        let mut scan = Scan { text: &self.text, at: end, depth: 0 };
        let _ = scan.blank();
        (scan.peek() == Some(',')).then_some(scan.at)
    }
}
