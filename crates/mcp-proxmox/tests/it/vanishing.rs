//! Clients that leave in the middle of something, or that never read what they are sent.
//!
//! Each test starts the program as clients do, and asks that it ends by itself.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::{Duration, Instant},
};

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::process::{PATIENCE, program_for};

/// The program, and its streams in the test's own hands.
struct Raw {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Raw {
    fn start(sim: &Sim) -> Self {
        let mut child = program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = child.stdout.take().map(BufReader::new);
        let mut raw = Self { input: child.stdin.take(), output, child };
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        raw.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }));
        raw.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assert_eq!(raw.receive()["id"], 1);
        raw
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u64, tool: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool, "arguments": {} } }));
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    /// How long it takes the program to end by itself.
    fn ends(mut self) -> Duration {
        let started = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(started.elapsed() < PATIENCE, "the program did not end");
            std::thread::yield_now();
        }
        started.elapsed()
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn sim_that_hangs() -> Sim {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    sim.answer(Rule::get("/cluster/resources?type=vm").hang());
    sim
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_vanishes_in_the_middle_of_a_call_leaves_nothing_behind() {
    let sim = sim_that_hangs().await;
    tokio::task::block_in_place(|| {
        let mut raw = Raw::start(&sim);
        raw.call(2, "list_vms");
        // The answer to a later request shows that the call was taken up.
        raw.send(&json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" }));
        assert_eq!(raw.receive()["id"], 3);
        drop(raw.output.take());
        drop(raw.input.take());
        let took = raw.ends();
        assert!(took < Duration::from_secs(5), "it took {took:?}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_its_input_and_reads_nothing_does_not_keep_the_server() {
    let sim = sim_that_hangs().await;
    tokio::task::block_in_place(|| {
        let mut raw = Raw::start(&sim);
        raw.call(2, "list_vms");
        // Far more answers than a pipe holds, and more than may wait.
        for id in 3..300_u64 {
            raw.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
        }
        drop(raw.input.take());
        let unread = raw.output.take();
        let took = raw.ends();
        assert!(took < Duration::from_secs(6), "it took {took:?}");
        drop(unread);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_late_gets_every_answer() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    tokio::task::block_in_place(|| {
        let mut raw = Raw::start(&sim);
        for id in 2..=200_u64 {
            raw.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
        }
        let mut ids: Vec<u64> = (2..=200).map(|_| raw.receive()["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(2..=200));
        drop(raw.input.take());
        assert!(raw.ends() < Duration::from_secs(5));
    });
}

/// More than the server works on, keeps answers of and holds, in all.
const TOO_MANY: u64 = 1300;

#[tokio::test]
async fn a_client_that_never_reads_is_given_up_after_a_minute_and_its_user_is_told() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let server = crate::support::server(crate::support::access(&sim));
    tokio::time::pause();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let n_tasks = tasks();
    let (near, far) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(far);
    let (unread, mut requests) = tokio::io::split(near);
    let began = tokio::time::Instant::now();
    let serving = server.serve(input, output);
    let client = async move {
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let mut lines = vec![
            json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        ];
        lines.extend(
            (2..TOO_MANY).map(|id| json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" })),
        );
        for line in lines {
            requests.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        std::future::pending::<()>().await;
    };
    let told = tokio::select! {
        ended = serving => ended.unwrap_err(),
        () = client => unreachable!("it never leaves"),
    };
    assert!(told.contains("read no answer for 60 s"), "{told}");
    let took = began.elapsed().as_secs();
    assert!((60..66).contains(&took), "it took {took} s");
    drop(unread);
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks(), n_tasks, "something is left at work");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_never_reads_does_not_fill_the_memory_of_the_program() {
    let sim = sim_that_hangs().await;
    tokio::task::block_in_place(|| {
        let mut raw = Raw::start(&sim);
        let long = "x".repeat(4000);
        for id in 2..1000_u64 {
            let params = json!({ "_meta": { "long": long } });
            raw.send(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params }),
            );
        }
        // 4 MB were written, and a pipe holds 64 kB: they were taken up.
        let (kibibytes, _) = crate::load::figures(raw.child.id()).unwrap();
        assert!(kibibytes < 40 << 10, "{kibibytes} KiB are resident");
        drop(raw.input.take());
        assert!(raw.ends() < Duration::from_secs(6));
    });
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_told_to_end_ends_whatever_its_client_does() {
    let sim = sim_that_hangs().await;
    tokio::task::block_in_place(|| {
        // Its client has not shaken hands yet. The answer shows that the program serves.
        let mut waiting = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        let mut waiting = crate::process::Program::start(&mut waiting);
        waiting.send_raw("hello");
        assert_eq!(waiting.receive()["error"]["code"], -32700);
        waiting.signal("-TERM");
        assert_eq!(waiting.ends_by_itself().code(), Some(143));
        // Its client waits for an answer, and reads none of those that there are.
        let mut raw = Raw::start(&sim);
        raw.call(2, "list_vms");
        for id in 3..300_u64 {
            raw.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" }));
        }
        let id = raw.child.id().to_string();
        let killed = std::process::Command::new("kill").args(["-INT", &id]).status();
        assert!(killed.unwrap().success());
        let (input, output) = (raw.input.take(), raw.output.take());
        let took = raw.ends();
        assert!(took < Duration::from_secs(6), "it took {took:?}");
        drop((input, output));
    });
}
