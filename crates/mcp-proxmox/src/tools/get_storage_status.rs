//! `get_storage_status`: one storage: its state on every node, how full it is and since when, what is on
//! it, and its backups.
//!
//! What the cluster knows comes first and costs the storage nothing; a node is then asked for the rest, and
//! for the content only if the storage is reached from there. **An empty list is called empty only where
//! the token's rights suffice to know**: PVE leaves out what the token may not see, and does not say so.

mod content;

use futures_util::{StreamExt as _, join, stream};
use pve_client::{
    Error, NodeName, Observer, Reader, VmId, access, guest,
    rrd::{self, Consolidation, Target, Timeframe},
    storage::{self, Live, Volume},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::content::{Backups, Hidden};
use crate::{
    answer::{Duration, Share, Table, clean::label},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    history::{Figures, History, Trend, Unit},
    in_order::InOrder as _,
    lookup::{
        self,
        storage::{State, Storage, Storages},
    },
    rights::Rights,
    tier::Reads,
};

/// How long a node may take to say how the storage is, in seconds.
const STATUS_SECONDS: u64 = 8;
/// How long it may take to list what is on it, in seconds.
const CONTENT_SECONDS: u64 = 28;
/// How long all nodes together may take, in seconds: less than the call has, so that what is known is told.
const ALL_SECONDS: u64 = 44;
/// Of how many nodes a storage that is not shared is listed.
const NODES: usize = 8;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetStorageStatus;

/// Which one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    storage: String,
    /// On this node alone.
    node: Option<String>,
    /// Only this guest's content: vmid or name.
    vm: Option<String>,
    /// Newest backups to list (default 10).
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u32>,
}

/// Its state.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    storage: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
    shared: bool,
    /// What may be on it.
    content: Vec<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// In one word, or with the nodes where they differ.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trend: Option<String>,
    /// Of a storage that is not shared and on several nodes.
    #[serde(skip_serializing_if = "Table::is_empty")]
    nodes: Table,
    /// What is on it, as far as the token sees it.
    #[serde(skip_serializing_if = "Table::is_empty")]
    volumes: Table,
    #[serde(skip_serializing_if = "Option::is_none")]
    backups: Option<Backups>,
    /// Whose disks are on it, the largest first.
    #[serde(skip_serializing_if = "Table::is_empty")]
    guests: Table,
    #[serde(skip_serializing_if = "Table::is_empty")]
    newest_backups: Table,
    /// What may be there but is not shown to this token.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hidden: Vec<String>,
    /// What could not be read, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_available: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetStorageStatus {
    const NAME: &'static str = "get_storage_status";
    const TITLE: &'static str = "Storage status";
    const DESCRIPTION: &'static str = "One storage in depth: state on every node, use and growth, when it will be full, content by kind, \
        newest, unverified and protected backups, of all guests or one VM or container. For all storages use list_storage.";
    const TOOLSET: Toolset = Toolset::Storage;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let known = lookup::storage::all(&pve).await?;
        let mut storage = known.find(&input.storage)?.clone();
        if let Some(name) = &input.node {
            let (node, _) = lookup::node::pick(known.nodes.clone(), name.trim())?;
            storage.places.retain(|place| place.node == node);
            if storage.places.is_empty() && !storage.is_disabled {
                let what =
                    format!("`{}` is not on the node {}", storage.id.as_str(), node.as_str());
                return Err(Failure::new(what).hint("list_storage shows which nodes have it"));
            }
        }
        let vmid = vmid(&pve, input.vm.as_deref()).await?;
        let mut output = Output::of(&storage);
        if storage.is_disabled {
            output.notes.push(
                "it is switched off in the configuration, so nothing is known of its content"
                    .to_owned(),
            );
            return Ok(output);
        }
        output.notes.extend(known.notes.iter().cloned());
        let part = pve.until(call.part(STATUS_SECONDS));
        let (looks, trend, rights, names) = join!(
            look(&pve, call, &known, &storage, vmid),
            trend(&pve, call, &storage),
            part.get(access::permissions()),
            part.get(guest::list()),
        );
        output.trend = trend.unwrap_or_else(|error| {
            output.miss("the history", &error);
            None
        });
        let limit = input.limit.unwrap_or(10) as usize;
        let volumes = output.add(&storage, looks, rights, vmid, limit, call);
        let names = names.ok();
        let is_seen = |vmid| names.iter().flatten().any(|guest| guest.vmid == Some(vmid));
        if let Some(vmid) = vmid.filter(|vmid| names.is_some() && !is_seen(*vmid)) {
            // A slip of the pen would else be a guest without a backup.
            let note = format!(
                "there is no VM or container {vmid} that this token can see: list_vms shows all"
            );
            output.notes.push(note);
        }
        // Without names the vmids say enough.
        output.add_guests(&volumes, &names.unwrap_or_default(), limit);
        Ok(output)
    }
}

