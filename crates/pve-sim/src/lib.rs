//! A simulated cluster of Proxmox VE (PVE) over real HTTPS, for tests and for trying things without
//! PVE.
//!
//! A [`Cluster`] describes the world: nodes, guests, storages, tokens and what they may do.
//! [`Sim::start`] serves it on a port of this machine, with a certificate of its own, and answers
//! as a PVE 9.2.11 server was recorded to answer: status lines with PVE's reason phrases, the same
//! headers, keys in random order, lists that shrink silently with the asking token's rights, 595
//! for nodes that are gone. [`Rule`]s put faults in front of it, [`Sim::change`] alters the world
//! while it runs, and [`Sim::requests`] tells what was asked.
//!
//! ```
//! # async fn example() -> std::io::Result<()> {
//! use pve_sim::{Cluster, Rule, Sim};
//!
//! let sim = Sim::start(Cluster::demo()).await?;
//! sim.answer(Rule::get("/nodes").status(595, "No route to host").times(1));
//! sim.change(|cluster| cluster.quorate = false);
//! assert!(sim.requests().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! **Invariants:**
//! * It knows neither the client nor the server of this project, so that it cannot share a mistake
//!   with them.
//! * What it answers was recorded from a real server or is said to be read or guessed where it is
//!   written.
//! * It never sleeps on its own account, except for the delays that [`Options`] switch on.
//! * An endpoint is one row of the table in `endpoints` and one function in a file of its subject.

mod answer;
mod cluster;
mod console;
mod damage;
mod date;
mod endpoints;
mod figures;
mod history;
mod http;
mod json;
mod options;
mod permission;
#[cfg(any(test, feature = "recordings"))]
mod record;
#[cfg(any(test, feature = "recordings"))]
mod recordings;
mod rule;
mod shared;
mod sim;
#[cfg(test)]
mod tests;
mod tls;

pub use cluster::{
    BackupJob, Ceph, Details, FileSystem, Inside, Interface, Replication, Snapshot, Zone,
};
pub use cluster::{
    Cluster, ClusterLogEntry, DEMO_AUDITOR_ID, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Deed,
    GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Guest, Journal, JournalEntry, Kind, LAB_SECRET,
    LAB_TOKENS, Nic, Node, Program, Screen, ScreenFault, Service, State, Storage, Subscription,
    Takes, Task, Terminal, TerminalFault, Token, Update, Usage, User, Version, Volume,
};
pub use damage::Damage;
pub use options::Options;
pub use permission::{Grant, Privileges, Role};
#[cfg(any(test, feature = "recordings"))]
pub use recordings::{RecordedState, Recordings};
pub use rule::{Pattern, Rule};
pub use sim::{Seen, Sim};
pub use tls::CertificateKind;
