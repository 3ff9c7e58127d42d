//! `…/rrddata` of a node, a guest and a storage: their history.
//!
//! The node that is asked answers for all others from its own copy of the databases, so that there is
//! history of a node that is off (recorded: the answers carry no second node's headers). Points of
//! which nothing is known are rows that hold only their time.

use crate::{
    answer::Answer,
    cluster::{Guest, Kind, Node, Storage},
    date,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
        storage,
    },
    history::{self, Grid, precise},
    json::{Json, Object},
};

const CF: Parameter = Parameter::new("cf", Is::OneOf(&["AVERAGE", "MAX"]));
const FRAMES: Parameter =
    Parameter::new("timeframe", Is::OneOf(&["hour", "day", "week", "month", "year"]));

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/nodes/{node}/rrddata",
        needs: Needs::Privilege("/nodes/{node}", "Sys.Audit"),
        parameters: &[
            Parameter::new(
                "timeframe",
                Is::OneOf(&["hour", "day", "week", "month", "year", "decade"]),
            ),
            CF,
        ],
        by_daemon: true,
        run: Run::Read(node),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/qemu/{vmid}/rrddata",
        needs: Needs::Privilege("/vms/{vmid}", "VM.Audit"),
        parameters: &[FRAMES, CF],
        by_daemon: true,
        run: Run::Read(guest),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/lxc/{vmid}/rrddata",
        needs: Needs::Privilege("/vms/{vmid}", "VM.Audit"),
        parameters: &[FRAMES, CF],
        by_daemon: true,
        run: Run::Read(guest),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/storage/{storage}/rrddata",
        needs: storage::NEEDS,
        parameters: &[FRAMES, CF],
        by_daemon: true,
        run: Run::Read(of_storage),
    },
];

/// One point of one answer.
#[derive(Clone, Copy)]
struct Point {
    time: u64,
    step: u64,
    /// How long ago it is.
    age: u64,
    /// For how long the simulator runs: so much longer runs what ran at its start.
    elapsed: u64,
    moves: bool,
    is_nine: bool,
    /// The largest of the averages that a point is made of, instead of their average.
    is_peak: bool,
}

impl Point {
    fn factor(self, seed: u32) -> f64 {
        let factor = history::factor(self.moves, seed, self.time, self.step);
        if self.is_peak && self.moves && self.step > 60 { factor * 1.25 } else { factor }
    }
}

fn points(call: &Call<'_>, put: impl Fn(&mut Object<'_>, Point)) -> Answer {
    let timeframe = call.value("timeframe");
    if timeframe.is_empty() {
        let text = "property is missing and it is not optional";
        return Answer::bad_parameters(&[("timeframe".to_owned(), text.to_owned())]);
    }
    let cluster = &call.world.cluster;
    let (grid, now) = (Grid::of(timeframe, &cluster.version), date::unix_now());
    let elapsed = call.world.started.elapsed().as_secs();
    let is_peak = call.value("cf") == "MAX";
    Answer::json(Json::data_list(|list| {
        for time in grid.times(now) {
            let point = Point {
                time,
                step: grid.step,
                age: now - time,
                elapsed,
                moves: cluster.moves,
                is_nine: cluster.version.at_least(9, 0),
                is_peak,
            };
            list.object(|row| {
                row.number("time", time);
                put(row, point);
            });
        }
    }))
}

/// What is answered for something of which there is no database (a guess).
fn no_database(name: &str) -> Answer {
    let text = "No such file or directory";
    Answer::error(500, &format!("RRD error: opening '/var/lib/rrdcached/db/{name}': {text}"))
}

fn node(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else {
        return no_database(&format!("pve-node-9.0/{}", call.value("node")));
    };
    points(call, |row, point| put_node(row, node, point))
}

fn guest(call: &Call<'_>) -> Answer {
    let vmid = call.value("vmid");
    let guest = vmid.parse().ok().and_then(|vmid| call.world.cluster.guest(vmid));
    let Some(guest) = guest else { return no_database(&format!("pve-vm-9.0/{vmid}")) };
    let known =
        call.world.cluster.node(&guest.node).is_some_and(|node| node.online && !node.silent);
    points(call, |row, point| {
        if known {
            put_guest(row, guest, point);
        }
    })
}

