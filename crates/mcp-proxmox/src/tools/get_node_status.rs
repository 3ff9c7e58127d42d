//! `get_node_status`: one node in depth.
//!
//! Made of parts that are asked for side by side. A part that cannot be had (a privilege is missing, the
//! node does not answer) is named with its reason and costs nothing else.

use futures_util::join;
use pve_client::{
    Error, Observer,
    node::{self, BootInfo, CertificateInfo, Listed, Service, Status},
    rrd,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list_nodes::short_version;
use crate::{
    answer::{Bytes, Duration, Percent, Pressure, Share, clean::label},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    lookup,
    tier::Reads,
};

/// How long a part beside the state itself may take, in seconds.
const PART_SECONDS: u64 = 15;
/// Certificates that end within so many days are told.
const EXPIRY_DAYS: i64 = 30;
/// How many services are named.
const SERVICES: usize = 20;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetNodeStatus;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The node's name.
    node: String,
}

/// Its state.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    node: String,
    /// `online`, `offline` or `unknown`.
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime: Option<Duration>,
    /// Averaged by PVE over some seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_percent: Option<Percent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<String>,
    /// Over 1, 5 and 15 minutes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    load: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root_disk: Option<Share>,
    /// How long processes waited, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_percent: Option<Pressure>,
    /// Memory that identical pages of guests share.
    #[serde(skip_serializing_if = "Option::is_none")]
    ksm_shared: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pve_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot_mode: Option<String>,
    /// Services that should run and do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    services_not_running: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_updates: Option<usize>,
    /// Certificates that have ended or end within 30 days.
    #[serde(skip_serializing_if = "Option::is_none")]
    certificates_ending: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subscription: Option<String>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_available: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetNodeStatus {
    const NAME: &'static str = "get_node_status";
    const TITLE: &'static str = "Node status";
    const DESCRIPTION: &'static str = "One node (host) in depth: CPU (10 s mean), load, memory, swap, root disk, pressure, uptime, kernel, PVE version, \
        services not running, pending updates, certificates near expiry, subscription. For all nodes use list_nodes.";
    const TOOLSET: Toolset = Toolset::Nodes;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let (node, listed) = lookup::node::find(&pve, &input.node).await?;
        let mut output = Output::of(&listed);
        if listed.status.as_deref() == Some("offline") {
            output.notes.push(
                "the node is offline: it cannot be asked, and PVE keeps no figures of it"
                    .to_owned(),
            );
            return Ok(output);
        }
        let part = pve.until(call.part(PART_SECONDS));
        let (status, services, updates, certificates, subscription, pressure) = join!(
            pve.get(node::status(&node)),
            part.get(node::services(&node)),
            part.get(node::apt_updates(&node)),
            part.get(node::certificates(&node)),
            part.get(node::subscription(&node)),
            part.get(rrd::node(&node, rrd::Timeframe::Hour)),
        );
        output.add_status(status);
        let services = output.part("services", services);
        output.services_not_running = services.and_then(|services| {
            let is_known =
                |service: &&Service| service.unit_state.is_some() && service.active_state.is_some();
            let n_known = services.iter().filter(is_known).count();
            output.knows("services", n_known, services.len()).then(|| not_running(&services))
        });
        output.pending_updates =
            output.part("pending updates", updates).map(|updates| updates.len());
        let certificates = output.part("certificates", certificates);
        output.certificates_ending = certificates.and_then(|all| {
            let n_known = all.iter().filter(|certificate| certificate.notafter.is_some()).count();
            output.knows("certificates", n_known, all.len()).then(|| ending(&all, call))
        });
        let subscription = output.part("subscription", subscription);
        output.subscription = subscription.and_then(|found| {
            let is_known = output.knows("subscription", usize::from(found.status.is_some()), 1);
            found.status.filter(|_| is_known).map(|status| label(&status))
        });
        let pressure = output.part("pressure", pressure);
        output.pressure_percent = pressure.and_then(|points| last_pressure(&points));
        Ok(output)
    }
}

impl Output {
    fn of(listed: &Listed) -> Self {
        Self {
            node: listed.node.as_ref().map(|node| node.as_str().to_owned()).unwrap_or_default(),
            status: listed.status.as_deref().map_or_else(|| "unknown".to_owned(), label),
            cpu_percent: listed.cpu.and_then(Percent::from_fraction),
            uptime: listed.uptime.filter(|uptime| *uptime > 0).map(Duration),
            memory: Share::new(listed.mem, listed.maxmem),
            root_disk: Share::new(listed.disk, listed.maxdisk),
            ..Self::default()
        }
    }

