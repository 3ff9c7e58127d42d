//! `list_nodes`: the cluster and its nodes.

use futures_util::{StreamExt as _, join, stream};
use pve_client::{
    NodeName, Observer, Reader,
    cluster::{self, ClusterStatus},
    node::{self, Listed},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{Duration, Number, Percent, Share, Table, clean::label},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    in_order::InOrder as _,
    lookup::node::none_listed,
    tier::Reads,
};

/// Up to so many nodes are asked for their version and load without being told to.
const ASKED: usize = 8;
/// How long a node may take to say its version and load, in seconds.
const SECONDS: u64 = 8;
/// How long all nodes may take, in seconds.
const ALL_SECONDS: u64 = 30;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub struct ListNodes;

/// How much.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Version and load of each node too, one request each; by default for up to 8 nodes.
    detail: Option<bool>,
}

/// The cluster and its nodes.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The cluster's name. Absent for a host that stands alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    /// Whether enough nodes are there to decide; absent where it is unknown or does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    quorate: Option<bool>,
    /// Where a node is not online.
    #[serde(skip_serializing_if = "Option::is_none")]
    votes: Option<String>,
    total: usize,
    online: usize,
    nodes: Table,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for ListNodes {
    const NAME: &'static str = "list_nodes";
    const TITLE: &'static str = "List nodes";
    const DESCRIPTION: &'static str = "List the nodes (hosts) of the cluster with state, CPU (10 s mean), memory, root disk, uptime, version and load, \
        and whether the cluster has quorum. For one node in depth use get_node_status.";
    const TOOLSET: Toolset = Toolset::Nodes;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        // Asked one after the other: a wrong token costs PVE's 3 s only once.
        let mut nodes = pve
            .get(node::list())
            .await
            .map_err(|error| Failure::from_pve("list the nodes", &error))?;
        if nodes.is_empty() {
            return Err(none_listed());
        }
        nodes.order_by(|a, b| a.node.cmp(&b.node));
        let online: Vec<NodeName> = nodes
            .iter()
            .filter(|node| is_online(node))
            .filter_map(|node| node.node.clone())
            .collect();
        let n_online = nodes.iter().filter(|node| is_online(node)).count();
        let is_asked = input.detail.unwrap_or(online.len() <= ASKED);
        let mut notes = Vec::new();
        let (status, resources, live) = join!(
            pve.get(cluster::status()),
            pve.get(cluster::node_resources()),
            ask(&pve, call, if is_asked { online } else { Vec::new() }),
        );
        let status = status.map_err(|error| {
            notes.push(format!(
                "cluster name and quorum are not known: {}",
                Failure::from_pve("read the cluster's state", &error).what()
            ));
        });
        let resources = resources.unwrap_or_else(|error| {
            let why = Failure::reason(&error);
            notes.push(format!("whether a node is in maintenance is not known: {why}"));
            Vec::new()
        });
        let mut table = Table::new(COLUMNS);
        for node in &nodes {
            let live = live.iter().find(|live| Some(&live.node) == node.node.as_ref());
            let hastate = resources
                .iter()
                .find(|row| row.node == node.node)
                .and_then(|row| row.hastate.as_deref());
            push(&mut table, node, live, hastate);
        }
        notes.extend(why_not(&live));
        notes.extend(without_figures(&nodes));
        if !is_asked && input.detail != Some(false) {
            notes.push(
                "versions and load are left out for so many nodes; `detail: true` asks each node"
                    .to_owned(),
            );
        }
        let status = status.unwrap_or_default();
        let votes = match &status.cluster {
            // With all nodes there, there are all votes.
            Some(_) if n_online < nodes.len() => votes(&pve, call, &nodes).await,
            _ => Ok(None),
        };
        let votes = votes.unwrap_or_else(|error| {
            notes.push(format!("the votes are not known: {}", Failure::reason(&error)));
            None
        });
        notes.extend(standing(&status, nodes.len()));
        Ok(Output {
            quorate: status.cluster.as_ref().and_then(|cluster| cluster.quorate),
            cluster: status.cluster.and_then(|cluster| cluster.name).map(|name| label(&name)),
            votes,
            total: nodes.len(),
            online: n_online,
            nodes: table,
            notes,
        })
    }
}

