//! `get_network_stats`: what went through the interfaces of a node and of the guests, and what went wrong.
//!
//! The traffic of guests is one cheap request for each node, and is read twice where rates are wanted. The
//! counters of a node's own interfaces, with their errors, are only in the text of the node's report, which
//! takes PVE some ten seconds: **it is read once in a call, for one node, or for two at a time where all are asked
//! for**, as many as there is time for.

mod inside;
mod interfaces;
mod talkers;
mod worst;

use std::time::UNIX_EPOCH;

use futures_util::{future::OptionFuture, join};
use pve_client::{
    Answer, Error, NodeName, Observer, Reader,
    guest::{self, Listed},
    ip_statistics::{self, Link},
    network::{self, TrafficPoint},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant, sleep_until};

use super::list_networks;
use crate::{
    answer::{Bytes, Table},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    lookup,
    tier::Reads,
};

/// How long the report may take, in seconds.
const REPORT_SECONDS: u64 = 12;
/// How long the traffic of all nodes may take, in seconds.
const TRAFFIC_SECONDS: u64 = 12;
/// How long the names of the guests may take, in seconds.
const NAMES_SECONDS: u64 = 8;
/// How many guests' interfaces are shown where nothing is said.
const SHOWN: u32 = 20;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetNetworkStats;

/// Of what, and how.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Adds its interfaces' counters and errors (10 s; `all`: the worst).
    node: Option<String>,
    /// Vmid or name.
    vm: Option<String>,
    /// Read guest NICs twice so far apart, for rates.
    #[schemars(range(min = 1, max = 20))]
    sample_seconds: Option<u32>,
    /// Guest NICs, busiest first (default 20).
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
}

/// What was counted.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    /// When the node printed the counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    counters_read_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interfaces: Option<Table>,
    /// Of all nodes, those with errors or drops, the worst first.
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_interfaces: Option<Table>,
    /// Of the whole node, where its interfaces could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    node_traffic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_nics: Option<Table>,
    /// Of one VM, as its guest agent counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    inside: Option<Table>,
    /// Of all guests that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_total: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_available: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetNetworkStats {
    const NAME: &'static str = "get_network_stats";
    const TITLE: &'static str = "Network traffic and errors";
    const DESCRIPTION: &'static str = "Network counters: per interface of one node bytes, packets, errors, drops, overruns, collisions; per guest NIC \
        bytes, and rates and top talkers with sample_seconds. For what is connected to what use list_networks.";
    const TOOLSET: Toolset = Toolset::Network;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let mut output = Output::default();
        let wanted = match input.vm.as_deref() {
            Some(vm) => Some(lookup::guest::find(&pve, vm).await?.guest),
            None => None,
        };
        let is_all = input.node.as_deref().is_some_and(|node| node.trim() == "all");
        let named = input.node.as_deref().filter(|_| !is_all);
        let nodes = if let (Some(guest), None) = (&wanted, &input.node) {
            vec![guest.node.clone()]
        } else {
            let (nodes, notes) = list_networks::nodes(&pve, named).await?;
            output.notes.extend(notes);
            nodes
        };
        let reported = nodes.first().filter(|_| named.is_some());
        let report = OptionFuture::from(reported.map(|node| read_report(&pve, call, node)));
        let names = async { pve.until(call.part(NAMES_SECONDS)).get(guest::list()).await };
        let traffic = pve.until(call.part(TRAFFIC_SECONDS));
        let inside =
            OptionFuture::from(wanted.as_ref().map(|guest| inside::read(&pve, call, guest)));
        let worst = OptionFuture::from(is_all.then(|| worst::read(&pve, call, &nodes)));
        let (report, worst, names, first, inside) =
            join!(report, worst, names, talkers::read(&traffic, call, &nodes), inside);
        let second = match input.sample_seconds.filter(|_| !first.nics.is_empty()) {
            Some(seconds) => {
                let seconds = u64::from(seconds);
                let until = first.at + Duration::from_secs(seconds);
                call.progress.report(1.0, Some(2.0), "read once, waiting to read again");
                sleep_until(until.min(call.deadline)).await;
                let traffic = pve.until(call.part(TRAFFIC_SECONDS));
                Some(talkers::read(&traffic, call, &nodes).await)
            }
            None => None,
        };
        if let Some(report) = report {
            output.add_report(report, call);
        } else if let Some(worst) = worst {
            output.worst_interfaces = worst.table;
            output.not_available.extend(worst.not_available);
            output.notes.extend(worst.notes);
        } else if wanted.is_none() {
            output.notes.push(
                "interfaces of the hosts and their errors: name a `node`, or `all`".to_owned(),
            );
        }
        match inside.flatten() {
            Some(Ok(table)) => output.inside = Some(table),
            Some(Err(why)) => output.not_available.push(why),
            None => {}
        }
        output.not_available.extend(first.not_available.iter().cloned());
        let names: Vec<Listed> = names.unwrap_or_else(|error| {
            let why = Failure::reason(&error);
            output.not_available.push(format!("the names of VMs and containers: {why}"));
            Vec::new()
        });
        let limit = usize::try_from(input.limit.unwrap_or(SHOWN)).unwrap_or(usize::MAX);
        let vmid = wanted.as_ref().map(|guest| guest.vmid);
        let found = talkers::rank(&first, second.as_ref(), vmid, &names, limit);
        output.guest_nics = found.table;
        output.guest_total = found.total;
        match wanted.filter(|guest| !nodes.contains(&guest.node)) {
            // Its absence from another node says nothing about its interfaces.
            Some(guest) => output.notes.push(format!(
                "{} is on {}, whose traffic was not read: leave out `node`",
                guest.vmid, guest.node
            )),
            None => output.notes.extend(found.notes),
        }
        let is_unread = first.nics.is_empty() && first.not_available.len() == nodes.len();
        let is_else_empty = output.interfaces.is_none()
            && output.worst_interfaces.is_none()
            && output.node_traffic.is_none();
        if is_unread && is_else_empty && output.inside.is_none() {
            return Err(Failure::new(output.not_available.join("; ")).hint(
                "traffic and errors need Sys.Audit on the nodes, which the token's owner can grant; get_vm_status has the traffic of one guest",
            ));
        }
        Ok(output)
    }
}

