//! A node: the machine, what runs on it, and what it says of itself.

use super::network::Interface;
use crate::cluster::{Journal, Version};

/// A node of the cluster.
#[derive(Debug, Clone)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its number in the cluster, from 1.
    pub id: u32,
    /// Whether it can be reached.
    pub online: bool,
    /// Its address in the cluster's network; `None` if the cluster never learnt it.
    pub address: Option<String>,
    /// Its votes in the quorum.
    pub votes: u32,
    /// The SHA-256 fingerprint of its certificate; `None` if the cluster never learnt it.
    pub fingerprint: Option<String>,
    /// Whether its pvestatd is dead: reachable, but the cluster knows no figures of it and calls it
    /// `unknown`.
    pub silent: bool,
    /// Whether it is in maintenance mode.
    pub maintenance: bool,
    /// Its subscription.
    pub subscription: Subscription,
    /// Logical CPUs.
    pub cpus: u32,
    /// CPU sockets.
    pub sockets: u32,
    /// The CPU's model.
    pub cpu_model: String,
    /// Share of its CPUs in use, 0 to 1.
    pub cpu: f64,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: [f64; 3],
    /// Memory in bytes.
    pub memory: u64,
    /// Memory in use, in bytes.
    pub memory_used: u64,
    /// Swap in bytes.
    pub swap: u64,
    /// Swap in use, in bytes.
    pub swap_used: u64,
    /// Size of the root file system, in bytes.
    pub root: u64,
    /// Used bytes of the root file system.
    pub root_used: u64,
    /// For how long it has been up, in seconds.
    pub uptime: u64,
    /// The kernel's release, `6.17.4-2-pve`.
    pub kernel: String,
    /// `efi` or `legacy-bios`.
    pub boot_mode: String,
    /// Its services.
    pub services: Vec<Service>,
    /// Updates that wait to be installed.
    pub updates: Vec<Update>,
    /// Its network interfaces; if there are none here, it has the usual ones.
    pub interfaces: Vec<Interface>,
    /// What was changed in its network and is not applied, as a diff.
    pub network_changes: Option<String>,
    /// Its journal.
    pub journal: Journal,
    /// How far its clock is set ahead of UTC, in minutes: its time zone.
    pub utc_offset: i32,
    /// How far its clock is ahead, in seconds.
    pub clock_ahead: i64,
    /// In how many days its certificate ends, if not when the one of the simulator does.
    pub certificate_days: Option<i64>,
    /// Its version of PVE, if not that of the cluster.
    pub version: Option<Version>,
}

/// A service of a node.
#[derive(Debug, Clone)]
pub struct Service {
    /// Its name, `pveproxy`.
    pub name: String,
    /// What it is.
    pub description: String,
    /// `running`, `dead`, `failed`, …
    pub state: String,
    /// `enabled`, `disabled`, `not-found`, …
    pub unit_state: String,
}

/// An update that waits.
#[derive(Debug, Clone)]
pub struct Update {
    /// The package.
    pub package: String,
    /// What it is.
    pub title: String,
    /// The version that is installed.
    pub installed: String,
    /// The version that waits.
    pub available: String,
    /// Where it comes from: `Proxmox`, `Debian`.
    pub origin: String,
}

/// What a node pays for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Subscription {
    /// Nothing; PVE says `notfound`.
    #[default]
    None,
    /// A subscription that is valid until this day, `2027-05-01`.
    Active {
        /// The product, `Proxmox VE Community Subscription 1 CPU/year`.
        product: String,
        /// The letter in `level`: `c`, `b`, `s`, `p`.
        level: String,
        /// The day it ends.
        until: String,
    },
}

impl Node {
    /// A quiet, healthy machine with 8 CPUs and 32 GiB of memory.
    pub fn new(name: &str, id: u32) -> Self {
        Self {
            name: name.to_owned(),
            id,
            online: true,
            address: Some(format!("192.0.2.{id}")),
            votes: 1,
            fingerprint: Some(fingerprint_of(name)),
            silent: false,
            maintenance: false,
            subscription: Subscription::None,
            cpus: 8,
            sockets: 1,
            cpu_model: "AMD EPYC".to_owned(),
            cpu: 0.05,
            load: [0.4, 0.35, 0.3],
            memory: 32 << 30,
            memory_used: 12 << 30,
            swap: 8 << 30,
            swap_used: 0,
            root: 100 << 30,
            root_used: 20 << 30,
            uptime: 86_400 * 30,
            kernel: "6.17.4-2-pve".to_owned(),
            boot_mode: "efi".to_owned(),
            services: Service::usual(),
            updates: Vec::new(),
            interfaces: Vec::new(),
            network_changes: None,
            journal: Journal::default(),
            utc_offset: 0,
            clock_ahead: 0,
            certificate_days: None,
            version: None,
        }
    }

    /// What `level` says: empty without a subscription.
    pub fn level(&self) -> &str {
        match &self.subscription {
            Subscription::None => "",
            Subscription::Active { level, .. } => level,
        }
    }
}

impl Service {
    /// A service.
    pub fn new(name: &str, description: &str, state: &str, unit_state: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            state: state.to_owned(),
            unit_state: unit_state.to_owned(),
        }
    }

    /// What systemd calls it: `active`, `inactive` or `failed`.
    pub fn active_state(&self) -> &str {
        match self.state.as_str() {
            "running" => "active",
            "failed" => "failed",
            _ => "inactive",
        }
    }

    fn usual() -> Vec<Self> {
        let running = [
            ("chrony", "chrony, an NTP client/server"),
            ("corosync", "Corosync Cluster Engine"),
            ("cron", "Regular background program processing daemon"),
            ("ksmtuned", "Kernel Samepage Merging (KSM) Tuning Daemon"),
            ("lxcfs", "FUSE filesystem for LXC"),
            ("postfix", "Postfix Mail Transport Agent (instance -)"),
            ("proxmox-firewall", "Proxmox nftables firewall"),
            ("pve-cluster", "The Proxmox VE cluster filesystem"),
            ("pve-firewall", "Proxmox VE firewall"),
            ("pve-ha-crm", "PVE Cluster HA Resource Manager Daemon"),
            ("pve-ha-lrm", "PVE Local HA Resource Manager Daemon"),
            ("pve-lxc-syscalld", "Proxmox VE LXC Syscall Daemon"),
            ("pvedaemon", "PVE API Daemon"),
            ("pvefw-logger", "Proxmox VE firewall logger"),
            ("pveproxy", "PVE API Proxy Server"),
            ("pvescheduler", "Proxmox VE scheduler"),
            ("pvestatd", "PVE Status Daemon"),
            ("qmeventd", "PVE Qemu Event Daemon"),
            ("spiceproxy", "PVE SPICE Proxy Server"),
            ("sshd", "OpenBSD Secure Shell server"),
            ("systemd-journald", "Journal Service"),
        ];
        let absent =
            [("syslog", "syslog.service"), ("systemd-timesyncd", "systemd-timesyncd.service")];
        let running = running.map(|(name, text)| Self::new(name, text, "running", "enabled"));
        let absent = absent.map(|(name, text)| Self::new(name, text, "dead", "not-found"));
        running.into_iter().chain(absent).collect()
    }
}

/// A fingerprint that looks like one and is always the same for a name.
fn fingerprint_of(name: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
    crate::tls::colons(digest.as_ref())
}
