//! The cluster that was recorded (PVE 9.2.11): two nodes, one of them off, and a guest for most
//! things that can be wrong with a guest.
//!
//! **Invariant:** every token sees here what it saw there; the tests beside the endpoints compare
//! answer by answer.

use crate::{
    cluster::{
        Cluster, ClusterLogEntry, Guest, Inside, Journal, JournalEntry, Node, Service, Storage,
        Task, User, Volume,
    },
    permission::Role,
};

/// The tokens of [`Cluster::lab`], with the rights that they had when they were recorded: all, none
/// of its own, read only, expired, an operator's, an operator's on one guest and one node, an
/// operator's without rights of its own, none at all, and one of a disabled user.
pub const LAB_TOKENS: [&str; 9] = [
    "root@pam!lab",
    "root@pam!sep",
    "monitor@pve!ro",
    "monitor@pve!expired",
    "ops@pve!rw",
    "ops@pve!sep",
    "ops@pve!sepnone",
    "nopriv@pve!none",
    "disabled@pve!tok",
];

/// The secret of all tokens of [`Cluster::lab`].
pub const LAB_SECRET: &str = "1ab00000-0000-4000-8000-000000000000";

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// The file system on which everything of the recorded node was.
const ROOT: u64 = 270_553_174_016;
const ROOT_USED: u64 = 30_995_120_128;
/// What may be on the storage `local`.
const EVERYTHING: [&str; 6] = ["backup", "snippets", "vztmpl", "rootdir", "iso", "images"];

impl Cluster {
    /// The recorded cluster, with `pve1` answering and `pve2` off.
    pub fn lab() -> Self {
        let mut lab = Self::of_nodes(Some("lab"), &["pve1", "pve2"]);
        lab.nodes = nodes();
        lab.guests = vms();
        lab.guests.extend(cts());
        lab.storages = storages();
        lab.pools = vec!["prod".to_owned()];
        lab.tasks = tasks();
        lab.log = cluster_log();
        if let Some(node) = lab.node_mut("pve1") {
            node.journal = journal();
        }
        let user = |id: &str, groups: &[&str], enabled| User {
            id: id.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            enabled,
        };
        lab.users = vec![user("ops@pve", &["staff"], true), user("disabled@pve", &[], false)];
        for id in LAB_TOKENS {
            match id {
                "root@pam!sep" | "ops@pve!sep" | "ops@pve!sepnone" => {
                    lab.separated_token(id, LAB_SECRET)
                }
                _ => lab.token(id, LAB_SECRET),
            };
        }
        lab.tokens.iter_mut().for_each(|token| token.expired = token.id.ends_with("!expired"));
        let operator = [
            "Datastore.Audit",
            "Pool.Audit",
            "Sys.Audit",
            "Sys.Syslog",
            "VM.Audit",
            "VM.Console",
            "VM.PowerMgmt",
            "VM.Snapshot",
        ];
        let operator = Role::new("LabOperator", &operator);
        lab.grant("/", "monitor@pve", Role::auditor())
            .grant("/", "@staff", operator.clone())
            .grant("/vms/100", "ops@pve!sep", operator)
            .grant("/nodes/pve1", "ops@pve!sep", Role::auditor())
            .grant(
                "/sdn/zones/localnetwork/vmbr0",
                "ops@pve!sep",
                Role::new("PVESDNUser", &["SDN.Audit", "SDN.Use"]),
            );
        lab
    }
}

fn nodes() -> Vec<Node> {
    let mut pve1 = Node::new("pve1", 1);
    pve1.address = Some("192.168.77.11".to_owned());
    pve1.votes = 2;
    pve1.cpus = 2;
    pve1.cpu = 0.019_542_155_220_547_2;
    pve1.load = [0.11, 0.36, 0.48];
    (pve1.memory, pve1.memory_used) = (25_276_514_304, 2_235_412_480);
    (pve1.swap, pve1.swap_used) = (0, 0);
    (pve1.root, pve1.root_used) = (ROOT, ROOT_USED);
    pve1.uptime = 7724;
    "legacy-bios".clone_into(&mut pve1.boot_mode);
    pve1.services = services();
    let mut pve2 = Node::new("pve2", 2);
    pve2.address = Some("192.168.77.12".to_owned());
    pve2.online = false;
    vec![pve1, pve2]
}

