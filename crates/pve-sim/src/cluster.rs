//! The simulated world: nodes, guests, storages, pools, tokens and tasks, as plain values that a
//! test may change.
//!
//! **Invariants:** nothing here knows HTTP or JSON. Figures are those of the moment the simulator
//! started; how they move from then on is decided in [`crate::figures`], so that a world that does
//! not move answers the same for ever.

mod changes;
mod console;
mod demo;
mod demo_logs;
mod details;
mod generated;
mod guest;
mod incident;
mod jobs;
mod journal;
mod lab;
mod network;
mod node;
mod pending;
mod storage;
mod task;
mod volume;

pub use console::{Program, Screen, ScreenFault, Terminal, TerminalFault};
pub use demo::{DEMO_AUDITOR_ID, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET};
pub use details::{Details, FileSystem, Inside, Snapshot};
pub use generated::{GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET};
pub use guest::{Guest, Kind, Nic, State, Usage};
pub use jobs::{BackupJob, Ceph, Replication};
pub use journal::{ClusterLogEntry, Journal, JournalEntry};
pub use lab::{LAB_SECRET, LAB_TOKENS};
pub(crate) use network::Port;
pub use network::{Interface, Zone};
pub use node::{Node, Service, Subscription, Update};
pub(crate) use pending::{Change, Pending};
pub use pending::{Deed, Takes};
pub use storage::Storage;
pub use task::Task;
pub use volume::Volume;

use crate::permission::{Grant, Role};

/// A cluster of Proxmox VE, or a single host.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// The cluster's name; `None` is a host that stands alone.
    pub name: Option<String>,
    /// Its nodes. The simulator answers as the first of them, unless [`crate::Options::node`] says
    /// otherwise.
    pub nodes: Vec<Node>,
    /// Its VMs and containers, in any order.
    pub guests: Vec<Guest>,
    /// Its storages.
    pub storages: Vec<Storage>,
    /// Its pools. Which guests are in them is written in the guests.
    pub pools: Vec<String>,
    /// Users, as far as they are in groups or disabled. A user without an entry here is enabled.
    pub users: Vec<User>,
    /// The API tokens that are let in.
    pub tokens: Vec<Token>,
    /// Who may do what.
    pub acl: Vec<Grant>,
    /// Tasks, finished and running.
    pub tasks: Vec<Task>,
    /// What is under way.
    pub(crate) pending: Vec<Pending>,
    /// What was asked of guests and accepted, in order.
    pub deeds: Vec<Deed>,
    /// The jobs that make backups.
    pub backup_jobs: Vec<BackupJob>,
    /// The jobs that copy disks to other nodes.
    pub replication: Vec<Replication>,
    /// Ceph, if it has it.
    pub ceph: Option<Ceph>,
    /// The zones of its software-defined network.
    pub zones: Vec<Zone>,
    /// What its daemons wrote down together, the oldest first.
    pub log: Vec<ClusterLogEntry>,
    /// Whether the cluster has quorum.
    pub quorate: bool,
    /// What version of PVE it runs.
    pub version: Version,
    /// Whether pvedaemon is dead: then half of the API answers 595.
    pub pvedaemon_down: bool,
    /// Whether the cluster file system is dead: then every request fails with 500.
    pub pmxcfs_down: bool,
    /// Whether figures move with time.
    pub moves: bool,
}

/// A version of Proxmox VE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
    /// The commit it was built from.
    pub repoid: String,
}

/// A user.
#[derive(Debug, Clone)]
pub struct User {
    /// Its id, `ops@pve`.
    pub id: String,
    /// The groups it is in.
    pub groups: Vec<String>,
    /// Whether it may come in.
    pub enabled: bool,
}

/// An API token.
#[derive(Debug, Clone)]
pub struct Token {
    /// Its whole id, `ops@pve!rw`.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// Whether it has rights of its own (privilege separation) instead of its user's.
    pub separated: bool,
    /// Whether it has expired.
    pub expired: bool,
}

impl Cluster {
    /// A host or a cluster of these nodes, with nothing on them and nobody allowed in.
    pub fn of_nodes(name: Option<&str>, nodes: &[&str]) -> Self {
        let nodes = nodes.iter().zip(1..).map(|(node, id)| Node::new(node, id)).collect();
        Self { name: name.map(ToOwned::to_owned), nodes, quorate: true, ..Self::default() }
    }

    /// Lets a token in that has its user's rights, which [`Self::grant`] gives.
    pub fn token(&mut self, id: &str, secret: &str) -> &mut Self {
        let (id, secret) = (id.to_owned(), secret.to_owned());
        self.tokens.push(Token { id, secret, separated: false, expired: false });
        self
    }

    /// Lets a token in that has rights of its own.
    pub fn separated_token(&mut self, id: &str, secret: &str) -> &mut Self {
        let (id, secret) = (id.to_owned(), secret.to_owned());
        self.tokens.push(Token { id, secret, separated: true, expired: false });
        self
    }

    /// Gives a user, a group (`@staff`) or a separated token a role on a path and all below it.
    pub fn grant(&mut self, path: &str, who: &str, role: Role) -> &mut Self {
        let (path, who) = (path.to_owned(), who.to_owned());
        self.acl.push(Grant { path, who, role, propagate: true });
        self
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The node of this name, to change it.
    pub fn node_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.nodes.iter_mut().find(|node| node.name == name)
    }

    /// The guest of this number.
    pub fn guest(&self, vmid: u32) -> Option<&Guest> {
        self.guests.iter().find(|guest| guest.vmid == vmid)
    }

    /// The guest of this number, to change it.
    pub fn guest_mut(&mut self, vmid: u32) -> Option<&mut Guest> {
        self.guests.iter_mut().find(|guest| guest.vmid == vmid)
    }
}

impl Version {
    /// PVE 8.4, the last before 9.
    pub fn v8_4() -> Self {
        Self { major: 8, minor: 4, patch: 14, repoid: "b502d23c55afcba1".to_owned() }
    }

    /// PVE 9.0.
    pub fn v9_0() -> Self {
        Self { major: 9, minor: 0, patch: 11, repoid: "3bf5476b8a4699e2".to_owned() }
    }

    /// PVE 9.2, the one that was recorded.
    pub fn v9_2() -> Self {
        Self { major: 9, minor: 2, patch: 11, repoid: "14a22df35955d97d".to_owned() }
    }

    /// Whether it is at least this one.
    pub fn at_least(&self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }

    /// `9.2`.
    pub fn release(&self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// `9.2.11`.
    pub fn full(&self) -> String {
        format!("{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Default for Version {
    fn default() -> Self {
        Self::v9_2()
    }
}
