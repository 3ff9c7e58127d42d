//! `list_storage`: every storage, and how it is on each node.
//!
//! The figures are those that PVE has collected, so that a dead network storage holds nothing up; `live`
//! asks the nodes, each with its own time-out. A shared storage is one row, and one that only has the same
//! name on several nodes is a row for each.

mod live;

use std::collections::{BTreeMap, BTreeSet};

use pve_client::{NodeName, Observer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{
        Cell, Percent, Share, Table,
        clean::{label, quoted},
    },
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    in_order::InOrder as _,
    lookup::{
        self,
        storage::{NONE, Place, State, Storage, Storages},
    },
    tier::Reads,
};

/// Up to so many rows a storage has one for each node.
const ROWS: usize = 50;
/// So many are named of what is nearly full or not available.
const NAMED: usize = 20;
/// From here on a storage is nearly full, in percent.
const NEARLY_FULL: f64 = 85.0;
/// How many nodes are named in one cell.
const NODES: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub struct ListStorage;

/// Which storages.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// On this node.
    node: Option<String>,
    /// Such as nfs.
    r#type: Option<String>,
    /// Such as backup or images.
    content: Option<String>,
    /// Ask the nodes. Slow where a storage is dead.
    #[serde(default)]
    live: bool,
}

/// The storages that match.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// How many storages match, shared ones once.
    total: usize,
    /// How many there are in each state, counted on each node.
    by_state: BTreeMap<String, usize>,
    /// How old the figures are.
    figures: String,
    storages: Table,
    /// The fullest and those that are not available, where single nodes are not shown.
    #[serde(skip_serializing_if = "Table::is_empty")]
    worth_a_look: Table,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for ListStorage {
    const NAME: &'static str = "list_storage";
    const TITLE: &'static str = "List storages";
    const DESCRIPTION: &'static str = "List all storages with type, content, state on every node, used and total space; shared ones once. \
        For backups, content and when one is full use get_storage_status.";
    const TOOLSET: Toolset = Toolset::Storage;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let mut known = lookup::storage::all(&pve).await?;
        let node = input.node.as_deref().map(|name| pick_node(&known, name)).transpose()?;
        if known.all.is_empty() {
            known.notes.push(NONE.to_owned());
        }
        known.notes.extend(input.explain(&known.all));
        known.all.retain(|storage| input.picks(storage));
        if let Some(node) = &node {
            known.all.retain_mut(|storage| {
                storage.places.retain(|place| &place.node == node);
                !storage.places.is_empty()
            });
        }
        let figures = if input.live {
            live::ask(&pve, call, &mut known).await
        } else {
            "collected by PVE, some 10 s old; `live: true` asks the nodes".to_owned()
        };
        Ok(Output::of(known, figures))
    }
}

fn pick_node(known: &Storages, name: &str) -> Result<NodeName, Failure> {
    lookup::node::pick(known.nodes.clone(), name.trim()).map(|(node, _)| node)
}

impl Input {
    /// What is to be said of filters that no storage could pass.
    fn explain(&self, all: &[Storage]) -> Vec<String> {
        let types: BTreeSet<&str> =
            all.iter().filter_map(|storage| storage.plugin.as_deref()).collect();
        let contents: BTreeSet<&str> =
            all.iter().flat_map(|storage| &storage.content).map(String::as_str).collect();
        let filters = [("type", &self.r#type, types), ("content", &self.content, contents)];
        let slips = filters.into_iter().filter_map(|(what, wanted, known)| {
            let wanted = wanted.as_deref()?.trim();
            let is_known = known.iter().any(|word| word.eq_ignore_ascii_case(wanted));
            let known: Vec<String> = known.into_iter().map(label).collect();
            (!is_known && !known.is_empty()).then(|| {
                format!("no storage has the {what} {}, but {}", quoted(wanted), known.join(", "))
            })
        });
        slips.collect()
    }

    fn picks(&self, storage: &Storage) -> bool {
        let same = |wanted: &str, value: &str| value.eq_ignore_ascii_case(wanted.trim());
        let plugin = self.r#type.as_deref().is_none_or(|wanted| {
            storage.plugin.as_deref().is_some_and(|plugin| same(wanted, plugin))
        });
        let content = self
            .content
            .as_deref()
            .is_none_or(|wanted| storage.content.iter().any(|kind| same(wanted, kind)));
        plugin && content
    }
}

const COLUMNS: &[&str] = &["storage", "type", "content", "shared", "node", "state", "used"];

