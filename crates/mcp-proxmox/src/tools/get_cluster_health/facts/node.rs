//! What one node is asked: one question after the other, the cheapest first, within the node's own time.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use pve_client::{
    GuestRef, Kind, NodeName, Reader, StorageId, VmId, guest, node as pve_node, replication,
    storage,
    task::{self, Filter, Outcome, Source},
};

use tokio::time::{Duration, Instant};

use super::{
    Facts,
    ask::{Asking, Known},
    volumes,
};
use crate::{
    answer::log_text::Severity,
    call::Call,
    in_order::InOrder as _,
    logs::journal::{self, Query},
    tools::get_cluster_health::{kernel, locks},
};

/// How long the first answer of a node may take, in seconds. A node that hangs costs this and no more.
const FIRST_SECONDS: u64 = 6;
/// How long a node may take in all, in seconds.
const NODE_SECONDS: u64 = 15;
/// How long all nodes may take, in seconds.
const ALL_SECONDS: u64 = 34;
/// Why a node was not asked.
const LATE: &str = "it was not asked: nodes that hang took the time of all";
/// How many nodes are asked at once. The storages take the fourth place that a host has.
const AT_ONCE: usize = 3;
/// How many guests' configurations are read in all, to see whether they start at boot.
const CONFIGS: usize = 48;
/// Up to so many nodes are asked for the exact states of their VMs, which is slow on busy ones.
const EXACT_NODES: usize = 8;
/// How many failed tasks of a node are read.
pub(crate) const TASKS: u32 = 200;
/// How many complaints of a kernel are read.
const COMPLAINTS: usize = 100;
/// How far back tasks are looked for by their start, in seconds. Those that ended within the last day count.
const TASK_START: i64 = 36 * 3600;

/// One node, and what it said.
#[derive(Debug)]
pub(crate) struct NodeFacts {
    pub(crate) name: NodeName,
    pub(crate) listed: pve_node::Listed,
    /// What it said. `None` where it is not online, so that nobody asked.
    pub(crate) said: Option<Said>,
}

/// What a node said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: Known<pve_node::Status>,
    /// How many seconds its clock is ahead of ours.
    pub(crate) ahead: Known<i64>,
    pub(crate) services: Known<Vec<pve_node::Service>>,
    pub(crate) certificates: Known<Vec<pve_node::CertificateInfo>>,
    /// What its kernel complained of in the last day.
    pub(crate) kernel: Known<journal::Read>,
    /// Tasks that failed or warned.
    pub(crate) tasks: Known<Vec<task::Listed>>,
    /// Tasks that run. `None` where no guest of it is locked.
    pub(crate) running: Option<Known<Vec<task::Listed>>>,
    /// `None` where no guest of it is replicated.
    pub(crate) replication: Option<Known<Vec<replication::State>>>,
    /// `None` where no VM of it runs, or the cluster is too large.
    pub(crate) vms: Option<Known<Vec<guest::Full>>>,
    /// Stopped guests that were looked into, and whether they start at boot.
    pub(crate) at_boot: Vec<(VmId, Known<bool>)>,
    /// What its own storages promise to disks, in bytes, where that may be more than they have.
    pub(crate) promised: Vec<(StorageId, Known<u64>)>,
    /// Why it stopped answering.
    pub(crate) gone: Option<String>,
    /// Whether its API daemon is dead, although it is there.
    pub(crate) is_daemon_dead: bool,
}

/// What one node is to be asked.
#[derive(Debug)]
pub(crate) struct Plan {
    node: NodeFacts,
    is_replicating: bool,
    has_locks: bool,
    wants_vms: bool,
    /// Why its journal may not be read, if it may not.
    journal: Known<()>,
    configs: Vec<GuestRef>,
    disks: Vec<StorageId>,
}

impl NodeFacts {
    /// A node of the list. `None` for a row without a name.
    pub(super) fn new(listed: pve_node::Listed) -> Option<Self> {
        Some(Self { name: listed.node.clone()?, listed, said: None })
    }

    /// Whether the cluster sees it.
    pub(crate) fn is_online(&self) -> bool {
        self.listed.status.as_deref() == Some("online")
    }
}

