//! Asks each node for its storages. A node that does not answer in time keeps the figures that PVE has
//! collected, and is named. However many hang, the whole ends in time: those that were not reached by then
//! are named too.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use pve_client::{
    NodeName, Reader,
    storage::{self, Live},
};

use crate::{
    answer::Share,
    call::Call,
    failure::Failure,
    lookup::storage::{State, Storages},
};

/// How long a node may take, in seconds: it tries each storage in turn, and gives up slowly on dead ones.
const SECONDS: u64 = 12;
/// How long all nodes may take, in seconds.
const ALL_SECONDS: u64 = 36;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;
/// How many nodes are asked at all.
const NODES: usize = 32;

/// How many nodes are named that did not answer.
const NAMED: usize = 8;

/// Replaces what is known by what the nodes say. Returns how old the figures are now.
pub(super) async fn ask(pve: &Reader, call: &Call, known: &mut Storages) -> String {
    let mut nodes: Vec<NodeName> = known
        .all
        .iter()
        .flat_map(|storage| storage.places.iter().map(|place| place.node.clone()))
        .filter(|node| known.is_online(node))
        .collect();
    nodes.sort_unstable();
    nodes.dedup();
    let n_left = nodes.len().saturating_sub(NODES);
    nodes.truncate(NODES);
    let pve = pve.until(call.part(ALL_SECONDS));
    let pve = &pve;
    let answers = stream::iter(nodes).map(|node| async move {
        // Each node's time begins when it is asked.
        let answer = pve.until(call.part(SECONDS)).get(storage::on_node(&node)).await;
        (node, answer)
    });
    let mut live: Vec<String> = Vec::new();
    let mut silent: BTreeMap<String, Vec<NodeName>> = BTreeMap::new();
    for (node, answer) in answers.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
        match answer {
            Ok(rows) => {
                for row in &rows {
                    update(known, &node, row);
                }
                live.push(node.as_str().to_owned());
            }
            Err(error) => {
                silent.entry(Failure::reason(&error)).or_default().push(node);
            }
        }
    }
    for (reason, mut nodes) in silent {
        nodes.sort_unstable();
        let n_more = nodes.len().saturating_sub(NAMED);
        let named = nodes.iter().take(NAMED).map(NodeName::as_str).collect::<Vec<_>>().join(", ");
        let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
        known
            .notes
            .push(format!("figures of {named}{more} are those that PVE has collected: {reason}"));
    }
    if n_left > 0 {
        known.notes.push(format!("{n_left} more nodes were not asked; `node` asks one"));
    }
    live.sort_unstable();
    match live.len() {
        0 => "collected by PVE, some 10 s old; no node answered itself".to_owned(),
        1..=8 => format!("live from {}", live.join(", ")),
        n_live => format!("live from {n_live} nodes"),
    }
}

fn update(known: &mut Storages, node: &NodeName, row: &Live) {
    // One that is not meant for the node is in its list too.
    if row.enabled == Some(false) {
        return;
    }
    let storage = known.all.iter_mut().find(|storage| Some(&storage.id) == row.storage.as_ref());
    let place = storage.and_then(|found| found.places.iter_mut().find(|place| &place.node == node));
    if let Some(place) = place {
        let is_active = row.active == Some(true);
        place.state = if is_active { State::Available } else { State::Unavailable };
        // Zeros stand for what is not known.
        place.share = Share::new(row.used, row.total).filter(|_| is_active);
    }
}
