//! How many requests may be at one host at once.
//!
//! Three workers of Proxmox VE serve everybody on a node, the web interface included, and a request that waits
//! for a storage or a guest keeps its worker, also when whoever asked has left. **Invariants:**
//! * No more than four requests that somebody waits for are at one host at once.
//! * No more than two are at one node, whether they read or write, so that one of its workers is left, however
//!   much of it hangs. What a worker of the asked host itself has to look up (Ceph, backup jobs) counts as one more.
//! * No more than three are below `/nodes/` or of that kind, so that what PVE answers from memory (the lists of the whole
//!   cluster) has a place, however many nodes hang.
//! * A request that was given up keeps its place at its node until it is answered after all, or PVE has given it
//!   up too. Its other places it gives back: the asked host only passes it on, and no worker waits for that. One
//!   that is for no node keeps its place at the host.
//!
//! A command that finds no place at its node is not sent, and whoever gave it hears so. It would not have come so far:
//! before it, the node was asked in which state the guest is.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

use crate::{Method, Silence, outgoing::without_query};

/// How many requests may be at one host at once.
pub(crate) const ALL: usize = 4;
/// How many of them may be below `/nodes/`.
const BELOW_NODES: usize = 3;
/// How many of them may be at one node.
const AT_NODE: usize = 2;

/// How long PVE goes on with a request that it passed on to a node, and with it the node's worker.
pub(crate) const GOES_ON: Duration = Duration::from_secs(30);
/// How long ago the requests at a node that were given up must have been sent for it to count as silent: a node
/// that is well answers before, although nobody waits for it any more.
const PATIENCE: Duration = Duration::from_secs(5);

/// The places at one host.
pub(crate) struct Places {
    all: Arc<Queue>,
    below_nodes: Arc<Queue>,
    /// Only those nodes are kept that somebody asks or waits for.
    nodes: Mutex<HashMap<String, Arc<Queue>>>,
}

/// A place at a host, for as long as it is kept.
pub(crate) struct Place(Mutex<Held>);

struct Held {
    /// Where it is said that it was given up, and when it was sent. **Stands first**, since it goes first.
    given_up: Option<GivenUp>,
    all: Option<OwnedSemaphorePermit>,
    below_nodes: Option<OwnedSemaphorePermit>,
    node: Option<AtNode>,
    queue_of_all: Arc<Queue>,
}

/// A place at a node, or the wish for one.
struct AtNode {
    places: Arc<Places>,
    node: String,
    queue: Arc<Queue>,
    permit: Option<OwnedSemaphorePermit>,
}

/// Why there was no place.
pub(crate) enum Full {
    /// Others were there all the time.
    Busy,
    /// What keeps the places was given up, and is not answered.
    Silent(Silence),
}

/// Those that may be somewhere at once, and those who wait for it.
struct Queue {
    places: Arc<Semaphore>,
    size: usize,
    /// When those were sent that were given up, and keep their places.
    given_up: Mutex<Vec<Instant>>,
    /// One more was given up.
    changed: Notify,
}

struct GivenUp {
    queue: Arc<Queue>,
    sent: Instant,
}

impl Places {
    pub(crate) fn new() -> Arc<Self> {
        let (all, below_nodes) = (Queue::new(ALL), Queue::new(BELOW_NODES));
        Arc::new(Self { all, below_nodes, nodes: Mutex::default() })
    }

    /// Waits for a place for this request, but no longer than until then, and not for a node that is silent.
    pub(crate) async fn take(
        self: &Arc<Self>,
        method: Method,
        path: &str,
        latest: Instant,
    ) -> Result<Place, Full> {
        let mut node = node_of(path).map(|node| self.at(node));
        let mut below_nodes = None;
        if let Some(node) = &mut node {
            let taken = node.queue.take(latest).await;
            node.permit = Some(taken.map_err(|full| full.at(&node.node))?);
            // Nodes that hang must not hold up a command for another.
            if method == Method::Get {
                below_nodes = Some(self.below_nodes.take(latest).await?);
            }
        }
        let all = Some(self.all.take(latest).await?);
        let queue_of_all = Arc::clone(&self.all);
        Ok(Place(Mutex::new(Held { given_up: None, all, below_nodes, node, queue_of_all })))
    }

