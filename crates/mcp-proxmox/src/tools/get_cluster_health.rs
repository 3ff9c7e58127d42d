//! `get_cluster_health`: what is wrong, in one call, and what to look at next.
//!
//! Two halves: `facts` asks, bounded and each node within its own time; the checks, one file each, judge
//! what came and ask nothing. To add a check: its file, and a line in `CHECKS`.
//!
//! **Nothing is called well that was not looked at.** A fact that is missing is named with its reason, and
//! the answer's first line says so.

mod backup_jobs;
mod backups;
mod ceph;
mod certificates;
mod clocks;
mod facts;
mod guests;
mod ha;
mod kernel;
mod load;
mod locks;
mod memory;
mod nodes;
mod overcommit;
mod quorum;
pub(super) mod replication;
mod report;
mod root_disks;
mod services;
mod storages;
mod subscriptions;
mod tasks;
mod versions;

use pve_client::{Observer, Reader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    answer::Table,
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    tier::Reads,
};
use facts::{Facts, Limits};
use report::Report;

/// Judges one kind of thing. What it finds, what it looked at, and what it could not look at go into the
/// report.
type Check = fn(&Facts, &mut Report);

/// Every check. Findings of the same severity keep this order: what breaks most comes first.
const CHECKS: &[Check] = &[
    quorum::check,
    nodes::check,
    ha::check,
    guests::check,
    locks::check,
    ceph::check,
    storages::check,
    root_disks::check,
    memory::check,
    load::check,
    kernel::check,
    services::check,
    replication::check,
    backups::check,
    backup_jobs::check,
    tasks::check,
    certificates::check,
    clocks::check,
    versions::check,
    overcommit::check,
    subscriptions::check,
];

/// See the module's documentation.
#[derive(Debug)]
pub struct GetClusterHealth;

/// From where on something is a problem.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Disks are nearly full from here (default 85).
    #[schemars(range(min = 1, max = 100))]
    full_percent: Option<u8>,
    /// Memory is short from here (default 90).
    #[schemars(range(min = 1, max = 100))]
    memory_percent: Option<u8>,
    /// Backups are too old after this (default 7).
    #[schemars(range(min = 1, max = 366))]
    backup_days: Option<u16>,
}

/// What is wrong, the worst first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// How much was found, and whether anything could not be looked at.
    summary: String,
    /// Each with its evidence and the tool to call next.
    #[serde(skip_serializing_if = "Table::is_empty")]
    findings: Table,
    /// What was looked at.
    checked: String,
    /// What was not, and why. It may be well or not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_checked: Vec<String>,
}

impl Tool for GetClusterHealth {
    const NAME: &'static str = "get_cluster_health";
    const TITLE: &'static str = "Cluster health";
    const DESCRIPTION: &'static str = "What is wrong in the cluster, in one call: quorum, nodes, guests that should run, HA, storages, memory, failed tasks, \
        backups, replication, certificates, services, kernel errors, clocks, versions, Ceph. Findings by severity with evidence and the tool to call next. Begin here.";
    const TOOLSET: Toolset = Toolset::Health;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        report(&pve, call, &input, report::FINDINGS).await
    }
}

/// The whole report, with every finding.
///
/// # Errors
/// When the nodes cannot be listed.
pub async fn whole(pve: &Reader, call: &Call) -> Result<Output, Failure> {
    report(pve, call, &Input::default(), report::WHOLE).await
}

/// Whether an answer has fewer findings than there are.
pub fn is_cut(answer: &Map<String, Value>) -> bool {
    answer.get("summary").and_then(Value::as_str).is_some_and(|text| text.contains(report::CUT))
}

async fn report(pve: &Reader, call: &Call, input: &Input, most: usize) -> Result<Output, Failure> {
    let limits = Limits {
        full: input.full_percent.map_or(85.0, f64::from),
        memory: input.memory_percent.map_or(90.0, f64::from),
        backup_days: i64::from(input.backup_days.unwrap_or(7)),
    };
    // On the heap: it holds the questions to all nodes at once.
    let facts = Box::pin(Facts::gather(pve, call, limits)).await?;
    let mut report = Report::default();
    for check in CHECKS {
        check(&facts, &mut report);
    }
    Ok(report.into_output(facts.may_read_journals(), most, &call.limits))
}
