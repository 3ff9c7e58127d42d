//! `get_vm_status`: how one VM or container is doing right now.
//!
//! The live state comes from the node; where the node cannot be asked, what the cluster's list knew is
//! shown and marked as such.

use pve_client::{
    Error, Kind, Observer, Reader, RefusalKind,
    guest::{self, Current, Listed},
    task,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{Bytes, Duration, Number, Percent, Pressure, Share, clean::label},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    lookup::{
        self,
        guest::{Found, find, find_recent, given_name, real_name, tags},
    },
    tier::Reads,
};

/// How long the list of running tasks may take, in seconds.
const TASK_SECONDS: u64 = 8;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetVmStatus;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Vmid or unique name.
    vm: String,
}

/// Its state.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    vmid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    r#type: &'static str,
    node: String,
    /// `running`, `stopped`, `paused`, `hibernated`, `prelaunch`, `io-error`, `template`, `unknown`, …
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ha: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime: Option<Duration>,
    /// Of its own cores, as pvestatd last measured it, some 10 s ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_percent: Option<Percent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cores: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<String>,
    /// What it takes on the host, where that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_on_host: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    swap: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network_since_start: Option<Traffic>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disk_io_since_start: Option<DiskIo>,
    /// How long processes waited, in percent of the last ten seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pressure_percent: Option<Pressure>,
    /// Whether the configuration enables the QEMU guest agent; not whether it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_enabled: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    running_tasks: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Traffic {
    r#in: Bytes,
    out: Bytes,
}

#[derive(Debug, Serialize, JsonSchema)]
struct DiskIo {
    read: Bytes,
    written: Bytes,
}

impl Tool for GetVmStatus {
    const NAME: &'static str = "get_vm_status";
    const TITLE: &'static str = "VM or container status";
    const DESCRIPTION: &'static str = "One VM or container right now: state (running, paused, hibernated, locked, HA), CPU (10 s mean), memory, disk, \
        network and disk traffic, uptime, running tasks. To find one use list_vms.";
    const TOOLSET: Toolset = Toolset::Guests;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let mut found = find_recent(&pve, &input.vm).await?;
        if is_without_figures(&found.listed) && is_offline(&pve, &found).await? {
            return Ok(of_a_dead_node(found));
        }
        let mut current = pve.get(guest::current(&found.guest)).await;
        if matches!(&current, Err(Error::Refused(refusal)) if refusal.kind() == RefusalKind::NoSuchGuest)
        {
            // It was migrated between the two questions.
            found = find(&pve, &input.vm).await?;
            current = pve.get(guest::current(&found.guest)).await;
        }
        match current {
            Ok(current) => {
                let (tasks, note) = running_tasks(&pve, call, &found).await;
                let mut output = live(found, current);
                output.running_tasks = tasks;
                output.notes.extend(note);
                Ok(output)
            }
            Err(Error::Refused(refusal)) if refusal.kind() == RefusalKind::NodeUnreachable => {
                let why = Failure::from_pve("ask its node", &Error::Refused(refusal));
                Ok(cached(found, &why))
            }
            Err(error) => {
                Err(Failure::from_pve(&format!("read the state of {}", found.guest.vmid), &error))
            }
        }
    }
}

/// So the list has the guests of a node that is dead, and one that was made just now.
fn is_without_figures(listed: &Listed) -> bool {
    listed.status.as_deref() == Some("unknown") && listed.maxmem.is_none()
}

/// Whether its node is known to be off. Asking such a node costs seconds and brings nothing.
async fn is_offline(pve: &Reader, found: &Found) -> Result<bool, Failure> {
    let (_, node) = lookup::node::find(pve, found.guest.node.as_str()).await?;
    Ok(node.status.as_deref() == Some("offline"))
}

