//! Tokens that are not let in, or not let see everything.

use std::time::Duration;

use pve_client::{Reader, Settings};
use pve_sim::{Cluster, DEMO_TOKEN_SECRET, Guest, Role, Rule, Sim};
use serde_json::json;

use super::{CURRENT, Said, Session, check, every_tool, lab, n_asked, refusing};
use crate::{
    process::{program, program_for, run},
    support::{answer, call_on, failed, failure, notes, row, server, settings, structured},
};
use mcp_proxmox::tier::{Access, Level};

#[tokio::test(flavor = "multi_thread")]
async fn q005_a_wrong_token_is_asked_once_and_is_no_time_out() {
    let wrong = Rule::everything().status(401, "Authentication failed!");
    for Said { tool, told, is_error, seen } in
        every_tool(Some(&wrong.delay(Duration::from_millis(30)))).await
    {
        let refused = "did not accept the API token (401 Authentication failed!)";
        assert!(is_error && told.contains(refused), "{tool}: {told}");
        for other in ["no answer came", "reached", "timed out"] {
            assert!(!told.contains(other), "{tool}: {told}");
        }
        assert_eq!(seen.len(), 1, "{tool} asked on: {seen:?}");
    }
    // PVE holds a 401 back for three seconds; a shorter time-out would hide the reason.
    assert!(Settings::REQUEST_TIMEOUT > Duration::from_secs(5));
    let mut command = program();
    command.env("PVE_HOST", "pve.lan").env("PVE_TOKEN_ID", "svc@pve!tool");
    command.env("PVE_TOKEN_SECRET", "s").env("PVE_TIMEOUT_SECONDS", "3").arg("check");
    let (code, _, told) = tokio::task::block_in_place(|| run(&mut command));
    assert_eq!(code, 2);
    assert!(told.contains("PVE_TIMEOUT_SECONDS: ") && told.contains("from 5"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn q006_a_header_that_did_not_arrive_is_not_a_wrong_token() {
    let sim = lab().await;
    sim.answer(Rule::everything().status(401, "No ticket"));
    let mut all = vec![check(&sim, &[]).1];
    for said in every_tool(Some(&Rule::everything().status(401, "No ticket"))).await {
        assert!(said.is_error, "{}: {}", said.tool, said.told);
        all.push(said.told);
    }
    for told in all {
        assert!(told.contains("PVE saw no token in the request (401 No ticket)"), "{told}");
        assert!(told.contains("a proxy in between removes the Authorization header"), "{told}");
        for other in ["did not accept", "expired", "password", "PVE_TOKEN_SECRET"] {
            assert!(!told.contains(other), "{told}");
        }
    }
}

/// Proxmox Backup Server gives its version as `3.4` and `2`, where PVE says `9.2.11` and `9.2`.
#[tokio::test(flavor = "multi_thread")]
async fn q007_another_product_of_proxmox_is_not_taken_for_pve() {
    let sim = lab().await;
    sim.answer(Rule::everything().status(404, "Not Found").header("Server", ""));
    let told = failure(&sim, "list_vms", json!({})).await;
    assert!(told.contains("something other than the Proxmox VE API answered"), "{told}");
    let version = json!({ "version": "3.4", "release": "2", "repoid": "b7cb4d5b5ba9d1a5" });
    sim.answer(Rule::get("/version").data(&version));
    sim.answer(Rule::get("/access/permissions").data(&json!({ "/": { "Sys.Audit": 1 } })));
    let (code, told) = check(&sim, &[]);
    assert!(told.contains("not a Proxmox VE"), "nothing is said of the other product: {told}");
    assert!(told.contains("Backup Server") && !told.contains("Mail Gateway"), "{told}");
    assert_eq!(code, 1, "{told}");
    // Mail Gateway's version is like Proxmox VE's, but it knows no `PVEAPIToken`.
    sim.forget_rules();
    sim.answer(Rule::everything().status(401, "No ticket"));
    let (code, told) = check(&sim, &[]);
    assert!(told.contains("Mail Gateway") && !told.contains("Backup Server"), "{told}");
    assert_eq!(code, 1, "{told}");
}

#[tokio::test]
async fn q011_one_node_that_refuses_the_token_is_told_with_the_clocks() {
    let sim = lab().await;
    let path = "/nodes/pve2/status";
    sim.answer(Rule::get(path).status(401, "permission denied - invalid PVE ticket"));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!(row(&list["nodes"], "node", &json!("pve1"))["version"], "9.2.11");
    assert!(row(&list["nodes"], "node", &json!("pve2"))["version"].is_null());
    assert!(notes(&list).contains("pve2"), "{list}");
    assert_eq!(n_asked(&sim, path), 1);
    let node = answer(&sim, "get_node_status", json!({ "node": "pve2" })).await;
    assert!(node["not_available"].to_string().contains("invalid PVE ticket"), "{node}");
    for told in [list, node] {
        let told = told.to_string();
        let is_told = told.contains("clock") || told.contains("time sync");
        assert!(is_told, "the token works elsewhere, so the clocks are to be checked: {told}");
    }
}

#[tokio::test]
async fn q014_rights_that_were_just_given_are_waited_for_by_the_caller() {
    let sim = lab().await;
    sim.answer(refusing(CURRENT, 403, "Permission check failed (/vms/100, VM.Audit)").times(1));
    let missing = "Permission check failed (/, Sys.Audit)";
    sim.answer(refusing("/cluster/status", 403, missing).times(1));
    let session = Session::open(&sim).await;
    let told = failed(&session.call("get_vm_status", json!({ "vm": "100" })).await);
    assert!(told.contains("the privilege VM.Audit on /vms/100 (403)"), "{told}");
    assert!(told.contains("Just granted? It takes some seconds"), "{told}");
    assert_eq!(n_asked(&sim, CURRENT), 1, "nothing is asked again on its own");
    let list = structured(&session.call("list_nodes", json!({})).await);
    assert!(notes(&list).contains("Sys.Audit on /"), "{list}");
    assert_eq!(n_asked(&sim, "/cluster/status"), 1);
    let status = structured(&session.call("get_vm_status", json!({ "vm": "100" })).await);
    assert_eq!(status["status"], "running");
    let list = structured(&session.call("list_nodes", json!({})).await);
    assert_eq!(list["quorate"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn q143_a_token_that_sees_nodes_alone_is_told_what_it_does_not_see() {
    let mut cluster = Cluster::of_nodes(Some("lab"), &["pve1"]);
    cluster.guests = vec![Guest::vm(100, "pve1", "app1").running(100)];
    cluster.token("svc@pve!tool", DEMO_TOKEN_SECRET).grant(
        "/nodes",
        "svc@pve",
        Role::new("NodesOnly", &["Sys.Audit"]),
    );
    let sim = Sim::start(cluster).await.unwrap();
    let call = async |tool| {
        let reader = Reader::new(settings(&sim, "svc@pve!tool", DEMO_TOKEN_SECRET));
        structured(&call_on(server(Access::new(Level::Read, reader)), tool, json!({})).await)
    };
    let nodes = call("list_nodes").await;
    assert!(!row(&nodes["nodes"], "node", &json!("pve1"))["memory"].is_null(), "{nodes}");
    let guests = call("list_vms").await;
    assert_eq!(guests["total"], 0);
    assert!(notes(&guests).contains("the token has VM.Audit on none of them"), "{guests}");
    let mut command = program_for(&sim, "svc@pve!tool", DEMO_TOKEN_SECRET);
    let (_, stdout, stderr) = tokio::task::block_in_place(|| run(command.arg("check")));
    let told = stdout + &stderr;
    for word in ["list_vms", "get_vm_status", "VM.Audit", "pveum acl modify"] {
        assert!(told.contains(word), "`check` does not say `{word}`: {told}");
    }
}

/// What `check` says to these settings of the token, and the tokens that PVE saw.
fn check_as(sim: &Sim, id: &str, settings: &[(&str, &str)]) -> (i32, String, Vec<String>) {
    let mut command = program_for(sim, id, DEMO_TOKEN_SECRET);
    command.envs(settings.iter().copied()).arg("check");
    let (code, stdout, stderr) = tokio::task::block_in_place(|| run(&mut command));
    let mut tokens: Vec<_> = sim.requests().into_iter().filter_map(|seen| seen.token).collect();
    tokens.dedup();
    sim.forget_requests();
    (code, stdout + &stderr, tokens)
}

/// A cluster that lets this token in, and nobody else.
async fn for_token(id: &str) -> Sim {
    let mut cluster = Cluster::of_nodes(Some("lab"), &["pve1"]);
    cluster.guests = vec![Guest::vm(100, "pve1", "app1")];
    cluster.token(id, DEMO_TOKEN_SECRET);
    cluster.grant("/", id.split_once('!').unwrap().0, Role::administrator());
    Sim::start(cluster).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn check_takes_full_and_short_ids_and_refuses_what_was_joined_twice() {
    let sim = for_token("svc@pve!tool").await;
    for (id, settings) in [
        ("svc@pve!tool", &[][..]),
        ("svc@pve!tool", &[("PVE_USERNAME", "svc@pve")]),
        ("tool", &[("PVE_USERNAME", "svc@pve")]),
        ("tool", &[("PVE_USERNAME", "svc"), ("PVE_REALM", "pve")]),
    ] {
        let (code, told, tokens) = check_as(&sim, id, settings);
        assert_eq!((code, tokens), (0, vec!["svc@pve!tool".to_owned()]), "{id}: {told}");
    }
    let (code, told, tokens) = check_as(&sim, "svc@pve!svc@pve!tool", &[]);
    assert!(code == 2 && told.contains("two `!`") && tokens.is_empty(), "{tokens:?}: {told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_gets_in_with_a_mail_address_as_user() {
    let sim = for_token("first.last@example.com@corp!tool").await;
    let (code, told, tokens) = check_as(&sim, "first.last@example.com@corp!tool", &[]);
    assert_eq!((code, tokens), (0, vec!["first.last@example.com@corp!tool".to_owned()]), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_puts_the_realm_behind_a_bare_user_or_says_that_it_is_missing() {
    let sim = for_token("root@pam!tool").await;
    let (code, told, tokens) = check_as(&sim, "tool", &[("PVE_USERNAME", "root")]);
    assert_eq!((code, tokens), (0, vec!["root@pam!tool".to_owned()]), "{told}");
    assert!(told.contains("root@pam!tool"), "{told}");
    let (code, told, tokens) = check_as(&sim, "svc!tool", &[]);
    assert!(code == 2 && tokens.is_empty(), "{tokens:?}: {told}");
    assert!(told.contains("`svc@pam!tool` or `svc@pve!tool`"), "{told}");
}