    fn at(self: &Arc<Self>, node: &str) -> AtNode {
        let mut nodes = self.nodes();
        let queue = nodes.entry(node.to_owned()).or_insert_with(|| Queue::new(AT_NODE));
        let queue = Arc::clone(queue);
        AtNode { places: Arc::clone(self), node: node.to_owned(), queue, permit: None }
    }

    fn nodes(&self) -> MutexGuard<'_, HashMap<String, Arc<Queue>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Nobody waits for the answer any more, but whoever does the work goes on. It was sent then.
    pub(crate) fn give_up(&self, sent: Instant) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let queue = match &held.node {
            Some(AtNode { queue, permit: Some(_), .. }) => Arc::clone(queue),
            _ => Arc::clone(&held.queue_of_all),
        };
        queue.given_up().push(sent);
        queue.changed.notify_waiters();
        if !Arc::ptr_eq(&queue, &held.queue_of_all) {
            (held.all, held.below_nodes) = (None, None);
        }
        held.given_up = Some(GivenUp { queue, sent });
    }
}

impl Queue {
    fn new(size: usize) -> Arc<Self> {
        let (places, given_up) = (Arc::new(Semaphore::new(size)), Mutex::default());
        Arc::new(Self { places, size, given_up, changed: Notify::new() })
    }

    async fn take(&self, latest: Instant) -> Result<OwnedSemaphorePermit, Full> {
        let mut taking = std::pin::pin!(Arc::clone(&self.places).acquire_owned());
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            let silent_at = self.silence().map(|(newest, _)| newest + PATIENCE);
            let until = silent_at.map_or(latest, |silent_at| silent_at.min(latest));
            tokio::select! {
                biased;
                taken = &mut taking => return taken.map_err(|_| Full::Busy),
                () = sleep_until(until) => {
                    let silence = self.silence();
                    return Err(silence.map_or(Full::Busy, |(_, silence)| Full::Silent(silence)));
                }
                () = changed => {}
            }
        }
    }

    /// Where every place is kept by a request that was given up: when the newest was sent, and what is told.
    fn silence(&self) -> Option<(Instant, Silence)> {
        let given_up = self.given_up();
        let newest = given_up.iter().max().filter(|_| given_up.len() >= self.size)?;
        let silence = Silence { node: None, requests: given_up.len(), waited: newest.elapsed() };
        Some((*newest, silence))
    }

    fn given_up(&self) -> MutexGuard<'_, Vec<Instant>> {
        self.given_up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Full {
    fn at(self, node: &str) -> Self {
        match self {
            Self::Silent(silence) if node != HERE => {
                Self::Silent(Silence { node: Some(node.to_owned()), ..silence })
            }
            other => other,
        }
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        let mut given_up = self.queue.given_up();
        if let Some(at) = given_up.iter().position(|sent| *sent == self.sent) {
            given_up.swap_remove(at);
        }
    }
}

