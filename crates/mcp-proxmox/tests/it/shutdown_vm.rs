//! `shutdown_vm`: soft, whatever happens, but for what the HA manager does.

use mcp_proxmox::{config::Confirm, policy::Policy};
use pve_sim::{Rule, Takes};
use serde_json::json;

use crate::{
    power::{answer, failure, posts, refusal, start, start_with, write_server, write_server_with},
    support::{call_on, connect, failed, notes, structured},
};

#[tokio::test]
async fn a_guest_that_reacts_is_down_afterwards() {
    for (vm, form) in [
        ("100", "/nodes/pve1/qemu/100/status/shutdown timeout=60"),
        ("120", "/nodes/pve1/lxc/120/status/shutdown timeout=60"),
    ] {
        let sim = start().await;
        let answer = answer(&sim, "shutdown_vm", json!({ "vm": vm })).await;
        assert_eq!(
            (&answer["outcome"], &answer["before"], &answer["after"]),
            (&json!("done"), &json!("running"), &json!("stopped"))
        );
        assert_eq!(posts(&sim), [form]);
    }
}

#[tokio::test]
async fn q133_a_guest_that_does_not_react_still_runs_and_is_said_to() {
    let sim = start_with(100, |guest| guest.deaf = true).await;
    let told = failure(&sim, "shutdown_vm", json!({ "vm": "100", "timeout_seconds": 3 })).await;
    assert!(told.contains("got timeout") && told.contains("it is running"), "{told}");
    assert!(told.contains("longer timeout_seconds") && told.contains("stop_vm"), "{told}");
    assert_eq!(posts(&sim), ["/nodes/pve1/qemu/100/status/shutdown timeout=3"]);
    assert!(sim.change(|lab| lab.guest(100).unwrap().is_up()), "it was not stopped hard");
}

#[tokio::test]
async fn a_container_that_does_not_react_still_runs_and_is_said_to() {
    let sim = start_with(120, |guest| guest.deaf = true).await;
    for (tool, sent) in [("shutdown_vm", "shutdown"), ("reboot_vm", "reboot")] {
        sim.forget_requests();
        let told = failure(&sim, tool, json!({ "vm": "120", "timeout_seconds": 3 })).await;
        assert!(told.contains("lxc-stop") && told.contains("it is running"), "{tool}: {told}");
        assert!(told.contains("longer timeout_seconds") && told.contains("stop_vm"), "{told}");
        assert_eq!(posts(&sim), [format!("/nodes/pve1/lxc/120/status/{sent} timeout=3")]);
    }
    let is_soft = |lab: &mut pve_sim::Cluster| lab.deeds.iter().all(|deed| !deed.hard);
    assert!(sim.change(is_soft) && sim.change(|lab| lab.guest(120).unwrap().is_up()));
}

#[tokio::test]
async fn q134_a_shutdown_is_never_forced_and_always_has_a_time_out() {
    for vm in ["100", "120"] {
        let sim = start().await;
        let dry = answer(&sim, "shutdown_vm", json!({ "vm": vm, "dry_run": true })).await;
        assert!(
            notes(&dry).contains("60 s") && notes(&dry).contains("never stopped hard"),
            "{dry}"
        );
        answer(&sim, "shutdown_vm", json!({ "vm": vm, "timeout_seconds": 600 })).await;
        let posts = posts(&sim);
        assert!(posts[0].ends_with("timeout=600") && !posts[0].contains("force"), "{posts:?}");
        assert!(sim.change(|lab| lab.deeds.iter().all(|deed| !deed.hard)));
    }
}

#[tokio::test]
async fn a_guest_that_is_down_is_as_it_should_be() {
    for (vm, before) in [("101", "stopped"), ("121", "stopped"), ("104", "hibernated")] {
        let sim = start().await;
        let answer = answer(&sim, "shutdown_vm", json!({ "vm": vm })).await;
        assert_eq!((&answer["outcome"], &answer["before"]), (&json!("already"), &json!(before)));
        assert!(posts(&sim).is_empty());
    }
}

