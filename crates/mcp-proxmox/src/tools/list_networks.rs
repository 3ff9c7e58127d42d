//! `list_networks`: the interfaces of the nodes, what hangs on what, and the software-defined network.
//!
//! Which guest is on which bridge comes from the bridges themselves, one request for each node; where the
//! token or an older PVE does not allow that, from the configurations of some guests, and that is said.
//! **A bridge that is hidden from the token is called hidden, not absent.**

mod guests;
mod pending;
mod words;

use futures_util::{StreamExt as _, future, join, stream};
use pve_client::{
    Error, NodeName, Observer, Reader, RefusalKind,
    network::{self, Iface},
    node,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::guests::Plugged;
use crate::{
    answer::{
        Table,
        clean::{label, quoted},
    },
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    in_order::InOrder as _,
    lookup,
    tier::Reads,
};

/// How long all nodes together may take, in seconds.
const NODES_SECONDS: u64 = 25;
/// How long one of them may take, in seconds.
const NODE_SECONDS: u64 = 10;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;
/// How many interfaces are shown.
const ROWS: usize = 150;

/// See the module's documentation.
#[derive(Debug)]
pub struct ListNetworks;

/// Which.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only this node.
    node: Option<String>,
    /// This interface, bridge or vnet, with its guests.
    iface: Option<String>,
}

/// What there is.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    interfaces: Table,
    /// Running guests by bridge and VLAN.
    #[serde(skip_serializing_if = "Option::is_none")]
    guests: Option<Table>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sdn_zones: Option<Table>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sdn_vnets: Option<Table>,
    /// Changes that are written but not applied, as a diff by node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pending: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_available: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for ListNetworks {
    const NAME: &'static str = "list_networks";
    const TITLE: &'static str = "List networks";
    const DESCRIPTION: &'static str = "Network interfaces of one node or all: addresses, gateways, MTU, bridges with ports and VLANs, bonds, VLANs, OVS, \
        SDN zones and vnets, which guests are on which bridge and tag, pending changes. For traffic use get_network_stats.";
    const TOOLSET: Toolset = Toolset::Network;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let (nodes, mut notes) = nodes(&pve, input.node.as_deref()).await?;
        let part = pve.until(call.part(NODES_SECONDS));
        let (zones, vnets, answers) = join!(
            part.get(network::zones()),
            part.get(network::vnets()),
            stream::iter(nodes.clone())
                .map(|node| ask(&part, call, node))
                // In no order, or one node that hangs would keep all the later ones waiting.
                .buffer_unordered(AT_ONCE)
                .collect::<Vec<_>>(),
        );
        let mut answers = answers;
        answers.order_by(|a, b| a.node.cmp(&b.node));
        let mut output = Output::empty();
        output.notes.append(&mut notes);
        let wanted = input.iface.as_deref().map(str::trim);
        let mut plugged = Vec::new();
        let mut without_bridges = Vec::new();
        let mut why_without = None;
        let mut n_rows = 0;
        let mut hides_bridges = Vec::new();
        for answer in answers {
            let node = answer.node;
            let ifaces = match answer.ifaces {
                Ok(ifaces) => ifaces,
                Err(error) => {
                    let asked = format!("read the interfaces of {node}");
                    let why = Failure::from_pve(&asked, &error);
                    if nodes.len() == 1 {
                        return Err(why);
                    }
                    output.not_available.push(why.what().to_owned());
                    continue;
                }
            };
            output.pending.extend(
                ifaces.changes.as_deref().and_then(|diff| pending::change(&node, diff, wanted)),
            );
            if !ifaces.data.iter().any(is_bridge) {
                hides_bridges.push(node.as_str().to_owned());
            }
            for iface in in_order(ifaces.data) {
                if wanted.is_none_or(|wanted| words::mentions(&iface, wanted)) {
                    n_rows += 1;
                    if n_rows <= ROWS {
                        output.interfaces.push(words::row(&node, &iface));
                    }
                }
            }
            match answer.bridges {
                Ok(bridges) => plugged.extend(guests::of_bridges(&node, &bridges)),
                Err(error) => {
                    without_bridges.push(node);
                    why_without = Some(error);
                }
            }
        }
        if let Some(error) = why_without {
            let from_configs =
                guests::of_configs(&part, &without_bridges, &error, &mut output.notes).await;
            plugged.extend(from_configs);
        }
        let are_bridges_read = without_bridges.len() < nodes.len();
        output.add_guests(plugged, wanted, are_bridges_read);
        if n_rows > ROWS {
            output.notes.push(format!(
                "{} more interfaces are not shown: ask with `node` or `iface`",
                n_rows - ROWS
            ));
        }
        if !hides_bridges.is_empty() {
            output.notes.push(format!(
                "no bridge is listed on {}: there is none, or they are hidden from this token, which then lacks SDN.Audit on /sdn/zones/localnetwork",
                shortened(&hides_bridges.iter().map(String::as_str).collect::<Vec<_>>())
            ));
        }
        if !output.pending.is_empty() {
            output.notes.push(
                "where changes are pending, `interfaces` shows what will be after they are applied"
                    .to_owned(),
            );
        }
        let zones = output.add_sdn(zones, vnets, wanted);
        if let Some(wanted) = wanted.filter(|_| n_rows == 0 && output.shows_nothing()) {
            output.notes.push(format!(
                "nothing is named {} here; without `iface` everything is listed",
                quoted(wanted)
            ));
        }
        output.add_zone_states(&part, &nodes, &zones).await;
        Ok(output)
    }
}

