//! Asks the nodes for what the cluster's list cannot show: that a VM is paused, starting up or stuck on
//! an I/O error.
//!
//! One request for each node that has running VMs in the list; PVE then asks every VM's QEMU, which is
//! slow on busy nodes. A node that does not answer costs its own rows only, and is named.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::{StreamExt as _, stream};
use pve_client::{Kind, NodeName, Reader, VmId, guest};

use super::{Row, state};
use crate::{call::Call, failure::Failure};

/// How long a node may take, in seconds.
const SECONDS: u64 = 12;
/// How long all nodes may take, in seconds.
const ALL_SECONDS: u64 = 30;
/// How many nodes are named that did not answer.
const NAMED: usize = 8;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;

/// Corrects the states of running VMs. Returns what could not be looked at.
pub(super) async fn ask(pve: &Reader, call: &Call, guests: &mut [Row<'_>]) -> Vec<String> {
    let running = guests.iter().filter(|guest| is_asked(guest));
    let nodes: BTreeSet<NodeName> = running.filter_map(|guest| guest.listed.node.clone()).collect();
    let pve = pve.until(call.part(ALL_SECONDS));
    let pve = &pve;
    let answers = stream::iter(nodes).map(|node| async move {
        // Each node's time begins when it is asked, so that those that hang leave time for the others.
        let answer = pve.until(call.part(SECONDS)).get(guest::list_full(&node)).await;
        (node, answer)
    });
    let mut states: HashMap<VmId, String> = HashMap::new();
    let mut answered = BTreeSet::new();
    let mut silent: BTreeMap<String, Vec<NodeName>> = BTreeMap::new();
    for (node, answer) in answers.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
        match answer {
            Ok(listed) => {
                answered.insert(node);
                states.extend(
                    listed.into_iter().filter_map(|guest| Some((guest.vmid?, guest.qmpstatus?))),
                );
            }
            Err(error) => {
                silent.entry(Failure::reason(&error)).or_default().push(node);
            }
        }
    }
    let mut notes: Vec<String> = silent
        .into_iter()
        .map(|(reason, mut nodes)| {
            nodes.sort_unstable();
            let n_more = nodes.len().saturating_sub(NAMED);
            let named =
                nodes.iter().take(NAMED).map(NodeName::as_str).collect::<Vec<_>>().join(", ");
            let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
            format!("states on {named}{more} are not exact: {reason}")
        })
        .collect();
    let mut n_missing: BTreeMap<NodeName, usize> = BTreeMap::new();
    for guest in guests.iter_mut().filter(|guest| is_asked(guest)) {
        match guest.listed.vmid.and_then(|vmid| states.remove(&vmid)) {
            Some(exact) => guest.status = state(guest.listed, Some(&exact)),
            None => {
                if let Some(node) = guest.listed.node.clone().filter(|node| answered.contains(node))
                {
                    *n_missing.entry(node).or_default() += 1;
                }
            }
        }
    }
    notes.extend(n_missing.into_iter().map(|(node, n_guests)| {
        let node = node.as_str();
        format!("{node} did not say the exact state of {n_guests} of its VMs; they are shown as the list has them")
    }));
    notes
}

/// What the cluster's list cannot tell apart.
fn is_asked(guest: &Row<'_>) -> bool {
    guest.listed.kind == Some(Kind::Qemu) && guest.status == "running"
}
