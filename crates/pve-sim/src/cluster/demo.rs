//! The cluster that `--demo` shows: a small company's, with some life and some trouble in it.

mod consoles;
mod details;
mod network;
mod storages;
mod troubles;

use crate::{
    cluster::{Cluster, Guest, Node, State, Subscription, Takes, Task, Update, demo_logs},
    date,
    permission::Role,
};

/// The token of [`Cluster::demo`] with all rights.
pub const DEMO_TOKEN_ID: &str = "root@pam!demo";
/// The secret of [`DEMO_TOKEN_ID`], and of the token [`DEMO_AUDITOR_ID`].
pub const DEMO_TOKEN_SECRET: &str = "de300000-0000-4000-8000-000000000000";
/// The token of [`Cluster::demo`] that may only look (`PVEAuditor`).
pub const DEMO_AUDITOR_ID: &str = "monitor@pve!demo";

const GIB: u64 = 1 << 30;
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// The guests that run without trouble: number, name, node, cores, GiB of memory, GiB of disk, days
/// up, CPU in percent, memory in percent, pool, tags.
type Row =
    (u32, &'static str, u8, u32, u64, u64, u64, u32, u64, &'static str, &'static [&'static str]);

const VMS: [Row; 10] = [
    (100, "dc01", 1, 2, 8, 80, 41, 3, 55, "infrastructure", &["windows", "core"]),
    (101, "dc02", 2, 2, 8, 80, 41, 2, 52, "infrastructure", &["windows", "core"]),
    (102, "fileserver", 1, 4, 16, 500, 41, 7, 71, "infrastructure", &["windows"]),
    (110, "mail", 2, 4, 12, 250, 23, 11, 64, "production", &["linux", "prod"]),
    (111, "postgres", 3, 8, 32, 400, 23, 34, 82, "production", &["linux", "prod", "db"]),
    (112, "webshop", 1, 4, 8, 60, 9, 22, 61, "production", &["linux", "prod", "web"]),
    (113, "erp", 3, 6, 24, 300, 23, 16, 77, "production", &["windows", "prod"]),
    (120, "gitlab", 2, 4, 16, 200, 12, 14, 86, "development", &["linux", "dev"]),
    (121, "ci-runner-1", 3, 8, 16, 100, 2, 91, 68, "development", &["linux", "dev", "ci"]),
    (130, "homeassistant", 1, 2, 4, 32, 17, 5, 44, "", &["linux"]),
];

const CTS: [Row; 7] = [
    (200, "pihole", 1, 1, 1, 8, 41, 1, 22, "infrastructure", &["dns", "core"]),
    (201, "reverse-proxy", 2, 2, 1, 8, 41, 4, 31, "production", &["prod", "web"]),
    (202, "prometheus", 3, 2, 4, 64, 23, 9, 58, "infrastructure", &["monitoring"]),
    (203, "grafana", 3, 1, 1, 16, 23, 2, 37, "infrastructure", &["monitoring"]),
    (204, "unifi", 1, 1, 2, 16, 2, 3, 63, "infrastructure", &["network"]),
    (205, "vaultwarden", 2, 1, 1, 8, 23, 1, 18, "production", &["prod"]),
    (206, "redis", 3, 1, 2, 8, 23, 6, 73, "production", &["prod", "db"]),
];

impl Cluster {
    /// Three nodes, some 25 guests, and figures that move.
    pub fn demo() -> Self {
        let mut demo = Self::of_nodes(Some("demo"), &["pve1", "pve2", "pve3"]);
        demo.moves = true;
        demo.nodes.iter_mut().for_each(settle);
        demo.pools = ["infrastructure", "production", "development"].map(str::to_owned).to_vec();
        demo.guests = VMS.iter().map(|row| running(row, Guest::vm(row.0, "", row.1))).collect();
        demo.guests.extend(CTS.iter().map(|row| running(row, Guest::ct(row.0, "", row.1))));
        demo.guests.extend(troubled());
        for vmid in [110, 111, 112, 201] {
            if let Some(guest) = demo.guest_mut(vmid) {
                guest.ha = Some("started".to_owned());
            }
        }
        for guest in &mut demo.guests {
            guest.takes = Takes::Seconds(2);
        }
        let now = date::unix_now();
        if let Some(guest) = demo.guest_mut(204) {
            guest.uptime = now - begin_of_204(now);
        }
        demo.storages = storages::of(&demo.guests, now);
        details::add(&mut demo, now);
        network::add(&mut demo);
        troubles::add(&mut demo, now);
        consoles::give(&mut demo);
        demo.tasks = tasks(now);
        for node in &mut demo.nodes {
            node.journal = demo_logs::journal(&node.name, now, &demo.tasks);
        }
        demo.log = demo_logs::cluster_log(&demo.tasks);
        demo.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)
            .token(DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET)
            .grant("/", "monitor@pve", Role::auditor());
        demo
    }
}

