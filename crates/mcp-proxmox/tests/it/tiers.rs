//! The two tiers apart: what is not offered is refused without a word to PVE.

use mcp_proxmox::tier::Level;
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET};
use serde_json::{Value, json};

use crate::{
    power::{posts, start, write_server},
    process::{Program, program_for},
    support::{access, call_on, connect, failed, server},
};

fn writing() -> Vec<&'static str> {
    let entries = mcp_proxmox::catalog::ALL.iter();
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
