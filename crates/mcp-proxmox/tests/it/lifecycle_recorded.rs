//! The tools that start and stop guests, on answers recorded from a real Proxmox VE 9.2.11 server. Its
//! guests do not change when they are asked to, so what is said of them afterwards is what they were.

use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    tier::{Access, Level},
};
use pve_client::Reader;
use pve_sim::{RecordedState, Recordings, Rule, Sim};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::{
    power::posts,
    support::{call_on, failed, server, settings, structured},
};

const ROOT: &str = "root@pam!lab";
const OPS: &str = "ops@pve!rw";

async fn call(
    (state, token): (RecordedState, &str),
    tool: &'static str,
    arguments: Value,
) -> (CallToolResult, Vec<String>) {
    let sim = Sim::replay(Recordings::of(state)).await.unwrap();
    // The state of these was not recorded: they were stopped.
    for vmid in [103, 104, 108] {
        let stopped = json!({ "vmid": vmid, "status": "stopped", "qmpstatus": "stopped", "ha": { "managed": 0 } });
        sim.answer(Rule::get(&format!("/nodes/pve1/qemu/{vmid}/status/current")).data(&stopped));
    }
    let reader = Reader::new(settings(&sim, token, "any"));
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    let server = server(Access::new(Level::Write, reader)).under(Arc::new(policy));
    let result = call_on(server, tool, arguments).await;
    (result, posts(&sim))
}

#[tokio::test]
async fn starts_that_fail_in_the_task_say_why() {
    for (vm, why) in [
        ("103", "volume 'data:103/vm-103-disk-0.qcow2' does not exist"),
        ("104", "KVM virtualisation configured, but not available"),
        ("108", "start failed: QEMU exited with code 1"),
    ] {
        let arguments = json!({ "vm": vm, "wait_seconds": 1 });
        let (result, posts) = call((RecordedState::Normal, OPS), "start_vm", arguments).await;
        let told = failed(&result);
        assert!(told.contains(why) && told.contains("it is stopped"), "{told}");
        assert_eq!(posts, [format!("/nodes/pve1/qemu/{vm}/status/start")]);
    }
    let (result, _) =
        call((RecordedState::Normal, OPS), "start_vm", json!({ "vm": "108", "wait_seconds": 1 }))
            .await;
    assert!(failed(&result).contains("pve-bridge failed"), "the telling line of the log is there");
}

#[tokio::test]
async fn a_locked_guest_and_a_template_are_refused_before_anything_is_sent() {
    for (vm, why) in [("105", "locked (backup)"), ("102", "template"), ("202", "template")] {
        let (result, posts) =
            call((RecordedState::Normal, ROOT), "start_vm", json!({ "vm": vm })).await;
        let told = failed(&result);
        assert!(told.contains(why) && posts.is_empty(), "{told}");
    }
}

#[tokio::test]
async fn a_task_that_ended_well_is_not_taken_for_the_state() {
    // The recorded container is stopped for ever, and its task ended with a warning.
    let arguments = json!({ "vm": "201", "wait_seconds": 0 });
    let (result, _) = call((RecordedState::Normal, OPS), "start_vm", arguments).await;
    let answer = structured(&result);
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("unconfirmed"), &json!("stopped")));
    assert_eq!(answer["task_result"], "WARNINGS: 1");
    assert_eq!(
        answer["warnings"],
        json!(["WARN: Systemd 257 detected. You may need to enable nesting."])
    );
    let arguments = json!({ "vm": "100", "wait_seconds": 0, "timeout_seconds": 90 });
    let (result, posts) = call((RecordedState::Normal, OPS), "reboot_vm", arguments).await;
    assert_eq!(structured(&result)["outcome"], "unconfirmed");
    assert_eq!(posts, ["/nodes/pve1/qemu/100/status/reboot timeout=90"]);
}

#[tokio::test]
async fn without_quorum_a_start_is_refused_before_it_is_sent() {
    let (result, posts) =
        call((RecordedState::NoQuorum, ROOT), "start_vm", json!({ "vm": "107" })).await;
    let told = failed(&result);
    assert!(told.contains("no quorum"), "{told}");
    assert!(posts.is_empty());
}

#[tokio::test]
async fn a_paused_vm_cannot_be_shut_down() {
    let (result, posts) =
        call((RecordedState::Paused, ROOT), "shutdown_vm", json!({ "vm": "107" })).await;
    assert!(failed(&result).contains("paused") && posts.is_empty());
}

#[tokio::test]
async fn a_guest_of_the_node_that_is_off_is_not_touched() {
    let (result, posts) =
        call((RecordedState::Normal, OPS), "start_vm", json!({ "vm": "110" })).await;
    assert!(failed(&result).contains("offline") && posts.is_empty());
}