impl Facts {
    /// What each node is to be asked.
    pub(super) fn plan(&mut self) -> Vec<Plan> {
        let is_small = self.online().count() <= EXACT_NODES;
        let guests = self.guests.as_deref().unwrap_or_default();
        let on = |name: &NodeName| {
            let name = name.clone();
            guests.iter().filter(move |guest| guest.node.as_ref() == Some(&name))
        };
        let replicated: Vec<VmId> = self
            .replication
            .iter()
            .flatten()
            .filter(|job| job.disable != Some(true))
            .filter_map(|job| job.guest)
            .collect();
        // Who has started most recently is asked first: there a guest is missing that did not start.
        let mut stopped: Vec<(u64, GuestRef)> = Vec::new();
        for node in self.nodes.iter().filter(|node| node.is_online()) {
            let uptime = node.listed.uptime.unwrap_or(u64::MAX);
            let down = on(&node.name).filter(|guest| is_worth_a_look(guest));
            stopped.extend(down.filter_map(|guest| Some((uptime, guest.guest_ref()?))));
        }
        stopped.order_by_key(|(uptime, guest)| (*uptime, guest.vmid));
        let n_left = stopped.len().saturating_sub(CONFIGS);
        stopped.truncate(CONFIGS);
        let plans: Vec<Plan> = std::mem::take(&mut self.nodes)
            .into_iter()
            .map(|node| Plan {
                is_replicating: on(&node.name)
                    .any(|guest| guest.vmid.is_some_and(|vmid| replicated.contains(&vmid))),
                has_locks: on(&node.name).any(|guest| locks::lock(guest).is_some()),
                wants_vms: is_small && on(&node.name).any(is_running_vm),
                journal: self.may_read_journal(&node.name),
                configs: stopped
                    .iter()
                    .map(|(_, guest)| guest)
                    .filter(|guest| guest.node == node.name)
                    .cloned()
                    .collect(),
                disks: volumes::own_thin(&self.storages, self.rights.as_ref().ok(), &node.name),
                node,
            })
            .collect();
        self.n_configs_left = n_left;
        // The list of nodes is needed on the way.
        self.nodes =
            plans.iter().filter_map(|plan| NodeFacts::new(plan.node.listed.clone())).collect();
        plans
    }
}

/// Whether it may be a guest that should run: the HA manager answers for its own.
fn is_worth_a_look(guest: &guest::Listed) -> bool {
    guest.status.as_deref() == Some("stopped")
        && guest.template != Some(true)
        && guest.hastate.is_none()
}

fn is_running_vm(guest: &guest::Listed) -> bool {
    guest.kind == Some(Kind::Qemu) && guest.status.as_deref() == Some("running")
}

/// Asks all nodes that are online. One that is not reached within the time of all is told as such.
pub(super) async fn ask_all(pve: &Reader, call: &Call, plans: Vec<Plan>) -> Vec<NodeFacts> {
    let end = call.part(ALL_SECONDS);
    let pve = pve.until(end);
    let (pve, n_done, n_all) = (&pve, &AtomicU32::new(0), plans.len());
    let answers = stream::iter(plans).map(|plan| async move {
        if !plan.node.is_online() {
            return plan.node;
        }
        let node = ask_one(pve, call, plan, end).await;
        let n_done = n_done.fetch_add(1, Ordering::Relaxed) + 1;
        let total = u32::try_from(n_all).ok().map(f64::from);
        call.progress.report(f64::from(n_done), total, format!("{} was asked", node.name));
        node
    });
    // In no order, or one node that hangs would keep all the later ones waiting.
    let mut nodes: Vec<NodeFacts> = answers.buffer_unordered(AT_ONCE).collect().await;
    nodes.order_by(|a, b| a.name.cmp(&b.name));
    nodes
}

async fn ask_one(pve: &Reader, call: &Call, plan: Plan, end: Instant) -> NodeFacts {
    let name = &plan.node.name;
    let mut node = Asking::new(pve.until(call.part(NODE_SECONDS)));
    // A node that would have less time than others is not blamed for not answering.
    let is_late = end < Instant::now() + Duration::from_secs(FIRST_SECONDS);
    if is_late {
        node.give_up(LATE);
    }
    let status = node.ask_until(call.part(FIRST_SECONDS), pve_node::status(name)).await;
    // Without Sys.Audit there is none of these either, and of tasks only the token's own.
    let is_hidden = status.as_ref().is_err_and(|reason| reason.contains("Sys.Audit"));
    let hidden = || status.as_ref().err().cloned().unwrap_or_default();
    let (ahead, tasks, services) = if is_hidden {
        (Err(hidden()), Err(hidden()), Err(hidden()))
    } else {
        let ahead = clock(&mut node, name).await;
        let tasks = node.ask(task::list(name, &failed(call))).await;
        (ahead, tasks, node.ask(pve_node::services(name)).await)
    };
    let certificates = node.ask(pve_node::certificates(name)).await;
    let running = if plan.has_locks && !is_hidden {
        let filter = Filter { source: Source::Active, limit: Some(TASKS), ..Filter::default() };
        Some(node.ask(task::list(name, &filter)).await)
    } else {
        None
    };
    let replication =
        if plan.is_replicating { Some(node.ask(replication::on_node(name)).await) } else { None };
    let mut at_boot = Vec::new();
    for guest in &plan.configs {
        let config = node.ask(guest::config(guest)).await;
        let starts = config.and_then(|config| match config.get("onboot") {
            Some("1") => Ok(true),
            None if !config.is_unreadable("onboot") => Ok(false),
            Some("0") => Ok(false),
            _ => Err("`onboot` in its configuration could not be read".to_owned()),
        });
        at_boot.push((guest.vmid, starts));
    }
    let mut promised = Vec::new();
    for storage in &plan.disks {
        let volumes = node.ask(storage::content(name, storage, None)).await;
        promised.push((storage.clone(), volumes.map(|volumes| volumes::promised(&volumes))));
    }
    let kernel = match plan.journal.clone() {
        Ok(()) => {
            let query = complaints(call);
            node.ask_by(async |pve| journal::read(pve, name, &query).await).await
        }
        Err(reason) => Err(reason),
    };
    // The slowest at the end, so that it holds up nothing else.
    let vms = if plan.wants_vms { Some(node.ask(guest::list_full(name)).await) } else { None };
    let Asking { gone, is_daemon_dead, .. } = node;
    let said = Said {
        status,
        ahead,
        services,
        certificates,
        kernel,
        tasks,
        running,
        replication,
        vms,
        at_boot,
        promised,
        gone: gone.filter(|_| !is_late),
        is_daemon_dead,
    };
    NodeFacts { said: Some(said), ..plan.node }
}

