//! Nodes that hang, in clusters of any size: every tool that asks all of them answers in bounded time, with
//! what the others said, and names those that did not answer.

use std::time::{Duration, Instant};

use pve_sim::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Rule,
    Sim, Storage,
};
use serde_json::json;

use crate::{
    get_cluster_health::{call_as, finding, not_checked, tokens},
    support::{answer, demo, notes, rows, structured},
};

const TOOL: &str = "get_cluster_health";

/// 64 nodes, 10,000 guests, eight storages that are dead everywhere; three nodes hang.
async fn large() -> Sim {
    let mut cluster = Cluster::generated(64, 10_000, 3);
    for nth in 0..8 {
        let mut dead = Storage::new(&format!("dead{nth}"), "nfs", &["backup", "images"]);
        dead.shared = true;
        dead.dead_on = cluster.nodes.iter().map(|node| node.name.clone()).collect();
        cluster.storages.push(dead);
    }
    let sim = Sim::start(cluster).await.unwrap();
    for node in ["pve05", "pve17", "pve33"] {
        sim.answer(Rule::under(&format!("/nodes/{node}/")).hang());
    }
    sim
}

const GENERATED: (&str, &str) = (GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);

#[tokio::test]
async fn sixty_four_nodes_of_which_three_hang_are_judged_in_bounded_time() {
    let sim = large().await;
    let began = Instant::now();
    let timeout = Duration::from_secs(5);
    let answer = structured(&call_as(&sim, GENERATED, timeout, (TOOL, json!({}))).await);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(45), "{took:?}");
    let silent = finding(&answer, "3 nodes are online but stopped answering: pve05, pve17, pve33");
    assert_eq!(
        (&silent["severity"], &silent["evidence"]),
        (&json!("critical"), &json!("no answer in time"))
    );
    for nth in 0..8 {
        let dead = finding(&answer, &format!("storage dead{nth} is not available on any node"));
        assert_eq!(dead["severity"], "critical");
    }
    let missed = not_checked(&answer);
    assert!(missed.contains("of pve05, pve17, pve33: no answer in time"), "{missed}");
    assert!(missed.contains("backups on dead0"), "{missed}");
    assert!(missed.contains("start at boot of") && missed.contains("paused VMs"), "{missed}");
    assert!(answer["checked"].as_str().unwrap().contains("64 nodes"));
    // Of the others everything is known.
    assert!(!missed.contains("pve06"), "{missed}");
    let n_asked = sim.requests().len();
    assert!(n_asked <= 20 + 61 * 8 + 3 + 48 + 16, "{n_asked} requests");
    let of_hanging = |node: &str| {
        let below = format!("/nodes/{node}/");
        sim.requests().iter().filter(|seen| seen.path.starts_with(&below)).count()
    };
    assert!(of_hanging("pve05") <= 2, "a node that hangs is asked once, and once for a storage");
    assert!(sim.peak_in_flight() <= 4);
    println!("{n_asked} requests, {took:?}, {} tokens", tokens(&answer));
    assert!(tokens(&answer) < 3000, "{} tokens", tokens(&answer));
}

#[tokio::test]
async fn where_most_nodes_hang_the_others_are_still_judged() {
    let sim = Sim::start(Cluster::generated(24, 50, 3)).await.unwrap();
    for nth in 1..=20 {
        sim.answer(Rule::under(&format!("/nodes/pve{nth:02}/")).hang());
    }
    let timeout = Duration::from_millis(400);
    let answer = structured(&call_as(&sim, GENERATED, timeout, (TOOL, json!({}))).await);
    assert!(finding(&answer, "20 nodes are online but stopped answering").is_object());
    let checked = answer["checked"].as_str().unwrap();
    assert!(checked.contains("services") && checked.contains("24 nodes"), "{checked}");
    let missed = not_checked(&answer);
    assert!(!missed.contains("pve21") && missed.contains("and 14 more"), "{missed}");
}

