//! A guest: a VM or a container, what it is doing, and what it uses.

use std::time::Instant;

use super::{Takes, details::Details};
use crate::cluster::{Screen, Terminal};

/// A VM or a container.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[derive(Debug, Clone)]
pub struct Guest {
    /// Its number, unique in the cluster.
    pub vmid: u32,
    /// VM or container.
    pub kind: Kind,
    /// The node it is on.
    pub node: String,
    /// Its name; `None` if it was created without one, which PVE shows as `VM 100` or `CT100`.
    pub name: Option<String>,
    /// What it is doing.
    pub state: State,
    /// What it is locked by: `backup`, `snapshot`, `migrate`, `suspended` (hibernated), …
    pub lock: Option<String>,
    /// Whether it is a template.
    pub template: bool,
    /// Its tags.
    pub tags: Vec<String>,
    /// The pool it is in.
    pub pool: Option<String>,
    /// Its state with the HA manager (`started`, `stopped`, `error`, …), if that manages it.
    pub ha: Option<String>,
    /// How many virtual CPUs it has.
    pub cores: u32,
    /// Memory it may use, in bytes.
    pub memory: u64,
    /// Swap it may use, in bytes; containers only.
    pub swap: u64,
    /// Size of its root disk, in bytes.
    pub disk: u64,
    /// What it uses.
    pub usage: Usage,
    /// For how long it has been running, in seconds: when the simulator was started, or when the guest was.
    pub uptime: u64,
    /// When it was started, if that was while the simulator ran.
    pub started: Option<Instant>,
    /// When it ran before that, from when to when, in Unix seconds: the databases keep what its figures were.
    pub ran: Vec<(u64, u64)>,
    /// The process on the node, while it runs.
    pub pid: u32,
    /// Whether the guest agent is switched on in its configuration.
    pub agent: bool,
    /// Whether it has a serial port.
    pub serial: bool,
    /// Whether a display is configured; then `clipboard` (null) is in its present state.
    pub display: bool,
    /// Whether memory ballooning is in use.
    pub balloon: bool,
    /// Its disks, by the name of the bus: `scsi0`.
    pub disks: Vec<String>,
    /// Its network interfaces.
    pub nics: Vec<Nic>,
    /// Whether a start fails, and the text that it then fails with.
    pub start_fails: Option<String>,
    /// How long what is asked of it takes.
    pub takes: Takes,
    /// Whether it ignores requests to shut down.
    pub deaf: bool,
    /// What every task of it warns of.
    pub warns: Option<String>,
    /// Its configuration beyond that, its snapshots, and what is inside.
    pub details: Details,
    /// Its text terminal: of a VM only with [`Guest::serial`].
    pub terminal: Terminal,
    /// Its screen; a container's is drawn by vncterm.
    pub screen: Screen,
}

/// What a guest uses.
#[derive(Debug, Clone, Default)]
pub struct Usage {
    /// Share of its own CPUs, 0 to 1.
    pub cpu: f64,
    /// Memory in bytes, as the guest sees it.
    pub memory: u64,
    /// Memory in bytes that it takes from the node; PVE 9 tells it apart. 0 means the same as
    /// `memory`.
    pub host_memory: u64,
    /// Bytes on its root disk; containers only, of a VM the node does not know.
    pub disk: u64,
    /// Swap in bytes; containers only.
    pub swap: u64,
    /// Bytes received since it started.
    pub received: u64,
    /// Bytes sent since it started.
    pub sent: u64,
    /// Bytes read from disks since it started.
    pub read: u64,
    /// Bytes written to disks since it started.
    pub written: u64,
    /// Share of time in which something waited for CPU, in percent (pressure stall information, PVE
    /// 9).
    pub cpu_pressure: f64,
}

/// A network interface of a guest.
#[derive(Debug, Clone)]
pub struct Nic {
    /// The bridge it is on.
    pub bridge: String,
    /// Its VLAN.
    pub tag: Option<u16>,
    /// Its hardware address.
    pub mac: String,
}

/// VM or container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A virtual machine.
    Qemu,
    /// A container.
    Lxc,
}

/// What a guest is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It does not. A hibernated VM is stopped and locked as `suspended`.
    Stopped,
    /// Its QEMU runs, but its CPUs do not.
    Paused,
    /// Its QEMU runs for a backup, the guest itself was not started.
    Prelaunch,
    /// QEMU stopped it because a disk gave an error.
    IoError,
}

impl Guest {
    /// A stopped VM with one core, 1 GiB of memory, a disk of 8 GiB and one interface.
    pub fn vm(vmid: u32, node: &str, name: &str) -> Self {
        Self {
            agent: true,
            balloon: true,
            disks: vec!["scsi0".to_owned()],
            ..Self::of_kind(Kind::Qemu, vmid, node, name)
        }
    }

    /// A stopped container with one core, 1 GiB of memory, 512 MiB of swap and a root disk of 8
    /// GiB.
    pub fn ct(vmid: u32, node: &str, name: &str) -> Self {
        Self { swap: 512 << 20, ..Self::of_kind(Kind::Lxc, vmid, node, name) }
    }

    /// The same guest, running for so many seconds and using a little of everything.
    #[must_use]
    pub fn running(mut self, uptime: u64) -> Self {
        self.state = State::Running;
        self.uptime = uptime;
        self.pid = 1000 + self.vmid;
        if self.usage.memory == 0 {
            self.usage.memory = self.memory / 2;
        }
        if self.usage.cpu == 0.0 {
            self.usage.cpu = 0.02;
        }
        if self.kind == Kind::Lxc && self.usage.disk == 0 {
            self.usage.disk = self.disk / 4;
        }
        self
    }

    /// Whether QEMU, or the container's init, has a process.
    pub fn is_up(&self) -> bool {
        self.state != State::Stopped
    }

    fn of_kind(kind: Kind, vmid: u32, node: &str, name: &str) -> Self {
        let [_, a, b, c] = vmid.to_be_bytes();
        Self {
            vmid,
            kind,
            node: node.to_owned(),
            name: Some(name.to_owned()),
            state: State::Stopped,
            lock: None,
            template: false,
            tags: Vec::new(),
            pool: None,
            ha: None,
            cores: 1,
            memory: 1 << 30,
            swap: 0,
            disk: 8 << 30,
            usage: Usage::default(),
            uptime: 0,
            started: None,
            ran: Vec::new(),
            pid: 0,
            agent: false,
            serial: false,
            display: false,
            balloon: false,
            disks: Vec::new(),
            nics: vec![Nic {
                bridge: "vmbr0".to_owned(),
                tag: None,
                mac: format!("BC:24:11:{a:02X}:{b:02X}:{c:02X}"),
            }],
            start_fails: None,
            takes: Takes::AtOnce,
            deaf: false,
            warns: None,
            details: Details::default(),
            terminal: Terminal::default(),
            screen: Screen::default(),
        }
    }
}

impl Kind {
    /// `qemu` or `lxc`, as in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Lxc => "lxc",
        }
    }
}

impl State {
    /// `running` or `stopped`: all that the lists can tell.
    pub fn status(self) -> &'static str {
        if self == Self::Stopped { "stopped" } else { "running" }
    }

    /// What QEMU says: `paused`, `prelaunch`, `io-error`, …
    pub fn qmp(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Paused => "paused",
            Self::Prelaunch => "prelaunch",
            Self::IoError => "io-error",
        }
    }
}
