//! Every argument of every tool holds path tricks, huge numbers and what is of another type: the call works or is
//! told which argument is wrong, in its time, and PVE sees no request that other arguments would not lead to.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use mcp_proxmox::{
    answer::clean::quoted,
    catalog::{self, Catalog},
    server,
    tier::Level,
};
use pve_sim::{Cluster, Seen, Sim};
use serde_json::{Value, json};

use crate::{
    faults::{TOOLS, ready, world},
    power::write_server,
    process::Program,
    requests,
    support::{connect, text},
};

/// How many calls are under way at once, and how long each may take.
const AT_ONCE: usize = 32;
const BOUND: Duration = Duration::from_secs(30);

/// Texts that mean another path, another query or another line where somebody forgets to look, or where PVE, or a
/// proxy before it, decodes once more or folds characters that look alike.
pub const TRICKS: &[&str] = &[
    "../../access/users",
    "..",
    ".",
    "/access/users",
    "%2e%2e%2f%2e%2e%2faccess%2fusers",
    "%252e%252e%252faccess%252Fusers",
    "..%2f..%2faccess%2fusers",
    "..%252F..%252Faccess",
    "..;/..;/access/users",
    "..\u{ff0f}..\u{ff0f}access",
    "..\u{2215}..\u{2215}access",
    "\u{ff0e}\u{ff0e}/access",
    "%c0%ae%c0%ae%c0%afaccess",
    "%00",
    "%2F",
    "%0d%0aX-Header: 1",
    "a/b",
    "100/../../../access/users",
    "100?x=1",
    "a?x=1&y=2",
    "a&purge=1",
    "a#b",
    "a;b=c",
    "a\\..\\b",
    "UPID:pve1:00000001:00000001:6B000001:qmstart:../../../access/users:root@pam:",
    "UPID:../../access:00000001:00000001:6B000001:qmstart:100:root@pam:",
    "UPID:pve1:00000001:00000001:6B000001:qmstart:..%252Faccess:root@pam:",
    "UPID:pve1:00000001:00000001:6B000001:qmstart:..\u{ff0f}access:root@pam:",
    "UPID:pve1:00000001:00000001:6B000001:qmstart:100?x=1:root@pam:",
    "UPID:pve1:00000001:00000001:6B000001:qmstart:100:root@pam:/../../x",
    "UPID:pve1:00000001:00000001:6B000001:qmstart:100:ro\not@pam:",
    "pve1/../../access/users",
    "a\nb",
    "a\r\nX-Header: 1",
    "a\0b",
    "\u{202e}a",
    "ä/ö",
];

fn tricks() -> Vec<Value> {
    let long = "a".repeat(100 << 10);
    TRICKS.iter().copied().chain(["", " ", &long]).map(|trick| json!(trick)).collect()
}

/// What is tried for an argument of this kind.
fn hostile(name: &str, schema: &Value) -> Vec<Value> {
    let foreign = [json!({}), json!([]), json!([[]]), json!(true), json!(1.5), json!(-1)];
    let mut values = match schema["type"].as_str().unwrap_or_default() {
        "string" => [tricks(), vec![json!(u64::MAX), json!(i64::MIN), json!(1e300)]].concat(),
        "array" => {
            let items = tricks().into_iter().map(|trick| json!([trick]));
            let many = json!(vec!["a"; 10_000]);
            items.chain([json!([null]), json!([1e300]), json!("../x"), many]).collect()
        }
        "integer" | "number" => {
            // As a text it is good, and some of these wait for so many seconds.
            let text = if name.contains("seconds") { "1" } else { "12" };
            let numbers =
                [0, -1, 1 << 31, 1 << 32, (1 << 32) + 1, i64::MAX, i64::MIN].map(|n| json!(n));
            let others = [json!(u64::MAX), json!(1e300), json!(1.5), json!(text), json!(null)];
            let texts = ["1e400", "NaN", "0x10", "../x", ""].map(|text| json!(text));
            [&numbers[..], &others, &texts].concat()
        }
        _ => vec![json!("../x"), json!(2), json!("yes"), json!(null)],
    };
    values.extend(foreign);
    values
}