/// What its own node says now.
fn live(found: Found, current: Current) -> Output {
    let mut output = Output::of(&found);
    let is_up = current.status.as_deref() != Some("stopped");
    let is_vm = found.guest.kind == Kind::Qemu;
    output.status = state(&current);
    output.notes.extend(remark(&output.status));
    output.name = current
        .name
        .as_deref()
        .and_then(|name| given_name(name, found.guest.vmid))
        .map(label)
        .or(output.name);
    output.lock = current.lock.as_deref().map(label);
    if let Some(ha) = current.ha.as_ref().filter(|ha| ha.managed == Some(true)) {
        let state = ha.state.as_deref();
        output.ha = Some(
            state
                .map_or_else(|| "managed".to_owned(), |state| format!("managed, {}", label(state))),
        );
        output.notes.extend(state.and_then(|state| ha_remark(state, is_up, &found)));
    }
    output.uptime = current.uptime.filter(|uptime| *uptime > 0).map(Duration);
    output.cores = current.cpus.map(Number);
    output.cpu_percent =
        measured_cpu(&found.listed, &current).filter(|_| is_up).and_then(Percent::from_fraction);
    output.memory = memory(current.mem.filter(|_| is_up), current.maxmem);
    output.memory_on_host =
        current.memhost.filter(|host| is_up && Some(*host) != current.mem).map(Bytes);
    output.swap = Share::new(current.swap.filter(|_| is_up), current.maxswap);
    let knows_disk = !is_vm && is_up;
    output.disk =
        used_of(current.disk.filter(|_| knows_disk), current.maxdisk.filter(|size| *size > 0));
    if output.disk.is_some() && is_vm {
        output.notes.push("how full a VM's disks are is known only inside it: `disk` is the size of its boot disk".to_owned());
    } else if output.disk.is_some() && !is_up {
        output.notes.push("`disk` of a stopped container is what is configured, or PVE's 4.0 GiB where nothing is".to_owned());
    }
    if is_up {
        output.network_since_start =
            both(current.netin, current.netout).map(|(r#in, out)| Traffic { r#in, out });
        output.disk_io_since_start = both(current.diskread, current.diskwrite)
            .map(|(read, written)| DiskIo { read, written });
        output.pressure_percent = pressure(&current);
    }
    output.agent_enabled = current.agent.filter(|_| is_vm);
    output
}

/// pvestatd's figure. What its node says now is measured between two reads of one of its workers: zero at
/// the first, and over any span after that.
fn measured_cpu(listed: &Listed, current: &Current) -> Option<f64> {
    match listed.status.as_deref() {
        Some("running") => listed.cpu,
        // It was started a moment ago.
        _ => current.cpu.filter(|cpu| *cpu > 0.0),
    }
}

fn both(first: Option<u64>, second: Option<u64>) -> Option<(Bytes, Bytes)> {
    Some((Bytes(first?), Bytes(second?)))
}

/// What is used of it; of a guest that does not run only what it would get is known, which is no use.
fn memory(used: Option<u64>, configured: Option<u64>) -> Option<String> {
    match Share::new(used, configured) {
        Some(share) => Some(share.to_string()),
        None => configured.map(|configured| format!("{} configured", Bytes(configured))),
    }
}

/// A size whose use may be unknown.
fn used_of(used: Option<u64>, total: Option<u64>) -> Option<String> {
    match Share::new(used, total) {
        Some(share) => Some(share.to_string()),
        None => total.map(|total| Bytes(total).to_string()),
    }
}

fn pressure(current: &Current) -> Option<Pressure> {
    let (cpu, memory, io) =
        (current.pressurecpusome, current.pressurememorysome, current.pressureiosome);
    // Nobody has to read that nothing waits.
    let is_any = [cpu, memory, io].into_iter().flatten().any(|percent| percent > 0.0);
    is_any.then_some(Pressure { cpu, memory, io })
}

/// The state in one word: PVE says `running` of paused VMs, and `stopped` of hibernated ones.
fn state(current: &Current) -> String {
    let status = current.status.as_deref().unwrap_or("unknown");
    if current.template == Some(true) {
        return "template".to_owned();
    }
    match (status, current.qmpstatus.as_deref(), current.lock.as_deref()) {
        ("stopped", _, Some("suspended")) => "hibernated".to_owned(),
        ("stopped", _, _) => "stopped".to_owned(),
        (_, Some(qmpstatus), _) => label(qmpstatus),
        (status, None, _) => label(status),
    }
}

fn remark(status: &str) -> Option<String> {
    let remark = match status {
        "hibernated" => "its memory is saved on disk; starting it resumes where it was",
        "paused" => "it runs but does nothing until it is resumed",
        "prelaunch" => {
            "its QEMU process exists but the guest does not run; PVE does so to back up a stopped VM, and one that was reset while paused waits so until it is resumed"
        }
        "io-error" => {
            "QEMU stopped it on an I/O error: a full or broken storage is the usual reason; get_vm_details tells which it is on, get_storage_status how that is"
        }
        _ => return None,
    };
    Some(remark.to_owned())
}

/// What the HA manager's state means where it does not fit the guest's.
fn ha_remark(state: &str, is_up: bool, found: &Found) -> Option<String> {
    let node = label(found.guest.node.as_str());
    match (state, is_up) {
        ("started", false) => Some(format!(
            "the HA manager wants it running: it starts it within a minute, or could not, which get_system_log node={node} unit=pve-ha-lrm may tell"
        )),
        ("error", _) => Some(format!(
            "the HA manager gave up on it and touches it no more until an administrator, after mending the cause, sets it to disabled and back; get_system_log node={node} unit=pve-ha-lrm may tell the cause"
        )),
        _ => None,
    }
}

/// What the cluster's list still knows of a guest whose node is gone: where it is configured.
fn of_a_dead_node(found: Found) -> Output {
    let mut output = Output::of(&found);
    output.status = "unknown".to_owned();
    output.notes.push(format!(
        "its node {} is offline, so nothing else is known; see list_nodes",
        label(found.guest.node.as_str())
    ));
    output
}

/// What the cluster's list knows, where the node does not answer.
fn cached(found: Found, why: &Failure) -> Output {
    let mut output = Output::of(&found);
    let Listed { uptime, cpu, maxcpu, mem, maxmem, .. } = found.listed;
    let is_up = output.status == "running";
    output.uptime = uptime.filter(|uptime| *uptime > 0).map(Duration);
    output.cpu_percent = cpu.filter(|_| is_up).and_then(Percent::from_fraction);
    output.cores = maxcpu.map(Number);
    output.memory = memory(mem.filter(|_| is_up), maxmem);
    output.notes.push(format!(
        "not live: {}; these figures are the last that the node reported",
        why.what()
    ));
    output
}

impl Output {
    fn of(found: &Found) -> Self {
        let Found { guest, listed, note } = found;
        Self {
            vmid: guest.vmid.get(),
            name: real_name(listed).map(label),
            r#type: guest.kind.as_str(),
            node: label(guest.node.as_str()),
            status: match (listed.template, listed.status.as_deref()) {
                (Some(true), _) => "template".to_owned(),
                (_, status) => status.map_or_else(|| "unknown".to_owned(), label),
            },
            lock: listed.lock.as_deref().map(label),
            ha: None,
            uptime: None,
            cpu_percent: None,
            cores: None,
            memory: None,
            memory_on_host: None,
            swap: None,
            disk: None,
            network_since_start: None,
            disk_io_since_start: None,
            pressure_percent: None,
            agent_enabled: None,
            running_tasks: Vec::new(),
            pool: listed.pool.as_deref().map(label),
            tags: tags(listed.tags.as_deref()).map(label).collect(),
            notes: note.iter().cloned().collect(),
        }
    }
}

/// What is being done with it now. Optional: the state does not wait for it.
async fn running_tasks(pve: &Reader, call: &Call, found: &Found) -> (Vec<String>, Option<String>) {
    let filter = task::Filter {
        source: task::Source::Active,
        vmid: Some(found.guest.vmid),
        ..task::Filter::default()
    };
    let answer =
        pve.until(call.part(TASK_SECONDS)).get(task::list(&found.guest.node, &filter)).await;
    match answer {
        Ok(tasks) => {
            let shown = tasks.iter().map(|task| {
                // The UPID says it too.
                let kind =
                    task.kind.as_deref().or(task.upid.as_ref().map(|upid| upid.kind.as_str()));
                let kind = kind.map_or_else(|| "task".to_owned(), label);
                let since = task
                    .starttime
                    .and_then(|start| call.time(start))
                    .map(|time| format!(" since {time}"))
                    .unwrap_or_default();
                let user = task.who().map(|who| format!(" by {}", label(&who))).unwrap_or_default();
                format!("{kind}{since}{user}")
            });
            (shown.collect(), None)
        }
        Err(error) => {
            (Vec::new(), Some(Failure::from_pve("see running tasks", &error).what().to_owned()))
        }
    }
}
