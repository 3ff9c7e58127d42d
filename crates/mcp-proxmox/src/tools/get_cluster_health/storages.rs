//! Storages that are nearly full, and storages that nodes do not reach.

use super::{
    facts::Facts,
    report::{Report, Severity, counted, listed},
};
use crate::{
    answer::{Percent, Share},
    in_order::InOrder as _,
    lookup::storage::{NONE, Place, State, Storage},
    rights::Extent,
};

/// From here on a storage stops guests any time, in percent.
const CRITICAL: f64 = 95.0;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let storages = match &facts.storages {
        Ok(storages) => storages,
        Err(reason) => return report.missed("storages", reason),
    };
    for note in &storages.notes {
        report.missed("a part of the storages", note);
    }
    if storages.all.is_empty() {
        return report.missed("storages", NONE);
    }
    let sees_all = facts.rights.as_ref().is_ok_and(|rights| {
        let any_of = &["Datastore.Audit", "Datastore.AllocateSpace"];
        rights.extent("/storage", any_of) == Extent::All
    });
    if !sees_all {
        let reason =
            "the others may be hidden from this token; it needs Datastore.Audit on /storage";
        report.missed(format!("storages beyond the {} that are seen", storages.all.len()), reason);
    }
    report.checked(counted(storages.all.len(), "storage"));
    let used = storages.all.iter().filter(|storage| !storage.is_disabled);
    for storage in used.clone() {
        unreached(storage, report);
    }
    full(used, facts.limits.full, report);
}

fn unreached(storage: &Storage, report: &mut Report) {
    let id = storage.id.as_str();
    let on = |state: State| -> Vec<&str> {
        let places = storage.places.iter().filter(move |place| place.state == state);
        places.map(|place| place.node.as_str()).collect()
    };
    let dead = on(State::Unavailable);
    // On a node whose state is not known nothing can be said of its storages.
    let unknown = on(State::Unknown);
    if !unknown.is_empty() {
        let reason = "the node sends no figures";
        report.missed(format!("storage {id} on {}", listed(&unknown)), reason);
    }
    let Some(first) = dead.first() else { return };
    let plugin = storage.plugin.as_deref().unwrap_or("storage");
    let source = storage.source.as_deref().map(|source| format!(" ({source})")).unwrap_or_default();
    let next = format!("get_storage_status storage={id} node={first}");
    if on(State::Available).is_empty() {
        let what = format!("storage {id} is not available on any node that is online");
        let evidence = format!("{plugin}{source}, dead on {}", listed(&dead));
        report.found(Severity::Critical, what, evidence, next);
    } else {
        let what = format!("storage {id} is not available on {}", listed(&dead));
        let evidence = format!("{plugin}{source}, available on other nodes");
        report.found(Severity::Warning, what, evidence, next);
    }
}

fn percent(place: &Place) -> f64 {
    place.share.and_then(Share::percent).map_or(0.0, Percent::value)
}

