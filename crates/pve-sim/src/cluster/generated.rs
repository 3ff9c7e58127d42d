//! Clusters of any size, for benchmarks and for finding what breaks when there is much of
//! everything.
//!
//! **Invariant:** the same numbers and the same seed give the same cluster, to the last byte of
//! every figure.

use crate::cluster::{Cluster, Guest, Node, State, Storage, Task};

/// The token of [`Cluster::generated`], with all rights.
pub const GENERATED_TOKEN_ID: &str = "root@pam!sim";
/// The secret of [`GENERATED_TOKEN_ID`].
pub const GENERATED_TOKEN_SECRET: &str = "5eed0000-0000-4000-8000-000000000000";

/// When everything in a generated cluster happened: 30 November 2026, so that it is always the
/// same.
const EPOCH: u64 = 1_796_000_000;
const GIB: u64 = 1 << 30;

impl Cluster {
    /// A cluster of so many nodes and guests that does not move.
    ///
    /// A fifth of the guests are containers, seven of ten run, and a few are paused, locked,
    /// templates or without a name. All nodes are online.
    pub fn generated(nodes: usize, guests: usize, seed: u64) -> Self {
        let mut dice = Dice(seed);
        let nodes = nodes.max(1);
        let mut cluster = Self::of_nodes((nodes > 1).then_some("generated"), &[]);
        cluster.nodes = (1..=nodes).map(|nth| node(nth, &mut dice)).collect();
        let names: Vec<String> = cluster.nodes.iter().map(|node| node.name.clone()).collect();
        cluster.pools = ["production", "staging", "development"].map(str::to_owned).to_vec();
        cluster.guests =
            (0..guests).map(|nth| guest(nth, dice.one_of(&names), &mut dice)).collect();
        cluster.storages = storages(&names);
        cluster.tasks = cluster.guests.iter().step_by(7).take(200).map(backup).collect();
        cluster.token(GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
        cluster
    }
}

/// A small generator (SplitMix64): its numbers are the same on every machine and in every release.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    fn one_of<'a>(&mut self, items: &'a [String]) -> &'a str {
        let at = self.below(items.len() as u64);
        usize::try_from(at).ok().and_then(|at| items.get(at)).map_or("", String::as_str)
    }

    fn pick<T: Copy + Default>(&mut self, items: &[T]) -> T {
        let at = usize::try_from(self.below(items.len() as u64)).unwrap_or(0);
        items.get(at).copied().unwrap_or_default()
    }

    /// Between 0 and 1, in thousandths.
    fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.below(1000)).unwrap_or(0)) / 1000.0
    }
}

fn node(nth: usize, dice: &mut Dice) -> Node {
    let id = u32::try_from(nth).unwrap_or(u32::MAX);
    let mut node = Node::new(&format!("pve{nth:02}"), id);
    node.address = Some(format!("10.0.{}.{}", id / 200, id % 200 + 10));
    (node.cpus, node.sockets) = (dice.pick(&[32, 64, 128]), 2);
    node.memory = dice.pick(&[256, 512, 1024]) * GIB;
    node.memory_used = node.memory / 100 * (30 + dice.below(50));
    node.cpu = 0.1 + dice.share() * 0.6;
    node.load = [1.0, 1.1, 0.9].map(|factor| node.cpu * f64::from(node.cpus) * factor);
    node.uptime = 86_400 * (3 + dice.below(200)) + dice.below(86_400);
    node
}

fn guest(nth: usize, node: &str, dice: &mut Dice) -> Guest {
    let vmid = 100 + u32::try_from(nth).unwrap_or(0);
    let role = dice.pick(&["web", "db", "app", "cache", "build", "mail", "proxy", "queue"]);
    let name = format!("{role}-{nth:05}");
    let container = dice.below(5) == 0;
    let mut guest =
        if container { Guest::ct(vmid, node, &name) } else { Guest::vm(vmid, node, &name) };
    guest.cores = dice.pick(&[1, 2, 2, 4, 4, 8, 16]);
    guest.memory = dice.pick(&[1, 2, 4, 4, 8, 16, 32]) * GIB;
    guest.disk = dice.pick(&[8, 16, 32, 64, 128, 512]) * GIB;
    guest.tags = vec![role.to_owned()];
    match dice.below(4) {
        0 => guest.pool = Some("production".to_owned()),
        1 => guest.pool = Some("staging".to_owned()),
        _ => {}
    }
    if guest.pool.as_deref() == Some("production") {
        guest.tags.push("prod".to_owned());
    }
    if dice.below(10) < 7 {
        guest.usage.cpu = dice.share() * dice.share();
        guest.usage.memory = guest.memory / 100 * (20 + dice.below(75));
        guest.usage.received = dice.below(1 << 36);
        guest.usage.sent = dice.below(1 << 35);
        guest.usage.read = dice.below(1 << 37);
        guest.usage.written = dice.below(1 << 36);
        guest = guest.running(dice.below(86_400 * 90) + 60);
        guest.pid = 2000 + vmid;
    }
    match dice.below(200) {
        0 if guest.is_up() && !container => guest.state = State::Paused,
        1 => guest.lock = Some("backup".to_owned()),
        2 => guest.lock = Some("migrate".to_owned()),
        3 => guest.name = None,
        4 if !guest.is_up() => guest.template = true,
        5 if guest.is_up() => guest.ha = Some("started".to_owned()),
        _ => {}
    }
    guest
}

fn storages(nodes: &[String]) -> Vec<Storage> {
    let mut local = Storage::new("local", "dir", &["iso", "vztmpl", "backup"]);
    (local.total, local.used) = (96 * GIB, 31 * GIB);
    let mut thin = Storage::new("local-lvm", "lvmthin", &["images", "rootdir"]);
    (thin.total, thin.used) = (3500 * GIB, 1200 * GIB);
    for (nth, node) in (1_u64..).zip(nodes) {
        thin.per_node.insert(node.clone(), (nth * 97 % 3400 * GIB, thin.total));
    }
    let mut ceph = Storage::new("ceph", "rbd", &["images", "rootdir"]);
    (ceph.shared, ceph.total, ceph.used) = (true, 200 << 40, 88 << 40);
    let mut backup = Storage::new("backup", "pbs", &["backup"]);
    (backup.shared, backup.total, backup.used) = (true, 120 << 40, 101 << 40);
    vec![local, thin, ceph, backup]
}

fn backup(guest: &Guest) -> Task {
    let start = EPOCH - u64::from(guest.vmid) * 13;
    let status = if guest.vmid.is_multiple_of(41) { "job errors" } else { "OK" };
    Task::ended(
        &guest.node,
        "vzdump",
        &guest.vmid.to_string(),
        "root@pam",
        (start, start + 120),
        status,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_cluster() {
        let make = |seed| format!("{:?}", Cluster::generated(5, 200, seed));
        assert_eq!(make(1), make(1));
        assert_ne!(make(1), make(2));
    }

    #[test]
    fn it_has_as_many_nodes_and_guests_as_asked_for() {
        let cluster = Cluster::generated(64, 10_000, 7);
        assert_eq!((cluster.nodes.len(), cluster.guests.len()), (64, 10_000));
        assert!(cluster.guests.iter().all(|guest| cluster.node(&guest.node).is_some()));
    }
}