fn of_storage(call: &Call<'_>) -> Answer {
    let (name, node) = (call.value("storage"), call.value("node"));
    let Some(storage) = call.world.cluster.storages.iter().find(|storage| storage.name == name)
    else {
        return no_database(&format!("pve-storage-9.0/{node}/{name}"));
    };
    let node = call.node().filter(|node| node.online && !node.silent);
    points(call, |row, point| {
        if let Some(node) = node {
            put_storage(row, storage, node, point);
        }
    })
}

fn put_node(row: &mut Object<'_>, node: &Node, point: Point) {
    if !node.online || node.silent || point.age > node.uptime + point.elapsed {
        return;
    }
    let seed = node.id * 7919;
    let factor = point.factor(seed);
    let memory = (precise(node.memory_used) * (0.9 + 0.1 * point.factor(seed + 1)))
        .min(precise(node.memory));
    let load = node.load.first().copied().unwrap_or_default() * factor;
    row.number("maxcpu", node.cpus);
    row.float("cpu", (node.cpu * factor).clamp(0.0, 1.0));
    row.float("iowait", node.cpu * factor / 40.0);
    row.float("loadavg", load);
    row.number("memtotal", node.memory);
    row.float("memused", memory);
    row.number("swaptotal", node.swap);
    row.number("swapused", node.swap_used);
    row.number("roottotal", node.root);
    row.float(
        "rootused",
        history::grown_to(node.root_used, node.root_used / 900, point.age * u64::from(point.moves)),
    );
    let traffic = if point.moves { node.cpu * 60_000_000.0 } else { 0.0 };
    row.float("netin", traffic * point.factor(seed + 2));
    row.float("netout", traffic * 0.6 * point.factor(seed + 3));
    if point.is_nine {
        row.number("arcsize", 0);
        row.float("memavailable", precise(node.memory) - memory);
        row.float("pressurecpusome", node.cpu * factor * 12.0);
        for (name, share) in [("io", 3.0), ("memory", 0.0)] {
            row.float(&format!("pressure{name}some"), node.cpu * factor * share);
            row.float(&format!("pressure{name}full"), node.cpu * factor * share / 2.0);
        }
    }
}

fn put_guest(row: &mut Object<'_>, guest: &Guest, point: Point) {
    row.number("maxcpu", guest.cores);
    row.number("maxmem", guest.memory);
    row.number("maxdisk", guest.disk);
    let since = guest.started.map_or(point.elapsed, |started| started.elapsed().as_secs());
    let runs = guest.is_up() && point.age <= guest.uptime + since;
    let ran = guest.ran.iter().any(|(from, to)| (*from..=*to).contains(&point.time));
    if !runs && !ran {
        // Of a guest that does not run only its limits are sent (read).
        return;
    }
    let usage = &guest.usage;
    let factor = point.factor(guest.vmid);
    let memory = (precise(usage.memory) * (0.85 + 0.15 * point.factor(guest.vmid + 1)))
        .min(precise(guest.memory));
    let rate = |bytes: u64, seed: u32| {
        precise(bytes) / precise(guest.uptime.max(1)) * point.factor(guest.vmid + seed)
    };
    row.float("cpu", (usage.cpu * factor).clamp(0.0, 1.0));
    row.float("mem", memory);
    row.number("disk", if guest.kind == Kind::Lxc { usage.disk } else { 0 });
    row.float("netin", rate(usage.received, 2));
    row.float("netout", rate(usage.sent, 3));
    row.float("diskread", rate(usage.read, 4));
    row.float("diskwrite", rate(usage.written, 5));
    if point.is_nine {
        if guest.kind == Kind::Qemu {
            row.float("memhost", precise(usage.host_memory.max(usage.memory)));
        }
        for (name, share) in [("cpu", usage.cpu_pressure), ("io", 0.0), ("memory", 0.0)] {
            row.float(&format!("pressure{name}some"), share * factor);
            row.float(&format!("pressure{name}full"), share * factor / 2.0);
        }
    }
}

fn put_storage(row: &mut Object<'_>, storage: &Storage, node: &Node, point: Point) {
    let is_here = storage.is_on(&node.name);
    if let Some((used, total)) = storage.size_on(&node.name).filter(|_| is_here) {
        let age = if point.moves { point.age } else { 0 };
        row.number("total", total);
        row.float("used", history::grown_to(used, storage.grows, age));
    }
}
