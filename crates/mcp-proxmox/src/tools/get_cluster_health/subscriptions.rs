//! Nodes of one cluster of which some have a subscription and some have not: their updates differ.

use super::{
    facts::{Facts, node::NodeFacts},
    report::{Report, Severity, listed},
};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    // Without figures of a node its level is hidden too.
    let known: Vec<&NodeFacts> =
        facts.online().filter(|node| node.listed.maxmem.is_some()).collect();
    let (with, without): (Vec<_>, Vec<_>) =
        known.into_iter().partition(|node| node.listed.level.is_some());
    if let (Some(_), Some(first)) = (with.first(), without.first()) {
        let names = listed(without.iter().map(|node| &node.name));
        let what = format!("{names} without a subscription, in a cluster where others have one");
        let evidence = format!("with one: {}", listed(with.iter().map(|node| &node.name)));
        let next = format!("get_node_status node={}", first.name);
        report.found(Severity::Notice, what, evidence, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixture_is_told_and_none_at_all_is_not() {
        let mut facts = Facts::of_nodes(&["a", "b", "c"]);
        for node in &mut facts.nodes {
            node.listed.maxmem = Some(1);
        }
        let mut report = Report::default();
        check(&facts, &mut report);
        assert!(report.findings().is_empty());
        facts.nodes[0].listed.level = Some("c".to_owned());
        facts.nodes[2].listed.maxmem = None;
        check(&facts, &mut report);
        assert_eq!(
            report.findings(),
            [(
                Severity::Notice,
                "b without a subscription, in a cluster where others have one",
                "with one: a"
            )]
        );
    }
}