    /// The node's own word, where it gave it. The processor's use stays the list's: the node measures it
    /// between two questions, which makes it zero or odd.
    fn add_status(&mut self, status: Result<Status, Error>) {
        let Some(status) = self.part("live state", status) else { return };
        self.uptime = status.uptime.filter(|uptime| *uptime > 0).map(Duration).or(self.uptime);
        self.cpu = status.cpuinfo.as_ref().and_then(processors);
        self.load = status.loadavg.clone();
        let share = |part: &Option<node::Space>| {
            part.as_ref().and_then(|part| Share::new(part.used, part.total))
        };
        self.memory = share(&status.memory).or(self.memory);
        self.swap = share(&status.swap);
        self.root_disk = share(&status.rootfs).or(self.root_disk);
        self.ksm_shared =
            status.ksm.as_ref().and_then(|ksm| ksm.shared).filter(|shared| *shared > 0).map(Bytes);
        self.pve_version = status.pveversion.as_deref().map(short_version);
        self.kernel =
            status.current_kernel.as_ref().and_then(|kernel| kernel.release.as_deref()).map(label);
        self.boot_mode = status.boot_info.as_ref().and_then(boot_mode);
    }

    /// Whether anything can be said of this part, of whose entries so many say how they are. Each node has some.
    fn knows(&mut self, name: &str, n_known: usize, n_all: usize) -> bool {
        if n_known == 0 || n_known < n_all {
            let why = match (n_known, n_all) {
                (_, 0) => "PVE's list is empty, which that of no node is".to_owned(),
                (0, _) => "PVE's answer does not say how they are".to_owned(),
                (_, all) => format!("PVE's answer does not say how {} of {all} are", all - n_known),
            };
            self.not_available.push(format!("{name}: {why}"));
        }
        n_known > 0
    }

    /// A part, or a line on why there is none.
    fn part<T>(&mut self, name: &str, answer: Result<T, Error>) -> Option<T> {
        match answer {
            Ok(part) => Some(part),
            Err(error) => {
                self.not_available
                    .push(Failure::of_part(&format!("read {name}"), &error).what().to_owned());
                None
            }
        }
    }
}

fn processors(cpuinfo: &node::CpuInfo) -> Option<String> {
    let threads = cpuinfo.cpus?;
    let model =
        cpuinfo.model.as_deref().map(|model| format!(" of {}", label(model))).unwrap_or_default();
    let sockets = cpuinfo
        .sockets
        .filter(|sockets| *sockets > 1)
        .map(|sockets| format!(", {sockets} sockets"))
        .unwrap_or_default();
    Some(format!("{threads} threads{model}{sockets}"))
}

fn boot_mode(info: &BootInfo) -> Option<String> {
    let secure = if info.secureboot == Some(true) { ", secure boot" } else { "" };
    Some(format!("{}{secure}", label(info.mode.as_deref()?)))
}

/// Whether a service is there, is meant to run, and does not. One that was never installed or enabled is
/// no finding.
pub(super) fn is_down(service: &Service) -> bool {
    let is_meant_to_run =
        matches!(service.unit_state.as_deref(), Some("enabled" | "static" | "generated"));
    is_meant_to_run && service.active_state.as_deref().is_some_and(|state| state != "active")
}

/// Services that are installed and meant to run, but do not.
fn not_running(services: &[Service]) -> Vec<String> {
    let down = services.iter().filter(|service| is_down(service));
    let shown = down.map(|service| {
        let name = service.name.as_deref().map_or_else(|| "?".to_owned(), label);
        let state = service.state.as_deref().map_or_else(|| "unknown".to_owned(), label);
        format!("{name} ({state})")
    });
    shown.take(SERVICES).collect()
}

fn ending(certificates: &[CertificateInfo], call: &Call) -> Vec<String> {
    let now = call.now.as_second();
    let soon = certificates.iter().filter_map(|certificate| {
        let end = certificate.notafter?;
        let days = end.saturating_sub(now).div_euclid(86_400);
        let name =
            certificate.filename.as_deref().map_or_else(|| "a certificate".to_owned(), label);
        let date = call.time(end)?;
        match days {
            ..0 => Some(format!("{name} ended on {date}")),
            0..=EXPIRY_DAYS => Some(format!("{name} ends in {days} days, on {date}")),
            _ => None,
        }
    });
    soon.collect()
}

fn last_pressure(points: &[rrd::NodePoint]) -> Option<Pressure> {
    // After an upgrade two resolutions follow each other: the time of a point counts, not its place.
    let known = points.iter().filter(|point| point.pressurecpusome.is_some());
    let point = known.max_by_key(|point| point.time)?;
    let round = |percent: Option<f64>| percent.map(|percent| (percent * 10.0).round() / 10.0);
    Some(Pressure {
        cpu: round(point.pressurecpusome),
        memory: round(point.pressurememorysome),
        io: round(point.pressureiosome),
    })
}