/// A guest that is gone may still have backups, so that a vmid is taken as it is.
async fn vmid(pve: &Reader, vm: Option<&str>) -> Result<Option<VmId>, Failure> {
    let Some(vm) = vm else { return Ok(None) };
    match vm.trim().parse() {
        Ok(vmid) => Ok(Some(vmid)),
        Err(_) => lookup::guest::find(pve, vm).await.map(|found| Some(found.guest.vmid)),
    }
}

/// What one node says of the storage.
struct Look {
    node: NodeName,
    status: Result<Live, Error>,
    /// Asked for only where the storage is reached.
    content: Option<Result<Vec<Volume>, Error>>,
}

async fn look(
    pve: &Reader,
    call: &Call,
    known: &Storages,
    storage: &Storage,
    vmid: Option<VmId>,
) -> Vec<Look> {
    let mut places: Vec<_> =
        storage.places.iter().filter(|place| known.is_online(&place.node)).collect();
    places.order_by_key(|place| place.state);
    // All nodes see the same content of a shared storage. A second one is asked where the first fails.
    let n_asked = if storage.is_shared { 2 } else { NODES };
    let nodes: Vec<NodeName> =
        places.into_iter().take(n_asked).map(|place| place.node.clone()).collect();
    let latest = call.part(ALL_SECONDS);
    let ask = |node: NodeName| async move {
        let within = |seconds| pve.until(call.part(seconds).min(latest));
        let status = within(STATUS_SECONDS).get(storage::status(&node, &storage.id)).await;
        let is_active = status.as_ref().is_ok_and(|status| status.active == Some(true));
        let content = if is_active {
            let request = storage::content(&node, &storage.id, vmid);
            Some(within(CONTENT_SECONDS).get(request).await)
        } else {
            None
        };
        Look { node, status, content }
    };
    if storage.is_shared {
        let mut looks = Vec::new();
        for node in nodes {
            looks.push(ask(node).await);
            if looks.iter().any(|look| matches!(look.content, Some(Ok(_)))) {
                break;
            }
        }
        return looks;
    }
    let mut looks: Vec<Look> =
        stream::iter(nodes).map(ask).buffer_unordered(AT_ONCE).collect().await;
    looks.order_by(|a, b| a.node.cmp(&b.node));
    looks
}

