//! The list of guests is shared by calls that read, and by no other. `crates/pve-client/src/recent.rs` has the tests
//! of the sharing itself: who waits, who leaves, what fails.

use futures_util::future::join_all;
use pve_sim::{Guest, Sim};
use rmcp::{RoleClient, model::CallToolRequestParams, service::RunningService};
use serde_json::{Value, json};

use crate::{
    power::{self, write_server},
    support::{connect, notes, row, structured},
};

const COPY: &str = "this list was read for another call, ";

async fn answer(
    client: &RunningService<RoleClient, ()>,
    tool: &'static str,
    arguments: Value,
) -> Value {
    let mut request = CallToolRequestParams::new(tool);
    request.arguments = arguments.as_object().cloned();
    structured(&client.call_tool(request).await.unwrap())
}

/// How often the list of guests was asked for.
fn n_lists(sim: &Sim) -> usize {
    sim.n_requests(|seen| seen.path == "/cluster/resources?type=vm")
}

#[tokio::test]
async fn calls_at_once_share_one_request() {
    let sim = power::start().await;
    let client = connect(write_server(&sim)).await;
    let lists = join_all((0..8).map(|_| answer(&client, "list_vms", json!({}))));
    let states =
        join_all([100, 101, 120].map(|vm| answer(&client, "get_vm_status", json!({ "vm": vm }))));
    let (lists, states) = tokio::join!(lists, states);
    assert!(lists.iter().all(|list| list["total"] == 11));
    let states: Vec<_> = states.iter().map(|state| &state["status"]).collect();
    assert_eq!(states, ["running", "stopped", "running"]);
    assert_eq!(n_lists(&sim), 1);
}

#[tokio::test]
async fn a_list_that_was_read_for_another_call_says_so() {
    let sim = power::start().await;
    let client = connect(write_server(&sim)).await;
    let first = answer(&client, "list_vms", json!({})).await;
    let second = answer(&client, "list_vms", json!({})).await;
    assert!(!notes(&first).contains(COPY));
    assert!(notes(&second).contains(COPY), "{second}");
    assert_eq!(first["guests"], second["guests"]);
    assert_eq!(n_lists(&sim), 1);
}

#[tokio::test]
async fn a_guest_that_came_or_moved_since_is_found() {
    let sim = power::start().await;
    let client = connect(write_server(&sim)).await;
    answer(&client, "list_vms", json!({})).await;
    sim.change(|cluster| {
        cluster.guests.push(Guest::vm(130, "pve2", "new"));
        cluster.guest_mut(101).unwrap().node = "pve2".to_owned();
    });
    let new = answer(&client, "get_vm_status", json!({ "vm": "new" })).await;
    assert_eq!((&new["vmid"], &new["node"]), (&json!(130), &json!("pve2")));
    let moved = answer(&client, "get_vm_status", json!({ "vm": "db1" })).await;
    assert_eq!((&moved["vmid"], &moved["node"]), (&json!(101), &json!("pve2")));
}

#[tokio::test]
async fn no_write_rests_on_what_was_read_for_another_call() {
    let sim = power::start().await;
    let client = connect(write_server(&sim)).await;
    answer(&client, "list_vms", json!({})).await;
    assert_eq!(n_lists(&sim), 1);
    answer(&client, "start_vm", json!({ "vm": "db1", "dry_run": true })).await;
    assert_eq!(n_lists(&sim), 2, "what would be done is looked for anew");
    // A trial that sent nothing leaves the copy where it is.
    assert!(notes(&answer(&client, "list_vms", json!({})).await).contains(COPY));
    sim.change(|cluster| cluster.guest_mut(101).unwrap().node = "pve2".to_owned());
    let before = n_lists(&sim);
    let started = answer(&client, "start_vm", json!({ "vm": "db1" })).await;
    assert_eq!(started["node"], "pve2", "{started}");
    assert!(n_lists(&sim) > before, "it was looked for before it was started");
}

#[tokio::test]
async fn after_a_write_every_call_reads_for_itself() {
    let sim = power::start().await;
    let client = connect(write_server(&sim)).await;
    answer(&client, "list_vms", json!({})).await;
    answer(&client, "start_vm", json!({ "vm": "db1" })).await;
    for _ in 0..2 {
        let before = n_lists(&sim);
        let list = answer(&client, "list_vms", json!({})).await;
        assert_eq!(row(&list["guests"], "vmid", &json!(101))["status"], "running");
        assert!(!notes(&list).contains(COPY), "{list}");
        assert_eq!(n_lists(&sim), before + 1);
    }
}
