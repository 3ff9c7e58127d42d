//! An interface, a zone and a network as rows.

use pve_client::{
    NodeName,
    network::{Iface, Vnet, Zone},
};

use crate::answer::{Cell, clean::label};

/// An interface.
pub(super) fn row(node: &NodeName, iface: &Iface) -> [Cell; 9] {
    let address = |cidr: &Option<String>, bare: &Option<String>, method: &Option<String>| {
        let automatic = method
            .as_deref()
            .filter(|method| matches!(*method, "dhcp" | "auto"))
            .map(str::to_owned);
        cidr.clone().or_else(|| bare.clone()).or(automatic)
    };
    let addresses = [
        address(&iface.cidr, &iface.address, &iface.method),
        address(&iface.cidr6, &iface.address6, &iface.method6),
    ];
    [
        label(node.as_str()).into(),
        text(iface.iface.as_deref()),
        text(iface.kind.as_deref()),
        if iface.active == Some(true) { "yes" } else { "no" }.into(),
        joined(addresses),
        joined([iface.gateway.clone(), iface.gateway6.clone()]),
        iface.mtu.into(),
        some(details(iface)),
        text(iface.comments.as_deref()),
    ]
}

/// Whether it is this interface or is built of it.
pub(super) fn mentions(iface: &Iface, wanted: &str) -> bool {
    let parts = [
        &iface.iface,
        &iface.bridge_ports,
        &iface.slaves,
        &iface.vlan_raw_device,
        &iface.ovs_ports,
        &iface.ovs_bonds,
        &iface.ovs_bridge,
    ];
    parts
        .into_iter()
        .flatten()
        .flat_map(|names| names.split_whitespace())
        .any(|name| name.eq_ignore_ascii_case(wanted))
}

/// What it is made of.
fn details(iface: &Iface) -> String {
    let mut words = Vec::new();
    let names = |names: &str| label(&names.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut say = |what: &str, text: Option<&str>| {
        let text = text.map(names).filter(|text| !text.is_empty());
        words.extend(text.map(|text| format!("{what} {text}")));
    };
    say("mode", iface.bond_mode.as_deref());
    say("slaves", iface.slaves.as_deref().or(iface.ovs_bonds.as_deref()));
    say("primary", iface.bond_primary.as_deref());
    say("hash", iface.bond_xmit_hash_policy.as_deref());
    say("tag", tag(iface).as_deref());
    say("on", raw_device(iface).as_deref().or(iface.ovs_bridge.as_deref()));
    say("ports", iface.bridge_ports.as_deref().or(iface.ovs_ports.as_deref()));
    let is_bridge = matches!(iface.kind.as_deref(), Some("bridge" | "OVSBridge"));
    let ports = iface.bridge_ports.as_deref().or(iface.ovs_ports.as_deref()).unwrap_or_default();
    if is_bridge && ports.trim().is_empty() {
        words.push("no ports: guests reach only each other and the node".to_owned());
    }
    if iface.bridge_vlan_aware == Some(true) {
        let vids = iface.bridge_vids.as_deref().map(|vids| format!(" ({})", names(vids)));
        words.push(format!("VLAN aware{}", vids.unwrap_or_default()));
    }
    // A port of Open vSwitch comes up with its bridge.
    let comes_with_another = iface.kind.as_deref() == Some("eth") || iface.ovs_bridge.is_some();
    if iface.autostart != Some(true) && !comes_with_another {
        words.push("not started at boot".to_owned());
    }
    words.join(", ")
}

/// A VLAN says its number and what is below it, or both in its name: `bond0.20`.
fn tag(iface: &Iface) -> Option<String> {
    let tag = iface.vlan_id.or(iface.ovs_tag).map(|tag| tag.to_string());
    tag.or_else(|| by_name(iface).map(|(_, tag)| tag.to_owned()))
}

fn raw_device(iface: &Iface) -> Option<String> {
    let device = iface.vlan_raw_device.clone();
    device.or_else(|| by_name(iface).map(|(device, _)| device.to_owned()))
}

fn by_name(iface: &Iface) -> Option<(&str, &str)> {
    let name = iface.iface.as_deref().filter(|_| iface.kind.as_deref() == Some("vlan"))?;
    name.rsplit_once('.').filter(|(_, tag)| tag.bytes().all(|b| b.is_ascii_digit()))
}

pub(super) fn zone(zone: &Zone) -> [Cell; 6] {
    [
        text(zone.zone.as_deref()),
        text(zone.kind.as_deref()),
        text(zone.bridge.as_deref()),
        zone.mtu.into(),
        zone.nodes.as_deref().map_or_else(|| "all".into(), |nodes| label(nodes).into()),
        text(zone.state.as_deref()),
    ]
}

pub(super) fn vnet(vnet: &Vnet) -> [Cell; 6] {
    [
        text(vnet.vnet.as_deref()),
        text(vnet.zone.as_deref()),
        vnet.tag.into(),
        text(vnet.alias.as_deref()),
        if vnet.vlanaware == Some(true) { "yes" } else { "no" }.into(),
        text(vnet.state.as_deref()),
    ]
}

fn text(value: Option<&str>) -> Cell {
    value.map(label).filter(|text| !text.is_empty()).into()
}

fn some(words: String) -> Cell {
    Some(words).filter(|words| !words.is_empty()).into()
}

fn joined(parts: [Option<String>; 2]) -> Cell {
    some(parts.into_iter().flatten().map(|part| label(&part)).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vlan_may_say_what_it_is_in_its_name_alone() {
        let named = Iface {
            iface: Some("bond0.20".to_owned()),
            kind: Some("vlan".to_owned()),
            ..Iface::default()
        };
        assert_eq!(details(&named), "tag 20, on bond0, not started at boot");
        assert!(!mentions(&named, "bond0"));
        let card = Iface { iface: Some("eno1.x".to_owned()), ..Iface::default() };
        assert_eq!(by_name(&card), None);
    }
}
