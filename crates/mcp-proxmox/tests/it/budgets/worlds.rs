//! Clusters whose answers are as large as they get: one with much of everything, and some in which all that others
//! write is as dense as text can be.

use std::fmt::Write as _;

use jiff::Timestamp;
use pve_client::Reader;
use pve_sim::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Guest,
    JournalEntry, Sim, State, Takes, Task, Terminal, Volume,
};

use crate::{hostile_text::world, support::settings};
use mcp_proxmox::tier::{Access, Level};

/// The large cluster.
pub const NODES: usize = 32;
pub const GUESTS: usize = 5000;

/// Calls: with what is required alone, with everything that makes an answer longer, and what the guest does then.
pub const CALLS: &[(&str, &str, &str, &str)] = &[
    ("get_cluster_health", "{}", "", ""),
    ("list_vms", "{}", r#"{"limit":500,"detail":true}"#, ""),
    ("get_vm_status", r#"{"vm":"$VM"}"#, "", ""),
    ("get_vm_details", r#"{"vm":"$VM"}"#, "", ""),
    ("list_nodes", "{}", "", ""),
    ("get_node_status", r#"{"node":"$NODE"}"#, "", ""),
    ("list_storage", "{}", r#"{"live":true}"#, ""),
    (
        "get_storage_status",
        r#"{"storage":"$STORAGE"}"#,
        r#"{"storage":"$STORAGE","limit":200}"#,
        "",
    ),
    ("get_metrics", r#"{"vm":"$VM"}"#, r#"{"node":"$NODE","timeframe":"year"}"#, ""),
    ("get_metrics_chart", r#"{"vm":"$VM"}"#, "", ""),
    ("get_access", "{}", "", ""),
    ("list_networks", "{}", "", ""),
    ("get_network_stats", r#"{"node":"$NODE"}"#, r#"{"limit":500}"#, ""),
    (
        "get_vm_console",
        r#"{"vm":"$CT","listen_seconds":1}"#,
        r#"{"vm":"$CT","listen_seconds":1,"lines":500}"#,
        "",
    ),
    ("get_vm_screenshot", r#"{"vm":"$VM"}"#, "", ""),
    ("list_tasks", "{}", r#"{"limit":200,"since":"1000d"}"#, ""),
    ("get_task", r#"{"upid":"$UPID"}"#, r#"{"upid":"$UPID","lines":200}"#, ""),
    ("get_system_log", r#"{"node":"$NODE"}"#, r#"{"node":"$NODE","limit":300}"#, ""),
    ("search_logs", "{}", r#"{"since":"30d","limit":500}"#, ""),
    ("start_vm", r#"{"vm":"$VM"}"#, r#"{"vm":"$VM","watch_console":2}"#, "start"),
    ("shutdown_vm", r#"{"vm":"$VM"}"#, "", "shutdown"),
    ("reboot_vm", r#"{"vm":"$VM"}"#, r#"{"vm":"$VM","watch_console":2}"#, "reboot"),
    ("suspend_vm", r#"{"vm":"$VM"}"#, "", "suspend"),
    ("resume_vm", r#"{"vm":"$VM"}"#, "", "resume"),
    ("stop_vm", r#"{"vm":"$VM"}"#, "", "stop"),
    ("reset_vm", r#"{"vm":"$VM"}"#, "", "reset"),
    ("send_vm_keys", r#"{"vm":"$CT","keys":["enter"],"listen_seconds":1}"#, "", ""),
];

/// Resources, and whether whoever attaches one asks for much.
pub const RESOURCES: &[(&str, bool)] = &[
    ("pve://cluster/health", false),
    ("pve://nodes/$NODE", false),
    ("pve://vms/$VM", false),
    ("pve://tasks/$UPID/log", true),
];

/// A text for each number.
pub type Text = fn(usize) -> String;

/// Text that costs much: of what it is, and the text.
pub const DENSE: &[(&str, Text)] = &[
    ("a dump", dump),
    ("a trace", trace),
    ("base64", base64),
    ("escapes", escapes),
    ("ideographs", ideographs),
];

/// A cluster with what the calls need to know of it.
pub struct World {
    pub sim: Sim,
    pub access: Access,
    names: [(&'static str, String); 5],
    vm: u32,
}

impl World {
    fn new(sim: Sim, token: (&str, &str), names: [(&'static str, String); 5]) -> Self {
        let access = Access::new(Level::Write, Reader::new(settings(&sim, token.0, token.1)));
        let vm = names[0].1.parse().unwrap();
        Self { sim, access, names, vm }
    }

    /// A text with the names of this cluster.
    pub fn named(&self, text: &str) -> String {
        let filled = |text: String, (name, value): &(&str, String)| text.replace(name, value);
        self.names.iter().fold(text.to_owned(), filled)
    }

    /// The guest is as an action needs it.
    pub fn ready(&self, action: &str) {
        self.sim.change(|cluster| {
            let guest = cluster.guest_mut(self.vm).unwrap();
            guest.lock = None;
            // What an earlier call asked the HA manager for is over.
            guest.ha = guest.ha.take().map(|_| "started".to_owned());
            guest.state = match action {
                "start" => State::Stopped,
                "resume" => State::Paused,
                _ => State::Running,
            };
        });
    }
}

fn names(vm: u32, ct: u32, node: &str, storage: &str, upid: String) -> [(&'static str, String); 5] {
    [
        ("$VM", vm.to_string()),
        ("$CT", ct.to_string()),
        ("$NODE", node.to_owned()),
        ("$STORAGE", storage.to_owned()),
        ("$UPID", upid),
    ]
}

fn seconds() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap()
}

/// A terminal that never stops.
fn flood(text: &str) -> Terminal {
    let says = Terminal::saying(text).says;
    Terminal { answers: says[0].clone(), boots: says.clone(), says, ..Terminal::default() }
}

/// A cluster with much of everything, and a task with a long log.
pub async fn large() -> World {
    let mut cluster = Cluster::generated(NODES, GUESTS, 7);
    let now = seconds();
    for node in cluster.nodes.iter_mut().take(8) {
        let name = node.name.clone();
        node.journal.entries = (0..3000)
            .map(|nth| {
                let message = format!(
                    "{name}: request {nth} failed with error {}: {}",
                    nth * 7919,
                    "a long story ".repeat(12)
                );
                let priority = if nth % 3 == 0 { 3 } else { 6 };
                let at = (now - 3000 + nth) * 1_000_000;
                JournalEntry::new(at, "pvedaemon", priority, &message)
            })
            .collect();
    }
    let storage = cluster.storages.iter_mut().find(|storage| storage.name == "backup").unwrap();
    storage.volumes = (100..5100_u32)
        .map(|vmid| {
            let created = now - u64::from(vmid) * 60;
            let name = format!("vm/{vmid}/{created}");
            let mut backup = Volume::backup(&name, "pbs-vm", 1 << 34, (vmid, created));
            backup.notes = Some("a note that somebody wrote, of the usual length".to_owned());
            backup
        })
        .collect();
    let lines: Vec<String> =
        (0..3000).map(|nth| format!("INFO: {nth} {}", "of a long story ".repeat(10))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let task = Task::ended("pve01", "vzdump", "", "root@pam", (now - 600, now - 540), "job errors")
        .with_log(&lines);
    let upid = task.upid();
    cluster.tasks.push(task);
    let story = "[  OK  ] Started something of a long story.\r\n".repeat(3000);
    let mut vm = Guest::vm(100, "pve01", "web").running(86_400);
    (vm.serial, vm.terminal) = (true, flood(&story));
    let mut container = Guest::ct(101, "pve01", "db").running(86_400);
    container.terminal = flood(&story);
    (cluster.guests[0], cluster.guests[1]) = (vm, container);
    let sim = Sim::start(cluster).await.unwrap();
    let token = (GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
    World::new(sim, token, names(100, 101, "pve01", "backup", upid))
}

/// The demo, with dense text wherever others write, and more of everything that they do.
pub async fn dense(text: Text) -> World {
    let mut cluster = world::cluster(text);
    let now = seconds();
    for (nth, node) in cluster.nodes.iter_mut().enumerate() {
        let n_entries = if nth == 0 { 320 } else { 20 };
        let entries = (0..n_entries).map(|nth: usize| {
            let at = (now - 400 + nth as u64) * 1_000_000;
            JournalEntry::new(at, "kernel", 3, &format!("error: {}", text(nth)))
        });
        node.journal.entries.extend(entries);
        let services = node.services.clone();
        node.services.extend(services.into_iter().cycle().take(60));
        let updates = node.updates.clone();
        node.updates.extend(updates.into_iter().cycle().take(200));
        for nth in 0..60 {
            if let Some(mut other) = node.interfaces.last().cloned() {
                other.name = format!("vmbr{}", 500 + nth);
                node.interfaces.push(other);
            }
        }
    }
    for storage in &mut cluster.storages {
        storage.volumes.extend((0..300_u32).map(|nth| {
            let created = now - u64::from(nth) * 60;
            let name = format!("vm/110/{created}");
            let mut backup = Volume::backup(&name, "pbs-vm", 1 << 34, (110, created));
            backup.notes = Some(text(nth as usize));
            backup
        }));
    }
    let page = (0..300).fold(String::new(), |mut page, nth| {
        let _ = write!(page, "{}\r\n", text(nth));
        page
    });
    for guest in &mut cluster.guests {
        guest.terminal = flood(&page);
        guest.takes = Takes::AtOnce;
        guest.tags.extend(
            (0..40).map(|nth| text(nth).replace(|c: char| c.is_whitespace() || c == ';', "_")),
        );
        for nth in 0..60 {
            guest.details.snapshot(&text(nth), None, 1_790_000_000, &text(nth + 1));
            if let Some(inside) = &mut guest.details.inside
                && let Some(system) = inside.file_systems.first().cloned()
            {
                inside.file_systems.push(system);
            }
        }
    }
    let mut lines = Vec::new();
    for nth in 0..200_usize {
        lines.push(format!("INFO: Starting Backup of VM {} (qemu)", nth + 100));
        lines.push(format!("INFO: VM Name: {}", text(nth)));
        lines.push(format!("ERROR: Backup of VM {} failed - {}", nth + 100, text(nth)));
    }
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let times = |nth: u64| (now - 600 - nth, now - 540 - nth);
    let task = Task::ended("pve1", "vzdump", "", "root@pam", times(0), &text(1)).with_log(&lines);
    let upid = task.upid();
    cluster.tasks.push(task);
    for nth in 1..60_u64 {
        let why = text(usize::try_from(nth).unwrap());
        cluster.tasks.push(Task::ended("pve1", "qmstart", "110", "root@pam", times(nth), &why));
    }
    let sim = Sim::start(cluster).await.unwrap();
    let token = (DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    World::new(sim, token, names(110, 200, "pve1", "pbs", upid))
}

/// Numbers without an order in them.
fn numbers(seed: usize, count: usize) -> impl Iterator<Item = u32> {
    let mut state = u32::try_from(seed).unwrap().wrapping_mul(2_654_435_761) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    })
    .take(count)
}

fn dump(nth: usize) -> String {
    let bytes = numbers(nth, 110).map(|n| format!("{:02x} ", n % 256));
    format!("{:08x}  {}", nth * 16, bytes.collect::<String>())
}

fn trace(nth: usize) -> String {
    let parts = numbers(nth, 12).map(|n| {
        format!("RIP: 0010:slow_{n:x}+0x{:x}/0x{:x} RSP: ffff{n:08x}; ", n % 4096, n % 999)
    });
    parts.collect()
}

fn base64(nth: usize) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    numbers(nth, 400).map(|n| char::from(letters[n as usize % 64])).collect()
}

fn escapes(nth: usize) -> String {
    let marks = numbers(nth, 130).flat_map(|n| ['\\', '"', char::from(33 + (n % 90) as u8)]);
    marks.collect()
}

fn ideographs(nth: usize) -> String {
    numbers(nth, 400).filter_map(|n| char::from_u32(0x4e00 + n % 0x5200)).collect()
}