/// What the report says, or what the history says where there is none.
struct Report {
    links: Result<Answer<String>, Error>,
    history: Option<Result<Vec<TrafficPoint>, Error>>,
    took: Duration,
}

async fn read_report(pve: &Reader, call: &Call, node: &NodeName) -> Report {
    let began = Instant::now();
    let links = pve.until(call.part(REPORT_SECONDS)).fetch(network::report(node)).await;
    let took = began.elapsed();
    let is_read = links.as_ref().is_ok_and(|report| ip_statistics::section(&report.data).is_some());
    let history = if is_read {
        None
    } else {
        Some(pve.until(call.part(NAMES_SECONDS)).get(network::node_traffic(node)).await)
    };
    Report { links, history, took }
}

impl Output {
    fn add_report(&mut self, report: Report, call: &Call) {
        let took = report.took.as_secs();
        match report.links {
            Ok(answer) => {
                let links = ip_statistics::section(&answer.data).map(ip_statistics::links);
                match links.filter(|links: &Vec<Link>| !links.is_empty()) {
                    Some(links) => {
                        let (table, notes) = interfaces::table(&links);
                        self.interfaces = Some(table);
                        let at = answer.date.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
                        let at = at.and_then(|at| i64::try_from(at.as_secs()).ok());
                        self.counters_read_at = at
                            .and_then(|at| call.time(at))
                            .or_else(|| call.time(call.now.as_second()));
                        self.notes.push(format!(
                            "the counters are from the node's report, printed during this call ({took} s), and count since each interface was made"
                        ));
                        self.notes.extend(notes);
                    }
                    None => self.not_available.push(
                        "counters of the node's interfaces: this PVE's report does not hold them"
                            .to_owned(),
                    ),
                }
            }
            Err(error) => {
                let why = Failure::from_pve("read the counters of the node's interfaces", &error);
                self.not_available.push(why.what().to_owned());
            }
        }
        match report.history {
            Some(Ok(points)) => self.node_traffic = whole_node(&points),
            Some(Err(error)) => {
                let why = Failure::from_pve("read the traffic of the whole node", &error);
                self.not_available.push(why.what().to_owned());
            }
            None => {}
        }
        if self.node_traffic.is_some() {
            self.notes.push(
                "node_traffic is from PVE's history of the whole node, which has no errors and no single interfaces"
                    .to_owned(),
            );
        }
    }
}

/// The last known point, and the mean of the hour.
fn whole_node(points: &[TrafficPoint]) -> Option<String> {
    let known: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.netin?, point.netout?))).collect();
    let (last_in, last_out) = *known.last()?;
    let sum = known.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    #[expect(clippy::cast_precision_loss, reason = "an hour has some seventy points")]
    let count = known.len() as f64;
    Some(format!(
        "in {}/s, out {}/s now; in {}/s, out {}/s on average over the last hour",
        rate(last_in),
        rate(last_out),
        rate(sum.0 / count),
        rate(sum.1 / count)
    ))
}

/// Bytes a second as a size.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative, and a part of a byte is none"
)]
pub(super) fn rate(bytes: f64) -> Bytes {
    Bytes(bytes.max(0.0).round() as u64)
}
