//! Calls of every kind for a long time, consoles, logs, charts and writes among them: no more requests than may be are
//! at PVE at once, and neither memory nor connections nor files grow.
//!
//! `MCP_PROXMOX_SOAK_SECONDS` sets how long it takes; its figures are printed.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use mcp_proxmox::{catalog, tier::Level};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::{
    faults::world::still,
    load::{figures, mixed},
    process::{Program, number, program_for},
    slope::Slope,
};

/// How long it takes where nothing else is said.
const SECONDS: u64 = 3;

/// Calls of all kinds, those that agents make most of the time twice. Those that change a guest come in pairs, so
/// that there is always something to do.
fn kinds(sim: &Sim) -> Vec<(&'static str, Value)> {
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    let mut kinds: Vec<_> = mixed().into_iter().chain(mixed()).collect();
    kinds.extend([
        ("get_vm_console", json!({ "vm": "200", "listen_seconds": 1 })),
        ("start_vm", json!({ "vm": "126", "wait_seconds": 2 })),
        ("get_vm_screenshot", json!({ "vm": "100", "max_width": 320 })),
        ("suspend_vm", json!({ "vm": "110", "wait_seconds": 2 })),
        ("get_metrics_chart", json!({ "vm": "100" })),
        ("get_metrics", json!({ "vm": "100" })),
        ("stop_vm", json!({ "vm": "126", "wait_seconds": 2 })),
        ("get_system_log", json!({ "node": "pve1", "limit": 200 })),
        ("search_logs", json!({ "pattern": "error", "since": "24h" })),
        ("resume_vm", json!({ "vm": "110", "wait_seconds": 2 })),
        ("get_task", json!({ "upid": upid })),
        ("get_cluster_health", json!({})),
        ("send_vm_keys", json!({ "vm": "200", "keys": ["enter"], "listen_seconds": 1 })),
        ("list_networks", json!({})),
        ("reset_vm", json!({ "vm": "121" })),
        ("get_storage_status", json!({ "storage": "pbs" })),
        ("start_vm", json!({ "vm": "126", "wait_seconds": 2 })),
        ("get_access", json!({})),
        ("get_network_stats", json!({ "node": "pve1" })),
        ("reboot_vm", json!({ "vm": "111", "wait_seconds": 2 })),
        ("shutdown_vm", json!({ "vm": "126", "wait_seconds": 2 })),
    ]);
    let names: BTreeSet<_> = kinds.iter().map(|(tool, _)| *tool).collect();
    let all: BTreeSet<_> = catalog::ALL.iter().map(|entry| entry.name).collect();
    assert_eq!(names, all, "every tool is called, and no other");
    kinds
}

/// Makes so many calls at once, and waits for all answers.
fn at_once(program: &mut Program, kinds: &[(&str, Value)], first_id: usize, n_calls: usize) {
    let of = |id: usize| &kinds[id % kinds.len()];
    for id in first_id..first_id + n_calls {
        let (tool, arguments) = of(id);
        let params = json!({ "name": tool, "arguments": arguments });
        program
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    let mut open: BTreeSet<_> = (first_id..first_id + n_calls).collect();
    while !open.is_empty() {
        let answer = program.receive();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(open.remove(&id), "{id} was not asked, or answered twice");
        let (tool, arguments) = of(id);
        // One that changes a guest may come while another does.
        let may_fail = catalog::ALL.iter().any(|entry| {
            entry.name == *tool && entry.level == Level::Write && *tool != "send_vm_keys"
        });
        let is_error = answer["result"]["isError"] == true;
        assert!(may_fail || is_error == (arguments["vm"] == "nobody"), "{tool}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_every_kind_for_a_long_time_let_nothing_grow() {
    let time = Duration::from_secs(number("MCP_PROXMOX_SOAK_SECONDS").unwrap_or(SECONDS));
    let sim = Sim::start(still()).await.unwrap();
    tokio::task::block_in_place(|| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", "write").env("PVE_CONFIRM", "never");
        let mut program = Program::start(&mut command);
        program.initialize("2025-11-25");
        let kinds = kinds(&sim);
        // Long enough that as many are there at once as may be.
        sim.answer(Rule::everything().delay(Duration::from_millis(5)));
        let began = Instant::now();
        let (mut calls, mut rounds, mut written, mut shown, mut peak) = (0, 0, 0, 0, 0);
        // From the moment on at which everything has been used.
        let mut memory = Slope::default();
        while began.elapsed() < time || calls < kinds.len() {
            let n_calls = [1, 8, 40][rounds % 3];
            at_once(&mut program, &kinds, 1000 + calls, n_calls);
            calls += n_calls;
            rounds += 1;
            // It counts anew from there on.
            peak = peak.max(sim.peak_in_flight());
            assert!(peak <= 4, "{peak} requests at once");
            let writes = sim.requests();
            written += writes
                .iter()
                .filter(|seen| seen.method == "POST" && seen.path.contains("/status/"))
                .count();
            sim.forget_requests();
            let Some((now, files)) = figures(program.id()) else { continue };
            if began.elapsed() * 4 > time {
                memory.note(now);
            }
            let tenths = began.elapsed().as_millis() * 10 / time.as_millis();
            if tenths > shown {
                shown = tenths;
                let (seconds, open) = (began.elapsed().as_secs(), sim.connections());
                println!(
                    "{seconds:>5} s {calls:>8} calls {now:>7} KiB {files:>3} files {open:>3} connections"
                );
            }
            // Those that are kept, and consoles whose other side has not yet seen the end.
            assert!(sim.connections() <= 16, "{} connections", sim.connections());
            assert!(files < 40, "{files} open files");
        }
        println!(
            "{calls} calls in {:.1} s, {written} guests started, stopped, paused or reset",
            began.elapsed().as_secs_f64()
        );
        println!("{peak} requests at once at most");
        assert_eq!(peak, 4, "nothing had to wait, so that nothing is known of a bound");
        assert!(written > 2, "nothing was changed");
        // A chart's picture and a large list come and go.
        println!("{}", memory.is_flat(5 << 10));
        assert!(program.end().status.success());
    });
}
