//! Asking the person at the client, in both eras, spoken line by line to the real program.

use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim};
use serde_json::{Value, json};

use crate::{
    power::{lab, posts},
    process::{Program, program_for, run},
};

const MODERN: &str = "2026-07-28";

pub async fn lab_at_once() -> Sim {
    let mut lab = lab();
    for guest in &mut lab.guests {
        guest.takes = pve_sim::Takes::AtOnce;
    }
    Sim::start(lab).await.unwrap()
}

pub fn program(sim: &Sim, settings: &[(&str, &str)]) -> Program {
    let mut command = program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    command.env("PVE_ACCESS_TIER", "write").envs(settings.iter().copied());
    Program::start(&mut command)
}

/// Shakes hands as a client that can put forms to its user.
pub fn initialize(program: &mut Program, revision: &str) {
    let params = json!({ "protocolVersion": revision, "capabilities": { "elicitation": {} },
        "clientInfo": { "name": "test", "version": "1" } });
    program.request("initialize", params);
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
}

pub fn send_call(program: &mut Program, id: i64, tool: &str, arguments: &Value) {
    let params = json!({ "name": tool, "arguments": arguments });
    program.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_client_is_asked_while_the_call_waits() {
    for (result, outcome, n_posts) in [
        (json!({ "action": "accept", "content": { "confirm": true } }), "done", 1),
        (json!({ "action": "accept", "content": { "confirm": false } }), "declined", 0),
        (json!({ "action": "decline" }), "declined", 0),
        (json!({ "action": "cancel" }), "unanswered", 0),
    ] {
        let sim = lab_at_once().await;
        let answer = tokio::task::block_in_place(|| {
            let mut program = program(&sim, &[]);
            initialize(&mut program, "2025-06-18");
            send_call(&mut program, 77, "stop_vm", &json!({ "vm": "app1" }));
            let question = program.receive();
            assert_eq!(question["method"], "elicitation/create", "{question}");
            let text = question["params"]["message"].as_str().unwrap();
            assert_eq!(
                text,
                "Stop `app1` (VM 100 on pve1) at once, as if its plug were pulled? It has been up for 1d 1h. What it has not saved is lost."
            );
            let schema = &question["params"]["requestedSchema"];
            assert_eq!(schema["properties"]["confirm"]["type"], "boolean");
            assert!(posts(&sim).is_empty(), "something was sent before anybody agreed");
            program.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
            program.receive()
        });
        assert_eq!(answer["id"], 77);
        assert_eq!(answer["result"]["structuredContent"]["outcome"], outcome, "{answer}");
        assert_ne!(answer["result"]["isError"], true);
        assert_eq!(posts(&sim).len(), n_posts);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_cannot_agree_for_a_person_who_can_be_asked() {
    let sim = lab_at_once().await;
    tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[]);
        initialize(&mut program, "2025-11-25");
        send_call(&mut program, 1_000, "stop_vm", &json!({ "vm": "100", "confirm": true }));
        assert_eq!(program.receive()["method"], "elicitation/create");
    });
    assert!(posts(&sim).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_user_decides_when_to_be_asked() {
    let sim = lab_at_once().await;
    for (confirm, tool, vm, asked) in [
        ("destructive", "start_vm", "101", false),
        ("always", "shutdown_vm", "100", true),
        ("never", "stop_vm", "100", false),
    ] {
        let first = tokio::task::block_in_place(|| {
            let mut program = program(&sim, &[("PVE_CONFIRM", confirm)]);
            initialize(&mut program, "2025-06-18");
            send_call(&mut program, 5, tool, &json!({ "vm": vm }));
            program.receive()
        });
        assert_eq!(first["method"] == "elicitation/create", asked, "{confirm}: {first}");
    }
}

/// The parameters of a call of the modern era, whose metadata say that the client can ask or that it cannot.
pub fn modern(can_ask: bool, tool: &str, more: &Value) -> Value {
    let capabilities = if can_ask { json!({ "elicitation": { "form": {} } }) } else { json!({}) };
    let mut params = json!({
        "name": tool,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": capabilities,
            "io.modelcontextprotocol/clientInfo": { "name": "modern", "version": "1" },
        },
    });
    let more = more.as_object().unwrap().clone();
    params.as_object_mut().unwrap().extend(more);
    params
}

pub fn call(program: &mut Program, can_ask: bool, tool: &str, more: &Value) -> Value {
    program.request("tools/call", modern(can_ask, tool, more))
}

pub fn agreed() -> Value {
    json!({ "confirm": { "action": "accept", "content": { "confirm": true } } })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_modern_client_calls_again_with_the_answer_and_only_once() {
    let sim = lab_at_once().await;
    tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[]);
        let arguments = json!({ "vm": "100" });
        let asked = call(&mut program, true, "stop_vm", &json!({ "arguments": arguments }));
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{asked}");
        let question = &result["inputRequests"]["confirm"];
        assert_eq!(question["method"], "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains("VM 100"), "{asked}");
        assert!(posts(&sim).is_empty());

        let state = result["requestState"].clone();
        let again =
            json!({ "arguments": arguments, "requestState": state, "inputResponses": agreed() });
        let done = call(&mut program, true, "stop_vm", &again);
        assert_eq!(done["result"]["structuredContent"]["outcome"], "done", "{done}");
        assert_eq!(posts(&sim).len(), 1);

        // The same answer once more, after the guest was started again.
        sim.change(|lab| {
            *lab.guest_mut(100).unwrap() = pve_sim::Guest::vm(100, "pve1", "app1").running(5);
        });
        let replayed = call(&mut program, true, "stop_vm", &again);
        assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
        assert_eq!(posts(&sim).len(), 1, "an answer was played back");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_holds_for_its_own_tool_and_arguments_alone() {
    let sim = lab_at_once().await;
    tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[]);
        let asked = call(&mut program, true, "stop_vm", &json!({ "arguments": { "vm": "100" } }));
        let state = asked["result"]["requestState"].clone();
        for (tool, arguments, state) in [
            ("stop_vm", json!({ "vm": "120" }), state.clone()),
            ("reset_vm", json!({ "vm": "100" }), state.clone()),
            ("stop_vm", json!({ "vm": "100" }), json!("bm90.b3Vycw")),
            ("stop_vm", json!({ "vm": "100" }), json!(format!("{}x", state.as_str().unwrap()))),
        ] {
            let more = json!({ "arguments": arguments, "requestState": state, "inputResponses": agreed() });
            let answer = call(&mut program, true, tool, &more);
            assert_eq!(answer["error"]["code"], -32602, "{tool} {arguments}: {answer}");
        }
        // The name means another guest by now: what was agreed to does not hold for that one.
        let asked = call(&mut program, true, "stop_vm", &json!({ "arguments": { "vm": "app1" } }));
        sim.change(|lab| {
            lab.guest_mut(100).unwrap().name = Some("old".to_owned());
            lab.guest_mut(106).unwrap().name = Some("app1".to_owned());
        });
        let state = asked["result"]["requestState"].clone();
        let more = json!({ "arguments": { "vm": "app1" }, "requestState": state, "inputResponses": agreed() });
        let answer = call(&mut program, true, "stop_vm", &more);
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
    });
    assert!(posts(&sim).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_answer_the_question_is_put_again_and_a_no_is_an_answer() {
    let sim = lab_at_once().await;
    tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[]);
        let arguments = json!({ "vm": "100" });
        let asked = call(&mut program, true, "stop_vm", &json!({ "arguments": arguments }));
        let state = asked["result"]["requestState"].clone();
        let again = json!({ "arguments": arguments, "requestState": state });
        let asked = call(&mut program, true, "stop_vm", &again);
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        let no = json!({ "confirm": { "action": "decline" } });
        let again = json!({ "arguments": arguments, "requestState": asked["result"]["requestState"], "inputResponses": no });
        let declined = call(&mut program, true, "stop_vm", &again);
        assert_eq!(declined["result"]["structuredContent"]["outcome"], "declined", "{declined}");
        let cannot = call(&mut program, false, "stop_vm", &json!({ "arguments": arguments }));
        assert_eq!(cannot["result"]["isError"], true);
        assert!(cannot["result"]["content"][0]["text"].as_str().unwrap().contains("confirm: true"));
    });
    assert!(posts(&sim).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_command_line_yes_agrees() {
    let sim = lab_at_once().await;
    let call = |more: &[&str]| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", "write").args(["call", "stop_vm", "vm=100"]).args(more);
        tokio::task::block_in_place(|| run(&mut command))
    };
    let (code, _, stderr) = call(&[]);
    assert_eq!(code, 1);
    assert!(stderr.contains("--yes") && posts(&sim).is_empty(), "{stderr}");
    let (code, stdout, stderr) = call(&["--yes"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("outcome: done") && posts(&sim).len() == 1, "{stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_command_line_what_is_not_known_to_be_done_is_no_success() {
    let mut lab = lab();
    lab.guest_mut(101).unwrap().takes = pve_sim::Takes::UntilTold;
    lab.guest_mut(120).unwrap().takes = pve_sim::Takes::UntilTold;
    let sim = Sim::start(lab).await.unwrap();
    // Whether it arrived nobody knows, and no task of ours is to be seen.
    let lost = pve_sim::Rule::post("/nodes/pve1/qemu/100/status/stop");
    sim.answer(lost.status(596, "Connection timed out"));
    for (arguments, code, outcome) in [
        (["stop_vm", "vm=100", "wait_seconds=10"], 3, "unknown"),
        (["start_vm", "vm=101", "wait_seconds=1"], 3, "running"),
        (["shutdown_vm", "vm=120", "wait_seconds=0"], 0, "sent"),
    ] {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", "write").arg("call").args(arguments).arg("--yes");
        let (ended, stdout, _) = tokio::task::block_in_place(|| run(&mut command));
        assert!(stdout.contains(&format!("outcome: {outcome}\n")), "{stdout}");
        assert_eq!(ended, code, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_while_a_task_runs() {
    let mut lab = lab();
    lab.guest_mut(101).unwrap().takes = pve_sim::Takes::Polls(3);
    let sim = Sim::start(lab).await.unwrap();
    let told = tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[]);
        program.initialize("2025-11-25");
        let params = json!({ "name": "start_vm", "arguments": { "vm": "101" }, "_meta": { "progressToken": "p" } });
        program
            .send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }));
        let mut told = Vec::new();
        loop {
            let message = program.receive();
            if message["id"] == 9 {
                assert_eq!(message["result"]["structuredContent"]["outcome"], "done", "{message}");
                return told;
            }
            told.push(message);
        }
    });
    assert!(told.len() >= 2, "{told:?}");
    let done: Vec<f64> =
        told.iter().map(|told| told["params"]["progress"].as_f64().unwrap()).collect();
    assert!(done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
    for told in &told {
        let params = &told["params"];
        for number in [&params["progress"], &params["total"]].into_iter().filter_map(Value::as_f64)
        {
            assert!((number * 10.0 - (number * 10.0).round()).abs() < 1e-6, "{params}");
        }
    }
    let words: Vec<_> = told.iter().map(|told| &told["params"]["message"]).collect();
    assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{words:?}");
    assert!(told[1]["params"]["message"].as_str().unwrap().starts_with("start: "), "{told:?}");
}

