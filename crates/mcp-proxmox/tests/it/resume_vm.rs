//! `resume_vm`: lets a paused or hibernated VM go on.

use pve_sim::State;
use serde_json::json;

use crate::power::{answer, posts, refusal, start};

#[tokio::test]
async fn paused_hibernated_and_broken_vms_go_on() {
    for (vm, before) in [("103", "paused"), ("104", "hibernated"), ("106", "io-error")] {
        let sim = start().await;
        let answer = answer(&sim, "resume_vm", json!({ "vm": vm })).await;
        assert_eq!(
            (&answer["outcome"], &answer["before"], &answer["after"]),
            (&json!("done"), &json!(before), &json!("running"))
        );
        assert_eq!(posts(&sim), [format!("/nodes/pve1/qemu/{vm}/status/resume")]);
    }
}

#[tokio::test]
async fn a_running_vm_goes_on_already_and_others_cannot() {
    let sim = start().await;
    assert_eq!(answer(&sim, "resume_vm", json!({ "vm": "100" })).await["outcome"], "already");
    assert!(posts(&sim).is_empty());
    let told = refusal(&sim, "resume_vm", json!({ "vm": "101" })).await;
    assert!(told.contains("start_vm"), "{told}");
    let told = refusal(&sim, "resume_vm", json!({ "vm": "120" })).await;
    assert!(told.contains("container"), "{told}");
    sim.change(|lab| {
        let guest = lab.guest_mut(103).unwrap();
        (guest.state, guest.lock) = (State::Prelaunch, Some("backup".to_owned()));
    });
    let told = refusal(&sim, "resume_vm", json!({ "vm": "103" })).await;
    assert!(told.contains("back it up"), "{told}");
}
