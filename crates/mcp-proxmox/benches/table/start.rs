//! How fast it is there, what it takes, and how large it is.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    program::{self, Program},
    table::{Table, median, milliseconds, short},
};

/// How often it is started.
const STARTS: usize = 30;
/// A fingerprint of nothing: no connection is made here.
const FINGERPRINT: &str = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF";

pub fn measure(table: &mut Table, _runtime: &Runtime) {
    table.group("start");
    let size = std::fs::metadata(program::file()).unwrap().len();
    table.hold("size of the program", size as f64 / 1e6, 8.0, "MB");
    let spawn = || {
        Program::start(
            "127.0.0.1:9",
            "root@pam!bench",
            "5eed0000-0000-4000-8000-000000000000",
            FINGERPRINT,
        )
    };
    let mut first = |what: &str, ask: &dyn Fn(&mut Program) -> Value| {
        let mut times: Vec<Duration> = (0..STARTS)
            .map(|_| {
                let begin = Instant::now();
                let mut program = spawn();
                ask(&mut program);
                begin.elapsed()
            })
            .collect();
        let middle = median(&mut times);
        table.hold(what, milliseconds(middle), 2.0, "ms");
        table.tell(
            "  the fastest and the slowest",
            format!("{} {}", short(times[0]), short(times[STARTS - 1])),
        );
    };
    first("spawn to the answer of initialize", &|program| program.initialize());
    first("spawn to the answer of server/discover", &discover);
    let mut nothing: Vec<Duration> = (0..STARTS).map(|_| of_nothing()).collect();
    table.tell("limit: spawning a program that does nothing", short(median(&mut nothing)));
    let mut program = spawn();
    program.initialize();
    if let Some(memory) = program.peak_mebibytes() {
        table.hold("peak memory after the handshake", memory, 6.0, "MiB");
    }
    let mut times: Vec<Duration> = (0..STARTS)
        .map(|_| {
            let begin = Instant::now();
            program.request("tools/list", json!({}));
            begin.elapsed()
        })
        .collect();
    table.tell("tools/list, the first", short(times[0]));
    table.tell("tools/list, later", short(median(&mut times)));
    if let Some(memory) = program.peak_mebibytes() {
        table.hold("peak memory after tools/list", memory, 6.0, "MiB");
    }
}

/// The first question of the clients of 2026.
fn discover(program: &mut Program) -> Value {
    let client = json!({ "name": "bench", "version": "1" });
    program.request(
        "server/discover",
        json!({ "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": client,
            "io.modelcontextprotocol/clientCapabilities": {},
        } }),
    )
}

fn of_nothing() -> Duration {
    let begin = Instant::now();
    let _ = std::process::Command::new("true").status();
    begin.elapsed()
}
