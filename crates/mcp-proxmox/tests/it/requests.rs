//! Every tool with combinations of all its arguments, made from its input schema: PVE knows every request that
//! comes of them.
//!
//! Each combination is tried on a cluster of the newest version and on one of PVE 8, which does not know all that
//! the newest does and answers some of it otherwise: what only the older one is asked is written beside the rest.
//!
//! An ordinary run tries every value of every argument, beside some of every other. Where `TOOL_REQUESTS_FILE` is
//! set, every value meets every other, and every set of arguments is tried; the requests of each tool are written
//! to that file, with the privileges that we say it needs: `.ci/steps/15-requests.sh` compares both with PVE's
//! own description of its API.

use std::{collections::BTreeSet, fmt::Write as _, fs, path::PathBuf};

use futures_util::{
    StreamExt as _,
    future::{join, join_all},
    stream,
};
use mcp_proxmox::{
    catalog::{self, Catalog},
    rights::need::{Need, needs_of},
    server,
    tier::Level,
};
use pve_sim::{Cluster, Seen, Sim, Takes, Version};
use rmcp::{RoleClient, model::CallToolRequestParams, service::RunningService};
use serde_json::{Map, Value, json};

use crate::{power::write_server, support::connect, support::text};

/// How many calls of one tool are under way at once.
const AT_ONCE: usize = 16;

/// An argument: its name, and the values that are tried; `None` leaves it out.
type Argument = (String, Vec<Option<Value>>);

/// Guests that differ in kind and state: a VM, one with a serial terminal that HA manages, one with a guest agent, a
/// container, a paused VM, a hibernated one, a container that HA manages, and one of each kind that is stopped.
const GUESTS: [&str; 9] = ["100", "110", "120", "pihole", "122", "124", "201", "126", "207"];

#[tokio::test(flavor = "multi_thread")]
async fn pve_knows_every_request_of_every_combination_of_arguments() {
    let file = std::env::var_os("TOOL_REQUESTS_FILE").map(PathBuf::from);
    let catalog = Catalog::new(catalog::ALL, Level::Write, |_| true);
    let definitions = server::definitions(&catalog).as_array().cloned().unwrap();
    let every = file.is_some();
    let tools = definitions.into_iter().map(|definition| {
        tokio::spawn(async move {
            let (newest, older) = (Version::v9_2(), Version::v8_4());
            let newest = requests_of(&definition, every, &newest);
            let (newest, older) = join(newest, requests_of(&definition, every, &older)).await;
            (newest, older.2)
        })
    });
    let mut lines = String::new();
    let mut n_shared = 0;
    for tool in join_all(tools).await {
        let ((name, n_calls, mut requests), older) = tool.unwrap();
        let only_older: Vec<_> = older.difference(&requests).cloned().collect();
        println!(
            "{name}: {n_calls} calls, {} different requests, {} more of PVE 8",
            requests.len(),
            only_older.len()
        );
        assert!(!requests.is_empty() && !older.is_empty(), "{name} asked nothing");
        // PVE 8 has no structured journals, and lets tokens into no terminal.
        let is_of_older = |part: &str| {
            let of_older = |path: &str| path.contains(part) && !path.contains("structured=");
            only_older.iter().any(|(_, path, _)| of_older(path))
        };
        let differs = match name.as_str() {
            "get_system_log" | "search_logs" => is_of_older("/journal?"),
            "send_vm_keys" => is_of_older("/vncproxy"),
            _ => true,
        };
        assert!(differs, "{name} asks PVE 8 as it asks the newest: {only_older:?}");
        n_shared += requests.intersection(&older).count();
        requests.extend(only_older);
        let needs: Vec<String> =
            needs_of(&name).flat_map(Need::named_privileges).map(str::to_owned).collect();
        let requests: Vec<Value> = requests
            .into_iter()
            .map(|(method, path, body)| json!({ "method": method, "path": path, "body": body }))
            .collect();
        let line = json!({ "tool": name, "needs": needs, "requests": requests });
        writeln!(lines, "{line}").unwrap();
    }
    assert!(n_shared > 100, "the versions are asked so little alike: {n_shared}");
    if let Some(file) = file {
        fs::write(file, lines).unwrap();
    }
}

