//! Logs that are far larger than any answer: a journal of a million entries, a task's log of 200 MB.

use std::time::Instant;

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim, Task};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    program::Program,
    table::{Table, short},
};

pub fn measure(table: &mut Table, runtime: &Runtime) {
    table.group("logs: a journal of a million entries, a task's log of 200 MB");
    let mut cluster = Cluster::demo();
    cluster.node_mut("pve1").unwrap().journal.filler = 1_000_000;
    let mut task =
        Task::ended("pve1", "vzdump", "", "root@pam", (1_796_000_000, 1_796_009_000), "job errors");
    task.filler = 3_000_000;
    task.log = vec!["TASK ERROR: job errors".to_owned()];
    let bytes = task.line(1_000_000).unwrap().len() as u64 * task.filler;
    assert!(bytes > 200_000_000);
    let upid = task.upid();
    cluster.tasks.push(task);
    let sim = runtime.block_on(Sim::start(cluster)).unwrap();
    let calls: [(&str, Value); 6] = [
        ("get_system_log", json!({ "node": "pve1" })),
        ("get_system_log", json!({ "node": "pve1", "pattern": "nothing has this" })),
        ("search_logs", json!({ "pattern": "nothing has this", "nodes": ["pve1"] })),
        ("get_task", json!({ "upid": upid })),
        ("get_task", json!({ "upid": upid, "pattern": "nothing has this" })),
        ("get_task", json!({ "upid": upid, "from_line": 1_500_000, "lines": 20 })),
    ];
    for (tool, arguments) in calls {
        // A new one each time, so that the memory is this call's.
        let mut program = Program::for_sim(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        sim.forget_requests();
        let begin = Instant::now();
        program.call(tool, &arguments);
        let time = short(begin.elapsed());
        let mut what = arguments;
        if what.get("upid").is_some() {
            what["upid"] = "…".into();
        }
        table.tell(&format!("{tool} {what}"), format!("{time}, {} requests", sim.requests().len()));
        if let Some(memory) = program.peak_mebibytes() {
            table.hold("  peak memory", memory, 40.0, "MiB");
        }
    }
}