#[tokio::test]
async fn a_paused_guest_cannot_react_and_is_refused() {
    let sim = start().await;
    let told = refusal(&sim, "shutdown_vm", json!({ "vm": "103" })).await;
    assert!(told.contains("paused") && told.contains("resume_vm"), "{told}");
}

#[tokio::test]
async fn a_shutdown_that_still_waits_holds_up_everything_but_a_stop() {
    let of_vms = ["start_vm", "shutdown_vm", "reboot_vm", "suspend_vm", "reset_vm", "resume_vm"];
    let kinds =
        [(100, "qemu", "qmshutdown", &of_vms[..]), (120, "lxc", "vzshutdown", &of_vms[..3])];
    for (vmid, kind, task, tools) in kinds {
        let sim = start_with(vmid, |guest| guest.takes = Takes::UntilTold).await;
        let vm = json!({ "vm": vmid.to_string() });
        let asked = json!({ "vm": vmid.to_string(), "wait_seconds": 0 });
        let waiting = answer(&sim, "shutdown_vm", asked).await;
        assert_eq!((&waiting["outcome"], &waiting["after"]), (&json!("sent"), &json!("running")));
        // It runs, but not for long: `already` would be a lie.
        for tool in tools {
            sim.forget_requests();
            let told = refusal(&sim, tool, vm.clone()).await;
            assert!(told.contains(task) && told.contains("waits for the guest"), "{told}");
        }
        sim.change(|lab| lab.guest_mut(vmid).unwrap().takes = Takes::AtOnce);
        let stopped = answer(&sim, "stop_vm", vm).await;
        assert_eq!((&stopped["outcome"], &stopped["after"]), (&json!("done"), &json!("stopped")));
        let path = format!("/nodes/pve1/{kind}/{vmid}/status/stop overrule-shutdown=1");
        assert_eq!(posts(&sim), [path]);
    }
}

/// Also where the same server waits for that shutdown, and whether it restarts the guest afterwards or not.
#[tokio::test]
async fn a_stop_passes_a_call_of_the_same_server_that_waits_for_the_guest() {
    for (tool, vmid, kind) in
        [("shutdown_vm", 100, "qemu"), ("reboot_vm", 100, "qemu"), ("shutdown_vm", 120, "lxc")]
    {
        let sim = start_with(vmid, |guest| guest.takes = Takes::UntilTold).await;
        let client = connect(write_server(&sim)).await;
        let request = |tool: &'static str| {
            let mut request = rmcp::model::CallToolRequestParams::new(tool);
            request.arguments = json!({ "vm": vmid.to_string() }).as_object().cloned();
            client.call_tool(request)
        };
        let (waiting, stopped) = tokio::join!(request(tool), async {
            // The stop is called while the first one's task is followed.
            while !sim.requests().iter().any(|seen| seen.path.contains("/tasks/UPID")) {
                tokio::task::yield_now().await;
            }
            sim.change(|lab| lab.guest_mut(vmid).unwrap().takes = Takes::AtOnce);
            request("stop_vm").await
        });
        let stopped = structured(&stopped.unwrap());
        assert_eq!((&stopped["outcome"], &stopped["after"]), (&json!("done"), &json!("stopped")));
        let told = waiting.unwrap();
        let stop = format!("/nodes/pve1/{kind}/{vmid}/status/stop overrule-shutdown=1");
        assert_eq!(posts(&sim).len(), 2, "{:?}", posts(&sim));
        assert_eq!(posts(&sim)[1], stop);
        assert!(!sim.change(|lab| lab.guest(vmid).unwrap().is_up()), "{told:?}");
        if tool == "shutdown_vm" {
            let answer = structured(&told);
            assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("stopped")));
            assert!(notes(&answer).contains("may not have shut down cleanly"), "{answer}");
        } else {
            let told = failed(&told);
            assert!(told.contains("as stop_vm does; it is stopped"), "{told}");
        }
    }
}

