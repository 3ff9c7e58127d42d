//! Finds the node that a caller named, as the cluster spells it.

use pve_client::{
    NodeName, Reader,
    node::{self, Listed},
};

use crate::{answer::clean::quoted, arguments::nearest, failure::Failure};

/// The node of this name, whatever its case. Names are compared exactly by PVE, so the listed spelling
/// is what counts from here on.
pub async fn find(pve: &Reader, name: &str) -> Result<(NodeName, Listed), Failure> {
    let asked = format!("find the node {}", quoted(name));
    let nodes = pve.get(node::list()).await.map_err(|error| Failure::from_pve(&asked, &error))?;
    pick(nodes, name.trim())
}

/// The node of this name in a list of nodes.
pub fn pick(mut nodes: Vec<Listed>, name: &str) -> Result<(NodeName, Listed), Failure> {
    if nodes.iter().all(|node| node.node.is_none()) {
        return Err(none_listed());
    }
    let position = |same: &dyn Fn(&str) -> bool| {
        nodes.iter().position(|node| node.node.as_ref().is_some_and(|node| same(node.as_str())))
    };
    let index = position(&|node| node == name)
        .or_else(|| position(&|node| node.eq_ignore_ascii_case(name)));
    let Some(index) = index else {
        let what = format!("there is no node {} in this cluster", quoted(name));
        let mut names: Vec<&str> =
            nodes.iter().filter_map(|node| Some(node.node.as_ref()?.as_str())).collect();
        names.sort_unstable();
        let hint = match nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.len() <= 16 => format!("the nodes are {}", names.join(", ")),
            None => "list_nodes shows them".to_owned(),
        };
        return Err(Failure::new(what).missing().hint(hint));
    };
    let listed = nodes.swap_remove(index);
    let node = listed.node.clone().ok_or_else(none_listed)?;
    Ok((node, listed))
}

/// The failure where PVE lists no node at all, which no working host does.
pub fn none_listed() -> Failure {
    Failure::new("PVE answered with an empty list of nodes").hint(
        "every host has at least itself, so the cluster file system is probably restarting: try again in a few seconds",
    )
}
