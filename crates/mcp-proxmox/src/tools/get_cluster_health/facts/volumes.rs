//! What is on storages: the backups, and the disks on those that promise more than they have.
//!
//! Read one after the other through a node that reaches the storage, and no more than a fixed number: a
//! list may be large, and a storage may hang. Those that backup jobs write to come first.

use pve_client::{
    Get, NodeName, Reader, StorageId,
    storage::{self, Backup, Volume},
};

use super::{
    Facts,
    ask::{Asking, Known},
};
use crate::{
    call::Call,
    failure::SILENT,
    in_order::InOrder as _,
    lookup::storage::{State, Storage, Storages},
    rights::{Extent, Rights},
};

/// How many lists of backups are read.
const LISTS: usize = 12;
/// How many shared storages are read for their disks.
const SHARED: usize = 4;
/// How long one storage may take, in seconds.
const SECONDS: u64 = 10;
/// How long all may take, in seconds.
const ALL_SECONDS: u64 = 30;
/// The largest list that is read: some 100,000 backups.
const LIMIT: usize = 32 << 20;
/// Types that give out space only when it is written to.
const THIN: [&str; 3] = ["lvmthin", "zfspool", "rbd"];

/// The backups on a storage.
#[derive(Debug)]
pub(crate) struct BackupList {
    pub(crate) storage: StorageId,
    /// The node that it is on, or was read through. `None` where no node reaches it.
    pub(crate) node: Option<NodeName>,
    pub(crate) backups: Known<Vec<Backup>>,
}

/// The disks on a storage that all nodes share.
#[derive(Debug)]
pub(crate) struct SharedDisks {
    pub(crate) storage: StorageId,
    /// How much they may take, in bytes.
    pub(crate) promised: Known<u64>,
}

/// What is to be read.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    backups: Vec<(StorageId, Vec<NodeName>)>,
    disks: Vec<(StorageId, Vec<NodeName>)>,
    /// Lists that are not read, and why.
    left: Vec<BackupList>,
}

/// What is to be read, as far as it is known and allowed.
pub(super) fn wanted(facts: &Facts) -> Wanted {
    let mut wanted = Wanted::default();
    let (Ok(storages), Ok(rights)) = (&facts.storages, &facts.rights) else { return wanted };
    let is_target = |storage: &Storage| {
        let jobs = facts.jobs.iter().flatten();
        jobs.filter_map(|job| job.storage.as_deref()).any(|name| name == storage.id.as_str())
    };
    let mut holders: Vec<&Storage> = storages
        .all
        .iter()
        .filter(|storage| !storage.is_disabled && holds(storage, &["backup"]))
        .collect();
    holders.order_by_key(|storage| (!is_target(storage), !storage.is_shared));
    for storage in holders {
        let leave = |node: Option<NodeName>, reason: &str| BackupList {
            storage: storage.id.clone(),
            node,
            backups: Err(reason.to_owned()),
        };
        if let Some(reason) = hides_backups(storage, rights) {
            wanted.left.push(leave(None, &reason));
            continue;
        }
        let nodes = reached(storage);
        if nodes.is_empty() {
            wanted.left.push(leave(None, "no node reaches it"));
        }
        // Through any node that reaches it, or on each.
        let lists = if storage.is_shared && !nodes.is_empty() {
            vec![nodes]
        } else {
            nodes.into_iter().map(|node| vec![node]).collect()
        };
        for nodes in lists {
            if wanted.backups.len() < LISTS {
                wanted.backups.push((storage.id.clone(), nodes));
            } else {
                let reason =
                    format!("only {LISTS} lists of backups are read; get_storage_status reads one");
                wanted.left.push(leave(nodes.into_iter().next(), &reason));
            }
        }
        // What is only on a node that is off cannot be read there.
        let unreached = storage.places.iter().filter(|place| place.state != State::Available);
        for place in unreached.filter(|_| !storage.is_shared) {
            let reason = match place.state {
                State::NodeOffline => "the node is offline",
                State::Unavailable => "the node does not reach it",
                State::Unknown | State::Available => "the node sends no figures",
            };
            wanted.left.push(leave(Some(place.node.clone()), reason));
        }
    }
    let shared = storages.all.iter().filter(|storage| storage.is_shared && is_thin(storage));
    for storage in shared.filter(|storage| hides_disks(storage, rights).is_none()) {
        wanted.disks.push((storage.id.clone(), reached(storage)));
    }
    wanted.disks.retain(|(_, nodes)| !nodes.is_empty());
    wanted.disks.truncate(SHARED);
    wanted
}

/// The nodes that reach a storage.
fn reached(storage: &Storage) -> Vec<NodeName> {
    let places = storage.places.iter().filter(|place| place.state == State::Available);
    places.map(|place| place.node.clone()).collect()
}