/// How far a node's clock is ahead of ours, to a second: what lies between question and answer is halved.
async fn clock(node: &mut Asking, name: &NodeName) -> Known<i64> {
    let before = Timestamp::now().as_millisecond();
    let clock = node.ask(pve_node::clock(name)).await?;
    let here = i64::midpoint(before, Timestamp::now().as_millisecond());
    let there = clock.time.ok_or_else(|| "the node did not say its time".to_owned())?;
    // Its answer is cut to whole seconds, which is half a second too little on average.
    Ok(there.saturating_mul(1000).saturating_add(500).saturating_sub(here) / 1000)
}

/// Versions that filter by themselves send only these; of others so many of the newest entries are looked at.
fn complaints(call: &Call) -> Query {
    Query {
        since: Some(call.now.as_microsecond() - kernel::SECONDS * 1_000_000),
        severity: Some(Severity::Error),
        unit: Some("kernel".to_owned()),
        limit: COMPLAINTS,
        tokens: usize::MAX,
        most: 1000,
        ..Query::default()
    }
}

fn failed(call: &Call) -> Filter {
    Filter {
        source: Source::Archive,
        outcomes: vec![Outcome::Error, Outcome::Warning, Outcome::Unknown],
        since: Some(call.now.as_second() - TASK_START),
        limit: Some(TASKS),
        ..Filter::default()
    }
}

#[cfg(test)]
impl NodeFacts {
    /// A node that is online and said nothing wrong.
    pub(crate) fn online(name: &str) -> Self {
        let listed = pve_node::Listed {
            node: name.parse().ok(),
            status: Some("online".to_owned()),
            ..pve_node::Listed::default()
        };
        Self { said: Some(Said::well()), ..Self::new(listed).unwrap() }
    }

    /// What it said, to change it.
    pub(crate) fn said(&mut self) -> &mut Said {
        self.said.as_mut().unwrap()
    }
}

#[cfg(test)]
impl Said {
    fn well() -> Self {
        Self {
            status: Ok(pve_node::Status::default()),
            ahead: Ok(0),
            services: Ok(Vec::new()),
            certificates: Ok(Vec::new()),
            kernel: Ok(journal::Read::default()),
            tasks: Ok(Vec::new()),
            running: None,
            replication: None,
            vms: None,
            at_boot: Vec::new(),
            promised: Vec::new(),
            gone: None,
            is_daemon_dead: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use pve_client::{Host, Secret, Settings, Token};

    use super::*;

    #[tokio::test]
    async fn a_node_whose_turn_comes_too_late_is_not_asked_and_not_blamed() {
        // Nothing listens there: asking would fail otherwise.
        let token = Token::new("root@pam", "x", Secret::new("x".to_owned())).unwrap();
        let pve = Reader::new(Settings::new(Host::new("127.0.0.1", 1), token));
        let plan = Plan {
            node: NodeFacts::online("pve1"),
            is_replicating: false,
            has_locks: false,
            wants_vms: true,
            journal: Ok(()),
            configs: Vec::new(),
            disks: Vec::new(),
        };
        let call = Call::begin(TimeZone::UTC);
        let node = ask_one(&pve, &call, plan, Instant::now()).await;
        let said = node.said.unwrap();
        assert_eq!(said.status, Err(LATE.to_owned()));
        assert_eq!(said.vms, Some(Err(LATE.to_owned())));
        assert_eq!(said.gone, None);
    }
}
