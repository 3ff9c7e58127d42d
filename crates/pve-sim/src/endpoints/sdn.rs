//! `/cluster/sdn/{zones,vnets}` and `/nodes/{node}/sdn/zones`, with the ports of a node's bridges.
//!
//! Recorded are only answers of a cluster without zones, and the ports of a bridge that does not keep
//! VLANs apart; the rest is as PVE's API describes it.

use crate::{
    answer::Answer,
    cluster::{Interface, Zone},
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind, Parameter},
    },
    json::{Json, List},
};

const PENDING: &[Parameter] =
    &[Parameter::new("pending", Kind::Boolean), Parameter::new("running", Kind::Boolean)];

pub(super) const ROUTES: &[Route] = &[
    route("/cluster/sdn/zones", Needs::Nothing, PENDING, false, zones),
    route("/cluster/sdn/vnets", Needs::Nothing, PENDING, false, vnets),
    route("/nodes/{node}/sdn/zones", Needs::Nothing, &[], true, states),
    route(
        "/nodes/{node}/sdn/zones/localnetwork/bridges",
        Needs::Privilege("/sdn/zones/localnetwork", "SDN.Audit"),
        &[],
        true,
        bridges,
    ),
];

const fn route(
    path: &'static str,
    needs: Needs,
    parameters: &'static [Parameter],
    by_daemon: bool,
    run: fn(&Call<'_>) -> Answer,
) -> Route {
    Route { method: "GET", path, needs, parameters, by_daemon, run: Run::Read(run) }
}

fn visible<'a>(call: &Call<'a>) -> Vec<&'a Zone> {
    let may_see = |zone: &&Zone| call.rights.has(&format!("/sdn/zones/{}", zone.name), "SDN.Audit");
    call.world.cluster.zones.iter().filter(may_see).collect()
}

fn zones(call: &Call<'_>) -> Answer {
    let is_pending = call.wanted.values.is_set("pending");
    Answer::json(Json::data_unordered_list(|list| {
        for zone in visible(call) {
            list.object(|row| {
                row.text("zone", &zone.name);
                row.text("type", &zone.kind);
                row.text("ipam", "pve");
                row.text_if("bridge", zone.bridge.as_deref());
                row.text_if("state", zone.state.as_deref().filter(|_| is_pending));
            });
        }
    }))
}

fn vnets(call: &Call<'_>) -> Answer {
    Answer::json(Json::data_unordered_list(|list| {
        for zone in visible(call) {
            for (name, tag, alias) in &zone.vnets {
                list.object(|row| {
                    row.text("vnet", name);
                    row.text("zone", &zone.name);
                    row.text("type", "vnet");
                    row.number("tag", *tag);
                    row.text_if("alias", alias.as_deref());
                });
            }
        }
    }))
}

fn states(call: &Call<'_>) -> Answer {
    let node = call.world.real_name(call.value("node"));
    Answer::json(Json::data_unordered_list(|list| {
        for zone in visible(call) {
            list.object(|row| {
                let is_broken = zone.broken_on.iter().any(|name| name == node);
                row.text("zone", &zone.name);
                row.text("status", if is_broken { "error" } else { "available" });
            });
        }
    }))
}

fn bridges(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    Answer::json(Json::data_list(|list| {
        for bridge in node.interfaces().iter().filter(|interface| interface.kind == "bridge") {
            put_bridge(list, call, &node.name, bridge);
        }
    }))
}

fn put_bridge(list: &mut List<'_>, call: &Call<'_>, node: &str, bridge: &Interface) {
    let ports = call.world.cluster.ports(node, bridge);
    let mut tags: Vec<Option<u16>> = vec![None];
    if !bridge.is_vlan_aware() {
        // For each VLAN there is a bridge of its own.
        tags.extend(ports.iter().filter(|port| port.tag.is_some()).map(|port| port.tag));
        tags.sort_unstable();
        tags.dedup();
    }
    for tag in tags {
        let is_here = |port: &&crate::cluster::Port<'_>| bridge.is_vlan_aware() || port.tag == tag;
        list.object(|row| {
            row.text(
                "name",
                &match tag {
                    Some(tag) => format!("{}v{tag}", bridge.name),
                    None => bridge.name.clone(),
                },
            );
            row.flag("vlan_filtering", bridge.is_vlan_aware());
            row.list("ports", |list| {
                for port in ports.iter().filter(is_here) {
                    list.object(|row| {
                        row.text("name", &port.name);
                        if let Some((guest, nth)) = port.guest {
                            row.text("vmid", &guest.vmid.to_string());
                            row.text("index", &format!("net{nth}"));
                        }
                        if bridge.is_vlan_aware() {
                            row.number("primary_vlan", port.tag.unwrap_or(1));
                        }
                    });
                }
            });
        });
    }
}
