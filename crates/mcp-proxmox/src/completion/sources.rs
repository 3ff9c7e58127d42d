//! Where suggestions come from. Each source is one or a few quick requests, and `None` where PVE does not answer.
//!
//! **Every suggestion works**: a name that two guests share, or that would be taken for a vmid, is not suggested.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use futures_util::future::join_all;
use pve_client::{NodeName, Observer, Reader, node, storage, task::Filter};

use crate::{
    answer::clean::label,
    in_order::InOrder as _,
    logs::tasks::{self, Outcome, is_console},
    lookup::guest::real_name,
};

/// How many nodes are asked for their tasks.
const NODES: usize = 8;
/// How many of its tasks each is asked for.
const TASKS: u32 = 40;

/// Vmids, and before them names where they are wanted. Those that run come first.
pub(super) async fn guests(pve: &Observer, with_names: bool) -> Option<Vec<String>> {
    // Somebody who types asks at every key.
    let read = pve.guests().await.ok()?;
    let mut guests: Vec<_> = read.data().data.iter().filter(|guest| guest.vmid.is_some()).collect();
    guests.order_by_key(|guest| {
        let is_template = guest.template.unwrap_or_default();
        let rank = match guest.status.as_deref() {
            _ if is_template => 3,
            Some("running") => 0,
            Some("stopped") => 1,
            _ => 2,
        };
        (rank, guest.vmid.map(u32::from))
    });
    let mut found = Vec::new();
    if with_names {
        let mut bearers: HashMap<String, usize> = HashMap::new();
        for name in guests.iter().copied().filter_map(real_name) {
            *bearers.entry(name.to_lowercase()).or_default() += 1;
        }
        let is_usable = |name: &&str| {
            bearers.get(&name.to_lowercase()) == Some(&1)
                && !name.bytes().all(|b| b.is_ascii_digit())
                && label(name) == **name
        };
        let names = guests.iter().copied().filter_map(real_name).filter(is_usable);
        found.extend(names.map(str::to_owned));
    }
    found.extend(guests.iter().filter_map(|guest| Some(guest.vmid?.to_string())));
    Some(found)
}

/// Nodes, those that are online first.
pub(super) async fn nodes(pve: &Reader) -> Option<Vec<String>> {
    let nodes = listed_nodes(pve).await?;
    Some(nodes.into_iter().map(|(_, node)| node.to_string()).collect())
}

/// Whether each node is off, and its name, in the order of both.
async fn listed_nodes(pve: &Reader) -> Option<Vec<(bool, NodeName)>> {
    let listed = pve.get(node::list()).await.ok()?;
    let mut nodes: Vec<_> = listed
        .into_iter()
        .filter_map(|node| Some((node.status.as_deref() != Some("online"), node.node?)))
        .collect();
    nodes.sort();
    Some(nodes)
}

/// Storages, those that are on most nodes first.
pub(super) async fn storages(pve: &Reader) -> Option<Vec<String>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for storage in pve.get(storage::list()).await.ok()?.into_iter().filter_map(|row| row.storage) {
        *places.entry(storage.to_string()).or_default() += 1;
    }
    let mut found: Vec<_> = places.into_iter().collect();
    found.order_by_key(|(_, places)| Reverse(*places));
    Some(found.into_iter().map(|(name, _)| name).collect())
}

/// Recent tasks, the newest first, and before all others those that failed.
pub(super) async fn tasks(pve: &Reader) -> Option<Vec<String>> {
    let nodes = listed_nodes(pve).await?;
    let online = nodes.into_iter().filter(|(is_off, _)| !is_off).map(|(_, node)| node);
    let online: Vec<NodeName> = online.take(NODES).collect();
    let filter = Filter { limit: Some(TASKS), ..Filter::default() };
    let lists = online.iter().map(|node| tasks::list(pve, node, &filter, 1, |_| true));
    let lists = join_all(lists).await;
    let mut found: Vec<_> = lists
        .into_iter()
        .flatten()
        .flat_map(|list| list.tasks)
        .filter(|task| !task.kind.as_deref().is_some_and(is_console))
        .filter_map(|task| {
            let is_well = matches!(Outcome::of(&task), Outcome::Ok | Outcome::Running);
            Some((is_well, Reverse(task.starttime), task.upid?.to_string()))
        })
        .collect();
    found.sort();
    Some(found.into_iter().map(|(_, _, upid)| upid).collect())
}

/// Units of a node, or of any that is online: those that failed first, then those that run.
pub(super) async fn units(pve: &Reader, node: Option<NodeName>) -> Option<Vec<String>> {
    let node = match node {
        Some(node) => node,
        None => listed_nodes(pve).await?.into_iter().find(|(is_off, _)| !is_off)?.1,
    };
    let mut services = pve.get(node::services(&node)).await.ok()?;
    services.retain(|service| service.unit_state.as_deref() != Some("not-found"));
    services.order_by_key(|service| match service.state.as_deref() {
        Some("failed") => 0,
        Some("running") => 1,
        _ => 2,
    });
    let names = services.into_iter().filter_map(|service| service.service.or(service.name));
    Some(names.chain(["kernel".to_owned()]).collect())
}
