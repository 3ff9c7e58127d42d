//! The protocol as it goes over the wire, to the real program.
//!
//! Each test is about one thing that breaks clients when it is wrong.

use std::time::{Duration, Instant};

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::process::{Program, program_for};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

/// The metadata that every modern request carries.
fn meta(revision: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": revision,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    })
}

#[test]
fn every_legacy_revision_is_spoken() {
    for revision in LEGACY {
        let mut program = Program::demo();
        let initialized = program.initialize(revision);
        assert_eq!(initialized["protocolVersion"], revision);
        assert_eq!(initialized["serverInfo"]["name"], "mcp-proxmox");
        let answer = program.call("list_vms", json!({}));
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        assert!(
            answer["result"].get("resultType").is_none(),
            "{revision} does not know resultType"
        );
    }
}

#[test]
fn the_modern_revision_needs_no_handshake() {
    let mut program = Program::demo();
    let answer = program.request(
        "tools/call",
        json!({ "name": "list_vms", "arguments": {}, "_meta": meta(MODERN) }),
    );
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(
        answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "mcp-proxmox"
    );
}

#[test]
fn discovery_tells_revisions_and_how_long_it_holds() {
    let mut program = Program::demo();
    let answer = program.request("server/discover", json!({ "_meta": meta(MODERN) }));
    let result = &answer["result"];
    assert!(result["supportedVersions"].as_array().unwrap().contains(&json!(MODERN)));
    assert!(result["ttlMs"].as_u64().unwrap() > 60_000);
    assert_eq!(result["cacheScope"], "private");
    assert!(result["instructions"].as_str().unwrap().contains("list_vms"));
}

#[test]
fn lists_tell_how_long_they_hold() {
    let mut program = Program::demo();
    let answer = program.request("tools/list", json!({ "_meta": meta(MODERN) }));
    assert!(answer["result"]["ttlMs"].as_u64().unwrap() > 60_000);
    assert_eq!(answer["result"]["cacheScope"], "private");
}

#[test]
fn a_client_may_discover_first_and_then_shake_hands() {
    let mut program = Program::demo();
    program.request("server/discover", json!({ "_meta": meta(MODERN) }));
    assert_eq!(program.initialize("2025-11-25")["protocolVersion"], "2025-11-25");
    assert!(program.call("list_nodes", json!({}))["result"]["structuredContent"].is_object());
}

#[test]
fn an_unknown_revision_is_answered_with_the_known_ones() {
    let mut program = Program::demo();
    let answer = program.request("tools/list", json!({ "_meta": meta("2099-01-01") }));
    assert_eq!(answer["error"]["code"], -32022);
    assert_eq!(answer["error"]["data"]["requested"], "2099-01-01");
    assert!(answer["error"]["data"]["supported"].as_array().unwrap().contains(&json!(MODERN)));
    let mut program = Program::demo();
    assert_eq!(program.initialize("2099-01-01")["protocolVersion"], "2025-11-25");
}

#[test]
fn what_comes_before_the_first_request_does_not_end_the_server() {
    let mut program = Program::demo();
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    program.send(&json!({ "jsonrpc": "2.0", "id": 7, "result": {} }));
    program.send(&json!({ "jsonrpc": "2.0", "id": 8, "error": { "code": -1, "message": "no" } }));
    assert_eq!(program.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
}

#[test]
fn a_given_up_discovery_does_not_end_the_server() {
    let mut program = Program::demo();
    program.request("server/discover", json!({ "_meta": meta(MODERN) }));
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }));
    assert_eq!(program.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
}

#[test]
fn malformed_parameters_of_a_known_method_are_called_that() {
    let mut program = Program::demo();
    program.initialize("2025-11-25");
    for params in [json!({ "name": "list_vms", "arguments": [1] }), json!({}), json!({ "name": 7 })]
    {
        let answer = program.request("tools/call", params);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(program.request("no/such/method", json!({}))["error"]["code"], -32601);
}

#[test]
fn an_unknown_tool_is_a_protocol_error_that_names_the_nearest() {
    let mut program = Program::demo();
    program.initialize("2025-11-25");
    let answer = program.call("list_vm", json!({}));
    assert_eq!(answer["error"]["code"], -32602);
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("did you mean `list_vms`?"),
        "{answer}"
    );
}

