//! `reboot_vm`: proved by another run.

use pve_sim::{Rule, Takes};
use serde_json::json;

use crate::{
    power::{answer, failure, on_100, posts, refusal, start, start_with},
    support::{demo, notes, rows},
};

#[tokio::test]
async fn a_guest_that_reboots_is_another_run_afterwards() {
    for (vm, path) in [("100", "qemu/100"), ("120", "lxc/120")] {
        let sim = start().await;
        let answer = answer(&sim, "reboot_vm", json!({ "vm": vm, "timeout_seconds": 90 })).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("running")));
        let told = notes(&answer);
        assert!(told.contains("its uptime is ") && told.contains(" before"), "{told}");
        assert_eq!(posts(&sim), [format!("/nodes/pve1/{path}/status/reboot timeout=90")]);
    }
}

#[tokio::test]
async fn without_quorum_nothing_is_stopped_that_could_not_be_started_again() {
    let sim = start().await;
    sim.change(|lab| lab.quorate = false);
    for vm in ["100", "120"] {
        let told = refusal(&sim, "reboot_vm", json!({ "vm": vm })).await;
        assert!(told.contains("no quorum") && told.contains("started again"), "{told}");
    }
    let told = refusal(&sim, "resume_vm", json!({ "vm": "104" })).await;
    assert!(told.contains("no quorum"), "{told}");
}

#[tokio::test]
async fn a_task_that_ends_well_proves_nothing() {
    let sim = start().await;
    // The task says OK, and the guest is the same run as before.
    let upid = "UPID:pve1:00001B1B:000BF280:6B0D175C:qmreboot:100:root@pam!demo:";
    sim.answer(on_100("reboot").data(&json!(upid)));
    let ended = json!({ "status": "stopped", "exitstatus": "OK", "upid": upid });
    let path = "/nodes/pve1/tasks/UPID:pve1:00001B1B:000BF280:6B0D175C:qmreboot:100:root@pam%21demo:/status";
    sim.answer(Rule::get(path).data(&ended));
    let answer = answer(&sim, "reboot_vm", json!({ "vm": "100", "wait_seconds": 1 })).await;
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("unconfirmed"), &json!("running")));
    assert!(notes(&answer).contains("smaller uptime"), "{answer}");
}

#[tokio::test]
async fn q132_a_stopped_guest_is_not_rebooted_but_can_be_started() {
    for vm in ["101", "121"] {
        let sim = start().await;
        let told = refusal(&sim, "reboot_vm", json!({ "vm": vm })).await;
        assert!(told.contains("is stopped") && told.contains("start_vm"), "{told}");
    }
}

#[tokio::test]
async fn q139_a_reboot_that_hangs_is_followed_and_nothing_else_is_sent() {
    let sim = start_with(100, |guest| guest.takes = Takes::UntilTold).await;
    let answer = answer(&sim, "reboot_vm", json!({ "vm": "100", "wait_seconds": 0 })).await;
    assert_eq!(answer["outcome"], "sent");
    assert!(notes(&answer).contains("send nothing else to this guest"), "{answer}");
    assert_eq!(posts(&sim), ["/nodes/pve1/qemu/100/status/reboot timeout=60"]);
    sim.forget_requests();
    let told = refusal(&sim, "reboot_vm", json!({ "vm": "100" })).await;
    assert!(told.contains("qmreboot"), "{told}");

    let deaf = start_with(100, |guest| guest.deaf = true).await;
    let told = failure(&deaf, "reboot_vm", json!({ "vm": "100" })).await;
    assert!(told.contains("got timeout") && told.contains("it is running"), "{told}");
}

#[tokio::test]
async fn a_reboot_does_not_go_through_the_ha_manager_and_that_is_said() {
    let sim = start().await;
    let dry = answer(&sim, "reboot_vm", json!({ "vm": "107", "dry_run": true })).await;
    let told = notes(&dry);
    assert!(told.contains("does not go through it") && told.contains("180 s"), "{told}");
}

#[tokio::test]
async fn what_a_reboot_applies_of_the_configuration_is_told_before_and_afterwards() {
    let sim = start_with(100, |guest| {
        guest.details.pending = vec![("memory".to_owned(), Some("4096".to_owned()))];
    })
    .await;
    let dry = answer(&sim, "reboot_vm", json!({ "vm": "100", "dry_run": true })).await;
    let told = notes(&dry);
    assert!(
        told.contains("pending changes are applied by it: `memory: ") && told.contains("-> 4096"),
        "{told}"
    );
    let done = answer(&sim, "reboot_vm", json!({ "vm": "100" })).await;
    assert!(notes(&done).contains("pending before it: `memory: "), "{done}");
    let none = answer(&start().await, "reboot_vm", json!({ "vm": "100", "dry_run": true })).await;
    assert!(!notes(&none).contains("pending"), "{none}");
}

#[tokio::test]
async fn what_waited_for_the_next_start_is_in_force_after_it() {
    for tools in [&["reboot_vm"][..], &["stop_vm", "start_vm"], &["shutdown_vm", "start_vm"]] {
        let sim = demo().await;
        sim.change(|demo| demo.guest_mut(111).unwrap().takes = Takes::AtOnce);
        let before = answer(&sim, "get_vm_details", json!({ "vm": "postgres" })).await;
        assert!(before["pending"].to_string().contains("memory: 32768 -> 49152"), "{before}");
        for tool in tools {
            answer(&sim, tool, json!({ "vm": "postgres" })).await;
        }
        let after = answer(&sim, "get_vm_details", json!({ "vm": "postgres" })).await;
        assert!(after.get("pending").is_none(), "{tools:?}: {after}");
        assert!(after["memory"].as_str().unwrap().starts_with("48.0 GiB"), "{after}");
        assert_eq!(rows(&after["nics"]).len(), 2, "{after}");
    }
}
