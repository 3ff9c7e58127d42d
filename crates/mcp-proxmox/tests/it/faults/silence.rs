//! What nobody answers is not told as nothing.

use pve_sim::{Cluster, Rule, Sim};
use serde_json::json;

use crate::support::{answer, failure, notes};

async fn silent_nodes() -> Sim {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    sim.answer(Rule::under("/nodes/").status(596, "Connection timed out"));
    sim
}

#[tokio::test]
async fn where_no_node_tells_its_tasks_there_is_no_empty_list_of_them() {
    let sim = silent_nodes().await;
    let told = failure(&sim, "list_tasks", json!({})).await;
    assert!(told.starts_with("could not list the tasks of pve1, pve2, pve3: "), "{told}");
    let told = failure(&sim, "list_tasks", json!({ "nodes": ["pve2"] })).await;
    assert!(told.starts_with("could not list the tasks of pve2: "), "{told}");
    sim.forget_rules();
    sim.answer(Rule::under("/nodes/pve1/").status(596, "Connection timed out"));
    let part = answer(&sim, "list_tasks", json!({})).await;
    assert_eq!(part["not_available"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn where_no_log_can_be_read_nothing_is_said_to_be_found_in_them() {
    let sim = silent_nodes().await;
    let of_nodes = json!({ "pattern": "error", "sources": ["journal", "tasks"] });
    let told = failure(&sim, "search_logs", of_nodes).await;
    assert!(told.starts_with("none of 6 logs could be read: "), "{told}");
    // The cluster's log is there, and has no such line.
    let all = json!({ "pattern": "nobody ever wrote this", "since": "5m" });
    let part = answer(&sim, "search_logs", all.clone()).await;
    assert!(notes(&part).contains("nothing was found in what was looked at"), "{part}");
    assert!(!notes(&part).contains("nothing was found since"), "{part}");
    assert_eq!(part["not_available"].as_array().unwrap().len(), 6);
    sim.forget_rules();
    let whole = answer(&sim, "search_logs", all).await;
    assert!(notes(&whole).contains("nothing was found since"), "{whole}");
}

#[tokio::test]
async fn what_is_not_known_of_the_nodes_is_named() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    sim.change(|cluster| {
        cluster.node_mut("pve2").unwrap().online = false;
        cluster.node_mut("pve3").unwrap().maintenance = true;
    });
    let whole = answer(&sim, "list_nodes", json!({})).await;
    assert!(whole.to_string().contains("online (maintenance)"), "{whole}");
    assert!(whole["votes"].is_string() && !notes(&whole).contains("not known"), "{whole}");
    sim.answer(Rule::get("/cluster/resources?type=node").status(596, "Connection timed out"));
    sim.answer(Rule::get("/cluster/config/nodes").status(596, "Connection timed out"));
    let part = answer(&sim, "list_nodes", json!({})).await;
    assert!(!part.to_string().contains("(maintenance)") && part.get("votes").is_none(), "{part}");
    let told = notes(&part);
    assert!(told.contains("whether a node is in maintenance is not known: PVE waited"), "{told}");
    assert!(told.contains("the votes are not known: PVE waited"), "{told}");
}