#[tokio::test]
async fn a_guest_that_the_ha_manager_starts_again_is_not_simply_down() {
    let sim = start_with(101, |guest| guest.ha = Some("started".to_owned())).await;
    for tool in ["shutdown_vm", "stop_vm"] {
        let answer = answer(&sim, tool, json!({ "vm": "101" })).await;
        assert_eq!((&answer["outcome"], &answer["before"]), (&json!("already"), &json!("stopped")));
        assert!(notes(&answer).contains("is about to start it again"), "{answer}");
    }
    sim.change(|lab| lab.guest_mut(101).unwrap().ha = Some("stopped".to_owned()));
    let answer = answer(&sim, "stop_vm", json!({ "vm": "101" })).await;
    assert!(!notes(&answer).contains("start it again"), "{answer}");
}

#[tokio::test]
async fn what_the_ha_manager_is_about_to_stop_is_not_said_to_run_by_any_other_tool() {
    let sim = start_with(107, |guest| guest.ha = Some("stopped".to_owned())).await;
    for tool in ["start_vm", "reboot_vm", "reset_vm", "suspend_vm", "resume_vm"] {
        let told = refusal(&sim, tool, json!({ "vm": "107" })).await;
        assert!(told.contains("the HA manager is about to stop it"), "{tool}: {told}");
    }
    let answer = answer(&sim, "stop_vm", json!({ "vm": "107", "dry_run": true })).await;
    assert_eq!(answer["outcome"], "dry_run");
}

#[tokio::test]
async fn an_older_pve_that_cannot_overrule_a_shutdown_says_so() {
    let sim = start_with(100, |guest| guest.takes = Takes::UntilTold).await;
    answer(&sim, "shutdown_vm", json!({ "vm": "100", "wait_seconds": 0 })).await;
    let errors = json!({ "data": null, "message": "Parameter verification failed.\n",
        "errors": { "overrule-shutdown": "property is not defined in schema and the schema does not allow additional properties" } });
    sim.answer(
        Rule::post("/nodes/pve1/qemu/100/status/stop")
            .status(400, "Parameter verification failed.")
            .body(errors.to_string()),
    );
    let told = failure(&sim, "stop_vm", json!({ "vm": "100" })).await;
    assert!(told.contains("overrule-shutdown"), "{told}");
}

#[tokio::test]
async fn an_ha_managed_guest_that_takes_its_time_is_said_to_be_asked_only() {
    let sim = start_with(107, |guest| guest.takes = Takes::UntilTold).await;
    let answer = answer(&sim, "shutdown_vm", json!({ "vm": "107", "wait_seconds": 0 })).await;
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("requested"), &json!("running")));
    assert!(notes(&answer).contains("HA manager"), "{answer}");
}

#[tokio::test]
async fn a_dry_run_names_the_guests_that_are_started_after_it() {
    let sim = start_with(100, |guest| {
        guest.details.set("startup", "order=1,up=30");
    })
    .await;
    let notes_of = async |tool: &'static str| {
        notes(&answer(&sim, tool, json!({ "vm": "100", "dry_run": true })).await)
    };
    assert!(!notes_of("shutdown_vm").await.contains("start order"), "nothing comes after it");
    sim.change(|lab| {
        for (vmid, startup) in [
            (103, "order=9"),
            (105, "2"),
            (106, "order=1"),
            (120, "up=5"),
            (101, "order=3"),
            (107, "order=4"),
        ] {
            lab.guest_mut(vmid).unwrap().details.set("startup", startup);
        }
    });
    for tool in ["shutdown_vm", "reboot_vm", "stop_vm", "suspend_vm", "reset_vm"] {
        let told = notes_of(tool).await;
        // Not db1, which is stopped, not managed, which is elsewhere, and not those of the same order or none.
        assert!(
            told.contains(
                "start order is 1), so they may need it: `locked` (105), `paused` (103)\n"
            ),
            "{tool}: {told}"
        );
    }
    assert!(posts(&sim).is_empty());
    // What cannot be read is said, and holds nothing up.
    sim.answer(Rule::get("/nodes/pve1/qemu/103/config").status(596, "Connection timed out"));
    let told = notes_of("stop_vm").await;
    assert!(
        told.contains("`locked` (105); of 1 more on its node the order was not read"),
        "{told}"
    );
    sim.forget_requests();
    sim.change(|lab| {
        lab.guest_mut(100).unwrap().details.set("startup", "");
    });
    notes_of("stop_vm").await;
    let n_configs = sim.requests().iter().filter(|seen| seen.path.contains("/config")).count();
    assert_eq!(n_configs, 1, "without an order of its own nothing else is read");
}