/// All different requests of a tool to a cluster of this version.
async fn requests_of(
    definition: &Value,
    every: bool,
    version: &Version,
) -> (String, usize, BTreeSet<(String, String, String)>) {
    let name = definition["name"].as_str().unwrap().to_owned();
    let tool: &'static str =
        catalog::ALL.iter().find(|entry| entry.name == name).map(|entry| entry.name).unwrap();
    let arguments = arguments_of(tool, &definition["inputSchema"]).await;
    let rows =
        if every { [pairs(&arguments), subsets(&arguments)].concat() } else { singles(&arguments) };
    let n_calls = rows.len();
    let opens = ["get_vm_console", "get_vm_screenshot"].contains(&tool);
    let changes = opens || definition["annotations"]["readOnlyHint"] == false;
    let seen: Vec<Seen> = if changes {
        // Each on a cluster of its own: what is not running any more cannot be stopped, and what somebody looks at
        // may not be open for others.
        let calls = rows.into_iter().map(|row| async move {
            let sim = cluster_of(version.clone()).await;
            call(&connect(write_server(&sim)).await, tool, row).await;
            sim.requests()
        });
        stream::iter(calls).buffer_unordered(AT_ONCE).concat().await
    } else {
        let sim = cluster_of(version.clone()).await;
        let client = connect(write_server(&sim)).await;
        let calls = rows.into_iter().map(|row| call(&client, tool, row));
        stream::iter(calls).buffer_unordered(AT_ONCE).collect::<()>().await;
        sim.requests()
    };
    (name, n_calls, seen.into_iter().map(|seen| (seen.method, seen.path, seen.body)).collect())
}

async fn arguments_of_tool(tool: &'static str) -> Vec<Argument> {
    let catalog = Catalog::new(catalog::ALL, Level::Write, |_| true);
    let definitions = server::definitions(&catalog);
    let definition = definitions.as_array().unwrap().iter().find(|it| it["name"] == tool).unwrap();
    arguments_of(tool, &definition["inputSchema"]).await
}

/// Arguments of a tool, in which every value of each is there once at least, and once alone.
pub async fn usual_arguments(tool: &'static str) -> Vec<Value> {
    let arguments = arguments_of_tool(tool).await;
    let mut rows = singles(&arguments);
    for (argument, (_, values)) in arguments.iter().enumerate() {
        for pick in 0..values.len() {
            let mut picks = vec![0; arguments.len()];
            picks[argument] = pick;
            rows.push(row(&arguments, &picks));
        }
    }
    rows.into_iter().map(Value::Object).collect()
}

/// All that a tool takes, with one value each.
pub async fn all_arguments(tool: &'static str) -> Value {
    let arguments = arguments_of_tool(tool).await;
    let picks: Vec<usize> =
        arguments.iter().map(|(_, values)| usize::from(values[0].is_none())).collect();
    Value::Object(row(&arguments, &picks))
}

/// The demo, in which everything that is asked is done at the first look.
async fn cluster() -> Sim {
    cluster_of(Version::v9_2()).await
}

async fn cluster_of(version: Version) -> Sim {
    let mut demo = Cluster::demo();
    demo.version = version;
    for guest in &mut demo.guests {
        guest.takes = Takes::Polls(1);
    }
    Sim::start(demo).await.unwrap()
}