/// A node's own storages that promise more than they have, and whose disks the token may see.
pub(super) fn own_thin(
    storages: &Known<Storages>,
    rights: Option<&Rights>,
    node: &NodeName,
) -> Vec<StorageId> {
    let (Ok(storages), Some(rights)) = (storages, rights) else { return Vec::new() };
    let own = storages.all.iter().filter(|storage| !storage.is_shared && is_thin(storage));
    let seen = own.filter(|storage| hides_disks(storage, rights).is_none());
    let here = seen.filter(|storage| {
        let mut places = storage.places.iter();
        places.any(|place| &place.node == node && place.state == State::Available)
    });
    here.map(|storage| storage.id.clone()).take(2).collect()
}

/// What the disks among these may take, in bytes.
pub(crate) fn promised(volumes: &[Volume]) -> u64 {
    let disks = volumes
        .iter()
        .filter(|volume| matches!(volume.content.as_deref(), Some("images" | "rootdir")));
    disks.filter_map(Volume::bytes).fold(0, u64::saturating_add)
}

/// Whether a storage gives out space only when it is written to.
pub(crate) fn is_thin(storage: &Storage) -> bool {
    !storage.is_disabled
        && storage.plugin.as_deref().is_some_and(|plugin| THIN.contains(&plugin))
        && holds(storage, &["images", "rootdir"])
}

fn holds(storage: &Storage, kinds: &[&str]) -> bool {
    storage.content.iter().any(|kind| kinds.contains(&kind.as_str()))
}

/// What the token lacks to see all disks on a storage. PVE leaves out what it may not see.
pub(crate) fn hides_disks(storage: &Storage, rights: &Rights) -> Option<String> {
    let path = format!("/storage/{}", storage.id.as_str());
    let sees = rights.has(&path, &["Datastore.Allocate"])
        || rights.has(&path, &["Datastore.Audit"])
            && rights.extent("/vms", &["VM.Config.Disk"]) == Extent::All;
    (!sees).then(|| {
        "the disks are hidden from this token: it needs VM.Config.Disk on /vms, or Datastore.Allocate on the storage".to_owned()
    })
}

fn hides_backups(storage: &Storage, rights: &Rights) -> Option<String> {
    let path = format!("/storage/{}", storage.id.as_str());
    let sees = rights.has(&path, &["Datastore.Allocate"])
        || rights.has(&path, &["Datastore.AllocateSpace"])
            && rights.extent("/vms", &["VM.Backup"]) == Extent::All;
    (!sees).then(|| {
        "the backups are hidden from this token: it needs Datastore.AllocateSpace on /storage and VM.Backup on /vms".to_owned()
    })
}

/// Reads it.
pub(super) async fn ask(
    pve: &Reader,
    call: &Call,
    wanted: Wanted,
) -> (Vec<BackupList>, Vec<SharedDisks>) {
    let mut storages = Through { pve: pve.until(call.part(ALL_SECONDS)), call, gone: Vec::new() };
    let Wanted { backups, disks, left: mut lists } = wanted;
    for (storage, nodes) in backups {
        let request = |node: &NodeName| storage::backups(node, &storage);
        let (node, backups) = storages.read(nodes, request).await;
        lists.push(BackupList { storage, node, backups });
    }
    let mut shared = Vec::new();
    for (storage, nodes) in disks {
        let request = |node: &NodeName| storage::content(node, &storage, None);
        let (_, volumes) = storages.read(nodes, request).await;
        let promised = volumes.map(|volumes| promised(&volumes));
        shared.push(SharedDisks { storage, promised });
    }
    (lists, shared)
}

/// Reads storages through nodes that answer.
struct Through<'a> {
    pve: Reader,
    call: &'a Call,
    /// Nodes that did not answer, and are not asked again.
    gone: Vec<NodeName>,
}

impl Through<'_> {
    /// Reads a list through the first of these nodes, or through the second where that hangs.
    async fn read<T: Send + 'static>(
        &mut self,
        nodes: Vec<NodeName>,
        request: impl Fn(&NodeName) -> Get<T>,
    ) -> (Option<NodeName>, Known<T>) {
        let mut last = (nodes.first().cloned(), Err(SILENT.to_owned()));
        let here: Vec<NodeName> =
            nodes.into_iter().filter(|node| !self.gone.contains(node)).take(2).collect();
        for node in here {
            let mut asking = Asking::new(self.pve.until(self.call.part(SECONDS)));
            let answer = asking.ask(request(&node).at_most(LIMIT)).await;
            let is_gone = asking.gone.is_some();
            self.gone.extend(is_gone.then(|| node.clone()));
            last = (Some(node), answer);
            if !is_gone {
                break;
            }
        }
        last
    }
}
