//! Which nodes to ask for their logs.

use pve_client::{NodeName, Reader, node};

use crate::{answer::clean::quoted, failure::Failure, in_order::InOrder as _, lookup};

/// The nodes to ask, and those that cannot be.
#[derive(Debug, Default)]
pub struct Chosen {
    /// To be asked.
    pub nodes: Vec<NodeName>,
    /// Why others are not asked, a line each.
    pub missing: Vec<String>,
}

/// The nodes of these names, or all of them, with those left out that are known to be off.
pub async fn choose(pve: &Reader, wanted: &[String]) -> Result<Chosen, Failure> {
    let asked = "list the nodes";
    let listed = pve.get(node::list()).await.map_err(|error| Failure::from_pve(asked, &error))?;
    let mut known: Vec<_> =
        listed.into_iter().filter_map(|node| Some((node.node?, node.status))).collect();
    if known.is_empty() {
        return Err(lookup::node::none_listed());
    }
    known.order_by(|(a, _), (b, _)| a.cmp(b));
    let mut chosen = Chosen::default();
    for name in wanted {
        let is_known =
            known.iter().any(|(node, _)| node.as_str().eq_ignore_ascii_case(name.trim()));
        if !is_known {
            let names: Vec<_> = known.iter().take(16).map(|(node, _)| node.as_str()).collect();
            return Err(Failure::new(format!("there is no node {} in this cluster", quoted(name)))
                .hint(format!("the nodes are {}", names.join(", "))));
        }
    }
    let is_wanted = |node: &NodeName| {
        wanted.is_empty()
            || wanted.iter().any(|name| node.as_str().eq_ignore_ascii_case(name.trim()))
    };
    for (node, status) in known.into_iter().filter(|(node, _)| is_wanted(node)) {
        if status.as_deref() == Some("offline") {
            chosen.missing.push(format!("{node} is offline, and its logs with it"));
        } else {
            chosen.nodes.push(node);
        }
    }
    Ok(chosen)
}