fn services() -> Vec<Service> {
    let absent = [
        "chrony",
        "ksmtuned",
        "lxcfs",
        "postfix",
        "proxmox-firewall",
        "pve-lxc-syscalld",
        "syslog",
        "systemd-timesyncd",
    ];
    let change = |mut service: Service| {
        if absent.contains(&service.name.as_str()) {
            service = Service::new(
                &service.name,
                &format!("{}.service", service.name),
                "dead",
                "not-found",
            );
        } else if ["pve-firewall", "pvefw-logger"].contains(&service.name.as_str()) {
            service = Service::new(&service.name, &service.description, "dead", "disabled");
        } else if service.name == "systemd-journald" {
            "static".clone_into(&mut service.unit_state);
        }
        service
    };
    Node::new("pve1", 1).services.into_iter().map(change).collect()
}

fn vms() -> Vec<Guest> {
    let vm = |vmid, name: &str, memory: u64, disk: u64| {
        let mut guest = Guest::vm(vmid, "pve1", name);
        (guest.agent, guest.memory, guest.disk) = (false, memory * MIB, disk * GIB);
        guest.details.set("cores", "").set("kvm", "0");
        if disk == 0 {
            guest.disks.clear();
        }
        if !matches!(vmid, 100 | 101) {
            guest.nics.clear();
        }
        guest
    };
    let tagged = |mut guest: Guest, tags: &[&str]| {
        guest.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        guest
    };
    let failing = |mut guest: Guest, text: &str| {
        guest.start_fails = Some(text.to_owned());
        guest
    };

    let mut web = tagged(vm(100, "web01", 256, 1), &["prod", "web"]).running(145);
    (web.agent, web.serial, web.pid) = (true, true, 5977);
    (web.usage.cpu, web.usage.memory) = (0.029_355_845_090_926_6, 240_182_272);
    (web.usage.received, web.usage.sent, web.usage.read) = (9198, 866, 512);
    web.usage.cpu_pressure = 0.24;

    let mut db = tagged(vm(101, "db01", 256, 1), &["db", "prod"]).running(1281);
    (db.cores, db.serial, db.display, db.pid) = (2, true, true, 4005);
    (db.usage.cpu, db.usage.memory) = (0.009_241_654_936_032_44, 215_969_792);
    (db.usage.received, db.usage.sent, db.usage.read) = (84_670, 1076, 512);
    db.usage.cpu_pressure = 0.17;
    web.pool = Some("prod".to_owned());
    db.pool = Some("prod".to_owned());

    let lab_kernel = "-kernel /opt/lab/vmlinuz -initrd /opt/lab/initrd.img -append 'console=tty0 console=ttyS0 quiet'";
    for guest in [&mut web, &mut db] {
        guest.details.set("args", lab_kernel).set("scsihw", "virtio-scsi-pci");
    }
    web.details.set("cores", "1").set("onboot", "1").set("description", "web server\nsecond line");
    web.details.inside = Some(inside());
    db.details.set("cores", "2").set("sockets", "1");
    let mut template = tagged(vm(102, "tmpl-debian", 128, 1), &["template"]);
    template.template = true;
    let mut locked = vm(105, "locked-vm", 128, 0);
    locked.lock = Some("backup".to_owned());
    locked.details.set("protection", "1");
    let mut empty = vm(107, "noguestos", 64, 0);
    (empty.agent, empty.balloon) = (true, false);
    empty.details.set("description", "changed by api 2").set("ostype", "other");
    let mut elsewhere = vm(110, "on-pve2", 64, 4);
    "pve2".clone_into(&mut elsewhere.node);
    let no_kvm = "KVM virtualisation configured, but not available. Either disable in VM configuration or \
                  enable in BIOS.";
    vec![
        web,
        db,
        template,
        failing(
            vm(103, "broken-disk", 128, 1),
            "volume 'data:103/vm-103-disk-0.qcow2' does not exist",
        ),
        failing(vm(104, "kvm-only", 128, 0), no_kvm),
        locked,
        failing(vm(106, "nas-vm", 128, 0), "storage 'nas' is not online"),
        empty,
        failing(vm(108, "vlan-fail", 128, 0), "start failed: QEMU exited with code 1"),
        elsewhere,
    ]
}