/// The path of a request with what names things of the demo taken out, and the keys of its query and body.
pub fn shape(seen: &Seen) -> BTreeSet<String> {
    static DEMO: OnceLock<Cluster> = OnceLock::new();
    let cluster = DEMO.get_or_init(Cluster::demo);
    let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
    let part = |part: &str| {
        let is_node = cluster.nodes.iter().any(|node| node.name == part);
        let is_guest = cluster.guests.iter().any(|guest| guest.vmid.to_string() == part);
        let is_storage = cluster.storages.iter().any(|storage| storage.name == part);
        // PVE decodes `%2F` before it looks where a path leads.
        let is_one = !["%2F", "%25", "%3F", "%23", ".."].iter().any(|trick| part.contains(trick));
        let is_task = is_one && (part.starts_with("UPID%3A") || part.starts_with("UPID:"));
        match () {
            () if is_node => "{node}",
            () if is_guest => "{vmid}",
            () if is_storage => "{storage}",
            () if is_task => "{upid}",
            () => part,
        }
        .to_owned()
    };
    let path = path.split('/').map(part).collect::<Vec<_>>().join("/");
    let keys = query.split('&').chain(seen.body.split('&'));
    let keys = keys.filter_map(|pair| pair.split('=').next()).filter(|key| !key.is_empty());
    let of_key = |key: &str| format!("{} {path} {key}", seen.method);
    let mut shape: BTreeSet<String> = keys.map(of_key).collect();
    shape.insert(format!("{} {path}", seen.method));
    shape
}

/// The demo, in which everything is done at once, and logs are short: there are hundreds of searches.
async fn sim(action: &str) -> Sim {
    let mut cluster = world::still();
    cluster.nodes.iter_mut().for_each(|node| node.journal.filler = 0);
    cluster.tasks.iter_mut().for_each(|task| task.filler = 0);
    let sim = Sim::start(cluster).await.unwrap();
    ready(&sim, action);
    sim
}

/// The shapes of all requests of a tool whose arguments are what they should be.
async fn usual(tool: &'static str, action: &'static str, rows: Vec<Value>) -> BTreeSet<String> {
    let calls = rows.into_iter().enumerate().map(|(nth, mut row)| async move {
        let sim = sim(action).await;
        // The tasks of each demo began a while before it did.
        if let Some(upid) = row.get_mut("upid") {
            *upid = sim.change(|cluster| cluster.tasks[nth % cluster.tasks.len()].upid()).into();
        }
        let client = connect(write_server(&sim)).await;
        world::call(&client, tool, &row).await;
        sim.requests()
    });
    let seen: Vec<Seen> = stream::iter(calls).buffer_unordered(AT_ONCE).concat().await;
    seen.iter().flat_map(shape).collect()
}

/// Calls a tool with one argument that is not what it should be: whether it was refused, and what is wrong with
/// that. A tool that changes something gets a cluster of its own.
async fn try_one(
    (tool, action): (&'static str, &'static str),
    (argument, value): (&str, Value),
    mut arguments: Value,
    (shared, usual): (&Sim, &BTreeSet<String>),
) -> (bool, Vec<String>) {
    let own = if action.is_empty() { None } else { Some(sim(action).await) };
    let client = connect(write_server(own.as_ref().unwrap_or(shared))).await;
    arguments[argument] = value.clone();
    let shown: String = value.to_string().chars().take(60).collect();
    let which = format!("{tool} {argument}={shown}");
    let began = Instant::now();
    let result = world::call(&client, tool, &arguments).await;
    let told = text(&result);
    let mut wrong = strange(own.as_ref(), usual, &which);
    if began.elapsed() > BOUND {
        wrong.push(format!("{which} took {:?}: {told}", began.elapsed()));
    }
    let is_error = result.is_error == Some(true);
    // By its name, or by what was written.
    let first = value.get(0).unwrap_or(&value);
    let written = first.as_str().map_or_else(|| first.to_string(), str::to_owned);
    let begins: String = quoted(&written).chars().take(7).collect();
    // The names of keys are shown in lower case; identifiers with a mark for each character that is not seen.
    let marked = format!("`{}", written.replace(|c: char| !c.is_ascii_graphic(), "\u{fffd}"));
    let marked: String = marked.chars().take(7).collect();
    let begins = [begins.to_lowercase(), begins, marked];
    let names = begins.iter().any(|begins| told.contains(begins));
    if is_error && !told.contains(&format!("`{argument}`")) && !names {
        wrong.push(format!("{which} is refused without naming the argument: {told}"));
    }
    let types = ["u32", "u64", "usize", "i64", "f64", "struct"];
    if is_error && types.iter().any(|name| told.contains(name)) {
        wrong.push(format!("{which} is told in words of a programming language: {told}"));
    }
    if is_error && told.chars().count() > 2000 || told.contains("hit a bug") || !is_plain(&told) {
        wrong.push(format!("{which}: {told}"));
    }
    (is_error, wrong)
}

