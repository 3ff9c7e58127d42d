//! Lines that no client should send, and clients that go in a way that none should: the server answers,
//! goes on, and leaves nothing behind.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::Stdio,
};

use serde_json::{Value, json};

use crate::process::{Program, program, wait};

/// A server that has shaken hands.
fn started() -> Program {
    let mut program = Program::demo();
    program.initialize("2025-11-25");
    program
}

/// The server still works.
fn goes_on(program: &mut Program) {
    let answer = program.call("list_nodes", json!({}));
    assert!(answer["result"]["structuredContent"].is_object(), "{answer}");
}

fn complaint(program: &mut Program, line: &str) -> (Value, Value) {
    program.send_raw(line);
    let told = program.receive();
    assert!(told.as_object().unwrap().contains_key("id"), "{told}");
    (told["error"]["code"].clone(), told["id"].clone())
}

#[test]
fn a_line_that_is_no_json_is_answered_and_the_server_goes_on() {
    let mut program = started();
    for line in
        ["this is not JSON", "{", r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, "\u{0}", "'", "{]}"]
    {
        assert_eq!(complaint(&mut program, line), (json!(-32700), Value::Null), "{line:?}");
        goes_on(&mut program);
    }
    assert!(program.end().lines.is_empty());
}

#[test]
fn json_that_is_no_request_is_answered_and_the_server_goes_on() {
    let mut program = started();
    for (line, id) in [
        ("[]", Value::Null),
        ("7", Value::Null),
        ("null", Value::Null),
        (r#""ping""#, Value::Null),
        ("{}", Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, Value::Null),
        (r#"{"jsonrpc":"2.0","id":41}"#, json!(41)),
        (r#"{"jsonrpc":"2.0","id":42,"method":7}"#, json!(42)),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, json!("a")),
        (r#"{"id":43,"method":"ping"}"#, json!(43)),
    ] {
        assert_eq!(complaint(&mut program, line), (json!(-32600), id), "{line}");
    }
    goes_on(&mut program);
    assert!(program.end().lines.is_empty());
}

#[test]
fn they_are_answered_before_the_first_request_too() {
    let mut program = Program::demo();
    assert_eq!(complaint(&mut program, "hello").0, -32700);
    assert_eq!(complaint(&mut program, "[]").0, -32600);
    assert_eq!(program.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
    goes_on(&mut program);
}

#[test]
fn what_may_not_be_answered_is_not() {
    let mut program = started();
    for line in [
        "",
        "   ",
        r#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#,
    ] {
        program.send_raw(line);
    }
    goes_on(&mut program);
}

#[test]
fn a_line_of_sixteen_megabytes_is_refused_and_takes_nothing_down() {
    let mut program = started();
    let long = "a".repeat(16 << 20);
    assert_eq!(complaint(&mut program, &long), (json!(-32600), Value::Null));
    let request = json!({ "jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": { "name": "list_vms", "arguments": { "name": long } } });
    assert_eq!(complaint(&mut program, &request.to_string()), (json!(-32600), Value::Null));
    // What just fits is read, and its argument refused in a few words.
    let name = "a".repeat(3 << 20);
    let answer = program.call("get_vm_status", json!({ "vm": name }));
    assert_eq!(answer["result"]["isError"], true);
    assert!(answer.to_string().len() < 2000);
    goes_on(&mut program);
}

#[test]
fn a_client_that_closes_our_output_leaves_no_server_running() {
    let mut child = program()
        .arg("--demo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } });
    writeln!(input, "{hello}").unwrap();
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    // Its input stays open: only that nobody reads tells it to go.
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
        .unwrap();
    writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" })).unwrap();
    assert!(wait(&mut child).success());
    drop(input);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_in_use_is_refused_and_can_be_used_again_afterwards() {
    let mut program = started();
    // The wait of this call keeps its id in use.
    let params =
        json!({ "name": "get_vm_console", "arguments": { "vm": "100", "listen_seconds": 2 } });
    let call = json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": params });
    program.send(&call);
    program.send(&json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/list" }));
    let refused = program.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("same"), &json!(-32600)));
    let answer = program.receive();
    assert!(answer["id"] == "same" && answer["result"].is_object(), "{answer}");
    program.send(&json!({ "jsonrpc": "2.0", "id": "same", "method": "ping" }));
    assert!(program.receive()["result"].is_object());
}

#[test]
fn a_request_of_a_wrong_shape_is_answered_under_its_own_id() {
    let mut program = started();
    for id in [json!(5), json!("five"), json!(u64::MAX)] {
        let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list", "params": [1] });
        program.send(&line);
        let told = program.receive();
        assert_eq!((&told["id"], &told["error"]["code"]), (&id, &json!(-32600)));
        assert!(told["error"]["message"].as_str().unwrap().contains("`params`"), "{told}");
    }
    for (line, id, why) in [
        (json!({ "jsonrpc": "2.0", "id": 8.5, "method": "ping" }), json!(8.5), "`id` has to be"),
        (json!({ "jsonrpc": "2.0", "id": [], "method": "ping" }), Value::Null, "`id` has to be"),
        (json!({ "jsonrpc": "2.0", "id": 9, "method": 7 }), json!(9), "`method` has to be"),
        (json!({ "jsonrpc": "1.0", "id": 9, "method": "ping" }), json!(9), "`jsonrpc` has to be"),
        (json!({ "id": 9, "method": "ping" }), json!(9), "`jsonrpc` has to be"),
        (json!({ "jsonrpc": "2.0", "id": 9 }), json!(9), "not a JSON-RPC 2.0 message"),
    ] {
        program.send(&line);
        let told = program.receive();
        assert_eq!((&told["id"], &told["error"]["code"]), (&id, &json!(-32600)), "{line}");
        assert!(told["error"]["message"].as_str().unwrap().contains(why), "{told}");
    }
}

#[test]
fn a_batch_is_answered_as_one_where_the_revision_has_batches() {
    for revision in ["2024-11-05", "2025-03-26"] {
        let mut program = Program::demo();
        program.initialize(revision);
        program.send_raw(
            r#"[{"jsonrpc":"2.0","id":11,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},
            {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"list_nodes","arguments":{}}},
            {"jsonrpc":"2.0","id":11,"method":"ping"},{"jsonrpc":"2.0","id":13,"method":7},{"jsonrpc":"2.0","id":14,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}},3]"#
                .replace('\n', "")
                .as_str(),
        );
        let answers: Value = serde_json::from_str(&program.line()).unwrap();
        let answers = answers.as_array().unwrap();
        let n_of = |id: Value, part: &str| {
            answers.iter().filter(|answer| answer["id"] == id && answer[part].is_object()).count()
        };
        assert_eq!(answers.len(), 6, "{answers:#?}");
        assert_eq!((n_of(json!(11), "result"), n_of(json!(11), "error")), (1, 1));
        assert_eq!((n_of(json!("b"), "result"), n_of(json!(13), "error")), (1, 1));
        assert_eq!((n_of(json!(14), "error"), n_of(Value::Null, "error")), (1, 1));
        // Notifications alone are not answered, nothing at all is a mistake.
        program.send_raw(r#"[{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}]"#);
        assert_eq!(complaint(&mut program, "[]").0, -32600);
        let many = format!("[{}1]", "1,".repeat(64));
        assert_eq!(complaint(&mut program, &many).0, -32600);
        goes_on(&mut program);
    }
}

#[test]
fn what_is_not_there_or_comes_too_early_is_said_in_words() {
    let mut program = Program::demo();
    let early = program.request("tools/list", json!({}));
    assert!(early["error"]["message"].as_str().unwrap().contains("`initialize` first"), "{early}");
    // A handshake that is none, and then one.
    let mut program = Program::demo();
    for wrong in [json!({}), json!({ "protocolVersion": 5 })] {
        let told = program.request("initialize", wrong);
        assert_eq!(told["error"]["code"], -32602);
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.contains("`protocolVersion`, `capabilities` and `clientInfo`"), "{told}");
    }
    assert_eq!(program.initialize("2025-11-25")["protocolVersion"], "2025-11-25");
    let mut program = started();
    for method in ["foo", "logging/setLevel"] {
        let params = if method == "foo" { json!({}) } else { json!({ "level": "info" }) };
        let told = program.request(method, params);
        let message = told["error"]["message"].as_str().unwrap();
        let expected = format!("there is no method `{method}` here; those that are there: ");
        let (start, methods) = message.split_at(expected.len());
        assert_eq!((&told["error"]["code"], start), (&json!(-32601), expected.as_str()));
        // Each of them is there.
        for there in methods.split(", ").filter(|there| *there != "initialize") {
            let code = &program.request(there, json!({}))["error"]["code"];
            assert_ne!(code, &json!(-32601), "{there}");
        }
    }
}
