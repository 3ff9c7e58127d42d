//! What the checks judge, and how it is asked for.
//!
//! First the list of nodes, alone, since a wrong token costs PVE's 3 s each time. Then everything that the
//! cluster's file system answers at once. Then the nodes, a few side by side, each with its own time (see
//! [`node`]), while the storages that hold backups are read one after the other ([`volumes`]). **The number
//! of requests is bounded:** some 20, at most 10 for each node that is online, and two fixed budgets.

pub(super) mod ask;
pub(super) mod node;
pub(super) mod volumes;

use std::{collections::BTreeSet, time::Duration};

use futures_util::join;
use pve_client::{
    NodeName, Reader, VmId, access, backup, ceph,
    cluster::{self, ClusterStatus, ConfigNode, HaRow, NodeResource},
    guest, node as pve_node, replication,
};

use self::{
    ask::Known,
    node::NodeFacts,
    volumes::{BackupList, SharedDisks},
};
use crate::{
    call::Call,
    failure::Failure,
    in_order::InOrder as _,
    lookup::{
        node::none_listed,
        storage::{self, Storages},
    },
    rights::{Extent, Rights},
};

/// How long what the cluster's file system answers may take, in seconds.
const CLUSTER_SECONDS: u64 = 12;
/// How long Ceph may take, which hangs where its monitors do.
const CEPH_SECONDS: u64 = 6;

/// What is left of a call's time after the last answer.
const JUDGING: Duration = Duration::from_secs(3);

/// From where on something is a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Of storages and root disks, in percent.
    pub(super) full: f64,
    /// Of memory, in percent.
    pub(super) memory: f64,
    /// The age of the newest backup, in days.
    pub(super) backup_days: i64,
}

/// Everything that was asked for, or why it could not be had.
#[derive(Debug)]
pub(super) struct Facts {
    /// The time by this machine's clock, in seconds since 1970.
    pub(super) now: i64,
    pub(super) limits: Limits,
    /// By name.
    pub(super) nodes: Vec<NodeFacts>,
    pub(super) rights: Known<Rights>,
    pub(super) status: Known<ClusterStatus>,
    pub(super) votes: Known<Vec<ConfigNode>>,
    pub(super) resources: Known<Vec<NodeResource>>,
    pub(super) guests: Known<Vec<guest::Listed>>,
    pub(super) storages: Known<Storages>,
    pub(super) ha: Known<Vec<HaRow>>,
    pub(super) jobs: Known<Vec<backup::Job>>,
    /// The guests that no backup job has.
    pub(super) not_backed_up: Known<BTreeSet<VmId>>,
    pub(super) replication: Known<Vec<replication::Job>>,
    /// `None` where there is no Ceph.
    pub(super) ceph: Known<Option<ceph::Status>>,
    /// The lists of backups that were read, and those that could not be.
    pub(super) backups: Vec<BackupList>,
    /// The disks on storages that all nodes share.
    pub(super) shared_disks: Vec<SharedDisks>,
    /// How many stopped guests nobody looked into to see whether they start at boot.
    pub(super) n_configs_left: usize,
}

impl Facts {
    /// Asks for everything.
    pub(super) async fn gather(pve: &Reader, call: &Call, limits: Limits) -> Result<Self, Failure> {
        // What came by then has to be put together.
        let end = call.deadline.checked_sub(JUDGING).unwrap_or(call.deadline);
        let (call, pve) = (&Call { deadline: end, ..call.clone() }, &pve.until(end));
        let listed = pve.get(pve_node::list()).await;
        let mut listed = listed.map_err(|error| Failure::from_pve("list the nodes", &error))?;
        if listed.is_empty() {
            return Err(none_listed());
        }
        listed.order_by(|a, b| a.node.cmp(&b.node));
        let part = pve.until(call.part(CLUSTER_SECONDS));
        let (guests, storages, status, votes, resources, ha, rest) = join!(
            part.get(guest::list()),
            storage::all(&part),
            part.get(cluster::status()),
            part.get(cluster::config_nodes()),
            part.get(cluster::node_resources()),
            part.get(cluster::ha_status_current()),
            rest(&part),
        );
        let (rights, jobs, not_backed_up, replication) = rest;
        let mut facts = Self {
            now: call.now.as_second(),
            limits,
            nodes: listed.into_iter().filter_map(NodeFacts::new).collect(),
            rights: rights.map(Rights),
            status: known(status),
            votes: known(votes),
            resources: known(resources),
            guests: known(guests),
            storages: storages.map_err(|failure| failure.reason_of("list the storages").to_owned()),
            ha: known(ha),
            jobs,
            not_backed_up,
            replication,
            ceph: Ok(None),
            backups: Vec::new(),
            shared_disks: Vec::new(),
            n_configs_left: 0,
        };
        let plans = facts.plan();
        let wanted = volumes::wanted(&facts);
        let (answers, ceph, (backups, shared_disks)) = join!(
            node::ask_all(pve, call, plans),
            ceph_status(pve.until(call.part(CEPH_SECONDS))),
            volumes::ask(pve, call, wanted),
        );
        facts.nodes = answers;
        (facts.ceph, facts.backups, facts.shared_disks) = (ceph, backups, shared_disks);
        Ok(facts)
    }

