//! Quorum: whether enough votes are there, and how many may still go.

use pve_client::NodeName;

use super::{
    facts::Facts,
    report::{Report, Severity},
};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let status = match &facts.status {
        Ok(status) => status,
        Err(reason) => return report.missed("quorum", reason),
    };
    let Some(cluster) = &status.cluster else {
        if status.nodes.is_empty() {
            return report.missed("quorum", "PVE did not say whether there is a cluster");
        }
        return report.checked("a host that stands alone, to which quorum does not apply");
    };
    // A node whose pvestatd is dead votes all the same: who is there, the members say.
    let is_there = |node: &NodeName| {
        let member = status.nodes.iter().find(|member| member.name.as_ref() == Some(node));
        member.and_then(|member| member.online).unwrap_or_else(|| facts.is_online(node))
    };
    let votes = facts.votes.as_ref().ok().map(|members| {
        let of = |is_here: bool| {
            let nodes = members
                .iter()
                .filter(move |member| !is_here || member.node.as_ref().is_some_and(is_there));
            nodes.filter_map(|member| member.quorum_votes).sum::<u64>()
        };
        (of(true), of(false))
    });
    let told = match votes {
        Some((here, all)) if all > 0 => {
            format!("{here} of {all} votes are there, {} are needed", all / 2 + 1)
        }
        _ => "PVE says so; the votes are not known".to_owned(),
    };
    match cluster.quorate {
        Some(true) => {
            report.checked(match votes {
                Some((here, all)) if all > 0 => format!("quorum ({here} of {all} votes)"),
                _ => "quorum".to_owned(),
            });
            // A cluster that is whole has the spare votes that its owner gave it.
            if let Some((here, all)) = votes
                && here < all
                && here <= all / 2 + 1
            {
                let what = "quorum hangs on every node that is left: if one more goes, nothing can be started or changed";
                report.found(
                    Severity::Warning,
                    what,
                    format!("{told} (without a QDevice)"),
                    "list_nodes",
                );
            }
        }
        Some(false) => {
            report.checked("quorum");
            let what = "the cluster has no quorum: guests keep running, but nothing can be started or changed";
            report.found(Severity::Critical, what, told, "list_nodes");
        }
        None => report.missed("quorum", "PVE did not say"),
    }
}

#[cfg(test)]
mod tests {
    use pve_client::cluster::{Cluster, ClusterStatus, ConfigNode, Member};

    use super::*;

    fn facts(quorate: Option<bool>, votes: &[(&str, u64)]) -> Facts {
        let cluster = Some(Cluster { quorate, ..Cluster::default() });
        let member = |(name, votes): &(&str, u64)| ConfigNode {
            node: name.parse().ok(),
            quorum_votes: Some(*votes),
            ..ConfigNode::default()
        };
        Facts {
            status: Ok(ClusterStatus { cluster, nodes: vec![Member::default()] }),
            votes: Ok(votes.iter().map(member).collect()),
            ..Facts::of_nodes(&["a", "b"])
        }
    }

    fn report(facts: &Facts) -> Report {
        let mut report = Report::default();
        check(facts, &mut report);
        report
    }

    #[test]
    fn lost_quorum_is_the_worst_and_comes_with_the_votes() {
        let report = report(&facts(Some(false), &[("a", 1), ("b", 1), ("c", 1), ("d", 1)]));
        let (severity, what, evidence) = report.findings()[0];
        assert_eq!(severity, Severity::Critical);
        assert!(what.contains("no quorum"));
        assert_eq!(evidence, "2 of 4 votes are there, 3 are needed");
    }

    #[test]
    fn the_last_spare_vote_is_told_and_a_whole_cluster_is_well() {
        let tight = report(&facts(Some(true), &[("a", 1), ("b", 1), ("c", 1)]));
        assert!(tight.findings()[0].1.contains("if one more goes"), "{tight:?}");
        let whole = report(&facts(Some(true), &[("a", 1), ("b", 1)]));
        assert!(whole.findings().is_empty());
        assert_eq!(whole.was_checked(), "quorum (2 of 2 votes)");
    }

    #[test]
    fn a_node_without_figures_votes_as_long_as_it_is_a_member() {
        let votes = [("a", 1), ("b", 1), ("c", 1)];
        let mut tight = facts(Some(true), &votes);
        let member =
            |online| Member { name: "c".parse().ok(), online: Some(online), ..Member::default() };
        let with = |member| ClusterStatus {
            cluster: Some(Cluster { quorate: Some(true), ..Cluster::default() }),
            nodes: vec![member],
        };
        tight.status = Ok(with(member(true)));
        assert_eq!(report(&tight).was_checked(), "quorum (3 of 3 votes)");
        assert!(report(&tight).findings().is_empty());
        tight.status = Ok(with(member(false)));
        assert_eq!(report(&tight).findings().len(), 1);
    }

    #[test]
    fn unknown_quorum_is_not_called_well() {
        for facts in [
            facts(None, &[]),
            Facts { status: Err("hidden".to_owned()), ..Facts::nothing() },
            Facts::nothing(),
        ] {
            let report = report(&facts);
            assert!(report.findings().is_empty() && report.was_checked().is_empty());
            assert!(report.not_checked()[0].starts_with("quorum: "), "{report:?}");
        }
    }

    #[test]
    fn a_host_that_stands_alone_has_none_to_lose() {
        let status = Ok(ClusterStatus { cluster: None, nodes: vec![Member::default()] });
        let report = report(&Facts { status, ..Facts::of_nodes(&["a"]) });
        assert!(report.was_checked().contains("does not apply"));
    }
}
