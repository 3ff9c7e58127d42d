//! `stop_vm`: hard, and only when somebody agreed.

use mcp_proxmox::{config::Confirm, policy::Policy};
use pve_sim::{Rule, Sim};
use serde_json::{Value, json};

use crate::{
    power::{answer, lab, on_100, posts, refusal, start, write_server_with},
    support::{call_on, failed, notes, structured},
};

/// Calls under the policy that is usual, as a client that cannot ask.
async fn call(sim: &Sim, tool: &'static str, arguments: Value) -> rmcp::model::CallToolResult {
    call_on(write_server_with(sim, Policy::default()), tool, arguments).await
}

#[tokio::test]
async fn whoever_cannot_be_asked_has_to_confirm() {
    let sim = start().await;
    for tool in ["stop_vm", "reset_vm"] {
        let told = failed(&call(&sim, tool, json!({ "vm": "100" })).await);
        assert!(told.contains("call again with `confirm: true`"), "{told}");
        // Whoever asks in its stead has to know what is at stake.
        assert!(told.contains("What it has not saved is lost."), "{told}");
        assert!(posts(&sim).is_empty());
    }
    let answer = structured(&call(&sim, "stop_vm", json!({ "vm": "100", "confirm": true })).await);
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("stopped")));
    assert_eq!(posts(&sim), ["/nodes/pve1/qemu/100/status/stop"]);
}

#[tokio::test]
async fn what_loses_nothing_is_confirmed_only_where_the_user_wants_it() {
    let sim = start().await;
    let answer = structured(&call(&sim, "start_vm", json!({ "vm": "101" })).await);
    assert_eq!(answer["outcome"], "done");
    let always = Policy::new(None, "".parse().unwrap(), Confirm::Always, None);
    let server = write_server_with(&sim, always);
    let told = failed(&call_on(server, "shutdown_vm", json!({ "vm": "101" })).await);
    assert!(told.contains("consent"), "{told}");
}

#[tokio::test]
async fn q130_a_stopped_guest_is_stopped_already_whatever_it_is() {
    for vm in ["101", "121"] {
        let sim = start().await;
        let answer = answer(&sim, "stop_vm", json!({ "vm": vm })).await;
        assert_eq!((&answer["outcome"], &answer["before"]), (&json!("already"), &json!("stopped")));
        assert!(posts(&sim).is_empty());
    }
}

#[tokio::test]
async fn q136_a_lock_is_found_before_and_in_the_task() {
    let sim = start().await;
    let told = refusal(&sim, "stop_vm", json!({ "vm": "105" })).await;
    assert!(told.contains("locked (backup) by vzdump"), "{told}");
    // The lock comes between the look and the request: only the task tells.
    let free = json!({ "vmid": 105, "status": "running", "qmpstatus": "running" });
    sim.answer(Rule::get("/nodes/pve1/qemu/105/status/current").data(&free).times(1));
    sim.change(|lab| lab.tasks.clear());
    let told = crate::power::failure(&sim, "stop_vm", json!({ "vm": "105" })).await;
    assert!(told.contains("VM is locked (backup)") && told.contains("it is running"), "{told}");
    assert!(told.contains("list_tasks"), "{told}");
    // Of a container in its own words.
    sim.change(|lab| lab.guest_mut(120).unwrap().lock = Some("snapshot".to_owned()));
    let free = json!({ "vmid": 120, "status": "running" });
    sim.answer(Rule::get("/nodes/pve1/lxc/120/status/current").data(&free).times(1));
    let told = crate::power::failure(&sim, "stop_vm", json!({ "vm": "120" })).await;
    assert!(told.contains("CT is locked (snapshot)") && told.contains("it is running"), "{told}");
}

