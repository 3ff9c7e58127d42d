//! `/cluster/ha/status/current`: what the HA manager knows.
//!
//! Recorded is only the answer of a cluster in which nothing is managed; the rows for the master,
//! the nodes and the managed guests are as Proxmox's documentation and source describe them.

use crate::{
    answer::Answer,
    cluster::{Guest, Kind, Node},
    date,
    endpoints::{Call, Needs, Route, Run},
    json::{Json, List},
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/cluster/ha/status/current",
    needs: Needs::Privilege("/", "Sys.Audit"),
    parameters: &[],
    by_daemon: false,
    run: Run::Read(current),
}];

fn current(call: &Call<'_>) -> Answer {
    let (cluster, local) = (&call.world.cluster, &call.world.local);
    let managed: Vec<&Guest> = cluster.guests.iter().filter(|guest| guest.ha.is_some()).collect();
    Answer::json(Json::data_list(|list| {
        list.object(|row| {
            row.text("type", "quorum");
            row.text("id", "quorum");
            row.text("node", local);
            row.text("status", if cluster.quorate { "OK" } else { "No quorum on node!" });
            row.flag("quorate", cluster.quorate);
        });
        list.object(|row| {
            let state = if managed.is_empty() { "standby" } else { "armed" };
            row.text("type", "fencing");
            row.text("id", "fencing");
            row.text("node", local);
            row.text("status", &format!("{state} (CRM watchdog {state})"));
            row.text("armed-state", state);
        });
        if !managed.is_empty() {
            put_manager(list, &cluster.nodes);
            for guest in managed {
                put_guest(list, guest);
            }
        }
    }))
}

fn put_manager(list: &mut List<'_>, nodes: &[Node]) {
    let now = date::unix_now();
    if let Some(master) = nodes.iter().find(|node| node.online) {
        list.object(|row| {
            row.text("type", "master");
            row.text("id", "master");
            row.text("node", &master.name);
            row.number("timestamp", now);
            row.text("status", &format!("{} (active, {})", master.name, date::ctime(now)));
        });
    }
    for node in nodes {
        let (mode, at) = match (node.online, node.maintenance) {
            (true, false) => ("active", now),
            (true, true) => ("maintenance mode", now),
            (false, _) => ("old timestamp - dead?", now - 600),
        };
        list.object(|row| {
            row.text("type", "lrm");
            row.text("id", &format!("lrm:{}", node.name));
            row.text("node", &node.name);
            row.number("timestamp", at);
            row.text("status", &format!("{} ({mode}, {})", node.name, date::ctime(at)));
        });
    }
}

fn put_guest(list: &mut List<'_>, guest: &Guest) {
    let kind = match guest.kind {
        Kind::Qemu => "vm",
        Kind::Lxc => "ct",
    };
    let state = guest.ha.as_deref().unwrap_or_default();
    list.object(|row| {
        let sid = format!("{kind}:{}", guest.vmid);
        row.text("type", "service");
        row.text("id", &format!("service:{sid}"));
        row.text("sid", &sid);
        row.text("node", &guest.node);
        row.text("state", state);
        row.text("crm_state", state);
        row.text("request_state", if state == "stopped" { "stopped" } else { "started" });
        row.number("max_restart", 1);
        row.number("max_relocate", 1);
        row.text("status", &format!("{} ({state})", guest.node));
    });
}
