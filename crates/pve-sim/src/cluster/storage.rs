//! A storage: what may be on it, where it is, and how full.

use std::collections::BTreeMap;

use crate::cluster::Volume;

/// A storage.
#[derive(Debug, Clone)]
pub struct Storage {
    /// Its name.
    pub name: String,
    /// Its type: `dir`, `nfs`, `zfspool`, `lvmthin`, `pbs`, …
    pub plugin: String,
    /// What may be on it: `images`, `rootdir`, `backup`, `iso`, …
    pub content: Vec<String>,
    /// Whether all nodes see the same content.
    pub shared: bool,
    /// The nodes that have it; empty means all.
    pub nodes: Vec<String>,
    /// Size in bytes, on every node that has no entry in `per_node`.
    pub total: u64,
    /// Used bytes, on every node that has no entry in `per_node`.
    pub used: u64,
    /// Used and total bytes of single nodes.
    pub per_node: BTreeMap<String, (u64, u64)>,
    /// The nodes on which it is dead: configured, but not to be reached.
    pub dead_on: Vec<String>,
    /// Whether it is switched off.
    pub disabled: bool,
    /// By how many bytes a day its use has grown so far, in a world that moves.
    pub grows: u64,
    /// What is on it.
    pub volumes: Vec<Volume>,
}

impl Storage {
    /// A storage on all nodes.
    pub fn new(name: &str, plugin: &str, content: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            plugin: plugin.to_owned(),
            content: content.iter().map(|kind| (*kind).to_owned()).collect(),
            shared: false,
            nodes: Vec::new(),
            total: 0,
            used: 0,
            per_node: BTreeMap::new(),
            dead_on: Vec::new(),
            disabled: false,
            grows: 0,
            volumes: Vec::new(),
        }
    }

    /// Whether this node has it.
    pub fn is_on(&self, node: &str) -> bool {
        !self.disabled && (self.nodes.is_empty() || self.nodes.iter().any(|name| name == node))
    }

    /// Used and total bytes on this node; `None` where it is dead.
    pub fn size_on(&self, node: &str) -> Option<(u64, u64)> {
        let dead = self.dead_on.iter().any(|name| name == node);
        let size = self.per_node.get(node).copied().unwrap_or((self.used, self.total));
        (!dead).then_some(size)
    }
}