/// What a node says.
struct Answers {
    node: NodeName,
    ifaces: Result<pve_client::Answer<Vec<Iface>>, Error>,
    bridges: Result<Vec<network::Bridge>, Error>,
}

async fn ask(pve: &Reader, call: &Call, node: NodeName) -> Answers {
    let pve = pve.until(call.part(NODE_SECONDS));
    let (ifaces, bridges) =
        future::join(pve.fetch(network::ifaces(&node)), pve.get(network::bridges(&node))).await;
    Answers { node, ifaces, bridges }
}

/// The node that is asked for, or all that can answer.
pub(super) async fn nodes(
    pve: &Reader,
    wanted: Option<&str>,
) -> Result<(Vec<NodeName>, Vec<String>), Failure> {
    if let Some(wanted) = wanted {
        let (node, listed) = lookup::node::find(pve, wanted).await?;
        if listed.status.as_deref() == Some("offline") {
            return Err(Failure::new(format!("the node {node} is offline and cannot be asked"))
                .hint("list_nodes shows the nodes"));
        }
        return Ok((vec![node], Vec::new()));
    }
    let listed =
        pve.get(node::list()).await.map_err(|error| Failure::from_pve("list the nodes", &error))?;
    let (off, on): (Vec<_>, Vec<_>) =
        listed.into_iter().partition(|node| node.status.as_deref() == Some("offline"));
    let names = |nodes: Vec<node::Listed>| {
        let mut names: Vec<NodeName> = nodes.into_iter().filter_map(|node| node.node).collect();
        names.sort();
        names
    };
    let (off, on) = (names(off), names(on));
    if on.is_empty() {
        return Err(lookup::node::none_listed());
    }
    let off: Vec<&str> = off.iter().map(NodeName::as_str).collect();
    let note = (!off.is_empty()).then(|| format!("offline, not asked: {}", shortened(&off)));
    Ok((on, note.into_iter().collect()))
}

/// Some names, and how many more there are.
fn shortened(names: &[&str]) -> String {
    let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    match names.len() {
        ..=8 => shown,
        all => format!("{shown} and {} more", all - 8),
    }
}

/// As the configuration file has them: by kind, from the card to what is built on it, then by name.
fn in_order(mut ifaces: Vec<Iface>) -> Vec<Iface> {
    let rank = |iface: &Iface| match iface.kind.as_deref() {
        Some("eth") => 0,
        Some("bond" | "OVSBond") => 1,
        Some("bridge" | "OVSBridge") => 3,
        Some("vlan" | "OVSIntPort" | "OVSPort") => 2,
        _ => 4,
    };
    ifaces.order_by(|a, b| (rank(a), &a.iface).cmp(&(rank(b), &b.iface)));
    ifaces
}

fn is_bridge(iface: &Iface) -> bool {
    matches!(iface.kind.as_deref(), Some("bridge" | "OVSBridge"))
}