#[test]
fn mistakes_in_arguments_come_back_all_at_once_as_a_tool_error() {
    let mut program = Program::demo();
    program.initialize("2025-11-25");
    let answer = program.call("list_vms", json!({ "limit": 0, "sort": "size", "nodes": "pve1" }));
    assert_eq!(answer["result"]["isError"], true);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    for told in [
        "`limit` must be a whole number from 1 to 500, not 0",
        "`sort` must be one of",
        "did you mean `node`?",
    ] {
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn no_input_at_all_is_a_quiet_end() {
    let ended = Program::demo().end();
    assert!(ended.status.success());
    assert!(ended.lines.is_empty());
    assert!(!ended.stderr.contains("rror"), "{}", ended.stderr);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_input_ends_the_server_though_a_call_hangs() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    sim.answer(Rule::get("/cluster/resources?type=vm").hang());
    let sim = &sim;
    let took = tokio::task::block_in_place(|| {
        let mut program = Program::start(&mut program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
        program.initialize("2025-11-25");
        program.send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "list_vms", "arguments": {} } }));
        // An answer shows that the call before it has been taken up.
        program.send(&json!({ "jsonrpc": "2.0", "id": 10, "method": "tools/list" }));
        assert_eq!(program.receive()["id"], 10);
        let started = Instant::now();
        assert!(program.end().status.success());
        started.elapsed()
    });
    // The library alone would take 5 s; half a second is what running calls get, the rest is for a busy machine.
    assert!(took < Duration::from_secs(3), "it took {took:?}");
}

#[test]
fn a_client_that_wants_to_listen_is_told_that_nothing_ever_changes_and_may_leave() {
    let mut program = Program::demo();
    let answer = program
        .request("subscriptions/listen", json!({ "_meta": meta(MODERN), "notifications": {} }));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert!(program.end().status.success());
}

#[test]
fn what_a_caller_writes_is_in_no_log_unless_the_library_is_asked_to_tell_all() {
    for (level, is_told) in [
        (None, false),
        (Some("info"), false),
        (Some("debug"), false),
        (Some("trace"), false),
        (Some("trace,rmcp=trace"), true),
    ] {
        let mut command = crate::process::program();
        command.arg("--demo");
        if let Some(level) = level {
            command.env("PVE_LOG", level);
        }
        let mut program = Program::start(&mut command);
        program.initialize("2025-11-25");
        program.call("list_vms", json!({ "name": "needle-4711" }));
        // The release program has nothing below `info`, whatever is asked for.
        let is_told = is_told && cfg!(debug_assertions);
        assert_eq!(program.end().stderr.contains("needle-4711"), is_told, "{level:?}");
    }
}

#[test]
fn nothing_but_the_protocol_is_on_standard_output() {
    // `receive` refuses every line that is no message; here, with everything logged.
    let mut command = crate::process::program();
    command.args(["--demo", "--log", "trace"]);
    let mut program = Program::start(&mut command);
    program.initialize("2025-11-25");
    program.call("list_vms", json!({}));
    program.call("get_vm_status", json!({ "vm": "no such guest" }));
    program.send_raw("this is not JSON");
    assert_eq!(program.receive()["error"]["code"], -32700);
    program.call("list_nodes", json!({}));
    let ended = program.end();
    assert!(ended.lines.is_empty());
    assert!(!ended.stderr.is_empty());
}

#[test]
fn text_and_structure_are_given_as_the_user_chose() {
    for (choice, has_structure) in [("both", true), ("text", false), ("structured", true)] {
        let mut command = crate::process::program();
        command.args(["--demo", "--output", choice]);
        let mut program = Program::start(&mut command);
        program.initialize("2025-11-25");
        let list = program.request("tools/list", json!({}));
        assert_eq!(
            list["result"]["tools"][0].get("outputSchema").is_some(),
            has_structure,
            "{choice}"
        );
        let answer = program.call("list_vms", json!({}));
        assert_eq!(answer["result"].get("structuredContent").is_some(), has_structure, "{choice}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.lines().count() == 1, choice == "structured", "{choice}: {text}");
    }
}

#[test]
fn the_list_of_tools_is_the_same_at_every_call() {
    let mut program = Program::demo();
    program.initialize("2025-11-25");
    let first = program.request("tools/list", json!({}))["result"].clone();
    program.call("list_vms", json!({}));
    assert_eq!(program.request("tools/list", json!({}))["result"], first);
}

#[test]
fn what_newer_revisions_removed_is_refused_there() {
    let mut program = Program::demo();
    // The first request decides the era.
    program.request("tools/list", json!({ "_meta": meta(MODERN) }));
    for method in ["ping", "logging/setLevel", "resources/subscribe"] {
        let answer = program
            .request(method, json!({ "level": "info", "uri": "pve://x", "_meta": meta(MODERN) }));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}