/// Whether nothing is in it that is not seen.
fn is_plain(told: &str) -> bool {
    let is_seen = |c: char| ['\n', '\t'].contains(&c) || !crate::hostile_text::is_harmful(c);
    told.chars().all(is_seen)
}

/// Requests that other arguments would not lead to.
fn strange(sim: Option<&Sim>, usual: &BTreeSet<String>, which: &str) -> Vec<String> {
    let seen = sim.map(Sim::requests).unwrap_or_default();
    let of = |seen: &Seen| {
        let strange: Vec<_> = shape(seen).difference(usual).cloned().collect();
        (!strange.is_empty())
            .then(|| format!("{which} led to {} {}: {strange:?}", seen.method, seen.path))
    };
    seen.iter().filter_map(of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_argument_of_any_tool_leads_to_another_request() {
    let catalog = Catalog::new(catalog::ALL, Level::Write, |_| true);
    let definitions = server::definitions(&catalog);
    let (mut n_calls, mut n_refused, mut wrong) = (0, 0, Vec::new());
    for (tool, few, action) in TOOLS {
        let shared = Arc::new(sim("").await);
        let upid = shared.change(|cluster| cluster.tasks[0].upid());
        let few: Value = serde_json::from_str(&few.replace("$UPID", &upid)).unwrap();
        let rows = requests::usual_arguments(tool).await;
        let usual = Arc::new(usual(tool, action, [rows, vec![few.clone()]].concat()).await);
        let of_tool = definitions.as_array().unwrap().iter().find(|it| it["name"] == **tool);
        let schema = of_tool.unwrap()["inputSchema"]["properties"].as_object().unwrap();
        let calls = schema.iter().flat_map(|(argument, schema)| {
            let (few, usual, shared) = (few.clone(), Arc::clone(&usual), Arc::clone(&shared));
            hostile(argument, schema).into_iter().map(move |value| {
                let (usual, shared) = (Arc::clone(&usual), Arc::clone(&shared));
                let (few, argument) = (few.clone(), argument.clone());
                tokio::spawn(async move {
                    try_one((tool, action), (&argument, value), few, (&shared, &usual)).await
                })
            })
        });
        let mut calls = stream::iter(calls).buffer_unordered(AT_ONCE).map(Result::unwrap);
        while let Some((is_refused, of_call)) = calls.next().await {
            n_calls += 1;
            n_refused += usize::from(is_refused);
            wrong.extend(of_call);
        }
        wrong.extend(strange(Some(&shared), &usual, tool));
    }
    assert!(wrong.is_empty(), "{} things are wrong: {wrong:#?}", wrong.len());
    println!("{n_calls} calls, of which {n_refused} were refused");
    assert!(n_calls > 2000 && n_refused > n_calls / 2, "{n_refused} of {n_calls} were refused");
}

#[test]
fn a_number_that_no_machine_holds_takes_nothing_down() {
    let mut program = Program::demo();
    program.initialize("2025-11-25");
    for number in ["1e400", "-1e400", "1e-400", &"9".repeat(5000)] {
        program.send_raw(&format!(
            r#"{{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{{"name":"list_vms","arguments":{{"limit":{number}}}}}}}"#
        ));
        let answer = program.receive();
        let is_refused = answer["error"].is_object() || answer["result"]["isError"] == true;
        assert!(is_refused, "{number}: {answer}");
        assert_ne!(program.call("list_nodes", json!({}))["result"]["isError"], true);
    }
}
