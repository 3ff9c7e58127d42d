//! What to look for in a line: a text, or the traces of a guest.

use crate::answer::log_text;

/// A text to look for, in which `|` stands between alternatives. Case does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<String>);

/// The traces that a guest leaves in logs: its vmid and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traces {
    /// Its number.
    pub vmid: u32,
    name: Option<String>,
}

/// What to say where nothing was found with a pattern that looks like another kind of pattern.
pub fn hint(pattern: &str) -> Option<String> {
    let is_other = [".*", ".+", "\\", "^", "$", "[", "(?", "*"]
        .iter()
        .any(|sign| pattern.contains(sign))
        || pattern.as_bytes().windows(3).any(|three| match three {
            [before, b'.', after] => before.is_ascii_alphabetic() && after.is_ascii_alphabetic(),
            _ => false,
        });
    is_other.then(|| "`pattern` is plain text, in which only `|` has a meaning (either): no regular expression".to_owned())
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
        Self { vmid, name }
    }

    /// Whether a line is about the guest, in what is shown of it.
    pub fn fits(&self, line: &str) -> bool {
        let has = |line: &str| {
            self.has_vmid(line)
                || self.name.as_ref().is_some_and(|name| has_word(&line.to_lowercase(), name))
        };
        has(line) && has(&log_text::searchable(line))
    }

    /// Whether the number stands there as that of a guest: in `VM 107`, `107.scope`, `tap107i0`,
    /// `vm-107-disk-0`, but not in `107%`, `10.0.107.1`, `5.107 seconds` or `1107`.
    fn has_vmid(&self, line: &str) -> bool {
        let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let number = self.vmid.to_string();
        line.match_indices(number.as_str()).any(|(at, vmid)| {
            let (before, rest) = line.split_at_checked(at).unwrap_or_default();
            let after = rest.get(vmid.len()..).unwrap_or_default();
            let is_within = is_digit(before.chars().next_back()) || is_digit(after.chars().next());
            !is_within && log_text::is_vmid(before, after)
        })
    }
}

fn has_word(line: &str, word: &str) -> bool {
    // `web01` is not a part of `web01-old`.
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || "-_".contains(c));
    line.match_indices(word).any(|(at, _)| {
        let (before, rest) = line.split_at_checked(at).unwrap_or_default();
        let after = rest.get(word.len()..).unwrap_or_default();
        !is_part(before.chars().next_back()) && !is_part(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn alternatives_are_found_whatever_their_case() {
        let pattern = Pattern::new("not ONLINE| denied |").unwrap();
        assert!(pattern.fits("storage 'nas' is not online") && pattern.fits("Denied"));
        assert!(!pattern.fits("online"));
        assert_eq!(Pattern::new(" | "), None);
    }

    #[test]
    fn what_looks_like_a_regular_expression_is_said_to_be_none() {
        for pattern in [".*publickey", "Job.errors", "^x", "fail\\w+", "vm*"] {
            assert!(hint(pattern).is_some(), "{pattern}");
        }
        for pattern in ["not online", "a|b", "10.0.0.1", "5.1 seconds", ""] {
            assert!(hint(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn a_secret_cannot_be_guessed_letter_by_letter() {
        let line = "curl --password hunter2 https://bob:hunter2@nas";
        for guess in ["h", "hu", "password h", "hunter2", ":hunter2@"]
            .map(|guess| Pattern::new(guess).unwrap())
        {
            // `h` stands in `https` too.
            assert_eq!(guess.fits(line), guess == Pattern::new("h").unwrap(), "{guess:?}");
        }
        assert!(Pattern::new("NAS|nothing").unwrap().fits(line));
        assert!(!Traces::new(107, None).fits("password=107 VM"));
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
        for line in [
            "10.0.107.1",
            "5.107 seconds",
            "VM 1107",
            "VM 1070",
            "pveproxy[107]: x",
            "web012",
            "web01-old",
            "107%",
            "INFO: 107.0 GiB",
            "status update 107",
        ] {
            assert!(!traces.fits(line), "{line}");
        }
    }

    /// Letters, signs that mean something elsewhere, and such whose lower case has another length.
    fn anything() -> impl Strategy<Value = String> {
        "([a-cA-C107]|[|. \\-_:%\\[(]|İ|ß|ǅ|\\PC|\\x00){0,40}"
    }

    proptest! {
        #[test]
        fn any_pattern_and_any_line_are_answered(pattern in anything(), line in anything(), vmid in any::<u32>()) {
            let told = hint(&pattern);
            prop_assert!(told.is_none_or(|told| !told.contains(pattern.as_str()) || pattern.len() < 3));
            if let Some(read) = Pattern::new(&pattern) {
                let _ = read.fits(&line);
            }
            let _ = Traces::new(vmid, Some(&pattern)).fits(&line);
            let _ = Traces::new(vmid, None).fits(&format!("{line}{vmid}{pattern}"));
        }

        #[test]
        fn a_line_has_a_pattern_exactly_if_it_has_one_of_its_alternatives(
            words in proptest::collection::vec("[a-d]{1,3}", 1..4),
            line in "[a-d ]{0,30}",
        ) {
            let pattern = Pattern::new(&words.join(" | ").to_uppercase()).unwrap();
            prop_assert_eq!(pattern.fits(&line), words.iter().any(|word| line.contains(word.as_str())));
        }

        #[test]
        fn a_guest_is_found_wherever_its_number_stands_by_itself(vmid in 100_u32..1_000_000_000, digit in 0_u32..10) {
            let traces = Traces::new(vmid, None);
            let line = format!("starting VM {vmid}: UPID");
            prop_assert!(traces.fits(&line));
            let (longer, other) = (format!("VM {vmid}{digit}:"), format!("VM {digit}{vmid}:"));
            prop_assert!(!traces.fits(&longer) && !traces.fits(&other));
        }
    }
}
