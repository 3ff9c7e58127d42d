//! The storages as the cluster knows them, without touching one: a dead network storage holds nothing up.
//!
//! Three quick questions: the cluster's list has the figures that nodes sent, the configuration has what is
//! switched off, and the list of nodes tells a storage that is not reached from a node that is off.

use std::fmt;

use futures_util::join;
use pve_client::{
    NodeName, Reader, StorageId, node,
    storage::{self, Configured, Listed},
};

use crate::{
    answer::{
        Share,
        clean::{label, quoted},
    },
    arguments::nearest,
    failure::Failure,
    in_order::InOrder as _,
};

/// All storages that the token may see.
#[derive(Debug, Default)]
pub struct Storages {
    /// By name.
    pub all: Vec<Storage>,
    /// The nodes of the cluster, where they could be listed.
    pub nodes: Vec<node::Listed>,
    /// What could not be read.
    pub notes: Vec<String>,
}

/// One storage of the configuration.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Its name.
    pub id: StorageId,
    /// Its type.
    pub plugin: Option<String>,
    /// What may be on it, in alphabetical order.
    pub content: Vec<String>,
    /// Whether all nodes see the same.
    pub is_shared: bool,
    /// Whether that could be read. It is taken for one that is not shared otherwise.
    pub is_sharing_known: bool,
    /// Whether it is switched off.
    pub is_disabled: bool,
    /// Where it is: a path, a pool, a server.
    pub source: Option<String>,
    /// How it is on each node that has it, by name.
    pub places: Vec<Place>,
}

/// A storage on one node.
#[derive(Clone, Debug)]
pub struct Place {
    /// The node.
    pub node: NodeName,
    /// How it is there.
    pub state: State,
    /// How full it is.
    pub share: Option<Share>,
}

/// How a storage is on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It can be used.
    Available,
    /// The node is there, and sends no figures of it: it is not mounted, or not reached.
    Unavailable,
    /// The node is off.
    NodeOffline,
    /// Not known: the node's pvestatd is silent, or the nodes could not be listed.
    Unknown,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Available => "available",
            Self::Unavailable => "not available",
            Self::NodeOffline => "node offline",
            Self::Unknown => "unknown",
        })
    }
}

/// Reads what the cluster knows.
pub async fn all(pve: &Reader) -> Result<Storages, Failure> {
    // Asked alone first: a wrong token costs PVE's 3 s only once.
    let listed = pve
        .get(storage::list())
        .await
        .map_err(|error| Failure::from_pve("list the storages", &error))?;
    let (configured, nodes) = join!(pve.get(storage::configured()), pve.get(node::list()));
    let mut storages = Storages::default();
    let configured = configured.unwrap_or_else(|error| {
        let failure = Failure::from_pve("read the storage configuration", &error);
        storages.notes.push(format!("disabled storages are not shown: {}", failure.what()));
        Vec::new()
    });
    storages.nodes = nodes.unwrap_or_else(|error| {
        let failure = Failure::from_pve("list the nodes", &error);
        storages.notes.push(format!("whether nodes are online is not known: {}", failure.what()));
        Vec::new()
    });
    for storage in &configured {
        if let Some(id) = &storage.storage {
            storages.entry(id).configure(storage);
        }
    }
    for row in &listed {
        if let (Some(id), Some(node)) = (&row.storage, &row.node) {
            let place = Place {
                node: node.clone(),
                state: storages.state(row, node),
                share: Share::new(row.disk, row.maxdisk),
            };
            let entry = storages.entry(id);
            entry.list(row);
            entry.places.push(place);
        }
    }
    for storage in &mut storages.all {
        storage.places.order_by(|a, b| a.node.cmp(&b.node));
    }
    storages.all.order_by(|a, b| a.id.cmp(&b.id));
    Ok(storages)
}

impl Storages {
    fn entry(&mut self, id: &StorageId) -> &mut Storage {
        let index = self.all.iter().position(|storage| &storage.id == id).unwrap_or_else(|| {
            self.all.push(Storage::new(id.clone()));
            self.all.len() - 1
        });
        // The index is that of an entry that was just found or made.
        #[expect(clippy::indexing_slicing, reason = "found or pushed the line before")]
        &mut self.all[index]
    }

    fn state(&self, row: &Listed, node: &NodeName) -> State {
        if row.status.as_deref() == Some("available") {
            return State::Available;
        }
        let node = self.nodes.iter().find(|listed| listed.node.as_ref() == Some(node));
        match node.and_then(|node| node.status.as_deref()) {
            Some("online") => State::Unavailable,
            Some("offline") => State::NodeOffline,
            _ => State::Unknown,
        }
    }

    /// Whether the cluster sees this node.
    pub fn is_online(&self, node: &NodeName) -> bool {
        let listed = self.nodes.iter().find(|listed| listed.node.as_ref() == Some(node));
        listed.is_some_and(|listed| listed.status.as_deref() == Some("online"))
    }

    /// The storage of this name, whatever its case.
    pub fn find(&self, name: &str) -> Result<&Storage, Failure> {
        if self.all.is_empty() {
            return Err(Failure::new(NONE));
        }
        let position =
            |same: &dyn Fn(&str) -> bool| self.all.iter().find(|storage| same(storage.id.as_str()));
        let name = name.trim();
        let found =
            position(&|id| id == name).or_else(|| position(&|id| id.eq_ignore_ascii_case(name)));
        found.ok_or_else(|| {
            let what = format!("there is no storage {} that this token can see", quoted(name));
            let ids = || self.all.iter().map(|storage| storage.id.as_str());
            Failure::new(what).hint(match nearest(name, ids()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if self.all.len() <= 16 => {
                    format!("the storages are {}", ids().collect::<Vec<_>>().join(", "))
                }
                None => "list_storage shows them".to_owned(),
            })
        })
    }
}

/// What is said where no storage is seen.
pub const NONE: &str = "PVE shows this token no storage: every host has one, so the token has neither Datastore.Audit nor \
     Datastore.AllocateSpace on /storage; get_access tells what it has";

impl Storage {
    fn new(id: StorageId) -> Self {
        Self {
            id,
            plugin: None,
            content: Vec::new(),
            is_shared: false,
            is_sharing_known: true,
            is_disabled: false,
            source: None,
            places: Vec::new(),
        }
    }

    fn configure(&mut self, of: &Configured) {
        self.plugin = of.plugin.as_deref().map(label);
        self.content = kinds(of.content.as_deref());
        self.is_shared = of.shared.unwrap_or_default();
        self.is_disabled = of.disable.unwrap_or_default();
        let server = of.server.as_deref().map(label);
        let what = [&of.export, &of.datastore, &of.pool, &of.vgname, &of.path];
        let what = what.into_iter().flatten().next().map(|what| label(what));
        self.source = match (server, what) {
            (Some(server), Some(what)) => Some(format!("{server}:{what}")),
            (server, what) => server.or(what),
        };
    }

    fn list(&mut self, row: &Listed) {
        self.plugin = row.plugintype.as_deref().map(label).or(self.plugin.take());
        if self.content.is_empty() {
            self.content = kinds(row.content.as_deref());
        }
        self.is_shared |= row.shared.unwrap_or_default();
        // The list says it of each.
        self.is_sharing_known &= row.shared.is_some();
    }
}

/// The kinds of content, which PVE writes in random order.
fn kinds(content: Option<&str>) -> Vec<String> {
    let words = content.unwrap_or_default().split(',').map(label);
    let mut kinds: Vec<String> = words.filter(|kind| !kind.is_empty()).collect();
    kinds.sort_unstable();
    kinds
}
