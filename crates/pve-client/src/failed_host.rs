//! What became of the other hosts, where one of several answered or none.

use std::fmt;

use crate::{LostWhy, UnsentKind};

/// A host that could not be asked, or did not answer to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedHost {
    /// `pve.lan:8006`.
    pub host: String,
    /// What went wrong there.
    pub why: FailedWhy,
}

/// What went wrong at a host.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailedWhy {
    /// Nothing was sent to it.
    Unsent(UnsentKind),
    /// Something was sent to it that only reads.
    Lost(LostWhy),
}

impl From<UnsentKind> for FailedWhy {
    fn from(kind: UnsentKind) -> Self {
        Self::Unsent(kind)
    }
}

impl From<LostWhy> for FailedWhy {
    fn from(why: LostWhy) -> Self {
        Self::Lost(why)
    }
}

impl fmt::Display for FailedHost {
    /// In a few words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            FailedWhy::Unsent(kind) => write!(f, "`{}`: {}", self.host, kind.brief()),
            FailedWhy::Lost(why) => write!(f, "`{}`: {why}", self.host),
        }
    }
}

/// How many hosts a message lists.
const LISTED: usize = 5;

/// Several of them in one line.
pub(crate) fn listed(hosts: &[FailedHost]) -> String {
    let shown: Vec<_> = hosts.iter().take(LISTED).map(ToString::to_string).collect();
    match hosts.len().saturating_sub(LISTED) {
        0 => shown.join("; "),
        more => format!("{}; {more} more", shown.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_hosts_has_a_bound() {
        let host =
            |nth: usize| FailedHost { host: format!("h{nth}:1"), why: UnsentKind::Closed.into() };
        let hosts: Vec<_> = (0..8).map(host).collect();
        assert!(listed(&hosts).starts_with("`h0:1`: the connection was closed at once; `h1:1`"));
        assert!(listed(&hosts).ends_with("`h4:1`: the connection was closed at once; 3 more"));
    }
}