impl Output {
    fn of(known: Storages, figures: String) -> Self {
        let Storages { all, mut notes, .. } = known;
        let n_rows: usize = all
            .iter()
            .map(|storage| if storage.is_shared { 1 } else { storage.places.len() })
            .sum();
        let is_folded = n_rows > ROWS;
        let (mut table, mut worth) =
            (Table::new(COLUMNS), Table::new(&["storage", "node", "state", "used"]));
        let mut by_state: BTreeMap<String, usize> = BTreeMap::new();
        for storage in &all {
            for word in storage.places.iter().map(|place| place.state.to_string()) {
                *by_state.entry(word).or_default() += 1;
            }
            if storage.is_disabled {
                *by_state.entry("disabled".to_owned()).or_default() += 1;
            }
            push(&mut table, storage, is_folded);
        }
        if is_folded {
            for (storage, place) in worth_a_look(&all) {
                let node = place.node.as_str().to_owned();
                worth.push([
                    id(storage),
                    node.into(),
                    place.state.to_string().into(),
                    place.share.into(),
                ]);
            }
            notes.push(
                "storages that are not shared are added up over their nodes; `node` shows those of one".to_owned(),
            );
        }
        Self { total: all.len(), by_state, figures, storages: table, worth_a_look: worth, notes }
    }
}

fn id(storage: &Storage) -> Cell {
    storage.id.as_str().to_owned().into()
}

fn push(table: &mut Table, storage: &Storage, is_folded: bool) {
    let mut row = |node: Cell, state: String, used: Cell| {
        let shared =
            if storage.is_shared { Some("yes") } else { storage.is_sharing_known.then_some("no") };
        let content = storage.content.join(",");
        table.push([
            id(storage),
            storage.plugin.clone().into(),
            content.into(),
            shared.into(),
            node,
            state.into(),
            used,
        ]);
    };
    if storage.is_disabled {
        return row(Cell::Unknown, "disabled".to_owned(), Cell::Unknown);
    }
    if storage.places.is_empty() {
        return row(Cell::Unknown, "on no node".to_owned(), Cell::Unknown);
    }
    if storage.is_shared || is_folded {
        // What all nodes share is counted once.
        let mut shares = storage.places.iter().filter_map(|place| place.share);
        let used = if storage.is_shared { shares.next() } else { shares.reduce(added) };
        return row(nodes(&storage.places).into(), states(&storage.places), used.into());
    }
    for place in &storage.places {
        let node = place.node.as_str().to_owned();
        row(node.into(), place.state.to_string(), place.share.into());
    }
}

fn added(a: Share, b: Share) -> Share {
    Share { used: a.used.saturating_add(b.used), total: a.total.saturating_add(b.total) }
}

fn nodes(places: &[Place]) -> String {
    match places {
        [only] => only.node.as_str().to_owned(),
        several => format!("{} nodes", several.len()),
    }
}

/// The state, or each state with its nodes where they differ.
pub(super) fn states(places: &[Place]) -> String {
    let mut by_state: BTreeMap<State, Vec<&str>> = BTreeMap::new();
    for place in places {
        by_state.entry(place.state).or_default().push(place.node.as_str());
    }
    if let (1, Some((state, _))) = (by_state.len(), by_state.first_key_value()) {
        return state.to_string();
    }
    let told = by_state.into_iter().map(|(state, nodes)| {
        let named = nodes.iter().take(NODES).copied().collect::<Vec<_>>().join(", ");
        let more = nodes.len().saturating_sub(NODES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{state} on {named}{more}")
    });
    told.collect::<Vec<_>>().join("; ")
}

/// What is not available, then what is nearly full, the fullest first.
fn worth_a_look(all: &[Storage]) -> Vec<(&Storage, &Place)> {
    let percent = |place: &Place| place.share.and_then(Share::percent).map_or(0.0, Percent::value);
    let places =
        all.iter().flat_map(|storage| storage.places.iter().map(move |place| (storage, place)));
    let mut found: Vec<(&Storage, &Place)> = places
        .filter(|(_, place)| place.state != State::Available || percent(place) >= NEARLY_FULL)
        .collect();
    found.order_by(|(_, a), (_, b)| {
        let is_there = |place: &Place| place.state == State::Available;
        is_there(a).cmp(&is_there(b)).then(percent(b).total_cmp(&percent(a)))
    });
    found.truncate(NAMED);
    found
}
