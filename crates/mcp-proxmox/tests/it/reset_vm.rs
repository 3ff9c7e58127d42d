//! `reset_vm`: the reset button of a VM.

use mcp_proxmox::{config::Confirm, policy::Policy};
use serde_json::json;

use crate::{
    power::{answer, posts, refusal, start, write_server_with},
    support::{call_on, failed, notes, structured},
};

#[tokio::test]
async fn a_running_vm_is_reset() {
    let sim = start().await;
    let answer = answer(&sim, "reset_vm", json!({ "vm": "100" })).await;
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("running")));
    assert_eq!(posts(&sim), ["/nodes/pve1/qemu/100/status/reset"]);
}

#[tokio::test]
async fn containers_and_stopped_vms_have_nothing_to_reset() {
    let sim = start().await;
    let told = refusal(&sim, "reset_vm", json!({ "vm": "120" })).await;
    assert!(told.contains("containers have no reset") && told.contains("reboot_vm"), "{told}");
    let told = refusal(&sim, "reset_vm", json!({ "vm": "101" })).await;
    assert!(told.contains("is stopped") && told.contains("start_vm"), "{told}");
    let told = refusal(&sim, "reset_vm", json!({ "vm": "104" })).await;
    assert!(told.contains("hibernated"), "{told}");
}

#[tokio::test]
async fn a_vm_that_does_not_run_and_is_reset_is_said_to_do_nothing_still_and_can_go_on() {
    for vm in ["103", "106"] {
        let sim = start().await;
        for dry_run in [true, false] {
            let arguments = json!({ "vm": vm, "dry_run": dry_run });
            let answer = answer(&sim, "reset_vm", arguments).await;
            assert!(notes(&answer).contains("does nothing until resume_vm"), "{answer}");
            let outcome = if dry_run { "dry_run" } else { "done" };
            assert_eq!(answer["outcome"], outcome, "{answer}");
        }
        // Of QEMU it is now what a stopped VM under backup is, too: nobody has to wait for a backup here.
        let resumed = answer(&sim, "resume_vm", json!({ "vm": vm })).await;
        assert_eq!(
            (&resumed["outcome"], &resumed["before"], &resumed["after"]),
            (&json!("done"), &json!("prelaunch"), &json!("running"))
        );
    }
}

#[tokio::test]
async fn whoever_cannot_be_asked_confirms_a_reset() {
    let sim = start().await;
    let policy = || Policy::new(None, "".parse().unwrap(), Confirm::Destructive, None);
    let call =
        async |arguments| call_on(write_server_with(&sim, policy()), "reset_vm", arguments).await;
    let told = failed(&call(json!({ "vm": "100" })).await);
    assert!(told.contains("confirm: true") && posts(&sim).is_empty(), "{told}");
    let answer = structured(&call(json!({ "vm": "100", "confirm": true })).await);
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("running")));
    assert_eq!(posts(&sim), ["/nodes/pve1/qemu/100/status/reset"]);
}
