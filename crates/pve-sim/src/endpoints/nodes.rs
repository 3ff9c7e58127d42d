//! `/nodes` and `/nodes/{node}`.

use crate::{
    answer::Answer,
    cluster::Node,
    endpoints::{Call, Needs, Route, Run},
    figures,
    json::{Json, Object},
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/nodes",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: false,
        run: Run::Read(list),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: false,
        run: Run::Read(index),
    },
];

/// What is below a node, as PVE 9.2 lists it; whether it exists is not looked at (recorded).
const INDEX: [&str; 41] = [
    "aplinfo",
    "apt",
    "capabilities",
    "ceph",
    "certificates",
    "config",
    "disks",
    "dns",
    "firewall",
    "hardware",
    "hosts",
    "journal",
    "lxc",
    "migrateall",
    "netstat",
    "network",
    "qemu",
    "query-oci-repo-tags",
    "query-url-metadata",
    "replication",
    "report",
    "rrd",
    "rrddata",
    "scan",
    "sdn",
    "services",
    "spiceshell",
    "startall",
    "status",
    "stopall",
    "storage",
    "subscription",
    "suspendall",
    "syslog",
    "tasks",
    "termproxy",
    "time",
    "version",
    "vncshell",
    "vzdump",
    "wakeonlan",
];

fn list(call: &Call<'_>) -> Answer {
    Answer::json(Json::data_unordered_list(|list| {
        for node in &call.world.cluster.nodes {
            list.object(|row| {
                put_node(row, call, node);
                match &node.fingerprint {
                    Some(fingerprint) => row.text("ssl_fingerprint", fingerprint),
                    None => row.null("ssl_fingerprint"),
                }
            });
        }
    }))
}

fn index(_: &Call<'_>) -> Answer {
    Answer::json(Json::data_list(|list| {
        for name in INDEX {
            list.object(|entry| entry.text("name", name));
        }
    }))
}

/// What `/nodes` and `/cluster/resources` both say of a node.
pub(super) fn put_node(row: &mut Object<'_>, call: &Call<'_>, node: &Node) {
    row.text("id", &format!("node/{}", node.name));
    row.text("node", &node.name);
    row.text("type", "node");
    row.text("status", status(node));
    if !node.online || node.silent {
        return;
    }
    row.text("level", node.level());
    if call.rights.has(&format!("/nodes/{}", node.name), "Sys.Audit") {
        let figures = figures::of_node(node, call.world.elapsed());
        row.float("cpu", figures.cpu);
        row.number("maxcpu", node.cpus);
        row.number("mem", figures.memory_used);
        row.number("maxmem", node.memory);
        row.number("disk", node.root_used);
        row.number("maxdisk", node.root);
        row.number("uptime", figures.uptime);
    }
}

fn status(node: &Node) -> &'static str {
    match (node.online, node.silent) {
        (false, _) => "offline",
        (true, true) => "unknown",
        (true, false) => "online",
    }
}
