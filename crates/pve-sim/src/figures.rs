//! How the figures of guests and nodes move while the simulator runs.
//!
//! **Invariant:** at the moment of the start, and for ever in a world that does not move, every
//! figure is exactly the one that the cluster's description names; what counts upwards never goes
//! back.

use std::time::Duration;

use crate::cluster::{Guest, Kind, Node};

/// What a guest uses at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct GuestFigures {
    pub(crate) cpu: f64,
    pub(crate) memory: u64,
    pub(crate) host_memory: u64,
    pub(crate) disk: u64,
    pub(crate) swap: u64,
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) read: u64,
    pub(crate) written: u64,
    pub(crate) cpu_pressure: f64,
    pub(crate) uptime: u64,
}

/// What a node uses at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodeFigures {
    pub(crate) cpu: f64,
    pub(crate) load: [f64; 3],
    pub(crate) memory_used: u64,
    pub(crate) uptime: u64,
}

/// What this guest uses after so much time; all zero unless it is up.
pub(crate) fn of_guest(guest: &Guest, elapsed: Duration) -> GuestFigures {
    if !guest.is_up() {
        return GuestFigures::default();
    }
    let usage = &guest.usage;
    // What was started since has its own time, in a world that moves.
    let own = guest.started.map(|started| started.elapsed()).filter(|_| !elapsed.is_zero());
    let elapsed = own.unwrap_or(elapsed);
    let seed = f64::from(guest.vmid);
    let count = |base: u64| grown(base, guest.uptime, elapsed);
    let memory = scaled(usage.memory, 1.0 + 0.04 * wave(elapsed, 90.0, seed)).min(guest.memory);
    let host_memory = match (guest.kind, usage.host_memory) {
        // Of a container, the cluster's list says 0 here (recorded).
        (Kind::Lxc, _) => 0,
        (Kind::Qemu, 0) => memory,
        (Kind::Qemu, given) => scaled(given, 1.0 + 0.04 * wave(elapsed, 90.0, seed)),
    };
    GuestFigures {
        cpu: (usage.cpu * (1.0 + 0.35 * wave(elapsed, 47.0, seed))).clamp(0.0, 1.0),
        memory,
        host_memory,
        disk: if guest.kind == Kind::Lxc { usage.disk } else { 0 },
        swap: usage.swap,
        received: count(usage.received),
        sent: count(usage.sent),
        read: count(usage.read),
        written: count(usage.written),
        cpu_pressure: usage.cpu_pressure,
        uptime: guest.uptime + elapsed.as_secs(),
    }
}

/// What this node uses after so much time.
pub(crate) fn of_node(node: &Node, elapsed: Duration) -> NodeFigures {
    let seed = f64::from(node.id) * 17.0;
    let factor = 1.0 + 0.3 * wave(elapsed, 61.0, seed);
    NodeFigures {
        cpu: (node.cpu * factor).clamp(0.0, 1.0),
        load: node.load.map(|load| load * factor),
        memory_used: scaled(node.memory_used, 1.0 + 0.02 * wave(elapsed, 120.0, seed))
            .min(node.memory),
        uptime: node.uptime + elapsed.as_secs(),
    }
}

/// A wave between -1 and 1 (at the utmost -2 and 2) that is 0 at the beginning.
fn wave(elapsed: Duration, period: f64, seed: f64) -> f64 {
    let phase = seed * 0.7;
    (elapsed.as_secs_f64() / period * std::f64::consts::TAU + phase).sin() - phase.sin()
}

/// A counter that goes on at the pace it had so far.
fn grown(base: u64, uptime: u64, elapsed: Duration) -> u64 {
    base + base / uptime.max(1) * elapsed.as_secs()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes below 2^53 bytes times a factor near 1; an odd byte does not matter to a simulation"
)]
fn scaled(base: u64, factor: f64) -> u64 {
    if (factor - 1.0).abs() < f64::EPSILON { base } else { (base as f64 * factor.max(0.0)) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_begin_as_described_and_counters_only_grow() {
        let mut guest = Guest::ct(200, "pve1", "web").running(1000);
        guest.usage.received = 5_000_000;
        let before = of_guest(&guest, Duration::ZERO);
        assert_eq!((before.received, before.uptime), (5_000_000, 1000));
        assert_eq!(before.memory, guest.usage.memory);
        assert!((before.cpu - guest.usage.cpu).abs() < f64::EPSILON);
        let after = of_guest(&guest, Duration::from_secs(60));
        assert!(after.received > before.received && after.uptime == 1060);
        assert!((after.cpu - before.cpu).abs() > 0.0001 && after.memory <= guest.memory);
    }

    #[test]
    fn a_stopped_guest_uses_nothing() {
        let guest = Guest::vm(100, "pve1", "web");
        assert_eq!(of_guest(&guest, Duration::from_secs(9)), GuestFigures::default());
    }
}
