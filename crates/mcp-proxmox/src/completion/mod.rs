//! Completes what people type into prompts and resource templates: names of VMs, nodes, storages, and so on.
//!
//! **A completion never fails and never takes long**: where PVE does not answer within three seconds, or not at
//! all, there is nothing to suggest. What begins with the typed text comes before what only contains it, and
//! among those the likeliest first.

mod sources;

use pve_client::NodeName;
use tokio::time::{Duration, Instant, timeout_at};

use crate::{answer::clean::sentence, tier::Access};

/// The protocol's bound on the values of one completion.
pub const MOST: usize = 100;
/// How long a person waits for suggestions while typing, in seconds.
const SECONDS: u64 = 3;

/// What an argument is completed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completes {
    /// Nothing: it is free text.
    Nothing,
    /// These words.
    Words(&'static [&'static str]),
    /// Names and vmids of VMs and containers.
    Vm,
    /// Vmids alone.
    VmId,
    /// Nodes.
    Node,
    /// Storages.
    Storage,
    /// Recent tasks.
    Upid,
    /// Systemd units of a node.
    Unit,
}

/// Suggestions, the likeliest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suggestions {
    /// At most [`MOST`] of them.
    pub values: Vec<String>,
    /// How many there are in all.
    pub total: usize,
}

/// What completes `typed`. `node` is a node that was filled in beside it.
pub async fn complete(
    access: &Access,
    completes: Completes,
    typed: &str,
    node: Option<&str>,
) -> Suggestions {
    let deadline = Instant::now() + Duration::from_secs(SECONDS);
    let pve = access.observer(deadline);
    let node: Option<NodeName> = node.and_then(|node| node.trim().parse().ok());
    let candidates = async {
        match completes {
            Completes::Nothing => Some(Vec::new()),
            Completes::Words(words) => Some(words.iter().map(|word| (*word).to_owned()).collect()),
            Completes::Vm => sources::guests(&pve, true).await,
            Completes::VmId => sources::guests(&pve, false).await,
            Completes::Node => sources::nodes(&pve).await,
            Completes::Storage => sources::storages(&pve).await,
            Completes::Upid => sources::tasks(&pve).await,
            Completes::Unit => sources::units(&pve, node).await,
        }
    };
    let candidates = timeout_at(deadline, candidates).await.ok().flatten();
    pick(candidates.unwrap_or_default(), typed)
}

fn pick(candidates: Vec<String>, typed: &str) -> Suggestions {
    let typed = typed.trim().to_lowercase();
    let (mut begin, mut contain) = (Vec::new(), Vec::new());
    let mut seen = std::collections::HashSet::new();
    // What is not shown as it is would not be found as it is shown.
    for candidate in candidates.into_iter().filter(|candidate| sentence(candidate) == **candidate) {
        let lower = candidate.to_lowercase();
        let place = match lower.find(&typed) {
            Some(0) => &mut begin,
            Some(_) => &mut contain,
            None => continue,
        };
        if seen.insert(candidate.clone()) {
            place.push(candidate);
        }
    }
    begin.append(&mut contain);
    let total = begin.len();
    begin.truncate(MOST);
    Suggestions { values: begin, total }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(typed: &str) -> Vec<String> {
        let candidates = ["web02", "db-web", "Web01", "web02", "mail"];
        pick(candidates.map(str::to_owned).to_vec(), typed).values
    }

    #[test]
    fn what_begins_so_comes_before_what_contains_it_and_the_order_stays() {
        assert_eq!(picked("WEB"), ["web02", "Web01", "db-web"]);
        assert_eq!(picked(""), ["web02", "db-web", "Web01", "mail"]);
        assert_eq!(picked("zzz"), [""; 0]);
    }

    #[test]
    fn what_cannot_be_shown_as_it_is_is_not_suggested() {
        let candidates = ["web\u{202e}01", "web\u{1b}[2J", "web\n", "web`", "web03"];
        assert_eq!(pick(candidates.map(str::to_owned).to_vec(), "web").values, ["web03"]);
        assert!(pick(vec!["x".repeat(500)], "x").values.is_empty());
    }

    #[test]
    fn no_more_come_than_the_protocol_allows_and_all_are_counted() {
        let many = (0..250).map(|nth| format!("web{nth}")).collect();
        let suggestions = pick(many, "w");
        assert_eq!((suggestions.values.len(), suggestions.total), (MOST, 250));
    }
}
