//! Nodes that are off, unknown, silent, without their API daemon, or in maintenance.

use super::{
    facts::{Facts, node::NodeFacts},
    report::{Report, Severity, are, counted, listed},
};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    report.checked(counted(facts.nodes.len(), "node"));
    let names = |wanted: &dyn Fn(&NodeFacts) -> bool| -> Vec<&str> {
        facts.nodes.iter().filter(|node| wanted(node)).map(|node| node.name.as_str()).collect()
    };
    let status = |node: &NodeFacts| node.listed.status.clone().unwrap_or_default();
    let next = |nodes: &[&str]| match nodes {
        [only] => format!("get_node_status node={only}"),
        _ => "list_nodes".to_owned(),
    };
    let off = names(&|node| status(node) == "offline");
    if !off.is_empty() {
        let what = format!("{} offline: {}", are(off.len(), "node"), listed(&off));
        report.found(Severity::Critical, what, on_them(facts, &off), "list_nodes");
    }
    let unknown = names(&|node| !node.is_online() && status(node) != "offline");
    if !unknown.is_empty() {
        let what =
            format!("{} in an unknown state: {}", are(unknown.len(), "node"), listed(&unknown));
        let evidence =
            "the cluster sees them, but gets no figures: pvestatd there is dead or hangs";
        report.found(Severity::Critical, what, evidence, next(&unknown));
        for node in facts.nodes.iter().filter(|node| unknown.contains(&node.name.as_str())) {
            report.missed_on(
                &node.name,
                "everything",
                "it is not known to be online, so nothing was asked of it",
            );
        }
    }
    let silent = names(&|node| node.said.as_ref().is_some_and(|said| said.gone.is_some()));
    if !silent.is_empty() {
        let what = format!(
            "{} online but stopped answering: {}",
            are(silent.len(), "node"),
            listed(&silent)
        );
        let first = facts.nodes.iter().find_map(|node| node.said.as_ref()?.gone.as_deref());
        report.found(Severity::Critical, what, first.unwrap_or_default(), next(&silent));
    }
    let dead = names(&|node| node.said.as_ref().is_some_and(|said| said.is_daemon_dead));
    if !dead.is_empty() {
        let what = format!("the API daemon pvedaemon does not answer on {}", listed(&dead));
        let evidence = "pveproxy answers there, what pvedaemon answers is refused (595): no guest of it can be operated";
        report.found(Severity::Critical, what, evidence, next(&dead));
    }
    maintenance(facts, report);
}

/// What is on nodes that are off.
fn on_them(facts: &Facts, nodes: &[&str]) -> String {
    let Ok(guests) = &facts.guests else { return "the cluster does not see it".to_owned() };
    let on = guests
        .iter()
        .filter(|guest| guest.node.as_ref().is_some_and(|node| nodes.contains(&node.as_str())));
    let vmids = on.filter_map(|guest| guest.vmid).collect::<Vec<_>>();
    match vmids.len() {
        0 => "the cluster does not see it; no guest that this token sees is there".to_owned(),
        n => format!("{} in an unknown state there: {}", are(n, "guest"), listed(vmids)),
    }
}

fn maintenance(facts: &Facts, report: &mut Report) {
    let resources = match &facts.resources {
        Ok(resources) => resources,
        Err(reason) => return report.missed("maintenance of nodes", reason),
    };
    let inside = resources.iter().filter(|node| node.hastate.as_deref() == Some("maintenance"));
    let inside: Vec<_> = inside.filter_map(|node| node.node.clone()).collect();
    if !inside.is_empty() {
        let what = format!("{} in maintenance: {}", are(inside.len(), "node"), listed(&inside));
        let evidence = "the HA manager keeps guests away from them until somebody ends it";
        report.found(Severity::Notice, what, evidence, "list_nodes");
    }
}

#[cfg(test)]
mod tests {
    use pve_client::{cluster::NodeResource, guest};

    use super::*;

    fn with_status(status: &[(&str, &str)]) -> Facts {
        let names: Vec<_> = status.iter().map(|(name, _)| *name).collect();
        let mut facts = Facts::of_nodes(&names);
        for (node, (_, status)) in facts.nodes.iter_mut().zip(status) {
            node.listed.status = Some((*status).to_owned());
        }
        facts
    }

    fn report(facts: &Facts) -> Report {
        let mut report = Report::default();
        check(facts, &mut report);
        report
    }

    #[test]
    fn nodes_that_are_off_are_one_finding_with_the_guests_on_them() {
        let mut facts = with_status(&[("a", "offline"), ("b", "online"), ("c", "offline")]);
        let guest = |vmid: u32, node: &str| guest::Listed {
            vmid: vmid.try_into().ok(),
            node: node.parse().ok(),
            ..guest::Listed::default()
        };
        facts.guests = Ok(vec![guest(100, "a"), guest(101, "b"), guest(102, "c")]);
        let report = report(&facts);
        assert_eq!(
            report.findings(),
            [(
                Severity::Critical,
                "2 nodes are offline: a, c",
                "2 guests are in an unknown state there: 100, 102"
            )]
        );
    }

    #[test]
    fn a_node_of_unknown_state_is_told_and_so_is_that_it_was_not_asked() {
        let report = report(&with_status(&[("a", "unknown"), ("b", "online")]));
        assert!(report.findings()[0].1.contains("1 node is in an unknown state: a"));
        assert!(report.not_checked()[0].starts_with("everything of a: "), "{report:?}");
    }

    #[test]
    fn silence_and_a_dead_daemon_are_told_apart() {
        let mut facts = with_status(&[("a", "online"), ("b", "online")]);
        facts.nodes[0].said().gone = Some("no answer in time".to_owned());
        facts.nodes[1].said().is_daemon_dead = true;
        let report = report(&facts);
        let found: Vec<_> = report.findings().iter().map(|(_, what, _)| *what).collect();
        assert_eq!(
            found,
            [
                "1 node is online but stopped answering: a",
                "the API daemon pvedaemon does not answer on b"
            ]
        );
    }

    #[test]
    fn maintenance_is_a_notice_and_well_nodes_are_none() {
        let mut facts = with_status(&[("a", "online")]);
        assert!(report(&facts).findings().is_empty());
        facts.resources = Ok(vec![NodeResource {
            node: "a".parse().ok(),
            hastate: Some("maintenance".to_owned()),
            ..NodeResource::default()
        }]);
        assert_eq!(report(&facts).findings()[0].0, Severity::Notice);
    }
}
