//! Services of nodes that should run and do not, one finding for each service.

use std::collections::BTreeMap;

use super::{
    facts::Facts,
    report::{Report, Severity, listed},
};
use crate::{answer::clean::label, tools::get_node_status::is_down};

/// Without these a node is none, or is about to be thrown out.
const VITAL: [&str; 6] =
    ["corosync", "pve-cluster", "pvedaemon", "pveproxy", "pve-ha-crm", "pve-ha-lrm"];

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let is_alone = facts.nodes.len() == 1
        && facts.status.as_ref().is_ok_and(|status| status.cluster.is_none());
    let mut known = 0;
    let mut down: BTreeMap<String, (Vec<&str>, String)> = BTreeMap::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        let services = match &said.services {
            Ok(services) => services,
            Err(reason) => {
                report.missed_on(&node.name, "services", reason);
                continue;
            }
        };
        known += 1;
        for service in services.iter().filter(|service| is_down(service)) {
            let name = service.name.as_deref().map_or_else(|| "?".to_owned(), label);
            // It is enabled on every host, and has nothing to do outside of a cluster.
            if name == "corosync" && is_alone {
                continue;
            }
            let state = service.state.as_deref().map_or_else(|| "unknown".to_owned(), label);
            let (nodes, _) = down.entry(name).or_insert_with(|| (Vec::new(), state));
            nodes.push(node.name.as_str());
        }
    }
    if known > 0 {
        report.checked("services");
    }
    for (service, (nodes, state)) in down {
        let is_vital = VITAL.contains(&service.as_str());
        let severity = if is_vital { Severity::Critical } else { Severity::Warning };
        let what = format!("{service} does not run on {}", listed(&nodes));
        let node = nodes.first().copied().unwrap_or_default();
        let evidence = format!("it is enabled, and its state is {state}");
        report.found(
            severity,
            what,
            evidence,
            format!("get_system_log node={node} unit={service}"),
        );
    }
}

#[cfg(test)]
mod tests {
    use pve_client::node::Service;

    use super::*;

    #[test]
    fn a_service_is_one_finding_for_all_nodes_and_one_that_is_switched_off_none() {
        let service = |name: &str, active: &str, unit: &str| Service {
            name: Some(name.to_owned()),
            state: Some("dead".to_owned()),
            active_state: Some(active.to_owned()),
            unit_state: Some(unit.to_owned()),
            ..Service::default()
        };
        let mut facts = Facts::of_nodes(&["a", "b", "c"]);
        let down = || {
            vec![
                service("pvestatd", "inactive", "enabled"),
                service("chrony", "inactive", "not-found"),
            ]
        };
        facts.nodes[0].said().services = Ok(down());
        facts.nodes[1].said().services = Ok(down());
        facts.nodes[2].said().services = Ok(vec![
            service("corosync", "failed", "enabled"),
            service("cron", "active", "enabled"),
        ]);
        let mut report = Report::default();
        check(&facts, &mut report);
        let found: Vec<_> =
            report.findings().iter().map(|(severity, what, _)| (*severity, *what)).collect();
        assert_eq!(
            found,
            [
                (Severity::Critical, "corosync does not run on c"),
                (Severity::Warning, "pvestatd does not run on a, b")
            ]
        );
    }

    #[test]
    fn a_host_that_stands_alone_needs_no_corosync() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.nodes[0].said().services = Ok(vec![Service {
            name: Some("corosync".to_owned()),
            active_state: Some("inactive".to_owned()),
            unit_state: Some("enabled".to_owned()),
            ..Service::default()
        }]);
        let mut report = Report::default();
        check(&facts, &mut report);
        assert!(report.findings().is_empty());
        facts.status = Err("hidden".to_owned());
        check(&facts, &mut report);
        assert_eq!(report.findings().len(), 1);
    }

    #[test]
    fn hidden_services_are_not_called_well() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.nodes[0].said().services = Err("no".to_owned());
        let mut report = Report::default();
        check(&facts, &mut report);
        assert_eq!(
            (report.not_checked(), report.was_checked()),
            (vec!["services of a: no".to_owned()], String::new())
        );
    }
}
