//! `reset_vm`: the reset button of a VM.

use serde_json::json;

use crate::{
    power::{answer, posts, refusal, start},
    support::notes,
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
async fn a_paused_vm_that_is_reset_is_said_to_do_nothing_still() {
    let sim = start().await;
    for dry_run in [true, false] {
        let arguments = json!({ "vm": "103", "dry_run": dry_run });
        let answer = answer(&sim, "reset_vm", arguments).await;
        assert!(notes(&answer).contains("does nothing until resume_vm"), "{answer}");
    }
}