impl Output {
    fn empty() -> Self {
        Self {
            interfaces: Table::new(&[
                "node",
                "iface",
                "type",
                "active",
                "addresses",
                "gateway",
                "mtu",
                "details",
                "comment",
            ]),
            guests: None,
            sdn_zones: None,
            sdn_vnets: None,
            pending: Vec::new(),
            not_available: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn shows_nothing(&self) -> bool {
        self.guests.is_none() && self.sdn_zones.is_none() && self.sdn_vnets.is_none()
    }

    fn add_guests(&mut self, plugged: Vec<Plugged>, wanted: Option<&str>, are_bridges_read: bool) {
        let plugged: Vec<Plugged> = plugged
            .into_iter()
            .filter(|one| wanted.is_none_or(|wanted| one.bridge.eq_ignore_ascii_case(wanted)))
            .collect();
        if !plugged.is_empty() {
            let (table, note) = guests::table(&plugged, wanted.is_some());
            self.guests = Some(table);
            self.notes.extend(note);
        }
        if are_bridges_read && wanted.is_none_or(|_| self.guests.is_some()) {
            self.notes.push(
                "`guests` holds what runs: stopped ones are in their configuration (get_vm_details)"
                    .to_owned(),
            );
        }
    }

    /// Adds the zones and networks that are wanted, and gives the names of the zones.
    fn add_sdn(
        &mut self,
        zones: Result<Vec<network::Zone>, Error>,
        vnets: Result<Vec<network::Vnet>, Error>,
        wanted: Option<&str>,
    ) -> Vec<String> {
        let is_wanted = |name: Option<&str>| {
            wanted.is_none_or(|wanted| name.is_some_and(|name| name.eq_ignore_ascii_case(wanted)))
        };
        let mut zones = self.sdn_part("SDN zones", zones).unwrap_or_default();
        let mut vnets = self.sdn_part("SDN vnets", vnets).unwrap_or_default();
        vnets.retain(|vnet| is_wanted(vnet.vnet.as_deref()));
        zones.retain(|zone| {
            let has_vnet = vnets.iter().any(|vnet| vnet.zone == zone.zone);
            has_vnet || is_wanted(zone.zone.as_deref()) || is_wanted(zone.bridge.as_deref())
        });
        let names = zones.iter().filter_map(|zone| zone.zone.clone()).collect();
        if !zones.is_empty() {
            let mut table = Table::new(&["zone", "type", "bridge", "mtu", "nodes", "pending"]);
            for zone in &zones {
                table.push(words::zone(zone));
            }
            self.sdn_zones = Some(table);
        }
        if !vnets.is_empty() {
            let mut table = Table::new(&["vnet", "zone", "tag", "alias", "vlan_aware", "pending"]);
            for vnet in &vnets {
                table.push(words::vnet(vnet));
            }
            self.sdn_vnets = Some(table);
        }
        names
    }

    /// A PVE without SDN has none, which is nothing to tell.
    fn sdn_part<T>(&mut self, what: &str, answer: Result<T, Error>) -> Option<T> {
        match answer {
            Ok(part) => Some(part),
            Err(Error::Refused(refusal)) if refusal.kind() == RefusalKind::NotImplemented => None,
            Err(error) => {
                let why = Failure::from_pve(&format!("read the {what}"), &error);
                self.not_available.push(why.what().to_owned());
                None
            }
        }
    }

    /// Where there are zones, each node is asked whether they work on it.
    async fn add_zone_states(&mut self, pve: &Reader, nodes: &[NodeName], zones: &[String]) {
        if zones.is_empty() {
            return;
        }
        let states = stream::iter(nodes.to_vec())
            .map(|node| async move {
                let answer = pve.get(network::zone_status(&node)).await;
                (node, answer)
            })
            .buffer_unordered(AT_ONCE)
            .collect::<Vec<_>>()
            .await;
        let mut states = states;
        states.order_by(|(a, _), (b, _)| a.cmp(b));
        for (node, answer) in states {
            match answer {
                Ok(states) => {
                    let is_odd = |state: &&network::ZoneStatus| {
                        state.status.as_deref().is_some_and(|status| status != "available")
                            && state.zone.as_ref().is_none_or(|zone| zones.contains(zone))
                    };
                    for state in states.iter().filter(is_odd) {
                        self.notes.push(format!(
                            "the SDN zone {} is {} on {node}",
                            label(state.zone.as_deref().unwrap_or("?")),
                            quoted(state.status.as_deref().unwrap_or_default())
                        ));
                    }
                }
                Err(error) => {
                    let asked = format!("read the state of the SDN zones on {node}");
                    let why = Failure::from_pve(&asked, &error);
                    self.not_available.push(why.what().to_owned());
                }
            }
        }
    }
}