#[tokio::test]
async fn live_storages_of_a_large_cluster_come_in_bounded_time_with_what_hangs_named() {
    let sim = large().await;
    let began = Instant::now();
    let live = ("list_storage", json!({ "live": true }));
    let answer = structured(&call_as(&sim, GENERATED, Duration::from_secs(5), live).await);
    assert!(began.elapsed() < Duration::from_secs(45), "{:?}", began.elapsed());
    let told = notes(&answer);
    assert!(
        told.contains(
            "figures of pve05, pve17 are those that PVE has collected: no answer in time"
        ),
        "{told}"
    );
    assert!(told.contains("32 more nodes were not asked"), "{told}");
    assert_eq!(answer["figures"], "live from 30 nodes");
    assert_eq!(answer["total"], 12);
    assert_eq!(sim.requests().len(), 3 + 32);
    let exact = ("list_vms", json!({ "exact": true }));
    let answer = structured(&call_as(&sim, GENERATED, Duration::from_secs(5), exact).await);
    let told = notes(&answer);
    assert!(
        told.contains("states on pve05, pve17, pve33 are not exact: no answer in time"),
        "{told}"
    );
}

#[tokio::test]
async fn tasks_and_logs_come_from_the_nodes_that_answer_however_many_hang() {
    let sim = Sim::start(Cluster::generated(8, 40, 3)).await.unwrap();
    for nth in 1..=5 {
        sim.answer(Rule::under(&format!("/nodes/pve{nth:02}/")).hang());
    }
    let timeout = Duration::from_millis(600);
    let list = ("list_tasks", json!({ "type": "backup" }));
    let answer = structured(&call_as(&sim, GENERATED, timeout, list).await);
    let missing = answer["not_available"].as_array().unwrap();
    assert_eq!(missing.len(), 5, "{missing:?}");
    assert!(!rows(&answer["tasks"]).is_empty(), "those of the others are there");
    let search = ("search_logs", json!({ "pattern": "x", "sources": ["tasks"] }));
    let answer = structured(&call_as(&sim, GENERATED, timeout, search).await);
    let missing = answer["not_available"].as_array().unwrap();
    assert_eq!(missing.len(), 5, "{missing:?}");
}

#[tokio::test]
async fn a_storage_whose_content_hangs_is_still_told_how_full_it_is() {
    let sim = demo().await;
    let demo = (DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let timeout = Duration::from_secs(2);
    let ask = || ("get_storage_status", json!({ "storage": "nas" }));
    sim.answer(Rule::get("/nodes/pve1/storage/nas/content").hang());
    let began = Instant::now();
    let answer = structured(&call_as(&sim, demo, timeout, ask()).await);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(answer["used"], "11.4 of 12.0 TiB (94.9%)");
    let missing = answer["not_available"].to_string();
    assert!(missing.contains("the content on pve1"), "{missing}");
    assert!(answer["backups"].is_object(), "another node lists it: {answer}");
    sim.answer(Rule::get("/nodes/pve3/storage/nas/content").hang());
    let answer = structured(&call_as(&sim, demo, timeout, ask()).await);
    assert_eq!(answer["used"], "11.4 of 12.0 TiB (94.9%)");
    let missing = answer["not_available"].to_string();
    assert!(
        missing.contains("content on pve1") && missing.contains("content on pve3"),
        "{missing}"
    );
    assert!(notes(&answer).contains("no node could list its content"), "{answer}");
    assert!(answer.get("backups").is_none() && answer.get("volumes").is_none(), "{answer}");
}

#[tokio::test]
async fn q038_a_node_that_hangs_costs_live_storages_no_more_than_its_own_time() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/storage").hang());
    let began = Instant::now();
    // With the usual time for a request, which is 35 s.
    let answer = answer(&sim, "list_storage", json!({ "live": true })).await;
    let took = began.elapsed();
    assert!((11..25).contains(&took.as_secs()), "{took:?}");
    assert_eq!(answer["figures"], "live from pve2, pve3");
    let told = notes(&answer);
    assert!(told.contains("figures of pve1 are those that PVE has collected"), "{told}");
}
