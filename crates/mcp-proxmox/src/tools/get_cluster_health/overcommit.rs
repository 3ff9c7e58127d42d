//! Storages that promise guests more than they have: those that give out space when it is written to.

use super::{
    facts::{Facts, volumes},
    report::{Report, Severity, listed},
};
use crate::{
    answer::{Bytes, Percent, Share},
    in_order::InOrder as _,
    lookup::storage::{State, Storage},
};

/// From so many percent below the limit on, a storage that promises too much is more than a notice.
const NEAR: f64 = 15.0;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let Ok(storages) = &facts.storages else { return };
    let mut thin = storages.all.iter().filter(|storage| volumes::is_thin(storage)).peekable();
    if thin.peek().is_none() {
        return;
    }
    let rights = match &facts.rights {
        Ok(rights) => rights,
        Err(reason) => return report.missed("over-committed storages", reason),
    };
    let mut known = 0;
    let mut found: Vec<(bool, String, &Storage, Option<&str>, String)> = Vec::new();
    for storage in thin {
        let id = storage.id.as_str();
        if let Some(reason) = volumes::hides_disks(storage, rights) {
            report.missed(format!("over-commitment of {id}"), &reason);
            continue;
        }
        let shared = facts.shared_disks.iter().filter(|disks| disks.storage == storage.id);
        let shared = shared.map(|disks| (None, &disks.promised));
        let own = facts.nodes.iter().flat_map(|node| {
            let promised = node.said.iter().flat_map(|said| &said.promised);
            let here = promised.filter(|(id, _)| *id == storage.id);
            here.map(move |(_, promised)| (Some(&node.name), promised))
        });
        for (node, promised) in shared.chain(own) {
            match (promised, node) {
                (Ok(promised), node) => {
                    known += 1;
                    let place = storage.places.iter().find(|place| match node {
                        Some(node) => &place.node == node,
                        None => place.state == State::Available,
                    });
                    let Some(share) = place.and_then(|place| place.share) else { continue };
                    if *promised > share.total {
                        let used = share.percent().map_or(0.0, Percent::value);
                        let name = match node {
                            Some(node) => format!("{id} on {node}"),
                            None => id.to_owned(),
                        };
                        let told = told(&name, *promised, share);
                        let node = node.map(pve_client::NodeName::as_str);
                        found.push((used >= facts.limits.full - NEAR, name, storage, node, told));
                    }
                }
                (Err(reason), Some(node)) => {
                    report.missed_on(node, &format!("over-commitment of {id}"), reason);
                }
                (Err(reason), None) => report.missed(format!("over-commitment of {id}"), reason),
            }
        }
    }
    if known > 0 {
        report.checked("over-commitment of storages");
    }
    found.order_by_key(|(is_near, ..)| !is_near);
    let Some((is_near, _, storage, node, _)) = found.first() else { return };
    let severity = if *is_near { Severity::Warning } else { Severity::Notice };
    let is_are = if found.len() == 1 { "is" } else { "are" };
    let what = format!(
        "storage {} {is_are} over-committed",
        listed(found.iter().map(|(_, name, ..)| name))
    );
    let node = node.map(|node| format!(" node={node}")).unwrap_or_default();
    let next = format!("get_storage_status storage={}{node}", storage.id.as_str());
    report.found(severity, what, listed(found.iter().map(|(.., told)| told)), next);
}

fn told(name: &str, promised: u64, share: Share) -> String {
    format!("{name} promises {} to disks, and has {share} in use", Bytes(promised))
}

#[cfg(test)]
mod tests {
    use pve_client::storage::Volume;

    use super::*;
    use crate::{
        lookup::storage::{Place, Storages},
        tools::get_cluster_health::facts::volumes::SharedDisks,
    };

    const GIB: u64 = 1 << 30;

    fn storage(id: &str, is_shared: bool, used: u64) -> Storage {
        Storage {
            id: id.parse().unwrap(),
            plugin: Some(if is_shared { "rbd" } else { "zfspool" }.to_owned()),
            content: vec!["images".to_owned()],
            is_shared,
            is_sharing_known: true,
            is_disabled: false,
            source: None,
            places: vec![Place {
                node: "a".parse().unwrap(),
                state: State::Available,
                share: Some(Share { used: used * GIB, total: 100 * GIB }),
            }],
        }
    }

    fn promised(sizes: &[u64]) -> u64 {
        let disk = |size: &u64| Volume {
            content: Some("images".to_owned()),
            size: Some(*size * GIB),
            ..Volume::default()
        };
        let iso = Volume { content: Some("iso".to_owned()), ..disk(&1000) };
        volumes::promised(&sizes.iter().map(disk).chain([iso]).collect::<Vec<_>>())
    }

    fn facts(used: u64, own: &[u64], shared: &[u64]) -> Facts {
        let mut facts = Facts::of_nodes(&["a"]);
        let all = vec![storage("zfs", false, used), storage("ceph", true, 10)];
        facts.storages = Ok(Storages { all, ..Storages::default() });
        facts.nodes[0].said().promised = vec![("zfs".parse().unwrap(), Ok(promised(own)))];
        facts.shared_disks =
            vec![SharedDisks { storage: "ceph".parse().unwrap(), promised: Ok(promised(shared)) }];
        facts
    }

    fn report(facts: &Facts) -> Report {
        let mut report = Report::default();
        check(facts, &mut report);
        report
    }

    #[test]
    fn what_disks_may_take_is_added_up_and_compared() {
        assert!(report(&facts(10, &[40, 50], &[90])).findings().is_empty());
        let found = report(&facts(10, &[80, 50], &[90]));
        assert_eq!(
            found.findings(),
            [(
                Severity::Notice,
                "storage zfs on a is over-committed",
                "zfs on a promises 130.0 GiB to disks, and has 10.0 of 100.0 GiB (10.0%) in use"
            )]
        );
        let near = report(&facts(75, &[80, 50], &[150]));
        assert_eq!(near.findings()[0].0, Severity::Warning);
        assert_eq!(near.findings()[0].1, "storage zfs on a, ceph are over-committed");
    }

    #[test]
    fn hidden_disks_are_not_called_few() {
        let mut facts = facts(10, &[], &[]);
        facts.rights = Ok(crate::rights::Rights::default());
        let report = report(&facts);
        assert!(report.was_checked().is_empty());
        assert!(report.not_checked()[0].contains("VM.Config.Disk"), "{report:?}");
    }
}
