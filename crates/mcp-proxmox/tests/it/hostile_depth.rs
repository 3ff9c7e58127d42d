//! JSON that is nested deep, around what readers of JSON allow and far beyond, from the client and from PVE: it is
//! answered under its own id or refused, what is said of it is true, and nothing breaks.

use futures_util::future::join_all;
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::{
    faults::{
        TOOLS, gives_nothing_away, ready,
        world::{Servers, call, client_of, still},
    },
    process::Program,
    support::{settings, structured, text},
};

/// The last of few that are read and the first that are not are 127 and 128.
const DEPTHS: [usize; 8] = [100, 126, 127, 128, 129, 200, 1000, 100_000];
const READABLE: usize = 127;

const PAIRS: [(&str, &str); 2] = [("[", "]"), (r#"{"a":"#, "}")];

fn deep(depth: usize, (open, close): (&str, &str)) -> String {
    format!("{}1{}", open.repeat(depth), close.repeat(depth))
}

/// Where in a request something deep can stand, and how many levels are around it.
const PLACES: [(&str, usize); 6] = [
    (r#"{"name":"list_vms","arguments":{"name":$}}"#, 3),
    (r#"{"name":"list_vms","arguments":{"no_such":$}}"#, 3),
    (r#"{"name":"list_vms","arguments":$}"#, 2),
    (r#"{"name":$}"#, 2),
    (r#"{"name":"list_nodes","_meta":{"progressToken":$}}"#, 3),
    (r#"{"name":"list_nodes","_meta":{"x":$}}"#, 3),
];

fn started(revision: &str) -> Program {
    let mut program = Program::demo();
    program.initialize(revision);
    program
}

fn goes_on(program: &mut Program) {
    let answer = program.call("list_nodes", json!({}));
    assert!(answer["result"]["structuredContent"].is_object(), "{answer}");
}

#[test]
fn deep_json_of_a_client_is_answered_once_under_its_id() {
    let mut program = started("2025-11-25");
    for depth in DEPTHS {
        for pair in PAIRS {
            let deep = deep(depth, pair);
            program.send_raw(&deep);
            let told = program.receive();
            let code = if depth <= READABLE { -32600 } else { -32700 };
            assert_eq!(
                (&told["error"]["code"], &told["id"]),
                (&json!(code), &Value::Null),
                "{depth}"
            );
            for (nth, (params, around)) in (7_000..).zip(PLACES) {
                let params = params.replace('$', &deep);
                program.send_raw(&format!(
                    r#"{{"jsonrpc":"2.0","id":{nth},"method":"tools/call","params":{params}}}"#
                ));
                let told = program.receive();
                let which = format!("{depth} levels in {}: {told}", PLACES[nth - 7_000].0);
                assert_eq!(told["id"], json!(nth), "{which}");
                if depth + around > READABLE {
                    assert_eq!(told["error"]["code"], -32700, "{which}");
                    let said = told["error"]["message"].as_str().unwrap();
                    assert!(said.contains("nested deeper"), "{which}");
                } else {
                    let is_told = told["error"]["code"].is_i64() || told["result"].is_object();
                    assert!(is_told && told.to_string().len() < 20_000, "{which}");
                }
            }
            // What wants no answer gets none.
            program.send_raw(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{deep}}}}}"#
            ));
        }
        // Without an end.
        program.send_raw(&"[".repeat(depth));
        assert_eq!(program.receive()["error"]["code"], -32700);
        goes_on(&mut program);
    }
    assert!(program.end().lines.is_empty());
}

#[test]
fn a_batch_with_something_deep_is_refused_as_one_or_answered_as_one() {
    let mut program = started("2025-03-26");
    for depth in DEPTHS {
        let deep = deep(depth, PAIRS[0]);
        program.send_raw(&format!(
            r#"[{{"jsonrpc":"2.0","id":1,"method":"ping"}},{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"list_vms","arguments":{{"name":{deep}}}}}}}]"#
        ));
        let told: Value = serde_json::from_str(&program.line()).unwrap();
        let is_readable = depth + 4 <= READABLE;
        let answers = told.as_array().map_or(0, Vec::len);
        assert_eq!(answers, if is_readable { 2 } else { 0 }, "{depth}: {told}");
        assert!(is_readable || told["error"]["code"] == -32700, "{depth}: {told}");
        goes_on(&mut program);
    }
    assert!(program.end().lines.is_empty());
}

/// Calls a tool while PVE answers with something deep: how many calls there were, and how many failed.
async fn under_depth(
    servers: &Servers,
    (tool, arguments, action): (&'static str, &str, &str),
    pair: (&str, &str),
) -> (usize, usize) {
    let sim = Sim::start(still()).await.unwrap();
    let client = client_of(servers, settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)).await;
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    let arguments: Value = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
    // Those that wait for something do so each time, so that they get one that is read and one that is not.
    let waits = !action.is_empty() || arguments["listen_seconds"].is_number();
    let one = if pair == PAIRS[0] { [READABLE] } else { [100_000] };
    let depths = if waits { &one[..] } else { &DEPTHS };
    let (mut n_calls, mut n_failed) = (0, 0);
    for depth in depths {
        let deep = deep(*depth, pair);
        let data = format!(r#"{{"data":{deep}}}"#);
        let refused = format!(r#"{{"data":null,"message":"no","errors":{{"vmid":{deep}}}}}"#);
        for rule in [
            Rule::everything().body(data.clone()),
            Rule::under("/nodes/").body(data.clone()),
            Rule { method: Some("POST".to_owned()), ..Rule::under("/nodes/").body(data) },
            Rule::everything().status(400, "Parameter verification failed.").body(refused),
        ] {
            ready(&sim, action);
            sim.forget_requests();
            sim.answer(rule);
            let result = call(&client, tool, &arguments).await;
            sim.forget_rules();
            let structured = result.structured_content.as_ref().map(Value::to_string);
            let told = format!("{} {}", text(&result), structured.unwrap_or_default());
            let which = format!("{tool} at {depth}: {told}");
            gives_nothing_away(&told);
            assert!(told.chars().count() < 40_000, "{which}");
            let n_posts =
                sim.n_requests(|seen| seen.path.contains("/status/") && seen.method == "POST");
            // Nothing was carried out: the answer to what was sent is the rule's.
            assert!(n_posts <= 1 && !told.contains("\"done\""), "{n_posts} writes, {which}");
            n_calls += 1;
            n_failed += usize::from(result.is_error == Some(true));
        }
    }
    (n_calls, n_failed)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deep_json_of_pve_breaks_no_tool() {
    let servers = Servers::start();
    let tools = TOOLS.iter().enumerate();
    let tools = tools.map(|(nth, tool)| under_depth(&servers, *tool, PAIRS[nth % 2]));
    let all = join_all(tools).await;
    let n_calls: usize = all.iter().map(|(n, _)| n).sum();
    let n_failed: usize = all.iter().map(|(_, n)| n).sum();
    assert!(n_calls > 350 && n_failed > n_calls / 3, "{n_failed} of {n_calls} failed");
}

/// A key that nobody reads may hold anything: what stands beside it is read all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stands_beside_something_deep_is_read_or_said_to_be_unreadable() {
    let servers = Servers::start();
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let client = client_of(&servers, settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)).await;
    let row = r#"{"type":"qemu","vmid":100,"node":"pve1","status":"running","name":"db1""#;
    let mut n_read = 0;
    for depth in DEPTHS {
        for pair in PAIRS {
            let deep = deep(depth, pair);
            for body in [
                format!(r#"{{"data":[{row},"deep":{deep}}}]}}"#),
                format!(r#"{{"deep":{deep},"data":[{row}}}]}}"#),
                format!(r#"{{"data":[{row},"tags":{deep}}}]}}"#),
                format!(r#"{{"data":[{row}}},{deep}]}}"#),
            ] {
                sim.answer(Rule::get("/cluster/resources").body(body));
                let result = call(&client, "list_vms", &json!({})).await;
                sim.forget_rules();
                if result.is_error == Some(true) {
                    let told = text(&result);
                    assert!(told.contains("/cluster/resources") || told.contains("list"), "{told}");
                    gives_nothing_away(&told);
                } else {
                    let answer = structured(&result);
                    assert_eq!(answer["total"], 1, "{answer}");
                    n_read += 1;
                }
            }
        }
    }
    println!("{n_read} of {} were read", DEPTHS.len() * 8);
    assert!(n_read >= DEPTHS.len() * 4, "{n_read}");
}
