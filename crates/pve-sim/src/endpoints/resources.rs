//! `/cluster/resources`: everything in the cluster in one list, as far as the token may see it.

use std::collections::HashSet;

use crate::{
    answer::Answer,
    cluster::{Guest, Node, Storage},
    endpoints::{
        Call, Needs, Route, Run, guest, nodes,
        parameters::{Kind as Is, Parameter},
    },
    figures::{self, GuestFigures},
    json::{Json, List, Object},
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/cluster/resources",
    needs: Needs::Nothing,
    parameters: &[Parameter::new("type", Is::OneOf(&["vm", "storage", "node", "sdn", "network"]))],
    by_daemon: false,
    run: Run::List(resources),
}];

fn resources(call: &Call<'_>) -> Answer {
    let kind = call.value("type");
    let wanted = |name: &str| kind.is_empty() || kind == name;
    let mut guests: Vec<&Guest> = call.world.cluster.guests.iter().collect();
    guests.sort_unstable_by_key(|guest| (guest.kind, guest.vmid));
    Answer::json(Json::data_list(|list| {
        if kind.is_empty() {
            put_pools(list, call, &guests);
        }
        if wanted("vm") {
            put_guests(list, call, &guests);
        }
        if wanted("node") {
            put_nodes(list, call);
        }
        if wanted("storage") {
            put_storages(list, call);
        }
        if kind.is_empty() || kind == "sdn" || kind == "network" {
            put_zones(list, call);
        }
    }))
}

fn put_pools(list: &mut List<'_>, call: &Call<'_>, guests: &[&Guest]) {
    let elapsed = call.world.elapsed();
    let silent = silent_nodes(call);
    for pool in &call.world.cluster.pools {
        if !call.rights.has(&format!("/pool/{pool}"), "Pool.Audit") {
            continue;
        }
        list.object(|row| {
            row.text("type", "pool");
            row.text("id", &format!("/pool/{pool}"));
            row.text("pool", pool);
            let members = guests.iter().filter(|guest| guest.pool.as_ref() == Some(pool));
            let up = members.filter(|guest| guest.is_up() && !silent.contains(guest.node.as_str()));
            let up: Vec<(&Guest, GuestFigures)> =
                up.map(|guest| (*guest, figures::of_guest(guest, elapsed))).collect();
            if up.is_empty() {
                return;
            }
            let cores: u32 = up.iter().map(|(guest, _)| guest.cores).sum();
            let busy: f64 =
                up.iter().map(|(guest, figures)| figures.cpu * f64::from(guest.cores)).sum();
            row.float("cpu", busy / f64::from(cores.max(1)));
            row.number("maxcpu", cores);
            row.number("mem", up.iter().map(|(_, figures)| figures.memory).sum::<u64>());
            row.number("maxmem", up.iter().map(|(guest, _)| guest.memory).sum::<u64>());
            row.number(
                "uptime",
                up.iter().map(|(_, figures)| figures.uptime).max().unwrap_or_default(),
            );
        });
    }
}

fn put_guests(list: &mut List<'_>, call: &Call<'_>, guests: &[&Guest]) {
    let elapsed = call.world.elapsed();
    let silent = silent_nodes(call);
    for guest in guests {
        if call.rights.has_on_guest(guest.vmid, guest.pool.as_deref(), "VM.Audit") {
            let known = !silent.contains(guest.node.as_str());
            list.object(|row| {
                put_guest(row, call, guest);
                if known {
                    put_figures(row, call, guest, &figures::of_guest(guest, elapsed));
                } else {
                    row.text("status", "unknown");
                }
            });
        }
    }
}

/// What is known of a guest even when its node is gone.
fn put_guest(row: &mut Object<'_>, call: &Call<'_>, guest: &Guest) {
    let kind = guest.kind.name();
    row.text("id", &format!("{kind}/{}", guest.vmid));
    row.text("type", kind);
    row.number("vmid", guest.vmid);
    row.text("node", &guest.node);
    row.text_if("hastate", guest.ha.as_deref());
    if let Some(pool) = &guest.pool
        && call.rights.has(&format!("/pool/{pool}"), "Pool.Audit")
    {
        row.text("pool", pool);
    }
}

