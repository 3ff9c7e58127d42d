//! How cost grows with the cluster: with its guests, and with its nodes.
//!
//! Each size has a new program, so that the memory is its own. Own time is what the program takes more than a bare
//! client that sends the same requests. **From size to size it may grow as the size does, and no faster**: the
//! exponent between two sizes is 1 where ten times as much takes ten times as long. What takes less than a tenth of
//! a millisecond is rounding, and is not held to that.
//!
//! With `UPDATE_DOCS` set, the plots in `docs/pictures/` are drawn again.

use std::time::{Duration, Instant};

use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Sim};
use serde_json::{Value, json};
use tiktoken_rs::CoreBPE;
use tokio::runtime::Runtime;

use crate::{
    bare::Bare,
    calls::{be_alone, tokens},
    plot::{self, Line},
    program::Program,
    table::{Table, median, milliseconds, short},
};

const GUESTS: [usize; 6] = [10, 100, 1000, 5000, 10_000, 20_000];
const NODES: [usize; 4] = [1, 4, 16, 64];
/// How many nodes there are where guests are counted, and the other way round.
const OF_NODES: usize = 16;
const OF_GUESTS: usize = 1000;

/// One tool at one size.
struct Cost {
    own: Duration,
    requests: usize,
    bytes: usize,
    tokens: usize,
    mebibytes: Option<f64>,
}

pub fn measure(table: &mut Table, runtime: &Runtime) {
    let encoder = tiktoken_rs::o200k_base().unwrap();
    let sizes: Vec<_> = GUESTS.iter().map(|guests| (OF_NODES, *guests)).collect();
    let title = format!("growth with guests, on {OF_NODES} nodes");
    series(table, runtime, &encoder, &title, "guests", &sizes, |(_, guests)| guests);
    let sizes: Vec<_> = NODES.iter().map(|nodes| (*nodes, OF_GUESTS)).collect();
    let title = format!("growth with nodes, with {OF_GUESTS} guests");
    series(table, runtime, &encoder, &title, "nodes", &sizes, |(nodes, _)| nodes);
}

fn series(
    table: &mut Table,
    runtime: &Runtime,
    encoder: &CoreBPE,
    title: &str,
    what: &str,
    sizes: &[(usize, usize)],
    size: impl Fn((usize, usize)) -> usize,
) {
    table.group(title);
    let mut lines: Vec<Line> = Vec::new();
    for (nth, (tool, takes_vm)) in tools().into_iter().enumerate() {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for of in sizes {
            let cost = one(runtime, encoder, *of, tool, takes_vm);
            let n = size(*of);
            let memory = cost.mebibytes.map_or_else(String::new, |mib| format!(", {mib:.1} MiB"));
            table.tell(
                &format!("{tool}, {n} {what}"),
                format!(
                    "{} of its own, {} requests, {} KB, {} tokens{memory}",
                    short(cost.own),
                    cost.requests,
                    cost.bytes / 1000,
                    cost.tokens,
                ),
            );
            let own = milliseconds(cost.own).max(0.1);
            if let Some((before, took)) = points.last().copied() {
                let exponent = (own / took).ln() / (n as f64 / before).ln();
                table.hold("  exponent since the size before", exponent, 1.15, "");
            }
            points.push((n as f64, own));
        }
        lines.push(Line { name: tool.to_owned(), nth, points });
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let svg = plot::draw(title, what, "own time of a call, ms", &lines);
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures");
        std::fs::write(format!("{folder}/growth-{what}.svg"), svg).unwrap();
    }
}

/// What agents call most, and whether it is about one guest.
fn tools() -> [(&'static str, bool); 5] {
    [
        ("list_vms", false),
        ("get_vm_status", true),
        ("list_nodes", false),
        ("list_storage", false),
        ("get_cluster_health", false),
    ]
}

fn one(
    runtime: &Runtime,
    encoder: &CoreBPE,
    (nodes, guests): (usize, usize),
    tool: &str,
    takes_vm: bool,
) -> Cost {
    let cluster = Cluster::generated(nodes, guests, 7);
    let vm = cluster.guests.iter().find(|guest| guest.is_up()).unwrap().vmid;
    let arguments = if takes_vm { json!({ "vm": vm }) } else { json!({}) };
    let sim = runtime.block_on(Sim::start(cluster)).unwrap();
    let mut bare = Bare::new(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
    let mut program = Program::for_sim(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
    let answer: Value = program.call(tool, &arguments);
    let n_calls = be_alone(tool);
    sim.forget_requests();
    program.call(tool, &arguments);
    let paths: Vec<String> = sim.requests().into_iter().map(|seen| seen.path).collect();
    let (mut times, mut limits, mut bytes) = (Vec::new(), Vec::new(), 0);
    // Turn by turn, so that a busy moment of the machine meets both.
    for _ in 0..n_calls {
        be_alone(tool);
        let begin = Instant::now();
        program.call(tool, &arguments);
        times.push(begin.elapsed());
        let limit = runtime.block_on(bare.ask(&paths));
        limits.push(limit.asking);
        bytes = limit.bytes;
    }
    Cost {
        own: median(&mut times).saturating_sub(median(&mut limits)),
        requests: paths.len(),
        bytes,
        tokens: tokens(encoder, &answer),
        mebibytes: program.peak_mebibytes(),
    }
}