impl Drop for AtNode {
    fn drop(&mut self) {
        let mut nodes = self.places.nodes();
        self.permit = None;
        // The map's own, and this one.
        if Arc::strong_count(&self.queue) <= 2 {
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
    use super::*;

    /// A place that is there without waiting.
    async fn now(places: &Arc<Places>, path: &str) -> Option<Place> {
        without_waiting(places, Method::Get, path).await
    }

    async fn without_waiting(places: &Arc<Places>, method: Method, path: &str) -> Option<Place> {
        places.take(method, path, Instant::now()).await.ok()
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
        let start = "/nodes/d/qemu/100/status/start";
        let write = without_waiting(&places, Method::Post, start).await;
        assert!(write.is_some(), "a command is not held up by other nodes");
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

    /// Why there is no place within this time.
    async fn full(places: &Arc<Places>, path: &str, seconds: u64) -> Full {
        let latest = Instant::now() + Duration::from_secs(seconds);
        let taken = places.take(Method::Get, path, latest).await;
        taken.err().expect("there is a place")
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_given_up_keeps_its_place_at_its_node_and_no_other() {
        let places = Places::new();
        let sent = Instant::now();
        let mut kept = Vec::new();
        for node in ["a", "b", "c", "d"].iter().flat_map(|node| [node; 2]) {
            let place = now(&places, &format!("/nodes/{node}/status")).await.unwrap();
            place.give_up(sent);
            kept.push(place);
        }
        tokio::time::advance(PATIENCE).await;
        let Full::Silent(silence) = full(&places, "/nodes/a/status", 50).await else { panic!() };
        let node = Some("a".to_owned());
        assert_eq!(silence, Silence { node, requests: 2, waited: PATIENCE }, "told at once");
        assert_eq!(sent.elapsed(), PATIENCE);
        let _others =
            (now(&places, "/nodes/e/status").await.unwrap(), now(&places, "/version").await);
        drop(kept.pop());
        assert!(now(&places, "/nodes/d/status").await.is_some(), "it was answered after all");
        drop(kept);
        assert!(now(&places, "/nodes/a/status").await.is_some());
        assert_eq!(places.nodes().len(), 1, "nothing is left of nodes that nobody asks");
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_that_may_yet_answer_what_was_given_up_is_waited_for() {
        let places = Places::new();
        let (first, second) =
            (now(&places, "/nodes/a/x").await.unwrap(), now(&places, "/nodes/a/x").await.unwrap());
        first.give_up(Instant::now());
        // One that is not given up may come to its end, whatever the other does.
        let busy = full(&places, "/nodes/a/x", 20).await;
        assert!(matches!(busy, Full::Busy));
        // Whoever waits already hears of it.
        let since = Instant::now();
        let giving_up = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            second.give_up(Instant::now());
        };
        let (silent, ()) = tokio::join!(full(&places, "/nodes/a/x", 20), giving_up);
        assert!(matches!(silent, Full::Silent(_)));
        assert_eq!(since.elapsed(), Duration::from_secs(1) + PATIENCE);
        // One that is answered in that time hands its place on.
        let answering = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(first);
        };
        let latest = Instant::now() + Duration::from_secs(20);
        second.give_up(Instant::now());
        let taking = places.take(Method::Get, "/nodes/a/x", latest);
        let (taken, ()) = tokio::join!(taking, answering);
        assert!(taken.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_for_no_node_keeps_its_place_at_the_host_when_it_was_given_up() {
        let places = Places::new();
        let mut kept = Vec::new();
        for _ in 0..ALL {
            let place = now(&places, "/cluster/resources").await.unwrap();
            place.give_up(Instant::now());
            kept.push(place);
        }
        tokio::time::advance(PATIENCE).await;
        let Full::Silent(silence) = full(&places, "/version", 50).await else { panic!() };
        assert_eq!((silence.node, silence.requests), (None, ALL));
        drop(kept.pop());
        assert!(now(&places, "/version").await.is_some());
    }

    #[tokio::test]
    async fn commands_keep_no_more_workers_of_a_node_than_reads() {
        let places = Places::new();
        let start = "/nodes/a/qemu/100/status/start";
        let write = without_waiting(&places, Method::Post, start).await.unwrap();
        let _read = now(&places, "/nodes/a/status").await.unwrap();
        assert!(now(&places, "/nodes/a/status").await.is_none());
        assert!(without_waiting(&places, Method::Post, start).await.is_none());
        write.give_up(Instant::now());
        assert!(without_waiting(&places, Method::Post, start).await.is_none());
        drop(write);
        assert!(without_waiting(&places, Method::Post, start).await.is_some());
    }
}
