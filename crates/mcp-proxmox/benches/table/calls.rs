//! Each tool that reads, on a small, a middle and a large cluster.

use std::time::{Duration, Instant};

use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Sim};
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;
use tokio::runtime::Runtime;

use crate::{
    bare::Bare,
    program::Program,
    table::{Table, median, milliseconds, short},
};

/// How often each call is made.
const CALLS: usize = 15;
/// How often it is where each has to wait until no copy of the list of guests serves any more.
const CALLS_ALONE: usize = 7;
/// How long that takes.
const COPY_IS_OLD: Duration = Duration::from_millis(2100);

/// Waits until this tool reads for itself, where it may be handed what was read for another call. How often it is
/// to be called then.
pub fn be_alone(tool: &str) -> usize {
    if matches!(tool, "list_vms" | "get_vm_status" | "get_vm_details") {
        std::thread::sleep(COPY_IS_OLD);
        CALLS_ALONE
    } else {
        CALLS
    }
}

pub fn measure(table: &mut Table, runtime: &Runtime) {
    let encoder = tiktoken_rs::o200k_base().unwrap();
    for (title, nodes, guests) in [
        ("small: 1 node, 10 guests", 1, 10),
        ("middle: 4 nodes, 1,000 guests", 4, 1000),
        ("large: 64 nodes, 10,000 guests", 64, 10_000),
    ] {
        table.group(title);
        let cluster = Cluster::generated(nodes, guests, 7);
        let calls = calls(&cluster);
        let sim = runtime.block_on(Sim::start(cluster)).unwrap();
        let mut bare = Bare::new(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
        let mut program = Program::for_sim(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
        let begin = Instant::now();
        program.call("list_nodes", &json!({}));
        table.tell("the first call, with TCP and TLS", short(begin.elapsed()));
        for (tool, arguments) in &calls {
            one(table, runtime, &sim, &mut bare, &mut program, &encoder, (tool, arguments));
        }
        table.tell("TLS handshakes of the program and the bare client", sim.handshakes());
        if let Some(memory) = program.peak_mebibytes() {
            let bound = if guests > 1000 { 40.0 } else { 15.0 };
            table.hold("peak memory of all calls", memory, bound, "MiB");
        }
    }
}

fn one(
    table: &mut Table,
    runtime: &Runtime,
    sim: &Sim,
    bare: &mut Bare,
    program: &mut Program,
    encoder: &CoreBPE,
    (tool, arguments): (&str, &Value),
) {
    let n_calls = be_alone(tool);
    sim.forget_requests();
    let answer = program.call(tool, arguments);
    let paths: Vec<String> = sim.requests().into_iter().map(|seen| seen.path).collect();
    // Turn by turn, so that a busy moment of the machine meets both.
    let (mut times, mut limits, mut readings) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0;
    for _ in 0..n_calls {
        be_alone(tool);
        let begin = Instant::now();
        program.call(tool, arguments);
        times.push(begin.elapsed());
        let limit = runtime.block_on(bare.ask(&paths));
        limits.push(limit.asking);
        readings.push(limit.reading);
        bytes = limit.bytes;
    }
    let (time, limit, reading) = (median(&mut times), median(&mut limits), median(&mut readings));
    let own = time.saturating_sub(limit);
    let what = format!(
        "{tool} {}",
        if arguments == &json!({}) { String::new() } else { arguments.to_string() }
    );
    table.tell(
        &what,
        format!(
            "{} (bare {}), {} requests, {} KB, {} tokens",
            short(time),
            short(limit),
            paths.len(),
            bytes / 1000,
            tokens(encoder, &answer)
        ),
    );
    if bytes < 20_000 && paths.len() < 4 {
        table.hold("  its own time", milliseconds(own), 0.5, "ms");
    } else {
        let bound = milliseconds(reading.max(Duration::from_micros(300))) * 1.5;
        table.hold("  its own time, beside reading the JSON", milliseconds(own), bound, "ms");
    }
}

/// What a model reads: clients show one of the two.
pub fn tokens(encoder: &CoreBPE, answer: &Value) -> usize {
    let text: String = answer["result"]["content"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|content| content["text"].as_str())
        .collect();
    let structured =
        answer["result"].get("structuredContent").map(Value::to_string).unwrap_or_default();
    let count = |text: &str| encoder.encode_ordinary(text).len();
    count(&text).max(count(&structured))
}

fn calls(cluster: &Cluster) -> Vec<(&'static str, Value)> {
    let node = cluster.nodes[0].name.clone();
    let vm = cluster.guests.iter().find(|guest| guest.is_up()).unwrap().vmid;
    vec![
        ("list_vms", json!({})),
        ("list_vms", json!({ "limit": 500, "detail": true })),
        ("get_vm_status", json!({ "vm": vm })),
        ("get_vm_details", json!({ "vm": vm })),
        ("list_nodes", json!({})),
        ("get_node_status", json!({ "node": node })),
        ("list_storage", json!({})),
        ("list_networks", json!({ "node": node })),
        ("get_network_stats", json!({})),
        ("list_tasks", json!({})),
        ("get_system_log", json!({ "node": node })),
        ("search_logs", json!({ "pattern": "error" })),
        ("get_metrics", json!({ "vm": vm })),
        ("get_metrics_chart", json!({ "vm": vm })),
        ("get_access", json!({})),
    ]
}
