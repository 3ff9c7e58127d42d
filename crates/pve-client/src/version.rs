//! The version of Proxmox VE, whose text has had many shapes.

use crate::{Get, perl};

perl::answer! {
    /// What `/version` says.
    pub struct Version {
        /// `9.2.11`, and in older versions also `6.0-7`.
        pub version: Option<String>,
        /// `9.2`.
        pub release: Option<String>,
        /// The commit that it was built from.
        pub repoid: Option<String>,
    }
}

impl Version {
    /// Major, minor and patch number; a missing one is 0, and so is everything when nothing is known.
    pub fn numbers(&self) -> (u32, u32, u32) {
        let text = self.version.as_deref().or(self.release.as_deref());
        numbers(text.unwrap_or_default())
    }
}

/// The version. Needs no privilege, but a valid token.
pub fn version() -> Get<Version> {
    Get::one("/version".to_owned())
}

/// The leading numbers of any spelling: `9.2.11`, `6.0-7`, `9.0.0~11`, and
/// `pve-manager/9.1.6/abcdef (running kernel: …)` as a node's status has it.
pub fn numbers(text: &str) -> (u32, u32, u32) {
    let start = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let (_, text) = text.split_at(start);
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-');
    let (text, _) = text.split_at(end.unwrap_or(text.len()));
    let mut numbers = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_spelling_gives_numbers_that_can_be_compared() {
        for (text, expected) in [
            ("9.2.11", (9, 2, 11)),
            ("6.0-7", (6, 0, 7)),
            ("7.4-3", (7, 4, 3)),
            ("9.0.0~11", (9, 0, 0)),
            ("9", (9, 0, 0)),
            ("pve-manager/9.1.6/abcdef12 (running kernel: 6.17.4-2-pve)", (9, 1, 6)),
            ("", (0, 0, 0)),
            ("unknown", (0, 0, 0)),
            ("99999999999.1", (0, 1, 0)),
        ] {
            assert_eq!(numbers(text), expected, "{text}");
        }
        assert!(numbers("8.4.1") < numbers("9.0.0~11"));
    }

    #[test]
    fn the_recorded_answer_is_read() {
        assert_eq!(version().path(), "/version");
        let body = br#"{"data":{"version":"9.2.11","repoid":"14a22df35955d97d","release":"9.2"}}"#;
        let version = version().read(body).ok().unwrap().data;
        assert_eq!(version.numbers(), (9, 2, 11));
        assert_eq!(version.release.as_deref(), Some("9.2"));
    }

    proptest! {
        #[test]
        fn any_text_has_numbers(text in ".{0,60}", a in 0..100_u32, b in 0..100_u32, c in 0..100_u32) {
            let _ = numbers(&text);
            prop_assert_eq!(numbers(&format!("{a}.{b}-{c}")), (a, b, c));
        }
    }
}
