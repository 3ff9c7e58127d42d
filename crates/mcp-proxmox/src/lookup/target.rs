//! Finds what a caller wants the history of: a VM or container, a node, or a storage.

use pve_client::{GuestRef, Reader, rrd::Target};

use crate::{
    answer::clean::{label, quoted},
    failure::Failure,
    lookup::{
        self,
        storage::{State, Storage},
    },
};

/// Something with a history.
#[derive(Debug)]
pub struct Found {
    /// Where to ask for it.
    pub target: Target,
    /// What it is, as a title.
    pub title: String,
    /// What it is, as sentences name it.
    pub told: String,
    /// What the caller should know about how it was found.
    pub note: Option<String>,
}

/// What these arguments name: exactly one thing.
pub async fn find(
    pve: &Reader,
    vm: Option<&str>,
    node: Option<&str>,
    storage: Option<&str>,
) -> Result<Found, Failure> {
    match (vm, node, storage) {
        (Some(vm), None, None) => of_guest(pve, vm).await,
        (None, Some(node), None) => {
            let (node, _) = lookup::node::find(pve, node).await?;
            let title = format!("node {}", node.as_str());
            Ok(Found { target: Target::Node(node), told: title.clone(), title, note: None })
        }
        (None, node, Some(storage)) => of_storage(pve, storage, node).await,
        (None, None, None) => Err(Failure::new("history of what? nothing was named")
            .hint("give `vm` (a VM or container), `node`, or `storage`")),
        _ => Err(Failure::new(
            "`vm` goes with neither `node` nor `storage`: one thing has one history",
        )
        .hint("the node of a guest is found by itself; a storage may come with its node")),
    }
}

async fn of_guest(pve: &Reader, vm: &str) -> Result<Found, Failure> {
    let found = lookup::guest::find(pve, vm).await?;
    let GuestRef { node, kind, vmid } = &found.guest;
    let word = if *kind == pve_client::Kind::Qemu { "VM" } else { "container" };
    let name = lookup::guest::real_name(&found.listed);
    let with = |shown: fn(&str) -> String| {
        let name = name.map(|name| format!(" ({})", shown(name))).unwrap_or_default();
        format!("{word} {vmid}{name} on {}", node.as_str())
    };
    let (title, told) = (with(label), with(quoted));
    Ok(Found { target: Target::Guest(found.guest), title, told, note: found.note })
}

async fn of_storage(pve: &Reader, name: &str, node: Option<&str>) -> Result<Found, Failure> {
    let known = lookup::storage::all(pve).await?;
    let storage = known.find(name)?;
    let id = storage.id.as_str();
    let node = node.map(|node| lookup::node::pick(known.nodes.clone(), node.trim())).transpose()?;
    let node = match node {
        Some((node, _)) if storage.places.iter().any(|place| place.node == node) => node,
        Some((node, _)) => {
            return Err(Failure::new(format!("`{id}` is not on the node {}", node.as_str()))
                .hint("list_storage shows which nodes have it"));
        }
        None => one_place(storage)?,
    };
    let title = if storage.is_shared {
        format!("storage {id}, as {} sees it", node.as_str())
    } else {
        format!("storage {id} on {}", node.as_str())
    };
    let target = Target::Storage(node, storage.id.clone());
    Ok(Found { target, told: title.clone(), title, note: None })
}

/// The node to ask, where it does not matter which, or there is only one.
fn one_place(storage: &Storage) -> Result<pve_client::NodeName, Failure> {
    let id = storage.id.as_str();
    let available = storage.places.iter().find(|place| place.state == State::Available);
    match (storage.places.as_slice(), available) {
        ([], _) => Err(Failure::new(format!(
            "`{id}` is on no node: it is switched off or limited to nodes that are not there"
        ))),
        ([only], _) => Ok(only.node.clone()),
        ([first, ..], available) if storage.is_shared => {
            Ok(available.unwrap_or(first).node.clone())
        }
        (several, _) => {
            let nodes: Vec<_> = several.iter().take(8).map(|place| place.node.as_str()).collect();
            Err(Failure::new(format!(
                "`{id}` is another storage on each of {} nodes",
                several.len()
            ))
            .hint(format!("name one with `node`: {}", nodes.join(", "))))
        }
    }
}
