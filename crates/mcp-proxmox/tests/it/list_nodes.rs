//! Tests of `list_nodes`.

use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Rule, Sim};
use serde_json::json;

use crate::support::{
    answer, call_on, demo, failure, notes, row, rows, server, settings, structured,
};
use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;

#[tokio::test]
async fn lists_the_nodes_with_their_use_version_and_load() {
    let answer = answer(&demo().await, "list_nodes", json!({})).await;
    assert_eq!((&answer["cluster"], &answer["quorate"]), (&json!("demo"), &json!(true)));
    assert_eq!((&answer["total"], &answer["online"]), (&json!(3), &json!(3)));
    let node = row(&answer["nodes"], "node", &json!("pve3"));
    assert!(node["memory"].as_str().unwrap().contains("of 96.0 GiB"), "{node}");
    assert_eq!(node["version"], "9.2.11");
    assert_eq!(node["load"].as_str().unwrap().split(' ').count(), 3);
    assert!(answer.get("notes").is_none(), "there is nothing to remark: {answer}");
}

#[tokio::test]
async fn a_node_that_hangs_costs_only_its_version_and_load() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve2/status").status(596, "Connection timed out").body(""));
    let answer = answer(&sim, "list_nodes", json!({})).await;
    assert!(row(&answer["nodes"], "node", &json!("pve2"))["version"].is_null());
    assert_eq!(row(&answer["nodes"], "node", &json!("pve1"))["version"], "9.2.11");
    assert!(notes(&answer).contains("no version and load from pve2"), "{answer}");
}

#[tokio::test]
async fn many_nodes_are_not_asked_one_by_one_unless_told_to() {
    let sim = Sim::start(Cluster::generated(64, 100, 3)).await.unwrap();
    let list = async |arguments| {
        let reader = Reader::new(settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET));
        structured(
            &call_on(server(Access::new(Level::Read, reader)), "list_nodes", arguments).await,
        )
    };
    let answer = list(json!({})).await;
    assert_eq!(answer["total"], 64);
    assert_eq!(sim.requests().len(), 3);
    assert!(notes(&answer).contains("detail"), "{answer}");
    sim.forget_requests();
    let answer = list(json!({ "detail": true })).await;
    let n_online = answer["online"].as_u64().unwrap();
    assert_eq!(sim.requests().len() as u64, 3 + n_online);
    assert!(sim.peak_in_flight() <= 4, "{} at once", sim.peak_in_flight());
    let known = rows(&answer["nodes"]).iter().filter(|row| !row["version"].is_null()).count();
    assert_eq!(known as u64, n_online);
}

#[tokio::test]
async fn an_empty_list_of_nodes_is_suspicious() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes").data(&json!([])));
    let told = failure(&sim, "list_nodes", json!({})).await;
    assert!(told.contains("empty list of nodes") && told.contains("try again"), "{told}");
}

#[tokio::test]
async fn who_wants_no_details_is_not_told_that_there_are_too_many_nodes() {
    let sim = demo().await;
    let few = answer(&sim, "list_nodes", json!({ "detail": false })).await;
    assert!(!few.to_string().contains("for so many nodes"), "{few}");
}