/// Online nodes of which there is not one figure. That is so without the privilege, and for other reasons too; where
/// there is any figure, the privilege is there.
fn without_figures(nodes: &[Listed]) -> Option<String> {
    let is_bare = |node: &&Listed| {
        let sizes = [node.mem, node.maxmem, node.disk, node.maxdisk, node.uptime];
        is_online(node) && node.cpu.or(node.maxcpu).is_none() && sizes.iter().all(Option::is_none)
    };
    let bare: Vec<&str> = nodes
        .iter()
        .filter(is_bare)
        .take(8)
        .filter_map(|node| Some(node.node.as_ref()?.as_str()))
        .collect();
    (!bare.is_empty()).then(|| {
        format!(
            "PVE sent no figures of {}: this token may lack Sys.Audit on /nodes",
            bare.join(", ")
        )
    })
}

/// How many votes are there, of how many, and how many it takes. A `QDevice`'s are not known.
async fn votes(
    pve: &Reader,
    call: &Call,
    nodes: &[Listed],
) -> Result<Option<String>, pve_client::Error> {
    let members = pve.until(call.part(SECONDS)).get(cluster::config_nodes()).await?;
    let is_here = |name: &Option<NodeName>| {
        name.is_some() && nodes.iter().any(|node| node.node == *name && is_online(node))
    };
    let here = members.iter().filter(|member| is_here(&member.node));
    let here: u64 = here.filter_map(|member| member.quorum_votes).sum();
    let all: u64 = members.iter().filter_map(|member| member.quorum_votes).sum();
    let needed = all / 2 + 1;
    Ok((all > 0).then(|| format!("{here} of {all}, {needed} needed; without a QDevice's")))
}

fn is_online(node: &Listed) -> bool {
    node.status.as_deref() == Some("online")
}

/// What one node said of itself.
struct Live {
    node: NodeName,
    status: Result<node::Status, String>,
}

async fn ask(pve: &Reader, call: &Call, nodes: Vec<NodeName>) -> Vec<Live> {
    let pve = pve.until(call.part(ALL_SECONDS));
    let pve = &pve;
    let answers = stream::iter(nodes).map(|node| async move {
        // Each node's time begins when it is asked.
        let part = pve.until(call.part(SECONDS));
        let status = part.get(node::status(&node)).await.map_err(|error| Failure::reason(&error));
        Live { node, status }
    });
    answers.buffer_unordered(AT_ONCE).collect().await
}

const COLUMNS: &[&str] =
    &["node", "status", "cpu%", "cores", "memory", "root_disk", "uptime", "version", "load"];

fn push(table: &mut Table, node: &Listed, live: Option<&Live>, hastate: Option<&str>) {
    let live = live.and_then(|live| live.status.as_ref().ok());
    let status = node.status.as_deref().map_or_else(|| "unknown".to_owned(), label);
    // A node in maintenance may reboot or vanish at any moment.
    let status = match hastate {
        Some("maintenance") => format!("{status} (maintenance)"),
        _ => status,
    };
    table.push([
        node.node.as_ref().map(|name| name.as_str().to_owned()).into(),
        status.into(),
        node.cpu.and_then(Percent::from_fraction).into(),
        node.maxcpu.map(Number).into(),
        Share::new(node.mem, node.maxmem).into(),
        Share::new(node.disk, node.maxdisk).into(),
        node.uptime.filter(|uptime| *uptime > 0).map(Duration).into(),
        live.and_then(|live| live.pveversion.as_deref()).map(short_version).into(),
        live.map(|live| {
            live.loadavg.iter().map(|load| format!("{load:.2}")).collect::<Vec<_>>().join(" ")
        })
        .filter(|load| !load.is_empty())
        .into(),
    ]);
}

/// `pve-manager/9.2.11/14a22df35955d97d` is long for what it says.
pub(super) fn short_version(text: &str) -> String {
    let text = text.strip_prefix("pve-manager/").unwrap_or(text);
    label(text.split(['/', ' ']).next().unwrap_or(text))
}

/// The same reason is told once, with the nodes that it holds for.
fn why_not(live: &[Live]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for answer in live {
        let Err(why) = &answer.status else { continue };
        match reasons.iter_mut().find(|(reason, _)| *reason == why.as_str()) {
            Some((_, nodes)) => nodes.push(answer.node.as_str()),
            None => reasons.push((why, vec![answer.node.as_str()])),
        }
    }
    let told = reasons
        .into_iter()
        .map(|(reason, nodes)| format!("no version and load from {}: {reason}", nodes.join(", ")));
    told.collect()
}

fn standing(status: &ClusterStatus, n_nodes: usize) -> Vec<String> {
    match &status.cluster {
        Some(cluster) if cluster.quorate == Some(false) => vec![
            "no quorum: guests keep running, but nothing can be started or changed until enough nodes are back".to_owned(),
        ],
        None if n_nodes == 1 && !status.nodes.is_empty() => vec!["this host stands alone: there is no cluster, and quorum does not apply".to_owned()],
        _ => Vec::new(),
    }
}