/// Gives each of the nodes its own size and load; the second one's updates wait, the third is
/// nearly full.
fn settle(node: &mut Node) {
    node.address = Some(format!("192.168.10.1{}", node.id));
    node.cpus = 16;
    "AMD Ryzen 9 7940HS w/ Radeon 780M Graphics".clone_into(&mut node.cpu_model);
    (node.memory, node.swap) = (96 * GIB, 8 * GIB);
    (node.root, node.root_used) = (220 * GIB, 38 * GIB);
    node.uptime = 41 * DAY + u64::from(node.id) * 811;
    node.subscription = Subscription::Active {
        product: "Proxmox VE Community Subscription 1 CPU/year".to_owned(),
        level: "c".to_owned(),
        until: "2027-05-01".to_owned(),
    };
    (node.cpu, node.memory_used, node.load) = match node.id {
        1 => (0.13, 46 * GIB, [1.9, 2.1, 2.0]),
        2 => (0.17, 41 * GIB, [2.6, 2.4, 2.5]),
        _ => (0.58, 84 * GIB, [9.4, 8.8, 7.9]),
    };
    if node.id == 2 {
        let update = |package: &str, title: &str, installed: &str, available: &str| Update {
            package: package.to_owned(),
            title: title.to_owned(),
            installed: installed.to_owned(),
            available: available.to_owned(),
            origin: "Proxmox".to_owned(),
        };
        node.updates = vec![
            update(
                "pve-manager",
                "Proxmox Virtual Environment Management Tools",
                "9.2.9",
                "9.2.11",
            ),
            update("qemu-server", "Qemu Server Tools", "9.2.3", "9.2.4"),
            update("proxmox-kernel-6.17", "Latest Proxmox Kernel Image", "6.17.2-1", "6.17.4-2"),
        ];
    }
}

fn running(row: &Row, mut guest: Guest) -> Guest {
    let (vmid, _, node, cores, memory, disk, days, cpu, used, pool, tags) = *row;
    guest.node = format!("pve{node}");
    (guest.cores, guest.memory, guest.disk) = (cores, memory * GIB, disk * GIB);
    guest.pool = (!pool.is_empty()).then(|| pool.to_owned());
    guest.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    guest.usage.cpu = f64::from(cpu) / 100.0;
    guest.usage.memory = guest.memory / 100 * used;
    guest.usage.host_memory = guest.usage.memory / 100 * 108;
    guest.usage.disk = guest.disk / 100 * (30 + u64::from(vmid) % 50);
    let traffic = days * u64::from(cpu + 1);
    (guest.usage.received, guest.usage.sent) = (traffic * 40_000_000, traffic * 25_000_000);
    (guest.usage.read, guest.usage.written) = (traffic * 90_000_000, traffic * 60_000_000);
    guest.running(days * DAY + u64::from(vmid) * 37)
}

/// The guests that are worth a question.
fn troubled() -> Vec<Guest> {
    let vm = |vmid, node: &str, name: &str, tags: &[&str]| {
        let mut guest = Guest::vm(vmid, node, name);
        (guest.cores, guest.memory, guest.disk) = (2, 4 * GIB, 40 * GIB);
        guest.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        guest
    };
    let mut paused = vm(122, "pve2", "win11-test", &["windows", "dev"]).running(3 * DAY);
    paused.state = State::Paused;
    let mut in_backup = vm(123, "pve3", "nextcloud", &["linux", "prod"]).running(12 * DAY);
    in_backup.lock = Some("backup".to_owned());
    in_backup.pool = Some("production".to_owned());
    let mut hibernated = vm(124, "pve1", "workstation", &["linux", "dev"]);
    hibernated.lock = Some("suspended".to_owned());
    let mut broken = vm(125, "pve2", "legacy-crm", &["windows", "prod"]);
    broken.start_fails = Some("storage 'nas' is not online".to_owned());
    broken.pool = Some("production".to_owned());
    let stopped = vm(126, "pve3", "staging-webshop", &["linux", "staging"]);
    let mut template = vm(9000, "pve1", "debian-13-template", &["template"]);
    template.template = true;
    let mut ct_template = Guest::ct(9001, "pve2", "alpine-template");
    ct_template.template = true;
    ct_template.tags = vec!["template".to_owned()];
    let ct_stopped = Guest::ct(207, "pve3", "minecraft");
    vec![paused, in_backup, hibernated, broken, stopped, template, ct_template, ct_stopped]
}

/// Now, by ten minutes. Whoever calls one tool after the other has another cluster each time: what the first told of is
/// still known to the next.
fn lately(now: u64) -> u64 {
    now / 600 * 600
}

/// When the present run of this container began, of which a task tells.
fn begin_of_204(now: u64) -> u64 {
    lately(now) - 2 * DAY - 204 * 37
}

/// Last night's backups, one that still runs, and what went wrong since.
fn tasks(now: u64) -> Vec<Task> {
    // The newest evening whose backups are done, whatever time it is.
    let evening = 21 * HOUR;
    let night = (now - evening - 2400) / DAY * DAY + evening;
    let mut tasks = Vec::new();
    for node in ["pve1", "pve2", "pve3"] {
        let is_broken = node == "pve2";
        let status = if is_broken { "job errors" } else { "OK" };
        let task = Task::ended(node, "vzdump", "", "root@pam", (night, night + 2400), status);
        tasks.push(Task { log: demo_logs::backup(node, is_broken), ..task });
    }
    let lately = lately(now);
    let failed = "storage 'nas' is not online";
    let log = format!("TASK ERROR: {failed}");
    let start = Task::ended(
        "pve2",
        "qmstart",
        "125",
        "admin@pve",
        (lately - 5 * HOUR, lately - 5 * HOUR + 2),
        failed,
    );
    tasks.push(start.with_log(&[&log]));
    let begun = lately - 11 * 60;
    let running =
        Task::ended("pve3", "vzdump", "123", "root@pam", (begun, begun), "").still_running();
    tasks.push(Task { log: demo_logs::running_backup(now - begun), ..running });
    let begun = begin_of_204(now);
    let warned =
        Task::ended("pve1", "vzstart", "204", "admin@pve", (begun - 4, begun), "WARNINGS: 1");
    let log = ["WARN: Systemd 257 detected. You may need to enable nesting.", "TASK WARNINGS: 1"];
    tasks.push(warned.with_log(&log));
    tasks.push(Task::ended(
        "pve2",
        "qmpause",
        "122",
        "admin@pve",
        (lately - DAY, lately - DAY + 1),
        "OK",
    ));
    tasks
}
