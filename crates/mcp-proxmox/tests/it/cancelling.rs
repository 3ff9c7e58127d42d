//! Calls that a client gives up, in every revision of the protocol: they fall silent, and so does what they asked.

use std::time::{Duration, Instant};

use mcp_proxmox::{config::Confirm, policy::Policy};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::{
    asking::{initialize, lab_at_once, program, send_call},
    asking_ends::pass,
    methods::{MODERN, REVISIONS},
    power::{posts, write_server_with},
    process::{Program, program_for},
};

/// A conversation in one revision.
struct Talk(Program, &'static str);

impl Talk {
    fn begin(mut program: Program, revision: &'static str) -> Self {
        if revision != MODERN {
            program.initialize(revision);
        }
        Self(program, revision)
    }

    fn send(&mut self, id: &Value, method: &str, mut params: Value) {
        if self.1 == MODERN {
            let capabilities = "io.modelcontextprotocol/clientCapabilities";
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            params["_meta"][capabilities] = json!({});
        }
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.0.send(&request);
    }

    fn cancel(&mut self, id: &Value) {
        self.0.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    }

    /// What is said until a later request is answered; of that nothing.
    fn until_answered(&mut self) -> Vec<Value> {
        self.send(&json!("later"), "tools/list", json!({}));
        let mut said = Vec::new();
        loop {
            let message = self.0.receive();
            if message["id"] == "later" {
                return said;
            }
            said.push(message);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_is_never_answered_in_any_revision() {
    for (revision, id) in REVISIONS.into_iter().zip([json!(9), json!("nine")].into_iter().cycle()) {
        let sim = Sim::start(Cluster::demo()).await.unwrap();
        sim.answer(Rule::get("/cluster/resources?type=vm").hang());
        let sim = &sim;
        tokio::task::block_in_place(|| {
            let program = Program::start(&mut program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
            let mut talk = Talk::begin(program, revision);
            let call = json!({ "name": "list_vms", "arguments": {} });
            talk.send(&id, "tools/call", call);
            talk.cancel(&id);
            assert_eq!(talk.until_answered(), Vec::<Value>::new(), "{revision}");
            let ended = talk.0.end();
            assert!(ended.lines.is_empty(), "{revision}: {:?}", ended.lines);
        });
    }
}

#[test]
fn a_call_that_told_its_progress_falls_silent_when_it_is_cancelled_in_any_revision() {
    for revision in REVISIONS {
        let mut talk = Talk::begin(Program::demo(), revision);
        let list = json!({ "name": "list_tasks", "arguments": { "outcome": "running" } });
        talk.send(&json!(1), "tools/call", list);
        let running = talk.0.receive();
        let tasks = &running["result"]["structuredContent"]["tasks"];
        // The oldest revisions have no structure, but the server gives it to everybody.
        let nth = tasks["columns"].as_array().unwrap().iter().position(|name| name == "upid");
        let upid = &tasks["rows"][0][nth.unwrap()];
        let call = json!({
            "name": "get_task",
            "arguments": { "upid": upid, "wait_seconds": 40 },
            "_meta": { "progressToken": "p" },
        });
        talk.send(&json!(90), "tools/call", call);
        let first = talk.0.receive();
        assert_eq!(first["method"], "notifications/progress", "{revision}: {first}");
        assert_eq!(first["params"]["progressToken"], "p", "{revision}: {first}");
        talk.cancel(&json!(90));
        // What was on its way when it was cancelled may still arrive; the answer never does.
        let said = talk.until_answered();
        assert!(said.iter().all(|message| message.get("id").is_none()), "{revision}: {said:?}");
        let ended = talk.0.end();
        assert!(ended.lines.is_empty(), "{revision}: {:?}", ended.lines);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_of_a_cancelled_call_is_withdrawn_and_an_answer_to_it_does_nothing() {
    for revision in ["2025-06-18", "2025-11-25"] {
        let sim = lab_at_once().await;
        let sim = &sim;
        tokio::task::block_in_place(|| {
            let mut program = program(sim, &[]);
            initialize(&mut program, revision);
            send_call(&mut program, 77, "stop_vm", &json!({ "vm": "app1" }));
            let question = program.receive();
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } });
            let began = Instant::now();
            program.send(&cancelled);
            let withdrawn = program.receive();
            // Not only when its time is over.
            assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
            assert_eq!(withdrawn["method"], "notifications/cancelled", "{revision}: {withdrawn}");
            assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
            // The person was quicker than that.
            let agreed = json!({ "action": "accept", "content": { "confirm": true } });
            program.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": agreed }));
            program.request("tools/list", json!({}));
            let ended = program.end();
            assert!(ended.lines.is_empty(), "{revision}: {:?}", ended.lines);
        });
        assert!(posts(sim).is_empty(), "{revision}: {:?}", posts(sim));
    }
}

#[tokio::test]
async fn a_question_that_nobody_answers_in_time_is_withdrawn_and_its_call_answered() {
    let sim = lab_at_once().await;
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Destructive, None);
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(far);
    tokio::spawn(write_server_with(&sim, policy).serve(input, output));
    let (input, mut output) = tokio::io::split(near);
    let mut lines = BufReader::new(input).lines();
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" } });
    let call = json!({ "name": "stop_vm", "arguments": { "vm": "100" } });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }),
    ] {
        output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let mut next = async || -> Value {
        let line = tokio::time::timeout(Duration::from_secs(60), lines.next_line()).await;
        serde_json::from_str(&line.unwrap().unwrap().unwrap()).unwrap()
    };
    assert_eq!(next().await["id"], 1);
    let question = next().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    pass(26).await;
    let withdrawn = next().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
    let answer = next().await;
    assert_eq!(answer["result"]["structuredContent"]["outcome"], "unanswered", "{answer}");
    assert!(posts(&sim).is_empty());
}
