//! Asks the nodes for what the cluster's list cannot show: that a VM is paused, starting up or stuck on
//! an I/O error.
//!
//! One request for each node that has running VMs in the list; PVE then asks every VM's QEMU, which is
//! slow on busy nodes. A node that does not answer costs its own rows only, and is named.

use std::collections::{BTreeSet, HashMap};

use futures_util::{StreamExt as _, stream};
use pve_client::{Kind, NodeName, Reader, VmId, guest};

use super::{Row, state};
use crate::{call::Call, failure::Failure};

/// How long a node may take, in seconds.
const SECONDS: u64 = 25;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;

/// Corrects the states of running VMs. Returns what could not be looked at.
pub(super) async fn ask(pve: &Reader, call: &Call, guests: &mut [Row]) -> Vec<String> {
    let running = guests
        .iter()
        .filter(|guest| guest.listed.kind == Some(Kind::Qemu) && guest.status == "running");
    let nodes: BTreeSet<NodeName> = running.filter_map(|guest| guest.listed.node.clone()).collect();
    let pve = pve.until(call.part(SECONDS));
    let pve = &pve;
    let answers = stream::iter(nodes).map(|node| async move {
        let answer = pve.get(guest::list_full(&node)).await;
        (node, answer)
    });
    let mut states: HashMap<VmId, String> = HashMap::new();
    let mut notes = Vec::new();
    for (node, answer) in answers.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
        match answer {
            Ok(listed) => {
                states.extend(
                    listed.into_iter().filter_map(|guest| Some((guest.vmid?, guest.qmpstatus?))),
                );
            }
            Err(error) => {
                let failure = Failure::from_pve("ask the node", &error);
                notes.push(format!(
                    "states on {} are not exact: {}",
                    node.as_str(),
                    failure.what()
                ));
            }
        }
    }
    for guest in guests {
        if let Some(exact) = guest.listed.vmid.and_then(|vmid| states.remove(&vmid)) {
            guest.status = state(&guest.listed, Some(&exact));
        }
    }
    notes
}
