//! What a long list says at a glance: counts, and the guests that are worth a look.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Row, columns::identity};
use crate::{
    answer::{Percent, Share, Table},
    in_order::InOrder as _,
    lookup::guest::node_of,
};

/// How many nodes are counted by name.
const NODES: usize = 12;
/// How many unusual guests are named.
const NAMED: usize = 10;
/// From here on a guest is unusually busy, in percent.
const BUSY: f64 = 90.0;

/// Counts over all guests that match, not only those shown.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Summary {
    by_status: BTreeMap<String, usize>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_type: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    by_node: BTreeMap<String, usize>,
    /// How many guests are unusual, and in what way.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unusual: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "Table::is_empty")]
    unusual_guests: Table,
}

impl Summary {
    /// The counts by state alone, for lists that are shown whole.
    pub(super) fn counts(guests: &[Row<'_>]) -> Self {
        Self {
            by_status: named(count(guests.iter().map(|guest| guest.status.as_ref()))),
            by_type: BTreeMap::new(),
            by_node: BTreeMap::new(),
            unusual: BTreeMap::new(),
            unusual_guests: Table::new(COLUMNS),
        }
    }

    /// Everything, for lists of which only the beginning is shown.
    pub(super) fn full(guests: &[Row<'_>]) -> Self {
        let mut summary = Self::counts(guests);
        summary.by_type = count(
            guests.iter().filter_map(|guest| guest.listed.kind.map(pve_client::Kind::as_str)),
        );
        summary.by_node = by_node(guests);
        let mut found: Vec<(&'static str, &Row<'_>)> =
            guests.iter().filter_map(|guest| Some((oddity(guest)?, guest))).collect();
        summary.unusual = count(found.iter().map(|(oddity, _)| *oddity));
        // Rare oddities say more than common ones: a dead node alone makes hundreds of guests unknown.
        found.order_by_key(|(oddity, guest)| {
            (summary.unusual.get(oddity).copied(), guest.listed.vmid)
        });
        for (oddity, guest) in found.into_iter().take(NAMED) {
            let [vmid, name, _, status, node] = identity(guest);
            summary.unusual_guests.push([vmid, name, status, node, oddity.into()]);
        }
        summary
    }
}

const COLUMNS: &[&str] = &["vmid", "name", "status", "node", "why"];

fn count<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn named(counts: BTreeMap<&str, usize>) -> BTreeMap<String, usize> {
    counts.into_iter().map(|(name, n_guests)| (name.to_owned(), n_guests)).collect()
}

fn by_node(guests: &[Row<'_>]) -> BTreeMap<String, usize> {
    let counts = named(count(guests.iter().map(|guest| node_of(guest.listed))));
    if counts.len() <= NODES {
        return counts;
    }
    let mut largest: Vec<_> = counts.into_iter().collect();
    largest.order_by_key(|(_, n_guests)| std::cmp::Reverse(*n_guests));
    let rest = largest.split_off(NODES);
    let n_rest = rest.iter().map(|(_, n_guests)| n_guests).sum();
    let mut counts: BTreeMap<_, _> = largest.into_iter().collect();
    counts.insert(format!("{} other nodes", rest.len()), n_rest);
    counts
}

/// What makes a guest worth a look, if anything.
fn oddity(guest: &Row<'_>) -> Option<&'static str> {
    let is_busy = |percent: Option<Percent>| percent.is_some_and(|percent| percent.value() >= BUSY);
    let lock = guest.listed.lock.as_deref().filter(|lock| *lock != "suspended");
    match guest.status.as_ref() {
        "unknown" => return Some("state unknown"),
        "running" | "stopped" | "hibernated" | "template" => {}
        _ => return Some("neither running nor stopped"),
    }
    match guest.listed.hastate.as_deref() {
        Some("error" | "fence" | "recovery" | "freeze") => return Some("HA trouble"),
        _ if lock.is_some() => return Some("locked"),
        _ => {}
    }
    if is_busy(guest.disk().and_then(Share::percent)) {
        return Some("disk above 90%");
    }
    if is_busy(guest.cpu()) {
        return Some("CPU above 90%");
    }
    is_busy(guest.memory().and_then(Share::percent)).then_some("memory above 90%")
}