#[tokio::test]
async fn q137_an_ha_managed_guest_is_reported_as_it_is_and_not_as_wished() {
    let sim = start().await;
    let mut lab = lab();
    lab.guest_mut(107).unwrap().takes = pve_sim::Takes::UntilTold;
    sim.change(|running| *running = lab);
    let arguments = json!({ "vm": "107", "wait_seconds": 1 });
    let answer = answer(&sim, "stop_vm", arguments).await;
    assert!(answer["task"].as_str().unwrap().contains(":hastop:"), "{answer}");
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("requested"), &json!("running")));
    assert!(notes(&answer).contains("its own time"), "{answer}");
}

#[tokio::test]
async fn protected_guests_and_those_that_are_not_allowed_are_left_alone() {
    let sim = start().await;
    sim.change(|lab| lab.guest_mut(100).unwrap().tags = vec!["prod".to_owned()]);
    for (allow, protect, variable) in [
        (None, "tag:prod", "PVE_PROTECT_VMS"),
        (Some("100"), "100", "PVE_PROTECT_VMS"),
        (Some("101,pool:dev"), "", "PVE_ALLOW_VMS"),
    ] {
        for tool in [
            "stop_vm",
            "shutdown_vm",
            "reboot_vm",
            "reset_vm",
            "start_vm",
            "suspend_vm",
            "resume_vm",
        ] {
            for dry_run in [false, true] {
                let server = write_server_with(&sim, policy_of(allow, protect));
                let arguments = json!({ "vm": "100", "dry_run": dry_run });
                let told = failed(&call_on(server, tool, arguments).await);
                assert!(told.contains(variable) && told.contains("nothing was sent"), "{told}");
                let hint = "hint: only the user can change that setting; do not try a way around";
                assert!(told.contains(hint), "{tool}: {told}");
            }
        }
    }
    assert!(posts(&sim).is_empty());
}

fn policy_of(allow: Option<&str>, protect: &str) -> Policy {
    Policy::new(
        allow.map(|text| text.parse().unwrap()),
        protect.parse().unwrap(),
        Confirm::Never,
        None,
    )
}

#[tokio::test]
async fn a_paused_and_a_broken_vm_can_be_stopped() {
    for vm in ["103", "106"] {
        let sim = start().await;
        let answer = answer(&sim, "stop_vm", json!({ "vm": vm })).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("stopped")));
    }
}

#[tokio::test]
async fn without_quorum_a_guest_can_still_be_stopped() {
    let sim = start().await;
    sim.change(|lab| lab.quorate = false);
    assert_eq!(answer(&sim, "stop_vm", json!({ "vm": "100" })).await["outcome"], "done");
}

#[tokio::test]
async fn a_refusal_by_pve_is_told_as_it_is() {
    let sim = start().await;
    sim.answer(on_100("stop").status(403, "Permission check failed (/vms/100, VM.PowerMgmt)"));
    let told = crate::power::failure(&sim, "stop_vm", json!({ "vm": "100" })).await;
    assert!(told.contains("VM.PowerMgmt"), "{told}");
    assert_eq!(posts(&sim).len(), 1);
}

#[tokio::test]
async fn a_name_of_two_guests_stops_neither() {
    let sim = start().await;
    sim.change(|lab| lab.guest_mut(120).unwrap().name = Some("app1".to_owned()));
    let told = crate::power::failure(&sim, "stop_vm", json!({ "vm": "app1" })).await;
    assert!(told.contains("100") && told.contains("120"), "{told}");
    assert!(posts(&sim).is_empty());
}

#[tokio::test]
async fn a_dry_run_tells_what_it_would_cost() {
    let sim = start().await;
    let dry = async |vm: &str| call(&sim, "stop_vm", json!({ "vm": vm, "dry_run": true })).await;
    let told = notes(&structured(&dry("100").await));
    assert!(told.contains("it has been up for 1d 1h"), "{told}");
    assert!(told.contains("what it has not saved is lost"), "{told}");
    let told = notes(&structured(&dry("107").await));
    assert!(told.contains("(now: started): it is asked for `stopped`"), "{told}");
    // A backup that runs holds it, and is said to.
    let told = failed(&dry("105").await);
    assert!(told.contains("locked (backup) by vzdump") && told.contains("still runs"), "{told}");
    assert!(posts(&sim).is_empty());
}