/// One finding for those that are nearly full, and one for those that are full.
fn full<'a>(storages: impl Iterator<Item = &'a Storage>, limit: f64, report: &mut Report) {
    let mut found: Vec<(f64, &Storage, &Place)> = Vec::new();
    for storage in storages {
        // What all nodes share is one.
        let places = storage.places.iter().take(if storage.is_shared { usize::MAX } else { 0 });
        let fullest = places.max_by(|a, b| percent(a).total_cmp(&percent(b)));
        let own = storage.places.iter().filter(|_| !storage.is_shared);
        found.extend(fullest.into_iter().chain(own).map(|place| (percent(place), storage, place)));
    }
    found.retain(|(percent, ..)| *percent >= limit);
    found.order_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let is_critical = |percent: f64| percent >= CRITICAL.max(limit);
    let (critical, nearly): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(of, ..)| is_critical(*of));
    for (severity, word, found) in
        [(Severity::Critical, "full", critical), (Severity::Warning, "nearly full", nearly)]
    {
        let Some((_, storage, place)) = found.first() else { continue };
        let name = |storage: &Storage, place: &Place| {
            if storage.is_shared {
                storage.id.as_str().to_owned()
            } else {
                format!("{} on {}", storage.id.as_str(), place.node)
            }
        };
        let what = if found.len() == 1 {
            format!("storage {} is {word}", name(storage, place))
        } else {
            // The node of one would else be read as that of all.
            let names = found.iter().map(|(_, storage, place)| {
                let shared = if storage.is_shared { " (shared)" } else { "" };
                format!("{}{shared}", name(storage, place))
            });
            format!("storages are {word}: {}", listed(names))
        };
        let evidence = found.iter().filter_map(|(_, storage, place)| {
            Some(format!("{} {}", name(storage, place), place.share?))
        });
        let on = if storage.is_shared { String::new() } else { format!(" node={}", place.node) };
        let next = format!("get_storage_status storage={}{on}", storage.id.as_str());
        report.found(severity, what, listed(evidence), next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::storage::Storages;

    fn storage(id: &str, is_shared: bool, places: &[(&str, State, Option<u64>)]) -> Storage {
        let place = |(node, state, used): &(&str, State, Option<u64>)| Place {
            node: node.parse().unwrap(),
            state: *state,
            share: used.map(|used| Share { used, total: 100 }),
        };
        Storage {
            id: id.parse().unwrap(),
            plugin: Some("nfs".to_owned()),
            content: vec!["images".to_owned()],
            is_shared,
            is_sharing_known: true,
            is_disabled: false,
            source: Some("nas.lan:/export".to_owned()),
            places: places.iter().map(place).collect(),
        }
    }

    fn report(all: Vec<Storage>) -> Report {
        let storages = Ok(Storages { all, ..Storages::default() });
        let mut report = Report::default();
        check(&Facts { storages, ..Facts::of_nodes(&["a", "b"]) }, &mut report);
        report
    }

    #[test]
    fn full_storages_are_folded_and_shared_ones_counted_once() {
        use State::Available;
        let report = report(vec![
            storage("nas", true, &[("a", Available, Some(97)), ("b", Available, Some(97))]),
            storage("local", false, &[("a", Available, Some(86)), ("b", Available, Some(20))]),
            storage("zfs", false, &[("a", Available, Some(90)), ("b", Available, None)]),
        ]);
        assert_eq!(
            report.findings(),
            [
                (Severity::Critical, "storage nas is full", "nas 97 of 100 B (97.0%)"),
                (
                    Severity::Warning,
                    "storages are nearly full: zfs on a, local on a",
                    "zfs on a 90 of 100 B (90.0%), local on a 86 of 100 B (86.0%)"
                ),
            ]
        );
    }

    #[test]
    fn dead_everywhere_is_worse_than_dead_somewhere_and_a_node_that_is_off_is_neither() {
        use State::{Available, NodeOffline, Unavailable};
        let report = report(vec![
            storage("nas1", true, &[("a", Unavailable, None), ("b", NodeOffline, None)]),
            storage("nas2", true, &[("a", Unavailable, None), ("b", Available, Some(1))]),
            storage("nas3", true, &[("a", Available, Some(1)), ("b", NodeOffline, None)]),
        ]);
        let found: Vec<_> =
            report.findings().iter().map(|(severity, what, _)| (*severity, *what)).collect();
        assert_eq!(
            found,
            [
                (Severity::Critical, "storage nas1 is not available on any node that is online"),
                (Severity::Warning, "storage nas2 is not available on a"),
            ]
        );
    }

    #[test]
    fn what_is_switched_off_is_not_missed_and_what_is_unknown_is_not_well() {
        let mut off = storage("off", true, &[("a", State::Unavailable, None)]);
        off.is_disabled = true;
        let silent = storage("silent", true, &[("a", State::Unknown, None)]);
        let report = report(vec![off, silent]);
        assert!(report.findings().is_empty(), "{report:?}");
        assert_eq!(report.not_checked(), ["storage silent on a: the node sends no figures"]);
    }

    #[test]
    fn no_storage_at_all_means_no_rights() {
        let report = report(Vec::new());
        assert!(report.not_checked()[0].contains("Datastore.Audit"), "{report:?}");
        assert!(report.was_checked().is_empty());
    }
}
