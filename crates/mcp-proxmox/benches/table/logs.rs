//! Logs that are far larger than any answer: journals of a million entries, one of long lines that all fit, a
//! task's log of 200 MB.
//!
//! **Bounds:** 40 MiB of memory whatever is searched, and twice the time of fetching the same bytes one
//! request after the other and reading them as JSON: what lies in between is the looking. Each line that fits
//! may cost a tenth of a millisecond more, for hiding its secrets and for what it is compared with.

use std::time::{Duration, Instant};

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, JournalEntry, Sim, Task};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    bare::Bare,
    program::Program,
    table::{Table, milliseconds, short},
};

/// When the newest of what is made up was written.
const END: u64 = 1_796_000_000;

pub fn measure(table: &mut Table, runtime: &Runtime) {
    table.group("logs: journals of a million entries, long lines, a task's log of 200 MB");
    let mut cluster = Cluster::demo();
    for node in ["pve1", "pve2"] {
        let journal = &mut cluster.node_mut(node).unwrap().journal;
        journal.entries = vec![JournalEntry::new(END * 1_000_000, "cron", 6, "the newest")];
        journal.filler = 1_000_000;
    }
    // Each line differs, so that nothing is folded, and is longer than what is kept of it.
    let long = "a long line, ".repeat(200);
    let lines = (0..10_000u64).map(|nth| {
        let word = format!("{}{}", char::from(b'a' + u8::try_from(nth % 26).unwrap()), nth % 9973);
        let text = format!("{word} {word} failed: {long}");
        JournalEntry::new((END - 10_000 + nth) * 1_000_000, "cron", 3, &text)
    });
    cluster.node_mut("pve3").unwrap().journal.entries = lines.collect();
    let mut task = Task::ended("pve1", "vzdump", "", "root@pam", (END, END + 9000), "job errors");
    task.filler = 3_000_000;
    task.log = vec!["TASK ERROR: job errors".to_owned()];
    let bytes = task.line(1_000_000).unwrap().len() as u64 * task.filler;
    assert!(bytes > 200_000_000);
    let upid = task.upid();
    cluster.tasks.push(task);
    let sim = runtime.block_on(Sim::start(cluster)).unwrap();
    let mut bare = Bare::new(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let since = "1790000000";
    let calls: [(&str, Value); 11] = [
        ("get_system_log", json!({ "node": "pve1" })),
        ("get_system_log", json!({ "node": "pve1", "pattern": "nothing has this" })),
        ("get_system_log", json!({ "node": "pve3", "pattern": "long line", "limit": 300 })),
        (
            "search_logs",
            json!({ "since": since, "pattern": "nothing has this", "nodes": ["pve1"] }),
        ),
        (
            "search_logs",
            json!({ "since": since, "pattern": "status update", "nodes": ["pve1", "pve2"] }),
        ),
        ("search_logs", json!({ "since": since, "pattern": "long line", "nodes": ["pve3"] })),
        ("search_logs", json!({ "since": since, "vm": "100" })),
        ("search_logs", json!({ "since": since, "limit": 200 })),
        ("get_task", json!({ "upid": upid })),
        ("get_task", json!({ "upid": upid, "pattern": "nothing has this" })),
        ("get_task", json!({ "upid": upid, "from_line": 1_500_000, "lines": 20 })),
    ];
    for (tool, arguments) in calls {
        // A new one each time, so that the memory is this call's.
        let mut program = Program::for_sim(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        sim.forget_requests();
        let begin = Instant::now();
        let answer = program.call(tool, &arguments);
        let time = begin.elapsed();
        let said = &answer["result"]["structuredContent"];
        let n_lines = said["found"].as_u64().or_else(|| said["shown"].as_u64()).unwrap_or(20);
        let paths: Vec<String> = sim.requests().into_iter().map(|seen| seen.path).collect();
        let mut limit = Duration::from_millis(20);
        let mut bytes = 0;
        for path in &paths {
            let one = runtime.block_on(bare.ask(std::slice::from_ref(path)));
            limit += one.asking + one.reading;
            bytes += one.bytes;
        }
        let mut what = arguments;
        if what.get("upid").is_some() {
            what["upid"] = "…".into();
        }
        table.tell(
            &format!("{tool} {what}"),
            format!("{}, {} requests, {} KB", short(time), paths.len(), bytes / 1000),
        );
        let bound = milliseconds(limit) * 2.0 + n_lines as f64 * 0.1;
        table.hold("  time", milliseconds(time), bound, "ms");
        if let Some(memory) = program.peak_mebibytes() {
            table.hold("  peak memory", memory, 40.0, "MiB");
        }
    }
}
