//! Tests of `get_node_status`.

use pve_sim::Rule;
use serde_json::json;

use crate::support::{answer, demo, failure};

#[tokio::test]
async fn reads_a_node_in_depth() {
    let answer = answer(&demo().await, "get_node_status", json!({ "node": "pve2" })).await;
    assert_eq!(
        (&answer["node"], &answer["status"], &answer["pve_version"]),
        (&json!("pve2"), &json!("online"), &json!("9.2.9"))
    );
    assert_eq!(answer["pending_updates"], 3);
    assert_eq!(answer["services_not_running"], json!([]));
    assert_eq!(answer["subscription"], "active");
    assert!(answer["memory"].as_str().unwrap().contains("of 96.0 GiB"));
    assert!(answer["swap"].as_str().unwrap().contains("of 8.0 GiB"));
}

#[tokio::test]
async fn cpu_is_pvestatd_s_figure_not_that_of_a_worker_between_two_reads() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes").data(&json!([
        { "node": "pve2", "status": "online", "cpu": 0.13, "maxcpu": 16, "uptime": 90_061 },
    ])));
    sim.answer(Rule::get("/nodes/pve2/status").data(&json!({ "cpu": 0, "uptime": 90_061 })));
    let answer = answer(&sim, "get_node_status", json!({ "node": "pve2" })).await;
    assert_eq!((&answer["cpu_percent"], &answer["uptime"]), (&json!(13.0), &json!("1d 1h")));
}

#[tokio::test]
async fn parts_that_fail_are_named_and_cost_nothing_else() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve2/services").status(596, "Connection timed out").body(""));
    let forbidden = "Permission check failed (/nodes/pve2, Sys.Modify)";
    let body = json!({ "data": null, "message": format!("{forbidden}\n") }).to_string();
    sim.answer(Rule::get("/nodes/pve2/apt/update").status(403, forbidden).body(body));
    let answer = answer(&sim, "get_node_status", json!({ "node": "pve2" })).await;
    assert!(
        answer.get("services_not_running").is_none() && answer.get("pending_updates").is_none()
    );
    assert_eq!(answer["pve_version"], "9.2.9");
    let missing = answer["not_available"].to_string();
    assert!(
        missing.contains("services") && missing.contains("Sys.Modify on /nodes/pve2"),
        "{missing}"
    );
}

#[tokio::test]
async fn services_that_should_run_and_certificates_that_end_are_told() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/services").data(&json!([
        { "name": "pvestatd", "state": "dead", "active-state": "inactive", "unit-state": "enabled" },
        { "name": "chrony", "state": "dead", "active-state": "inactive", "unit-state": "not-found" },
        { "name": "cron", "state": "running", "active-state": "active", "unit-state": "enabled" },
    ])));
    let now = i64::try_from(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(),
    )
    .unwrap();
    sim.answer(Rule::get("/nodes/pve1/certificates/info").data(&json!([
        { "filename": "pve-ssl.pem", "notafter": now + 5 * 86_400 + 3600 },
        { "filename": "old.pem", "notafter": now - 86_400 },
        { "filename": "pve-root-ca.pem", "notafter": now + 900 * 86_400 },
    ])));
    let answer = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
    assert_eq!(answer["services_not_running"], json!(["pvestatd (dead)"]));
    let ending = answer["certificates_ending"].as_array().unwrap();
    assert_eq!(ending.len(), 2);
    assert!(ending[0].as_str().unwrap().starts_with("pve-ssl.pem ends in 5 days"), "{ending:?}");
    assert!(ending[1].as_str().unwrap().starts_with("old.pem ended on"), "{ending:?}");
}

#[tokio::test]
async fn an_unknown_node_is_told_with_those_that_exist() {
    let told = failure(&demo().await, "get_node_status", json!({ "node": "pve4" })).await;
    assert!(told.contains("there is no node `pve4`") && told.contains("pve"), "{told}");
    let told = failure(&demo().await, "get_node_status", json!({ "node": "frankfurt" })).await;
    assert!(told.contains("the nodes are pve1, pve2, pve3"), "{told}");
}
