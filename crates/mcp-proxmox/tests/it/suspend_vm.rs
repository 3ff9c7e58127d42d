//! `suspend_vm`: in memory, or to disk.

use serde_json::json;

use crate::{
    power::{answer, posts, refusal, start},
    support::notes,
};

#[tokio::test]
async fn a_dry_run_says_what_it_means() {
    for (to_disk, meaning) in
        [(false, "it does nothing until resume_vm"), (true, "its memory is saved and it stops")]
    {
        let sim = start().await;
        let arguments = json!({ "vm": "100", "to_disk": to_disk, "dry_run": true });
        let told = notes(&answer(&sim, "suspend_vm", arguments).await);
        assert!(told.contains("it has been up for") && told.contains(meaning), "{told}");
    }
}

#[tokio::test]
async fn a_vm_is_paused_or_hibernated() {
    for (to_disk, after, sent) in [
        (false, "paused", "/nodes/pve1/qemu/100/status/suspend"),
        (true, "hibernated", "/nodes/pve1/qemu/100/status/suspend todisk=1"),
    ] {
        let sim = start().await;
        let answer = answer(&sim, "suspend_vm", json!({ "vm": "100", "to_disk": to_disk })).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!(after)));
        assert_eq!(posts(&sim), [sent]);
    }
}

#[tokio::test]
async fn what_is_suspended_already_is_left_so() {
    for (vm, to_disk) in [("103", false), ("104", true)] {
        let sim = start().await;
        let answer = answer(&sim, "suspend_vm", json!({ "vm": vm, "to_disk": to_disk })).await;
        assert_eq!(answer["outcome"], "already");
        assert!(posts(&sim).is_empty());
    }
}

#[tokio::test]
async fn what_cannot_be_suspended_is_refused_with_the_reason() {
    let sim = start().await;
    for (vm, to_disk, why) in [
        ("120", false, "CRIU"),
        ("101", false, "is stopped"),
        ("103", true, "resume_vm first"),
        ("104", false, "hibernated"),
    ] {
        let told = refusal(&sim, "suspend_vm", json!({ "vm": vm, "to_disk": to_disk })).await;
        assert!(told.contains(why), "{told}");
    }
}

#[tokio::test]
async fn what_the_ha_manager_does_with_a_hibernated_vm_is_said() {
    let sim = start().await;
    let told = async |to_disk: bool, dry_run: bool| {
        let arguments = json!({ "vm": "107", "to_disk": to_disk, "dry_run": dry_run });
        notes(&answer(&sim, "suspend_vm", arguments).await)
    };
    assert!(told(true, true).await.contains("likely to start it again"));
    assert!(!told(false, true).await.contains("HA manager"), "a paused VM runs for the HA manager");
    assert!(told(true, false).await.contains("likely to start it again"));
}