    /// The nodes that are online.
    pub(super) fn online(&self) -> impl Iterator<Item = &NodeFacts> {
        self.nodes.iter().filter(|node| node.is_online())
    }

    /// Whether a node of this name is known to be there.
    pub(super) fn is_online(&self, name: &NodeName) -> bool {
        self.online().any(|node| &node.name == name)
    }

    /// What is missing where the token may see only a part of the guests. `None` where it sees all.
    pub(super) fn hidden_guests(&self) -> Option<String> {
        match &self.rights {
            Err(reason) => {
                Some(format!("whether this token sees all of them is not known: {reason}"))
            }
            Ok(rights) => match rights.extent("/vms", &["VM.Audit"]) {
                Extent::All => None,
                _ => Some("those on which this token lacks VM.Audit are hidden from it; it needs VM.Audit on /vms".to_owned()),
            },
        }
    }
}

type Rest = (
    Known<access::Permissions>,
    Known<Vec<backup::Job>>,
    Known<BTreeSet<VmId>>,
    Known<Vec<replication::Job>>,
);

async fn rest(part: &Reader) -> Rest {
    let (rights, jobs, not_backed_up, replication) = join!(
        part.get(access::permissions()),
        part.get(backup::jobs()),
        part.get(backup::not_backed_up()),
        part.get(replication::jobs()),
    );
    let not_backed_up = not_backed_up.map(|rows| rows.iter().filter_map(|row| row.vmid).collect());
    (known(rights), known(jobs), known(not_backed_up), known(replication))
}

fn known<T>(answer: Result<T, pve_client::Error>) -> Known<T> {
    answer.map_err(|error| Failure::reason(&error))
}

/// Ceph's status, or `None` where there is no Ceph: PVE then refuses with one of these texts. The first is
/// recorded, the others are read.
async fn ceph_status(part: Reader) -> Known<Option<ceph::Status>> {
    let absent = ["not installed", "not initialized", "not fully configured", "not configured"];
    match part.get(ceph::status()).await {
        Ok(status) => Ok(Some(status)),
        Err(error) => {
            let is_absent = error
                .refusal()
                .is_some_and(|refusal| absent.iter().any(|text| refusal.message.contains(text)));
            if is_absent { Ok(None) } else { Err(Failure::reason(&error)) }
        }
    }
}

impl Facts {
    /// Why the token may not read the journal of this node, where that is known.
    pub(super) fn may_read_journal(&self, node: &NodeName) -> Known<()> {
        let path = format!("/nodes/{node}");
        match &self.rights {
            Ok(rights) if !rights.has(&path, &["Sys.Syslog"]) => {
                Err(format!("the API token lacks the privilege Sys.Syslog on {path}"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the token may read a journal somewhere, or that is not known.
    pub(super) fn may_read_journals(&self) -> bool {
        let none = |rights: &Rights| rights.extent("/nodes", &["Sys.Syslog"]) == Extent::None;
        !self.rights.as_ref().is_ok_and(none)
    }
}

#[cfg(test)]
impl Facts {
    /// A cluster without anything, of which all is known.
    pub(super) fn nothing() -> Self {
        let everything =
            ["Datastore.Allocate", "Datastore.Audit", "Sys.Audit", "VM.Audit", "VM.Config.Disk"];
        let held: access::Held = everything.iter().map(|name| ((*name).to_owned(), true)).collect();
        let roots = ["/", "/nodes", "/storage", "/vms"];
        Self {
            now: 1_800_000_000,
            limits: Limits { full: 85.0, memory: 90.0, backup_days: 7 },
            nodes: Vec::new(),
            rights: Ok(Rights(
                roots.iter().map(|root| ((*root).to_owned(), held.clone().into())).collect(),
            )),
            status: Ok(ClusterStatus::default()),
            votes: Ok(Vec::new()),
            resources: Ok(Vec::new()),
            guests: Ok(Vec::new()),
            storages: Ok(Storages::default()),
            ha: Ok(Vec::new()),
            jobs: Ok(Vec::new()),
            not_backed_up: Ok(BTreeSet::new()),
            replication: Ok(Vec::new()),
            ceph: Ok(None),
            backups: Vec::new(),
            shared_disks: Vec::new(),
            n_configs_left: 0,
        }
    }

    /// The same with these nodes, which are online and of which nothing was asked yet.
    pub(super) fn of_nodes(names: &[&str]) -> Self {
        Self {
            nodes: names.iter().map(|name| NodeFacts::online(name)).collect(),
            ..Self::nothing()
        }
    }
}
