//! Compares what the simulated laboratory answers with what the real one was recorded to answer,
//! for every token: status, reason phrase, names of headers, and the shape of the body.
//!
//! The shape is: which rows there are (rights decide that), which keys each has, and of which type
//! each value is. The figures themselves differ, as they did from one recording to the next.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read as _,
};

use serde_json::Value;

use crate::{
    Cluster, LAB_SECRET, RecordedState, Sim, endpoints,
    recordings::Recording,
    tests::client::{Got, ask_with},
};

/// Recordings of what the laboratory is not in when the simulator starts.
const NOT_COMPARED: [(&str, &str); 9] = [
    (
        "node-report",
        "something of the real server's report broke off, which the simulated one does not",
    ),
    ("task-lxc-start-running", "container 201 was running, and in the laboratory it is stopped"),
    ("task-lxc-reboot", "container 201 was running"),
    ("task-lxc-suspend", "container 201 was running"),
    ("task-reset", "VM 107 was running, and in the laboratory it is stopped"),
    ("task-resume", "VM 107 was paused"),
    ("task-suspend", "VM 107 was running"),
    ("qemu-120-config", "VM 120 was a clone that was made for a while"),
    ("qemu-120-snapshots", "VM 120 was a clone that was made for a while"),
];

#[tokio::test]
async fn every_recorded_answer_has_its_shape() {
    let mut compared = 0;
    let mut differences = Vec::new();
    let reading = Sim::start(Cluster::lab()).await.unwrap();
    for recording in Recording::all().iter().filter(|recording| is_simulated(recording)) {
        // Writes change the world, so each gets its own.
        let writing = (recording.method != "GET").then_some(Sim::start(Cluster::lab()));
        let writing = match writing {
            Some(starting) => Some(starting.await.unwrap()),
            None => None,
        };
        let sim = writing.as_ref().unwrap_or(&reading);
        let body = (recording.sent_type.as_str(), recording.sent.as_str());
        let got =
            ask_with(sim, &recording.method, &recording.path, (&recording.token, LAB_SECRET), body)
                .await;
        let found = compare(recording, &got);
        let (name, method, path) = (&recording.name, &recording.method, &recording.path);
        differences.extend(
            found.iter().map(|difference| format!("{name}: {method} {path}: {difference}")),
        );
        compared += 1;
    }
    assert!(
        differences.is_empty(),
        "{} of {compared}:\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(compared > 200, "only {compared} answers were compared");
}

/// What lists and states of guests and nodes are made of, with a query where it makes another answer. A simulator
/// that only resembles what it was never compared with proves nothing. `/nodes/…/subscription` was never recorded
/// as a success: what it answers is from Proxmox's own description.
const COMPARED: [&str; 15] = [
    "/version",
    "/cluster/resources?type=vm",
    "/cluster/resources?type=node",
    "/cluster/status",
    "/nodes",
    "/nodes/pve1/qemu",
    "/nodes/pve1/qemu/100/status/current",
    "/nodes/pve1/lxc/200/status/current",
    "/nodes/pve1/status",
    "/nodes/pve1/version",
    "/nodes/pve1/rrddata?timeframe=hour",
    "/nodes/pve1/tasks",
    "/nodes/pve1/services",
    "/nodes/pve1/apt/update",
    "/nodes/pve1/certificates/info",
];

#[test]
fn what_guests_and_nodes_are_told_from_is_compared_with_a_success_of_the_real_one() {
    let recordings = Recording::all();
    for path in COMPARED {
        let is_it = |recording: &&Recording| {
            let known = if path.contains('?') {
                recording.path.split('&').next()
            } else {
                recording.path.split('?').next()
            };
            known == Some(path) && recording.status == 200
        };
        assert!(recordings.iter().filter(|it| is_simulated(it)).any(|it| is_it(&it)), "{path}");
    }
}

/// Whether the simulator has this endpoint; what was never meant to exist counts too.
fn is_simulated(recording: &Recording) -> bool {
    let path = recording.path.split('?').next().unwrap();
    recording.state == RecordedState::Normal
        // How tasks went that the laboratory never had.
        && !recording.name.contains("__")
        && !NOT_COMPARED.iter().any(|(name, _)| *name == recording.name)
        && !is_of_a_task_of_then(recording)
        && (recording.status == 501 || endpoints::is_known(&recording.method, path))
}

/// Whether it is about a task that the laboratory does not have; it has the one whose log was recorded in
/// every way.
fn is_of_a_task_of_then(recording: &Recording) -> bool {
    recording.status == 200
        && recording.path.contains("/tasks/UPID:")
        && !recording.path.contains(":00001C09:")
}

fn compare(recording: &Recording, got: &Got) -> Vec<String> {
    let mut differences = Vec::new();
    let mut expect = |what: &str, recorded: String, simulated: String| {
        if recorded != simulated {
            differences
                .push(format!("{what}\n    recorded  {recorded}\n    simulated {simulated}"));
        }
    };
    expect("status", recording.status.to_string(), got.status.to_string());
    expect("reason", recording.reason.clone(), got.reason.clone());
    expect("connection", recording.connection.join(" + "), got.header("connection").join(" + "));
    let recorded: Vec<&str> = recording.headers(0).iter().map(|(name, _)| *name).collect();
    let simulated: Vec<&str> = got.headers.iter().map(|(name, _)| name.as_str()).collect();
    expect("headers", format!("{recorded:?}"), format!("{simulated:?}"));
    let recorded: Value = serde_json::from_str(&recording.body).unwrap_or_default();
    let simulated: Value = serde_json::from_slice(&plain(&got.body)).unwrap_or_default();
    if recording.status >= 400 {
        // The text of an error is the same to the letter, the order of keys is not.
        if recorded != simulated {
            differences.push(format!("body\n    recorded  {recorded}\n    simulated {simulated}"));
        }
    } else if recording.path.contains("/rrddata") {
        // How many points there are depends on the time; the newest one shows what is in them.
        shapes(".", &newest_point(&recorded), &newest_point(&simulated), &mut differences);
    } else {
        shapes(".", &recorded, &simulated, &mut differences);
    }
    differences
}

fn newest_point(history: &Value) -> Value {
    let points = history["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut known =
        points.iter().filter(|point| point.as_object().is_some_and(|keys| keys.len() > 1));
    known.next_back().cloned().unwrap_or_default()
}

/// A body as it was before it was compressed.
fn plain(body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match flate2::read::GzDecoder::new(body).read_to_end(&mut plain) {
        Ok(_) => plain,
        Err(_) => body.to_owned(),
    }
}

/// Notes every place where two values differ in shape.
fn shapes(place: &str, recorded: &Value, simulated: &Value, differences: &mut Vec<String>) {
    if kind(recorded) != kind(simulated) {
        differences.push(format!("{place} is {} and was {}", kind(simulated), kind(recorded)));
        return;
    }
    match (recorded, simulated) {
        (Value::Object(recorded), Value::Object(simulated)) => {
            for key in recorded.keys().filter(|key| !simulated.contains_key(*key)) {
                differences.push(format!("{place} lacks {key}"));
            }
            for key in simulated.keys().filter(|key| !recorded.contains_key(*key)) {
                differences.push(format!("{place} has {key} too much"));
            }
            for (key, recorded) in recorded {
                if let Some(simulated) = simulated.get(key) {
                    shapes(&format!("{place}/{key}"), recorded, simulated, differences);
                }
            }
        }
        (Value::Array(recorded), Value::Array(simulated)) => {
            rows(place, recorded, simulated, differences);
        }
        _ => {}
    }
}

fn rows(place: &str, recorded: &[Value], simulated: &[Value], differences: &mut Vec<String>) {
    let is_tasks = recorded.iter().any(|row| row.get("upid").is_some());
    if recorded.len() != simulated.len() {
        differences.push(format!(
            "{place} has {} rows and had {}",
            simulated.len(),
            recorded.len()
        ));
    }
    let (recorded, simulated) = (by_identity(recorded, is_tasks), by_identity(simulated, is_tasks));
    let names =
        |rows: &BTreeMap<String, &Value>| rows.keys().cloned().collect::<BTreeSet<String>>();
    let (were, are) = (names(&recorded), names(&simulated));
    if !is_tasks {
        differences
            .extend(were.difference(&are).map(|name| format!("{place} lacks the row {name}")));
        differences.extend(
            are.difference(&were).map(|name| format!("{place} has the row {name} too much")),
        );
    }
    for (name, recorded) in &recorded {
        if let Some(simulated) = simulated.get(name) {
            shapes(&format!("{place}/{name}"), recorded, simulated, differences);
        }
    }
}

/// The rows by what makes each the one it is. Of tasks, which were others then, only the kinds are
/// compared: running or ended, started with a token or without.
fn by_identity(rows: &[Value], is_tasks: bool) -> BTreeMap<String, &Value> {
    let name = |(nth, row): (usize, &Value)| {
        if is_tasks {
            return format!(
                "ended: {}, token: {}",
                row.get("endtime").is_some(),
                row.get("tokenid").is_some()
            );
        }
        // Entries of a log are others at each recording.
        if row.get("uid").is_some() {
            return nth.to_string();
        }
        // Values such as load averages are told apart by their place.
        let keys = [
            "id", "vmid", "service", "filename", "subdir", "name", "storage", "node", "n", "iface",
            "key",
        ];
        keys.iter()
            .find_map(|key| row.get(key))
            .map_or_else(|| nth.to_string(), ToString::to_string)
    };
    rows.iter().enumerate().map(|(nth, row)| (name((nth, row)), row)).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