/// The questions of all actions, as a person reads them.
#[tokio::test(flavor = "multi_thread")]
async fn questions_are_sentences() {
    let sim = lab_at_once().await;
    for (tool, arguments, expected) in [
        ("start_vm", json!({ "vm": "101" }), "Start `db1` (VM 101 on pve1)?"),
        ("resume_vm", json!({ "vm": "103" }), "Resume `paused` (VM 103 on pve1)?"),
        (
            "shutdown_vm",
            json!({ "vm": "120" }),
            "Shut down `ct1` (container 120 on pve1)? It has been up for 1h. Whoever uses it is interrupted.",
        ),
        (
            "reset_vm",
            json!({ "vm": "106" }),
            "Reset `broken` (VM 106 on pve1) at once, as if its reset button were pressed? It has been up for 1h. What it has not saved is lost.",
        ),
        (
            "suspend_vm",
            json!({ "vm": "100", "to_disk": true }),
            "Hibernate `app1` (VM 100 on pve1)? It has been up for 1d 1h. Its memory is saved and it stops; it does nothing until it is resumed.",
        ),
        (
            "shutdown_vm",
            json!({ "vm": "107", "timeout_seconds": 30 }),
            "Shut down `managed` (VM 107 on pve2)? It has been up for 1h. Whoever uses it is interrupted. The HA manager cares for it (now: started): it is asked for `stopped`, acts in its own time, gives the guest 30 s, then STOPS IT HARD, which loses what is not saved, and keeps it stopped until start_vm.",
        ),
    ] {
        let asked = tokio::task::block_in_place(|| {
            let mut program = program(&sim, &[("PVE_CONFIRM", "always")]);
            initialize(&mut program, "2025-06-18");
            send_call(&mut program, 5, tool, &arguments);
            program.receive()
        });
        assert_eq!(asked["params"]["message"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_was_not_answered_is_told_apart_from_a_no_and_from_one_that_was_not_put() {
    let sim = lab_at_once().await;
    let told = |arguments: Value, reply: Value| {
        tokio::task::block_in_place(|| {
            let mut program = program(&sim, &[]);
            initialize(&mut program, "2025-06-18");
            send_call(&mut program, 77, "stop_vm", &arguments);
            let mut answer = json!({ "jsonrpc": "2.0", "id": program.receive()["id"] });
            answer.as_object_mut().unwrap().extend(reply.as_object().unwrap().clone());
            program.send(&answer);
            program.receive()["result"].to_string()
        })
    };
    let vm = json!({ "vm": "100" });
    let no = told(vm.clone(), json!({ "result": { "action": "decline" } }));
    assert!(no.contains("Do not ask again"), "{no}");
    let closed = told(vm.clone(), json!({ "result": { "action": "cancel" } }));
    assert!(closed.contains("may be made again") && !closed.contains("Do not ask"), "{closed}");
    // Whether the user saw it nobody knows, so that the model's word does not count either.
    let broken = json!({ "error": { "code": -32603, "message": "no window" } });
    for arguments in [&vm, &json!({ "vm": "100", "confirm": true })] {
        let failed = told(arguments.clone(), broken.clone());
        assert!(failed.contains("unanswered") && failed.contains("no window"), "{failed}");
    }
    let without_tick = json!({ "result": { "action": "accept", "content": { "confirm": false } } });
    let no = told(vm.clone(), without_tick);
    assert!(no.contains("a tick that is left out is a no"), "{no}");
    let empty = told(vm.clone(), json!({ "result": { "action": "accept", "content": {} } }));
    assert!(empty.contains("unanswered") && empty.contains("without an answer"), "{empty}");
    let unable = json!({ "error": { "code": -32601, "message": "Method not found" } });
    let refused = told(vm, unable.clone());
    assert!(refused.contains("cannot ask") && refused.contains("confirm: true"), "{refused}");
    assert!(posts(&sim).is_empty());
    let old = tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[]);
        initialize(&mut program, "2025-03-26");
        send_call(&mut program, 77, "stop_vm", &json!({ "vm": "100" }));
        program.receive()["result"].to_string()
    });
    assert!(old.contains("speaks MCP 2025-03-26, in which nobody can be asked"), "{old}");
    assert!(posts(&sim).is_empty());
    let agreed = told(json!({ "vm": "100", "confirm": true }), unable);
    assert!(agreed.contains("done"), "{agreed}");
}
