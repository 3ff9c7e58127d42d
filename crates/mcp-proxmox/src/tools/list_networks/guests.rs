//! Which guests are on which bridge, with which tag.

use std::{collections::BTreeMap, fmt::Write as _};

use futures_util::{StreamExt as _, stream};
use pve_client::{
    Error, GuestRef, NodeName, Reader,
    guest::{self, Config, Listed},
    network::Bridge,
};

use crate::{
    answer::{Table, clean::label},
    failure::Failure,
    in_order::InOrder as _,
};

/// How many guests' configurations are read where the bridges may not be.
const CONFIGS: usize = 40;
/// How many of them at once.
const AT_ONCE: usize = 4;
/// How many guests of a bridge are named, unless it is asked for.
const NAMED: usize = 20;
/// How many where there are many bridges and tags.
const NAMED_OF_MANY: usize = 5;
/// How many of one that is asked for.
const NAMED_ALL: usize = 500;
/// How many bridges and tags are shown.
const ROWS: usize = 100;

/// An interface of a guest on a bridge.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Plugged {
    node: String,
    pub(super) bridge: String,
    tag: Option<u64>,
    vmid: u32,
    nic: String,
}

/// What the bridges of a node say.
pub(super) fn of_bridges(node: &NodeName, bridges: &[Bridge]) -> Vec<Plugged> {
    let mut plugged = Vec::new();
    for bridge in bridges {
        let Some(name) = bridge.name.as_deref() else { continue };
        let (name, tag) = tagged(name);
        for port in &bridge.ports {
            let Some(vmid) = port.vmid else { continue };
            // 1 is what an interface without a tag has on a bridge that keeps VLANs apart.
            let own = port.primary_vlan.filter(|vlan| *vlan > 1);
            plugged.push(Plugged {
                node: node.as_str().to_owned(),
                bridge: name.to_owned(),
                tag: own.or(tag),
                vmid: vmid.get(),
                nic: port.index.clone().unwrap_or_default(),
            });
        }
    }
    plugged
}

/// PVE makes a bridge `vmbr0v20` for the VLAN 20 of a bridge that does not keep VLANs apart.
fn tagged(bridge: &str) -> (&str, Option<u64>) {
    let parts = bridge.rsplit_once('v').and_then(|(name, tag)| Some((name, tag.parse().ok()?)));
    match parts {
        // The `v` of a name such as `vmbr0` is followed by no number.
        Some((name, tag)) if name.ends_with(|c: char| c.is_ascii_digit()) => (name, Some(tag)),
        _ => (bridge, None),
    }
}

/// What the configurations of some guests on these nodes say, where the bridges could not be read.
pub(super) async fn of_configs(
    pve: &Reader,
    nodes: &[NodeName],
    why: &Error,
    notes: &mut Vec<String>,
) -> Vec<Plugged> {
    let why = Failure::from_pve("read what is plugged into the bridges", why);
    let listed = match pve.get(guest::list()).await {
        Ok(listed) => listed,
        Err(error) => {
            let second = Failure::from_pve("list the guests", &error);
            notes.push(format!(
                "which guests are on which bridge is not known: {}; {}",
                why.what(),
                second.what()
            ));
            return Vec::new();
        }
    };
    let is_up = |guest: &Listed| guest.status.as_deref() == Some("running");
    let mut guests: Vec<Listed> = listed
        .into_iter()
        .filter(|guest| {
            is_up(guest) && guest.node.as_ref().is_some_and(|node| nodes.contains(node))
        })
        .collect();
    guests.order_by_key(|guest| guest.vmid);
    let n_all = guests.len();
    let wanted = guests.into_iter().take(CONFIGS).filter_map(|guest| {
        Some(GuestRef { node: guest.node?, kind: guest.kind?, vmid: guest.vmid? })
    });
    let configs = stream::iter(wanted)
        .map(|guest| async move {
            let config = pve.get(guest::config(&guest)).await;
            (guest, config)
        })
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    let mut n_read = 0;
    let mut plugged = Vec::new();
    for (guest, config) in configs {
        if let Ok(config) = config {
            n_read += usize::from(!config.unreadable().any(is_nic));
            plugged.extend(of_config(&guest, &config));
        }
    }
    notes.push(format!(
        "{}; so `guests` is from the configurations of {n_read} of {n_all} running guests that this token can see",
        why.what()
    ));
    plugged
}

fn is_nic(key: &str) -> bool {
    key.strip_prefix("net").is_some_and(|number| number.parse::<u8>().is_ok())
}

fn of_config(guest: &GuestRef, config: &Config) -> Vec<Plugged> {
    let nics = config.iter().filter(|(key, _)| is_nic(key));
    nics.filter_map(|(key, value)| {
        let part = |name: &str| {
            value.split(',').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))
        };
        Some(Plugged {
            node: guest.node.as_str().to_owned(),
            bridge: part("bridge")?.to_owned(),
            tag: part("tag").and_then(|tag| tag.parse().ok()),
            vmid: guest.vmid.get(),
            nic: key.to_owned(),
        })
    })
    .collect()
}

/// A row for each bridge and tag of a node. With `all` every guest is named.
pub(super) fn table(plugged: &[Plugged], all: bool) -> (Table, Option<String>) {
    let mut groups: BTreeMap<(&str, &str, Option<u64>), Vec<&Plugged>> = BTreeMap::new();
    for one in plugged {
        groups.entry((&one.node, &one.bridge, one.tag)).or_default().push(one);
    }
    let mut table = Table::new(&["node", "bridge", "tag", "count", "vmids"]);
    let named = match (all, groups.len()) {
        (true, _) => NAMED_ALL,
        (false, ..=12) => NAMED,
        (false, _) => NAMED_OF_MANY,
    };
    let mut is_cut = groups.len() > ROWS;
    for ((node, bridge, tag), mut guests) in groups.into_iter().take(ROWS) {
        guests.order_by_key(|one| (one.vmid, &one.nic));
        let shown = guests.iter().take(named).map(|one| match one.nic.as_str() {
            // Nearly all have one interface.
            "net0" | "" => one.vmid.to_string(),
            nic => format!("{}/{}", one.vmid, label(nic)),
        });
        let mut shown = shown.collect::<Vec<_>>().join(" ");
        if guests.len() > named {
            is_cut = true;
            let _ = write!(shown, " and {} more", guests.len() - named);
        }
        let count = u64::try_from(guests.len()).unwrap_or(u64::MAX);
        table.push([
            label(node).into(),
            label(bridge).into(),
            tag.into(),
            count.into(),
            shown.into(),
        ]);
    }
    let note = is_cut.then(|| "not all guests are named: ask with `iface` and `node`".to_owned());
    (table, note)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bridge_of_a_vlan_is_told_from_a_bridge() {
        assert_eq!(tagged("vmbr0v20"), ("vmbr0", Some(20)));
        for name in ["vmbr0", "vnet1", "lan", "v5", "vmbrv"] {
            assert_eq!(tagged(name), (name, None), "{name}");
        }
    }

    #[test]
    fn a_configuration_names_bridge_and_tag() {
        let guest = GuestRef {
            node: "pve1".parse().unwrap(),
            kind: pve_client::Kind::Qemu,
            vmid: 100u32.try_into().unwrap(),
        };
        let config =
            [("net1", "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=30"), ("netx", "bridge=no")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let plugged = of_config(&guest, &Config::from_iter(config));
        assert_eq!((plugged.len(), plugged[0].tag), (1, Some(30)));
        assert_eq!(plugged[0].bridge, "vmbr1");
    }
}