/// How its use grows, where that is one figure.
async fn trend(pve: &Reader, call: &Call, storage: &Storage) -> Result<Option<String>, Error> {
    let place = match storage.places.as_slice() {
        [only] => only,
        several if storage.is_shared => {
            match several.iter().find(|place| place.state == State::Available) {
                Some(place) => place,
                None => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let target = Target::Storage(place.node.clone(), storage.id.clone());
    let request = rrd::history(&target, Timeframe::Week, Consolidation::Average);
    let history = History::new(pve.until(call.part(STATUS_SECONDS)).get(request).await?);
    Ok(words(&history))
}

/// What the last week says of the coming months.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of days that was looked at"
)]
fn words(history: &History) -> Option<String> {
    let used = history.samples(|point| point.get("used").copied());
    let total = history.samples(|point| point.get("total").copied()).last()?.value;
    let figures = Figures::of(&used)?;
    let span = Duration(used.last()?.time.abs_diff(used.first()?.time));
    Some(match figures.trend {
        Trend::Steady => format!("steady over {span}"),
        Trend::None => format!("no clear trend over {span}"),
        Trend::Change { a_second, .. } => {
            let a_day = a_second * 86_400.0;
            let sign = if a_day > 0.0 { "+" } else { "" };
            let pace = format!("{sign}{} a day over {span}", Unit::Bytes.show(a_day));
            let days = (total - figures.last) / a_day;
            // What is years ahead is no forecast.
            if a_day > 0.0 && (0.0..1000.0).contains(&days) {
                format!("{pace}; full in about {} days at that pace", days.round() as u64)
            } else {
                pace
            }
        }
    })
}

impl Output {
    fn of(storage: &Storage) -> Self {
        let state = match storage.is_disabled {
            true => "disabled".to_owned(),
            false if storage.places.is_empty() => "on no node".to_owned(),
            false => super::list_storage::states(&storage.places),
        };
        Self {
            storage: storage.id.as_str().to_owned(),
            r#type: storage.plugin.clone(),
            shared: storage.is_shared,
            content: storage.content.clone(),
            source: storage.source.clone(),
            state,
            nodes: Table::new(&["node", "state", "used"]),
            volumes: Table::new(&["kind", "count", "size"]),
            ..Self::default()
        }
    }

    fn miss(&mut self, what: &str, error: &Error) {
        let failure = Failure::from_pve(&format!("read {what}"), error);
        self.not_available.push(failure.what().to_owned());
    }

    fn add(
        &mut self,
        storage: &Storage,
        looks: Vec<Look>,
        rights: Result<access::Permissions, Error>,
        vmid: Option<VmId>,
        limit: usize,
        call: &Call,
    ) -> Vec<Volume> {
        let mut places = storage.places.clone();
        let mut is_live = false;
        let (mut volumes, mut is_listed) = (Vec::new(), false);
        for look in looks {
            let node = look.node.as_str();
            match look.status {
                Ok(live) => {
                    is_live = true;
                    if let Some(place) = places.iter_mut().find(|place| place.node == look.node) {
                        let is_active = live.active == Some(true);
                        place.state = if is_active { State::Available } else { State::Unavailable };
                        place.share = Share::new(live.used, live.total).filter(|_| is_active);
                    }
                }
                Err(error) => self.miss(&format!("the live state on {node}"), &error),
            }
            match look.content {
                Some(Ok(found)) => {
                    is_listed = true;
                    volumes.extend(found);
                }
                Some(Err(error)) => self.miss(&format!("the content on {node}"), &error),
                None => {}
            }
        }
        self.state = super::list_storage::states(&places);
        if storage.is_shared || places.len() == 1 {
            self.used = places.iter().find_map(|place| place.share);
        } else {
            for place in &places {
                let node = place.node.as_str().to_owned();
                self.nodes.push([node.into(), place.state.to_string().into(), place.share.into()]);
            }
            self.notes.push("each node has its own; `node` shows one, with its trend".to_owned());
        }
        if !is_live && self.used.is_some() {
            self.notes.push("the figures are the last that PVE has collected".to_owned());
        }
        if !is_listed {
            let who = match places.as_slice() {
                [place] => place.node.to_string(),
                _ => "no node".to_owned(),
            };
            let could = if places.len() == 1 { "could not" } else { "could" };
            self.notes.push(format!("{who} {could} list its content"));
            return Vec::new();
        }
        let rights = match rights {
            Ok(rights) => Some(Rights(rights)),
            Err(error) => {
                self.miss("this token's privileges", &error);
                None
            }
        };
        let hidden = Hidden::of(storage, rights.as_ref(), vmid);
        content::count(&mut self.volumes, &volumes, storage, &hidden);
        self.backups = Backups::of(&volumes, storage, &hidden, call);
        self.newest_backups = content::newest(&volumes, limit, call);
        if storage.plugin.as_deref() == Some("pbs") && self.backups.is_some() {
            self.notes.push("sizes of backups are those before deduplication".to_owned());
        }
        self.hidden = hidden.words();
        if let Some(vmid) = vmid {
            self.notes.push(format!("only what belongs to {}", label(&vmid.to_string())));
        }
        volumes
    }

    fn add_guests(&mut self, volumes: &[Volume], names: &[guest::Listed], limit: usize) {
        let (table, n_others) = content::guests(volumes, names, limit);
        self.guests = table;
        if n_others > 0 {
            self.notes.push(format!("{n_others} more guests have disks here: raise `limit`"));
        }
    }
}
