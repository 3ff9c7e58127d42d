//! Many calls at once: how many are answered in a second, and that PVE is not flooded by them. They share the list
//! of guests, so that nearly each costs one request, for the guest itself.

use std::time::Instant;

use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Sim};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::{program::Program, table::Table};

/// How many calls are made for each figure.
const CALLS: usize = 1024;

pub fn measure(table: &mut Table, runtime: &Runtime) {
    table.group("many calls at once: get_vm_status, 4 nodes, 1,000 guests");
    let cluster = Cluster::generated(4, 1000, 7);
    let vm = cluster.guests.iter().find(|guest| guest.is_up()).unwrap().vmid;
    let sim = runtime.block_on(Sim::start(cluster)).unwrap();
    for at_once in [1, 16, 128] {
        let mut program = Program::for_sim(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
        program.call("get_vm_status", &json!({ "vm": vm }));
        sim.forget_requests();
        let ask = |program: &mut Program| {
            program
                .ask("tools/call", json!({ "name": "get_vm_status", "arguments": { "vm": vm } }));
        };
        let begin = Instant::now();
        (0..at_once).for_each(|_| ask(&mut program));
        for nth in 0..CALLS {
            let line = program.line();
            assert!(line.contains("\"running\""), "{line}");
            if nth + at_once < CALLS {
                ask(&mut program);
            }
        }
        let rate = CALLS as f64 / begin.elapsed().as_secs_f64();
        table.tell(&format!("{at_once} in flight"), format!("{rate:.0} calls a second"));
        table.hold("  requests to PVE at once", sim.peak_in_flight() as f64, 4.0, "");
        if let Some(memory) = program.peak_mebibytes() {
            table.hold("  peak memory", memory, 15.0, "MiB");
        }
    }
}
