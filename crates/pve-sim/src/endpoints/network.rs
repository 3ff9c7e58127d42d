//! `/nodes/{node}/network`: the interfaces as they are configured.

use crate::{
    answer::Answer,
    cluster::Interface,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind, Parameter},
    },
    json::{Json, Object},
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/network",
    needs: Needs::Nothing,
    parameters: &[Parameter::new("type", Kind::Text)],
    by_daemon: false,
    run: Run::Read(list),
}];

/// Keys whose values are numbers.
const NUMBERS: [&str; 4] = ["bridge_vlan_aware", "mtu", "ovs_tag", "vlan-id"];

fn list(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let kind = call.value("type");
    // Bridges are left out without a word (recorded).
    let may_see = |interface: &Interface| {
        let path = format!("/sdn/zones/localnetwork/{}", interface.name);
        let may = |privilege| call.rights.has(&path, privilege);
        !interface.kind.ends_with("ridge") || may("SDN.Audit") || may("SDN.Use")
    };
    let is_wanted = |interface: &Interface| kind.is_empty() || interface.kind == kind;
    Answer::json(Json::object(|body| {
        if let Some(changes) = &node.network_changes {
            body.text("changes", changes);
        }
        body.list("data", |list| {
            for (nth, interface) in (3_u32..).zip(node.interfaces()) {
                if may_see(&interface) && is_wanted(&interface) {
                    list.object(|row| put(row, &interface, nth));
                }
            }
        });
    }))
}

fn put(row: &mut Object<'_>, interface: &Interface, priority: u32) {
    row.text("iface", &interface.name);
    row.text("type", &interface.kind);
    row.number("priority", priority);
    row.text("method", if interface.cidr.is_some() { "static" } else { "manual" });
    row.text("method6", "manual");
    row.list("families", |list| list.text("inet"));
    for (key, is_set) in [("active", interface.active), ("autostart", interface.autostart)] {
        if is_set {
            row.number(key, 1);
        }
    }
    if let Some((address, prefix)) = interface.cidr.as_deref().and_then(|cidr| cidr.split_once('/'))
    {
        row.text("cidr", &format!("{address}/{prefix}"));
        row.text("address", address);
        row.text("netmask", prefix);
    }
    row.text_if("gateway", interface.gateway.as_deref());
    row.text_if("comments", interface.comment.as_deref());
    for (key, value) in &interface.keys {
        match value.parse::<i64>() {
            Ok(number) if NUMBERS.contains(&key.as_str()) => row.number(key, number),
            _ => row.text(key, value),
        }
    }
}
