//! The counters of a node's interfaces as a table.

use pve_client::ip_statistics::Link;

use crate::{
    answer::{Bytes, Cell, Table, clean::label},
    in_order::InOrder as _,
};

/// How many of the node's own interfaces are shown.
const OWN: usize = 60;
/// How many of the guests' interfaces with errors are shown.
const OF_GUESTS: usize = 20;

/// The node's own interfaces, and those of guests where something went wrong.
pub(super) fn table(links: &[Link]) -> (Table, Vec<String>) {
    let mut table = Table::new(&[
        "iface",
        "type",
        "state",
        "rx",
        "rx_packets",
        "rx_errors",
        "rx_dropped",
        "rx_overruns",
        "tx",
        "tx_packets",
        "tx_errors",
        "tx_dropped",
        "tx_carrier",
        "collisions",
    ]);
    let mut notes = Vec::new();
    let (of_guests, own): (Vec<&Link>, Vec<&Link>) = links.iter().partition(|link| is_guests(link));
    own.iter().take(OWN).for_each(|link| table.push(row(link)));
    if own.len() > OWN {
        notes.push(format!("{} more interfaces of the node are not shown", own.len() - OWN));
    }
    let mut troubled: Vec<&Link> =
        of_guests.iter().copied().filter(|link| trouble(link) > 0).collect();
    troubled.order_by_key(|link| std::cmp::Reverse(trouble(link)));
    troubled.iter().take(OF_GUESTS).for_each(|link| table.push(row(link)));
    let n_left = of_guests.len() - troubled.len().min(OF_GUESTS);
    if n_left > 0 {
        notes.push(format!(
            "{n_left} interfaces of guests (tap, veth and their firewall bridges) are not in the table{}",
            if troubled.len() > OF_GUESTS { "" } else { ": they have neither errors nor drops" }
        ));
    }
    if !troubled.is_empty() {
        notes.push("rx of a tap or veth is what the guest sent, tx what it received".to_owned());
    }
    (table, notes)
}

/// `tap100i0`, `veth200i0`, and what the firewall puts in between.
fn is_guests(link: &Link) -> bool {
    ["tap", "veth", "fwbr", "fwpr", "fwln"].iter().any(|start| {
        link.name
            .strip_prefix(start)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// How much went wrong.
pub(super) fn trouble(link: &Link) -> u64 {
    let (received, sent) = (&link.received, &link.sent);
    let all = [
        received.errors,
        received.dropped,
        received.overruns,
        sent.errors,
        sent.dropped,
        sent.carrier,
        sent.collisions,
    ];
    all.into_iter().flatten().fold(0, u64::saturating_add)
}

fn row(link: &Link) -> [Cell; 14] {
    let (received, sent) = (&link.received, &link.sent);
    [
        label(&link.name).into(),
        kind(link).into(),
        state(link).into(),
        received.bytes.map(Bytes).into(),
        received.packets.into(),
        received.errors.into(),
        received.dropped.into(),
        received.overruns.into(),
        sent.bytes.map(Bytes).into(),
        sent.packets.into(),
        sent.errors.into(),
        sent.dropped.into(),
        sent.carrier.into(),
        sent.collisions.into(),
    ]
}

pub(super) fn kind(link: &Link) -> String {
    let below = link.of.as_deref().map(|of| format!(" on {}", label(of))).unwrap_or_default();
    match link.kind.as_deref() {
        Some("bridge") if link.vlan_filtering == Some(true) => "bridge, VLAN aware".to_owned(),
        // What went wrong at a port of a bond is counted at the bond again.
        Some("bond") => match link.bond_mode.as_deref() {
            Some(mode) => format!("bond {}, sum of its ports", label(mode)),
            None => "bond, sum of its ports".to_owned(),
        },
        Some("vlan") => match link.vlan {
            Some(tag) => format!("vlan {tag}{below}"),
            None => format!("vlan{below}"),
        },
        Some("tun") => "tap".to_owned(),
        Some(kind) => label(kind),
        None if link.loopback => "loopback".to_owned(),
        None => match link.master.as_deref() {
            Some(master) => format!("card in {}", label(master)),
            None => "card".to_owned(),
        },
    }
}

pub(super) fn state(link: &Link) -> Option<String> {
    let state = link.state.as_deref().map(|state| label(&state.to_ascii_lowercase()))?;
    Some(if link.no_carrier { format!("{state}, no link") } else { state })
}