#[tokio::test]
async fn a_guest_that_the_ha_manager_moved_is_found_and_its_node_is_told() {
    let sim = start_with(107, |guest| guest.takes = Takes::UntilTold).await;
    let client = connect(write_server(&sim)).await;
    let calling = tokio::spawn(async move {
        let mut request = rmcp::model::CallToolRequestParams::new("shutdown_vm");
        request.arguments = json!({ "vm": "107" }).as_object().cloned();
        client.call_tool(request).await.unwrap()
    });
    while posts(&sim).is_empty() {
        tokio::task::yield_now().await;
    }
    sim.change(|lab| {
        lab.guest_mut(107).unwrap().node = "pve1".to_owned();
        lab.finish_tasks();
    });
    let answer = structured(&calling.await.unwrap());
    assert_eq!(
        (&answer["outcome"], &answer["after"], &answer["node"]),
        (&json!("done"), &json!("stopped"), &json!("pve1"))
    );
    assert!(notes(&answer).contains("it is on pve1 now; before, it was on pve2"), "{answer}");
    assert_eq!(posts(&sim).len(), 1);
}

#[tokio::test]
async fn the_ha_manager_stops_hard_in_the_end_and_that_is_said_before() {
    let sim = start_with(107, |guest| guest.deaf = true).await;
    let dry = answer(&sim, "shutdown_vm", json!({ "vm": "107", "dry_run": true })).await;
    let told = notes(&dry);
    assert!(told.contains("gives the guest 180 s") && told.contains("STOPS IT HARD"), "{told}");
    assert!(told.contains("timeout_seconds") && !told.contains("never"), "{told}");
    assert!(dry["would_send"].as_str().unwrap().ends_with("timeout=180"), "{dry}");
    let answer = answer(&sim, "shutdown_vm", json!({ "vm": "107", "timeout_seconds": 1 })).await;
    assert_eq!(posts(&sim), ["/nodes/pve2/qemu/107/status/shutdown timeout=1"]);
    assert_eq!((&answer["after"], &answer["ha"]), (&json!("stopped"), &json!("stopped")));
    assert!(notes(&answer).contains("`started` and is `stopped` now"), "{answer}");
    assert!(sim.change(|lab| lab.deeds[0].hard), "a guest that does not react goes down hard");
}

#[tokio::test]
async fn a_shutdown_by_the_ha_manager_needs_the_consent_of_a_hard_stop() {
    for (vm, asks) in [("107", true), ("100", false)] {
        let sim = start().await;
        let policy = || Policy::new(None, "".parse().unwrap(), Confirm::Destructive, None);
        let server = write_server_with(&sim, policy());
        let result = call_on(server, "shutdown_vm", json!({ "vm": vm })).await;
        if asks {
            let told = failed(&result);
            assert!(told.contains("needs the user's consent"), "{told}");
            assert!(posts(&sim).is_empty());
        } else {
            assert_eq!(structured(&result)["outcome"], "done");
        }
        let confirmed = json!({ "vm": vm, "confirm": true });
        let server = write_server_with(&sim, policy());
        structured(&call_on(server, "shutdown_vm", confirmed).await);
        assert_eq!(posts(&sim).len(), 1);
    }
}

#[tokio::test]
async fn a_request_that_the_ha_manager_has_not_taken_up_is_said_to_come() {
    let sim = start_with(107, |guest| guest.takes = Takes::UntilTold).await;
    let before = json!({ "vmid": 107, "status": "running", "qmpstatus": "running",
        "ha": { "managed": 1, "state": "started" } });
    sim.answer(Rule::get("/nodes/pve2/qemu/107/status/current").data(&before));
    let answer = answer(&sim, "shutdown_vm", json!({ "vm": "107", "wait_seconds": 0 })).await;
    assert_eq!((&answer["outcome"], &answer["ha"]), (&json!("requested"), &json!("started")));
    let told = notes(&answer);
    assert!(
        told.contains("HA state will become `stopped`") && told.contains("STOPS IT HARD"),
        "{told}"
    );
}
