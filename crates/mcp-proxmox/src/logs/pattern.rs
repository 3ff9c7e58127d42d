//! What to look for in a line: a text, or the traces of a guest.

use crate::answer::log_text;

/// A text to look for, in which `|` stands between alternatives. Case does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

/// The traces that a guest leaves in logs: its vmid and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    vmid: String,
    name: Option<String>,
}

impl Pattern {
    /// The pattern, unless there is nothing in it.
    pub fn new(text: &str) -> Option<Self> {
        let words: Vec<String> = text
            .split('|')
            .map(|word| word.trim().to_lowercase())
            .filter(|word| !word.is_empty())
            .collect();
        (!words.is_empty()).then_some(Self(words))
    }

    /// Whether a line has it, in what is shown of it and not in a secret.
    pub fn fits(&self, line: &str) -> bool {
        let has = |line: &str| {
            let line = line.to_lowercase();
            self.0.iter().any(|word| line.contains(word.as_str()))
        };
        has(line) && has(&log_text::searchable(line))
    }
}

impl Traces {
    /// The traces of a guest. A name that is hardly one would be found everywhere.
    pub fn new(vmid: u32, name: Option<&str>) -> Self {
        let name = name.filter(|name| name.len() >= 3).map(str::to_lowercase);
        Self { vmid: vmid.to_string(), name }
    }

    /// Whether a line is about the guest.
    pub fn fits(&self, line: &str) -> bool {
        let has = |line: &str| {
            self.has_vmid(line)
                || self.name.as_ref().is_some_and(|name| has_word(&line.to_lowercase(), name))
        };
        has(line) && has(&log_text::searchable(line))
    }

    /// Whether the vmid stands there by itself: in `VM 107`, `107.scope`, `tap107i0`, `vm-107-disk-0`,
    /// but not within `10.0.107.1`, `5.107 seconds` or `1107`.
    fn has_vmid(&self, line: &str) -> bool {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        line.match_indices(self.vmid.as_str()).any(|(at, vmid)| {
            let (before, rest) = line.split_at_checked(at).unwrap_or_default();
            let after = rest.get(vmid.len()..).unwrap_or_default();
            let (mut left, mut right) = (before.chars().rev(), after.chars());
            let (near_left, near_right) = (left.next(), right.next());
            let in_number = is_digit(near_left) || is_digit(near_right);
            let in_fraction = (near_left == Some('.') && is_digit(left.next()))
                || (near_right == Some('.') && is_digit(right.next()));
            // A process number is written `pveproxy[107]:`, a port `:107 `.
            let is_process = near_left == Some('[') && near_right == Some(']');
            !in_number && !in_fraction && !is_process
        })
    }
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    line.match_indices(word).any(|(at, _)| {
        let (before, rest) = line.split_at_checked(at).unwrap_or_default();
        let after = rest.get(word.len()..).unwrap_or_default();
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_found_whatever_their_case() {
        let pattern = Pattern::new("not ONLINE| denied |").unwrap();
        assert!(pattern.fits("storage 'nas' is not online") && pattern.fits("Denied"));
        assert!(!pattern.fits("online"));
        assert_eq!(Pattern::new(" | "), None);
    }

    #[test]
    fn a_guest_is_found_by_its_traces_and_not_by_accident() {
        let traces = Traces::new(107, Some("web01"));
        for line in [
            "start VM 107: UPID",
            "107.scope: Deactivated",
            "tap107i0: link",
            "vm-107-disk-0",
            "task UPID:pve1:0:0:0:qmstart:107:root@pam:",
            "backup of Web01 done",
            "VM 107.",
        ] {
            assert!(traces.fits(line), "{line}");
        }
        for line in
            ["10.0.107.1", "5.107 seconds", "VM 1107", "VM 1070", "pveproxy[107]: x", "web012"]
        {
            assert!(!traces.fits(line), "{line}");
        }
    }
}
