//! The two tiers apart: what is not offered is refused without a word to PVE.

use jiff::tz::TimeZone;
use mcp_proxmox::{
    catalog::{self, Catalog},
    config::Output,
    server::Server,
    tier::Level,
};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET};
use serde_json::{Value, json};

use crate::{
    power::{posts, start, write_server},
    process::{Program, program_for},
    support::{access, call, call_on, connect, demo, failed, rows, server, structured},
};

fn writing() -> Vec<&'static str> {
    let entries = catalog::ALL.iter();
    entries.filter(|entry| entry.level == Level::Write).map(|entry| entry.name).collect()
}

#[tokio::test]
async fn in_the_read_tier_tools_that_write_do_not_exist_and_calling_them_reaches_nobody() {
    let sim = start().await;
    let client = connect(server(access(&sim))).await;
    let offered = client.list_all_tools().await.unwrap();
    assert!(writing().len() >= 7);
    for name in writing() {
        assert!(offered.iter().all(|tool| tool.name != name), "{name} is offered");
        let told = failed(
            &call_on(server(access(&sim)), name, json!({ "vm": "100", "confirm": true })).await,
        );
        assert!(told.contains("PVE_ACCESS_TIER=write"), "{told}");
    }
    assert!(sim.requests().is_empty(), "PVE was asked");
}

#[tokio::test]
async fn in_the_write_tier_they_are_offered_with_their_hints() {
    let sim = start().await;
    let client = connect(write_server(&sim)).await;
    let offered = client.list_all_tools().await.unwrap();
    for name in writing() {
        let tool =
            offered.iter().find(|tool| tool.name == name).unwrap_or_else(|| panic!("{name}"));
        let hints = tool.annotations.as_ref().unwrap();
        assert_eq!(hints.read_only_hint, Some(false), "{name}");
        let is_hard = ["stop_vm", "reset_vm", "send_vm_keys"].contains(&name);
        assert_eq!(hints.destructive_hint, Some(is_hard), "{name}");
    }
    assert!(posts(&sim).is_empty());
}

#[tokio::test]
async fn what_is_not_offered_is_no_next_step_and_a_hint_of_it_says_so() {
    let sim = demo().await;
    let stopped = json!({ "vm": "126" });
    let told = failed(&call(&sim, "get_vm_console", stopped.clone()).await);
    assert!(told.contains("start_vm starts it; get_vm_status tells more"), "{told}");
    assert!(told.ends_with("(not offered by this server: start_vm)"), "{told}");
    let told = failed(&call_on(write_server(&sim), "get_vm_console", stopped).await);
    assert!(told.ends_with("get_vm_status tells more"), "{told}");

    let client = connect(server(access(&sim))).await;
    let request = rmcp::model::ReadResourceRequestParams::new("pve://vms/126/screenshot");
    let told = client.read_resource(request).await.unwrap_err().to_string();
    assert!(told.contains("(not offered by this server: start_vm)"), "{told}");

    let whole = structured(&call(&sim, "get_cluster_health", json!({})).await);
    let offered = ["get_cluster_health", "list_vms", "get_vm_status"];
    let limited = || {
        let catalog =
            Catalog::new(catalog::ALL, Level::Read, |entry| offered.contains(&entry.name));
        Server::new(access(&sim), catalog, Output::Both, TimeZone::UTC)
    };
    let part = structured(&call_on(limited(), "get_cluster_health", json!({})).await);
    let (whole, part) = (rows(&whole["findings"]), rows(&part["findings"]));
    assert_eq!(whole.len(), part.len());
    let mut n_left_out = 0;
    for (whole, part) in whole.iter().zip(&part) {
        let next = whole["next"].as_str().unwrap_or_default();
        let tool = next.split(' ').next().unwrap_or_default();
        let is_left_out =
            catalog::ALL.iter().any(|entry| entry.name == tool) && !offered.contains(&tool);
        let expected = if is_left_out { &Value::Null } else { &whole["next"] };
        assert_eq!(&part["next"], expected);
        n_left_out += usize::from(is_left_out);
    }
    assert!(n_left_out > 3 && n_left_out < whole.len(), "{n_left_out} of {}", whole.len());
}

#[tokio::test]
async fn nobody_is_told_to_start_a_template() {
    let sim = demo().await;
    for (tool, vm) in [
        ("get_vm_screenshot", json!({ "vm": "9000" })),
        ("get_vm_console", json!({ "vm": "9000" })),
        ("send_vm_keys", json!({ "vm": "9001", "text": "x", "confirm": true })),
    ] {
        let told = failed(&call_on(write_server(&sim), tool, vm).await);
        assert!(told.contains("it is a template, which never runs"), "{tool}: {told}");
        assert!(!told.contains("start_vm"), "{tool}: {told}");
    }
}

/// Clients that know the mark let their user look at each call of a tool that has it.
#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_tools_before_which_a_person_is_asked_are_marked_for_the_user() {
    const MARK: &str = "anthropic/requiresUserInteraction";
    let sim = start().await;
    let hard = vec!["stop_vm", "reset_vm", "send_vm_keys"];
    for (confirm, mut expected) in [
        (None, hard.clone()),
        (Some("never"), Vec::new()),
        (Some("destructive"), hard),
        (Some("always"), writing()),
    ] {
        let listed = tokio::task::block_in_place(|| {
            let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
            command.env("PVE_ACCESS_TIER", "write");
            command.envs(confirm.map(|value| ("PVE_CONFIRM", value)));
            let mut program = Program::start(&mut command);
            program.initialize("2025-11-25");
            program.request("tools/list", json!({}))
        });
        let tools = listed["result"]["tools"].as_array().unwrap();
        assert!(tools.len() > writing().len(), "{listed}");
        let is_marked = |tool: &&Value| tool["_meta"][MARK] == true;
        let marked = tools.iter().filter(is_marked).map(|tool| tool["name"].as_str().unwrap());
        let mut marked: Vec<&str> = marked.collect();
        marked.sort_unstable();
        expected.sort_unstable();
        assert_eq!(marked, expected, "PVE_CONFIRM: {confirm:?}");
    }
}