/// A kernel with an initial file system and an agent: it has neither an address of its own nor a file
/// system to show.
fn inside() -> Inside {
    let os = [
        ("kernel-release", "6.12.117+deb13-cloud-amd64"),
        ("kernel-version", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1 (2026-11-12)"),
        ("machine", "x86_64"),
    ];
    let mac = "bc:24:11:07:e3:6b";
    Inside::new("labvm", &os).interface("eth0", mac, &[("fe80::be24:11ff:fe07:e36b", 64)])
}

fn cts() -> Vec<Guest> {
    let ct = |vmid, name: &str, swap: u64| {
        let mut guest = Guest::ct(vmid, "pve1", name);
        (guest.cores, guest.memory, guest.disk) = (2, 128 * MIB, 4 * GIB);
        guest.swap = swap * MIB;
        guest
            .details
            .set("cores", "")
            .set("rootfs", &format!("local:{vmid}/subvol-{vmid}-disk-0.subvol,size=0T"));
        if vmid > 201 {
            guest.nics.clear();
        }
        guest
    };
    let mut web = ct(200, "ct-web", 128);
    web.tags = vec!["ct".to_owned(), "prod".to_owned()];
    web.details.set("cores", "1").set("features", "nesting=1");
    web.pool = Some("prod".to_owned());
    (web.cores, web.memory, web.disk) = (1, 256 * MIB, ROOT);
    (web.usage.memory, web.usage.disk) = (23_296_000, ROOT_USED);
    (web.usage.received, web.usage.sent) = (219_034, 1146);
    (web.usage.read, web.usage.written) = (12_083_200, 958_464);
    web = web.running(3259);
    (web.pid, web.usage.cpu) = (339, 0.000_015_095_291_252);
    let mut db = ct(201, "ct-db", 0);
    db.tags = vec!["db".to_owned(), "prod".to_owned()];
    db.details.set("onboot", "0");
    let mut template = ct(202, "ct-tmpl", 512);
    template.template = true;
    let mut broken = ct(203, "ct-broken", 512);
    broken.start_fails =
        Some("volume 'local:203/subvol-203-disk-0.subvol' does not exist".to_owned());
    let mut locked = ct(204, "ct-locked", 512);
    locked.lock = Some("snapshot".to_owned());
    vec![web, db, template, broken, locked]
}

fn storages() -> Vec<Storage> {
    let of = |name: &str, plugin: &str, content: &[&str], nodes: &[&str]| {
        let mut storage = Storage::new(name, plugin, content);
        (storage.total, storage.used) = (ROOT, ROOT_USED);
        storage.nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        storage
    };
    let mut nas = of("nas", "nfs", &["backup", "images"], &[]);
    nas.shared = true;
    nas.dead_on = vec!["pve1".to_owned(), "pve2".to_owned()];
    let mut old = of("olddisk", "dir", &["images"], &[]);
    old.disabled = true;
    let (mut local, mut data) =
        (of("local", "dir", &EVERYTHING, &[]), of("data", "dir", &["iso", "images"], &["pve1"]));
    local.volumes = vec![
        Volume::image("iso", "tiny.iso", 1_048_576, 1_796_014_476),
        Volume::backup(
            "backup/vzdump-lxc-201-2026_11_30-05_11_13.tar.zst",
            "tar.zst",
            34_081_054,
            (201, 1_796_015_473),
        ),
        Volume::backup(
            "backup/vzdump-lxc-201-2026_11_30-06_23_37.tar.zst",
            "tar.zst",
            34_173_870,
            (201, 1_796_019_817),
        ),
    ];
    data.volumes = vec![Volume::disk(
        "images",
        "102/base-102-disk-0.qcow2",
        "qcow2",
        GIB,
        (102, 1_796_014_537),
    )];
    vec![local, data, nas, of("pve2only", "dir", &["images"], &["pve2"]), old]
}

/// A day in the life of the recorded cluster: what ended well, with warnings, badly, and not at
/// all.
fn tasks() -> Vec<Task> {
    let ends = [
        ("vzstart", "202", "ops@pve!rw", "you can't start a CT if it's a template"),
        ("vzstart", "204", "ops@pve!rw", "CT is locked (snapshot)"),
        (
            "vzstart",
            "203",
            "ops@pve!rw",
            "volume 'local:203/subvol-203-disk-0.subvol' does not exist",
        ),
        ("vzshutdown", "201", "ops@pve!rw", "OK"),
        ("vzreboot", "201", "ops@pve!rw", "WARNINGS: 1"),
        ("qmstop", "107", "root@pam!lab", "OK"),
        ("qmstart", "107", "root@pam!lab", "OK"),
        ("qmshutdown", "107", "ops@pve!rw", "unexpected status"),
        ("vzdump", "107", "root@pam!lab", "job errors"),
        ("vzdump", "201", "root@pam!lab", "OK"),
        ("vncproxy", "100", "ops@pve!rw", "connection timed out"),
        ("startall", "", "root@pam", "OK"),
    ];
    let started = 1_796_019_700;
    let nth = |(nth, (kind, id, user, status)): (u64, (&str, &str, &str, &str))| {
        let start = started + nth * 7;
        Task::ended("pve1", kind, id, user, (start, start + nth % 3), status)
    };
    let mut tasks: Vec<Task> = (0..).zip(ends.into_iter().cycle().take(60)).map(nth).collect();
    let now = started + 600;
    for vmid in ["101", "200"] {
        tasks.push(
            Task::ended("pve1", "vncproxy", vmid, "ops@pve!rw", (now, now), "").still_running(),
        );
    }
    // The one whose status and log were recorded.
    let mut warned = Task::ended(
        "pve1",
        "vzreboot",
        "201",
        "ops@pve!rw",
        (1_796_020_065, 1_796_020_068),
        "WARNINGS: 1",
    );
    (warned.pid, warned.pstart) = (0x1C09, 0x000B_F48D);
    tasks.push(warned.with_log(&[
        "WARN: Systemd 257 detected. You may need to enable nesting.",
        "TASK WARNINGS: 1",
    ]));
    tasks
}

/// The journal up to the entry that was the last when it was recorded, number `1a0d`.
fn journal() -> Journal {
    let lines = [
        ("pvestatd", "storage 'nas' is not online"),
        ("pvedaemon", "storage 'nas' is not online"),
        ("pveproxy", "worker 6719 started"),
        ("systemd", "systemd-timedated.service: Deactivated successfully."),
    ];
    let entries = (0..50u64).zip(lines.into_iter().cycle()).map(|(nth, (identifier, text))| {
        // The last fifteen are from `1796019977` on.
        let seconds = 1_796_019_977 + 15 + nth - 50;
        JournalEntry::new(seconds * 1_000_000 + 47_031, identifier, 6, text)
    });
    Journal { filler: 0x1A0D - 49, entries: entries.collect() }
}

/// Fifty entries, all of which the recorded operator may see.
fn cluster_log() -> Vec<ClusterLogEntry> {
    let entry = |nth: u64| ClusterLogEntry {
        time: 1_796_019_778 + nth,
        node: "pve1".to_owned(),
        user: "root@pam!lab".to_owned(),
        tag: "pvedaemon".to_owned(),
        priority: 6,
        message: "starting task UPID:pve1:000018A0:000B97BD:6B0D1674:vncproxy:107:root@pam!lab:"
            .to_owned(),
    };
    (0..50).map(entry).collect()
}