/// What pvestatd of the guest's node told. It cannot tell a paused VM from a running one
/// (recorded).
fn put_figures(row: &mut Object<'_>, call: &Call<'_>, guest: &Guest, figures: &GuestFigures) {
    row.text("name", &guest::name(guest));
    row.text("status", guest.state.status());
    row.flag("template", guest.template);
    row.float("cpu", figures.cpu);
    row.number("maxcpu", guest.cores);
    row.number("mem", figures.memory);
    row.number("maxmem", guest.memory);
    if call.world.cluster.version.at_least(9, 0) {
        row.number("memhost", figures.host_memory);
    }
    row.number("disk", figures.disk);
    row.number("maxdisk", guest.disk);
    row.number("uptime", figures.uptime);
    row.number("netin", figures.received);
    row.number("netout", figures.sent);
    row.number("diskread", figures.read);
    row.number("diskwrite", figures.written);
    if !guest.tags.is_empty() {
        row.text("tags", &guest.tags.join(";"));
    }
    row.text_if("lock", guest.lock.as_deref());
}

fn put_nodes(list: &mut List<'_>, call: &Call<'_>) {
    let cluster = &call.world.cluster;
    let with_ha = cluster.guests.iter().any(|guest| guest.ha.is_some());
    for node in &cluster.nodes {
        list.object(|row| {
            nodes::put_node(row, call, node);
            if node.online && !node.silent {
                row.number("cgroup-mode", 2);
            }
            // The HA manager knows nodes only where it manages something (read).
            if with_ha {
                row.text("hastate", ha_state(node));
            }
        });
    }
}

fn ha_state(node: &Node) -> &'static str {
    match (node.online, node.maintenance) {
        (false, _) => "unknown",
        (true, true) => "maintenance",
        (true, false) => "online",
    }
}

fn put_storages(list: &mut List<'_>, call: &Call<'_>) {
    let cluster = &call.world.cluster;
    for storage in &cluster.storages {
        let path = format!("/storage/{}", storage.name);
        let on_path = call.rights.on(&path).privileges;
        if !on_path.contains("Datastore.Audit") && !on_path.contains("Datastore.AllocateSpace") {
            continue;
        }
        for node in cluster.nodes.iter().filter(|node| storage.is_on(&node.name)) {
            list.object(|row| put_storage(row, storage, node));
        }
    }
}

fn put_storage(row: &mut Object<'_>, storage: &Storage, node: &Node) {
    row.text("type", "storage");
    row.text("id", &format!("storage/{}/{}", node.name, storage.name));
    row.text("node", &node.name);
    row.text("storage", &storage.name);
    row.text("plugintype", &storage.plugin);
    row.text("content", &storage.content.join(","));
    row.flag("shared", storage.shared);
    match storage.size_on(&node.name).filter(|_| node.online && !node.silent) {
        Some((used, total)) => {
            row.text("status", "available");
            row.number("disk", used);
            row.number("maxdisk", total);
        }
        None => row.text("status", "unknown"),
    }
}

/// The one zone that every node has: its local bridges.
fn put_zones(list: &mut List<'_>, call: &Call<'_>) {
    if !call.rights.has("/sdn/zones/localnetwork", "SDN.Audit") {
        return;
    }
    let nine = call.world.cluster.version.at_least(9, 1);
    for node in &call.world.cluster.nodes {
        list.object(|row| {
            row.text("node", &node.name);
            row.text("status", "ok");
            if nine {
                row.text("type", "network");
                row.text("network-type", "zone");
                row.text("network", "localnetwork");
                row.text("id", &format!("network/{}/zone/localnetwork", node.name));
            } else {
                row.text("type", "sdn");
                row.text("sdn", "localnetwork");
                row.text("id", &format!("sdn/{}/localnetwork", node.name));
            }
        });
    }
}

/// The nodes of which the cluster has no figures. A set, because it is asked for every guest.
fn silent_nodes<'a>(call: &Call<'a>) -> HashSet<&'a str> {
    let known = |node: &&Node| node.online && !node.silent;
    let names: HashSet<&str> =
        call.world.cluster.nodes.iter().filter(known).map(|node| node.name.as_str()).collect();
    let guests = call.world.cluster.guests.iter().map(|guest| guest.node.as_str());
    guests.filter(|node| !names.contains(node)).collect()
}
