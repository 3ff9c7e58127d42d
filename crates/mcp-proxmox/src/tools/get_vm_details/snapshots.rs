//! The snapshots of a guest as a tree.

use std::collections::BTreeSet;

use pve_client::guest::Snapshot;

use crate::{
    answer::{
        Table,
        clean::{label, quoted},
    },
    call::Call,
    in_order::InOrder as _,
};

/// How many snapshots are shown.
const SHOWN: usize = 60;

/// The snapshots, each below the one that it was made after, and a remark where one is needed.
pub(super) fn tree(all: &[Snapshot], call: &Call) -> (Table, Vec<String>) {
    let mut table = Table::new(&["snapshot", "time", "with_ram", "description"]);
    let mut notes = Vec::new();
    let mut real: Vec<&Snapshot> =
        all.iter().filter(|snapshot| name(snapshot) != Some("current")).collect();
    real.order_by_key(|snapshot| (snapshot.snaptime, snapshot.name.clone()));
    let names: BTreeSet<&str> = real.iter().filter_map(|snapshot| name(snapshot)).collect();
    // One whose parent is gone is a root, or it would be lost.
    let is_root = |snapshot: &&&Snapshot| {
        snapshot.parent.as_deref().is_none_or(|parent| !names.contains(parent))
    };
    let mut left: Vec<(usize, &Snapshot)> =
        real.iter().rev().filter(is_root).map(|snapshot| (0, *snapshot)).collect();
    let mut seen = BTreeSet::new();
    while let Some((depth, snapshot)) = left.pop() {
        // Parents in a ring would never end.
        if !seen.insert(name(snapshot)) {
            continue;
        }
        if table.len() < SHOWN {
            push(&mut table, depth, snapshot, call);
        }
        let children = real
            .iter()
            .rev()
            .filter(|other| name(snapshot).is_some() && other.parent.as_deref() == name(snapshot));
        left.extend(children.map(|child| (depth + 1, *child)));
    }
    if real.len() > table.len() {
        notes.push(format!("{} more snapshots are not shown", real.len() - table.len()));
    }
    for snapshot in real.iter().filter(|snapshot| snapshot.snapstate.is_some()) {
        notes.push(format!(
            "the snapshot {} is not whole: PVE is at {} with it, or broke off there",
            quoted(name(snapshot).unwrap_or("?")),
            quoted(snapshot.snapstate.as_deref().unwrap_or_default())
        ));
    }
    let current = all.iter().find(|snapshot| name(snapshot) == Some("current"));
    if let Some(parent) = current.and_then(|current| current.parent.as_deref()) {
        notes.push(format!("the present state came after the snapshot {}", quoted(parent)));
    }
    (table, notes)
}

fn name(snapshot: &Snapshot) -> Option<&str> {
    snapshot.name.as_deref()
}

fn push(table: &mut Table, depth: usize, snapshot: &Snapshot, call: &Call) {
    let indent = "· ".repeat(depth.min(12));
    table.push([
        format!("{indent}{}", label(name(snapshot).unwrap_or("?"))).into(),
        snapshot.snaptime.and_then(|time| call.time(time)).into(),
        snapshot.vmstate.map(|with| if with { "yes" } else { "no" }).into(),
        snapshot.description.as_deref().map(label).filter(|text| !text.is_empty()).into(),
    ]);
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;

    use super::*;

    fn snapshot(name: &str, parent: Option<&str>, snaptime: i64) -> Snapshot {
        Snapshot {
            name: Some(name.to_owned()),
            parent: parent.map(str::to_owned),
            snaptime: Some(snaptime),
            ..Snapshot::default()
        }
    }

    fn names(all: &[Snapshot]) -> Vec<String> {
        let (table, _) = tree(all, &Call::begin(TimeZone::UTC));
        let table = serde_json::to_value(table).unwrap();
        let rows = table["rows"].as_array().unwrap();
        rows.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn each_is_below_the_one_it_was_made_after() {
        let all = [
            snapshot("b", Some("a"), 3),
            snapshot("current", Some("c"), 9),
            snapshot("a", None, 1),
            snapshot("c", Some("a"), 2),
            snapshot("d", Some("c"), 4),
            snapshot("lost", Some("gone"), 5),
        ];
        assert_eq!(names(&all), ["a", "· c", "· · d", "· b", "lost"]);
    }

    #[test]
    fn parents_in_a_ring_end() {
        assert!(names(&[snapshot("a", Some("b"), 1), snapshot("b", Some("a"), 2)]).is_empty());
    }
}
