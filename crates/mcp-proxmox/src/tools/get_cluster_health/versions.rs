//! Nodes of one cluster that run different versions of Proxmox VE.

use std::collections::BTreeMap;

use pve_client::version::numbers;

use super::{
    facts::Facts,
    report::{Report, Severity, listed},
};
use crate::tools::list_nodes::short_version;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut by_version: BTreeMap<(u32, u32, u32), (String, Vec<&str>)> = BTreeMap::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        match &said.status {
            Ok(status) => {
                let Some(text) = status.pveversion.as_deref() else { continue };
                let (_, nodes) = by_version
                    .entry(numbers(text))
                    .or_insert_with(|| (short_version(text), Vec::new()));
                nodes.push(node.name.as_str());
            }
            Err(reason) => report.missed_on(&node.name, "versions", reason),
        }
    }
    let (Some((oldest, (_, nodes))), Some((newest, _))) =
        (by_version.first_key_value(), by_version.last_key_value())
    else {
        return;
    };
    report.checked("versions");
    if oldest == newest {
        return;
    }
    let is_near = (oldest.0, oldest.1) == (newest.0, newest.1);
    let severity = if is_near { Severity::Notice } else { Severity::Warning };
    let evidence =
        by_version.values().rev().map(|(version, nodes)| format!("{version} on {}", listed(nodes)));
    let evidence = evidence.collect::<Vec<_>>().join("; ");
    let next = nodes.first().map(|node| format!("get_node_status node={node}"));
    let what = "the nodes run different versions of Proxmox VE; migration to an older one may fail";
    report.found(severity, what, evidence, next.unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use pve_client::node::Status;

    use super::*;

    fn report(versions: &[&str]) -> Report {
        let mut facts = Facts::of_nodes(&["a", "b", "c"]);
        for (node, version) in facts.nodes.iter_mut().zip(versions) {
            let pveversion = Some(format!("pve-manager/{version}/14a22df35955d97d"));
            node.said().status = Ok(Status { pveversion, ..Status::default() });
        }
        let mut report = Report::default();
        check(&facts, &mut report);
        report
    }

    #[test]
    fn different_versions_are_told_with_their_nodes() {
        let found = report(&["9.2.11", "9.2.9", "9.2.11"]);
        let (severity, _, evidence) = found.findings()[0];
        assert_eq!((severity, evidence), (Severity::Notice, "9.2.11 on a, c; 9.2.9 on b"));
        assert_eq!(report(&["9.2.11", "8.4.14", "9.2.11"]).findings()[0].0, Severity::Warning);
        assert!(report(&["9.2.11"; 3]).findings().is_empty());
    }
}