/// Calls a tool, and once more with the cursor that it hands out. It may refuse, but PVE may not.
async fn call(
    client: &RunningService<RoleClient, ()>,
    tool: &'static str,
    row: Map<String, Value>,
) {
    let told = |row: Map<String, Value>| async move {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = Some(row.clone());
        let result = client.call_tool(request).await.unwrap();
        let said = text(&result);
        for refusal in ["refused the parameters", "PVE does not have", "(501)", "(400"] {
            let row = Value::Object(row.clone());
            assert!(!said.contains(refusal), "{tool} {row}: {said}");
        }
        result.structured_content.unwrap_or_default()["next_cursor"].clone()
    };
    let cursor = told(row.clone()).await;
    if cursor.is_string() {
        let mut row = row;
        row.insert("cursor".to_owned(), cursor);
        told(row).await;
    }
}

/// The arguments of a tool with the values that are tried. Cursors are taken from answers.
async fn arguments_of(tool: &str, schema: &Value) -> Vec<Argument> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut arguments = Vec::new();
    for (name, schema) in schema["properties"].as_object().unwrap() {
        if name == "cursor" {
            continue;
        }
        let values = match name.as_str() {
            "upid" => upids().await,
            _ => values(tool, name, schema),
        };
        assert!(!values.is_empty(), "{tool}: say which values of `{name}` are tried");
        // Left out, these wait for as long as somebody would who is not in a hurry.
        let is_wait = ["wait_seconds", "listen_seconds"].contains(&name.as_str());
        let left_out = (!required.contains(&json!(name)) && !is_wait).then_some(None);
        arguments.push((
            name.clone(),
            left_out.into_iter().chain(values.into_iter().map(Some)).collect(),
        ));
    }
    arguments
}

/// A task that runs and some that ended, of guests and of a node.
async fn upids() -> Vec<Value> {
    let sim = cluster().await;
    let client = connect(write_server(&sim)).await;
    let result = client.call_tool(CallToolRequestParams::new("list_tasks")).await.unwrap();
    let tasks = crate::support::structured(&result)["tasks"].clone();
    crate::support::rows(&tasks).into_iter().map(|row| row["upid"].clone()).take(6).collect()
}

/// What an argument may be.
fn values(tool: &str, name: &str, schema: &Value) -> Vec<Value> {
    if let Some(values) = schema["enum"].as_array() {
        return values.clone();
    }
    if let Some(values) = schema["items"]["enum"].as_array() {
        return values.iter().map(|value| json!([value])).chain([json!(values)]).collect();
    }
    let bound = |which: &str, other: i64| schema[which].as_i64().unwrap_or(other);
    match (name, schema["type"].as_str().unwrap_or_default()) {
        (_, "boolean") => vec![json!(true), json!(false)],
        // These take the time that they name.
        ("wait_seconds" | "watch_console", _) => vec![json!(0), json!(1)],
        ("sample_seconds" | "listen_seconds" | "wait_change_seconds", _) => vec![json!(1)],
        (_, "integer") => vec![json!(bound("minimum", 1)), json!(bound("maximum", 200))],
        ("vm", _) => GUESTS.map(Value::from).to_vec(),
        ("node", _) => vec![json!("pve1"), json!("pve2")],
        ("nodes", _) => vec![json!(["pve1"]), json!(["pve1", "pve3"])],
        ("storage", _) => vec![json!("pbs"), json!("local-zfs")],
        ("since", _) => vec![json!("2h"), json!("2026-01-02T03:04:05Z")],
        ("until", _) => vec![json!("10m"), json!("2027-01-02T03:04:05+02:00")],
        ("pattern" | "until_pattern", _) => vec![json!("error"), json!("a & b|c;d=e")],
        ("unit", _) => vec![json!("pveproxy"), json!("ssh.service"), json!("kernel")],
        ("user", _) => vec![json!("root@pam"), json!("admin@pve!tool")],
        ("type", _) if tool == "list_tasks" => vec![json!("backup"), json!("qmstart")],
        ("type", _) => vec![json!("nfs"), json!("zfspool")],
        ("content", _) => vec![json!("backup"), json!("images")],
        ("pool", _) => vec![json!("production")],
        ("tag", _) => vec![json!("prod")],
        ("name", _) => vec![json!("web"), json!("100")],
        ("iface", _) => vec![json!("vmbr0"), json!("eno1")],
        ("crop", _) => vec![json!("0,0,64,64")],
        ("text", _) => vec![json!("a&b=c;d\n")],
        ("keys", _) => vec![json!(["enter"]), json!(["ctrl-alt-del", "f2"])],
        _ => Vec::new(),
    }
}

