//! How many requests may be at one host at once.
//!
//! Three workers of Proxmox VE serve everybody on a node, the web interface included, and a request that waits
//! for a storage or a guest keeps its worker. **Invariants:**
//! * No more than four requests are at one host at once.
//! * No more than two of those that only read are at one node, so that one of its workers is left, however
//!   much of it hangs. What a worker of the asked host itself has to look up (Ceph, backup jobs) counts as one more.
//! * No more than three are below `/nodes/` or of that kind, so that what PVE answers from memory (the lists of the whole
//!   cluster) has a place, however many nodes hang.
//!
//! A write waits for nothing but one of the four: it must not be held up by reads that hang, and PVE answers it
//! at once with a task.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::{Method, outgoing::without_query};

/// How many requests may be at one host at once.
pub(crate) const ALL: usize = 4;
/// How many of them may be below `/nodes/`.
const BELOW_NODES: usize = 3;
/// How many of them may be at one node.
const AT_NODE: usize = 2;

/// The places at one host.
pub(crate) struct Places {
    all: Semaphore,
    below_nodes: Semaphore,
    /// Only those nodes are kept that somebody asks or waits for.
    nodes: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A place at a host, for as long as it is kept.
pub(crate) struct Place<'a> {
    _all: SemaphorePermit<'a>,
    _below_nodes: Option<SemaphorePermit<'a>>,
    _node: Option<AtNode<'a>>,
}

/// A place at a node, or the wish for one.
struct AtNode<'a> {
    places: &'a Places,
    node: String,
    semaphore: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Places {
    pub(crate) fn new() -> Self {
        Self {
            all: Semaphore::new(ALL),
            below_nodes: Semaphore::new(BELOW_NODES),
            nodes: Mutex::default(),
        }
    }

    /// Waits for a place for this request. `None` never happens.
    pub(crate) async fn take(&self, method: Method, path: &str) -> Option<Place<'_>> {
        let node = if method == Method::Get { node_of(path) } else { None };
        let (at_node, below_nodes) = match node {
            None => (None, None),
            Some(node) => {
                let mut at_node = self.at(node);
                at_node.permit = Some(Arc::clone(&at_node.semaphore).acquire_owned().await.ok()?);
                (Some(at_node), Some(self.below_nodes.acquire().await.ok()?))
            }
        };
        let all = self.all.acquire().await.ok()?;
        Some(Place { _all: all, _below_nodes: below_nodes, _node: at_node })
    }

    fn at(&self, node: &str) -> AtNode<'_> {
        let mut nodes = self.nodes();
        let semaphore =
            nodes.entry(node.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(AT_NODE)));
        let semaphore = Arc::clone(semaphore);
        AtNode { places: self, node: node.to_owned(), semaphore, permit: None }
    }

    fn nodes(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Semaphore>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for AtNode<'_> {
    fn drop(&mut self) {
        let mut nodes = self.places.nodes();
        self.permit = None;
        // The map's own, and this one.
        if Arc::strong_count(&self.semaphore) <= 2 {
            nodes.remove(&self.node);
        }
    }
}

/// What PVE's list of its own calls says to be done by the daemon's workers, and waits for something else.
const BY_A_WORKER: [&str; 2] = ["/cluster/ceph/", "/cluster/backup-info/"];
/// The name of the asked host among the nodes, since nobody knows which of them it is.
const HERE: &str = "";

/// The node that a request is for.
fn node_of(path: &str) -> Option<&str> {
    let path = without_query(path);
    if BY_A_WORKER.iter().any(|slow| path.starts_with(slow)) {
        return Some(HERE);
    }
    path.strip_prefix("/nodes/")?.split('/').next()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A place that is there without waiting.
    async fn now<'a>(places: &'a Places, path: &str) -> Option<Place<'a>> {
        without_waiting(places, Method::Get, path).await
    }

    async fn without_waiting<'a>(
        places: &'a Places,
        method: Method,
        path: &str,
    ) -> Option<Place<'a>> {
        let taking = places.take(method, path);
        tokio::time::timeout(Duration::ZERO, taking).await.ok().flatten()
    }

    #[tokio::test]
    async fn a_node_that_hangs_keeps_two_places_and_all_nodes_together_three() {
        let places = Places::new();
        let first = now(&places, "/nodes/a/status").await.unwrap();
        let _second = now(&places, "/nodes/a/storage/nfs/content?x=/nodes/b").await.unwrap();
        assert!(now(&places, "/nodes/a/qemu/100/config").await.is_none());
        let third = now(&places, "/nodes/b/status").await.unwrap();
        assert!(now(&places, "/nodes/c/status").await.is_none());
        let fourth = now(&places, "/cluster/resources?type=vm").await.unwrap();
        assert!(now(&places, "/version").await.is_none());
        drop(fourth);
        let start = "/nodes/a/qemu/100/status/start";
        let write = without_waiting(&places, Method::Post, start).await;
        assert!(write.is_some(), "a write is not held up by reads of its node");
        drop(write);
        drop(first);
        assert!(now(&places, "/nodes/a/status").await.is_some());
        drop(third);
        assert!(now(&places, "/nodes/c/status").await.is_some());
    }

    #[tokio::test]
    async fn ceph_that_hangs_keeps_two_places_and_leaves_what_is_answered_from_memory() {
        let places = Places::new();
        let _first = now(&places, "/cluster/ceph/status").await.unwrap();
        let _second = now(&places, "/cluster/backup-info/not-backed-up").await.unwrap();
        assert!(now(&places, "/cluster/ceph/status").await.is_none());
        let _third = now(&places, "/nodes/a/status").await.unwrap();
        assert!(now(&places, "/nodes/b/status").await.is_none());
        assert!(now(&places, "/cluster/status").await.is_some());
    }

    #[tokio::test]
    async fn nodes_that_nobody_asks_are_forgotten() {
        let places = Places::new();
        let kept = now(&places, "/nodes/a/status").await.unwrap();
        for nth in 0..100 {
            drop(now(&places, &format!("/nodes/n{nth}/status")).await.unwrap());
            // Somebody who gives up waiting.
            let _second = now(&places, "/nodes/a/status").await.unwrap();
            assert!(now(&places, "/nodes/a/status").await.is_none());
        }
        assert_eq!(places.nodes().len(), 1);
        drop(kept);
        assert!(places.nodes().is_empty());
    }
}
