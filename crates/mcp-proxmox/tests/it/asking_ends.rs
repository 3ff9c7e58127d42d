//! What a person agreed to ends after five minutes, and with the guest's run that it was about. The clock is moved while
//! nothing is under way.

use std::time::Duration;

use mcp_proxmox::{config::Confirm, policy::Policy};
use pve_sim::Sim;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf,
};

use crate::{
    asking::{agreed, call, initialize, lab_at_once, modern, program, send_call},
    power::{posts, write_server_with},
};

/// A client that writes and reads the lines of the protocol itself.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    output: tokio::io::WriteHalf<DuplexStream>,
    n_calls: u32,
}

impl Client {
    fn of(sim: &Sim) -> Self {
        let policy = Policy::new(None, "".parse().unwrap(), Confirm::Destructive, None);
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(far);
        tokio::spawn(write_server_with(sim, policy).serve(input, output));
        let (input, output) = tokio::io::split(near);
        Self { lines: BufReader::new(input).lines(), output, n_calls: 0 }
    }

    /// Asks for a hard stop of VM 100, with what the question before left and what the person says.
    async fn stop(&mut self, state: Option<&Value>) -> Value {
        self.n_calls += 1;
        let mut more = json!({ "arguments": { "vm": "100" } });
        if let Some(state) = state {
            more["requestState"] = state.clone();
            more["inputResponses"] = agreed();
        }
        let params = modern(true, "stop_vm", &more);
        let request = json!({ "jsonrpc": "2.0", "id": self.n_calls, "method": "tools/call", "params": params });
        self.output.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        let line = self.lines.next_line().await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.n_calls, "{answer}");
        answer
    }
}

pub async fn pass(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn an_answer_holds_for_300_seconds_and_one_that_comes_later_is_asked_for_again() {
    for (seconds, is_in_time) in [(295, true), (300, false), (3600, false)] {
        let sim = lab_at_once().await;
        let mut client = Client::of(&sim);
        let asked = client.stop(None).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let state = asked["result"]["requestState"].clone();
        pass(seconds).await;
        let answer = client.stop(Some(&state)).await;
        let done = if is_in_time {
            answer
        } else {
            assert_eq!(answer["result"]["resultType"], "input_required", "{seconds}: {answer}");
            assert!(posts(&sim).is_empty(), "{seconds}: it was too late");
            let fresh = answer["result"]["requestState"].clone();
            assert_ne!(fresh, state);
            // What ended stays so, and is none of the new question.
            let again = client.stop(Some(&state)).await;
            assert_eq!(again["result"]["resultType"], "input_required", "{seconds}: {again}");
            client.stop(Some(&fresh)).await
        };
        assert_eq!(done["result"]["structuredContent"]["outcome"], "done", "{seconds}: {done}");
        assert_eq!(posts(&sim), ["/nodes/pve1/qemu/100/status/stop"]);
        // Neither is what was used.
        sim.change(|lab| {
            *lab.guest_mut(100).unwrap() = pve_sim::Guest::vm(100, "pve1", "app1").running(5);
        });
        let replayed = client.stop(Some(&state)).await;
        assert_ne!(replayed["result"]["structuredContent"]["outcome"], "done", "{replayed}");
        assert_eq!(posts(&sim).len(), 1, "{seconds}: an answer was played back");
    }
}

/// The person agreed to the end of another run than the one that is there now.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_was_started_anew_while_the_question_was_open_is_left_alone() {
    for (tool, arguments) in [
        ("stop_vm", json!({ "vm": "100" })),
        ("send_vm_keys", json!({ "vm": "100", "keys": ["enter"] })),
    ] {
        let sim = lab_at_once().await;
        let answer = tokio::task::block_in_place(|| {
            let mut program = program(&sim, &[]);
            initialize(&mut program, "2025-06-18");
            send_call(&mut program, 77, tool, &arguments);
            let question = program.receive();
            sim.change(|lab| {
                *lab.guest_mut(100).unwrap() = pve_sim::Guest::vm(100, "pve1", "app1").running(5);
            });
            let yes = json!({ "action": "accept", "content": { "confirm": true } });
            program.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": yes }));
            program.receive()
        });
        let told = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(told.contains("started anew, or moved, while the question was open"), "{told}");
        assert!(posts(&sim).is_empty(), "{tool}");
    }
}

/// Where the call is made anew with the answer, the answer holds for the process that was asked about.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_for_a_run_that_has_ended_is_asked_for_again() {
    let sim = lab_at_once().await;
    tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[]);
        let arguments = json!({ "vm": "100" });
        let asked = call(&mut program, true, "stop_vm", &json!({ "arguments": arguments }));
        sim.change(|lab| lab.guest_mut(100).unwrap().pid += 1);
        let state = asked["result"]["requestState"].clone();
        let again =
            json!({ "arguments": arguments, "requestState": state, "inputResponses": agreed() });
        let answer = call(&mut program, true, "stop_vm", &again);
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    });
    assert!(posts(&sim).is_empty());
}