/// Rows in which every value of every argument is there once at least.
fn singles(arguments: &[Argument]) -> Vec<Map<String, Value>> {
    let most = arguments.iter().map(|(_, values)| values.len()).max().unwrap_or(1);
    let picks = |nth| arguments.iter().map(|(_, values)| nth % values.len()).collect::<Vec<_>>();
    (0..most).map(|nth| row(arguments, &picks(nth))).collect()
}

/// Rows in which every value of every argument meets every value of every other.
fn pairs(arguments: &[Argument]) -> Vec<Map<String, Value>> {
    let mut dice = Dice(7);
    let mut met = BTreeSet::new();
    let mut rows = Vec::new();
    for (first, (_, of_first)) in arguments.iter().enumerate() {
        for one in 0..of_first.len() {
            for (second, (_, of_second)) in arguments.iter().enumerate().skip(first) {
                for other in 0..of_second.len() {
                    if met.contains(&(first, one, second, other))
                        || (first == second && one != other)
                    {
                        continue;
                    }
                    let mut picks: Vec<usize> =
                        arguments.iter().map(|(_, values)| dice.below(values.len())).collect();
                    (picks[first], picks[second]) = (one, other);
                    for (a, pick) in picks.iter().enumerate() {
                        met.extend((a..picks.len()).map(|b| (a, *pick, b, picks[b])));
                    }
                    rows.push(row(arguments, &picks));
                }
            }
        }
    }
    if arguments.is_empty() { vec![Map::new()] } else { rows }
}

/// A row for every set of arguments that can be there, each with some of their values.
fn subsets(arguments: &[Argument]) -> Vec<Map<String, Value>> {
    let mut dice = Dice(11);
    let sets = 0..1_usize << arguments.len();
    let rows = sets.map(|set| {
        let pick = |(nth, (_, values)): (usize, &Argument)| {
            let is_optional = values.first().is_some_and(Option::is_none);
            match (is_optional, set >> nth & 1 == 1) {
                (true, false) => 0,
                (true, true) => 1 + dice.below(values.len() - 1),
                (false, _) => dice.below(values.len()),
            }
        };
        let picks: Vec<usize> = arguments.iter().enumerate().map(pick).collect();
        row(arguments, &picks)
    });
    rows.collect()
}

fn row(arguments: &[Argument], picks: &[usize]) -> Map<String, Value> {
    let picked = arguments.iter().zip(picks);
    picked
        .filter_map(|((name, values), pick)| Some((name.clone(), values[*pick].clone()?)))
        .collect()
}

/// Numbers without a pattern, and the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

#[test]
fn every_value_meets_every_other() {
    let of = |name: &str, n: i64| (name.to_owned(), (0..n).map(|n| Some(json!(n))).collect());
    let arguments: Vec<Argument> = vec![of("a", 3), of("b", 4), of("c", 2)];
    let rows = pairs(&arguments);
    for (first, second) in [("a", "b"), ("a", "c"), ("b", "c")] {
        let met: BTreeSet<String> =
            rows.iter().map(|row| format!("{}{}", row[first], row[second])).collect();
        let n = |name: &str| arguments.iter().find(|(other, _)| other == name).unwrap().1.len();
        assert_eq!(met.len(), n(first) * n(second), "{first} and {second}");
    }
    for (name, values) in &arguments {
        let seen: BTreeSet<String> =
            singles(&arguments).iter().map(|row| row[name].to_string()).collect();
        assert_eq!(seen.len(), values.len(), "{name}");
    }
    assert_eq!(subsets(&[("a".to_owned(), vec![None, Some(json!(1))])]).len(), 2);
}
