//! `start_vm`, and what all tools of its kind do alike.

use pve_sim::{Guest, Rule, Sim, State, Takes, Task};
use serde_json::{Value, json};

use crate::{
    power::{answer, call, failure, lab, posts, refusal, start, start_with, write_server},
    support::{connect, notes, structured},
};

const START: &str = "/nodes/pve1/qemu/101/status/start";

#[tokio::test]
async fn a_stopped_guest_is_started_and_its_state_is_read_afterwards() {
    for (vm, kind) in [("101", "qmstart"), ("ct2", "vzstart")] {
        let sim = start().await;
        let answer = answer(&sim, "start_vm", json!({ "vm": vm })).await;
        assert_eq!(
            (&answer["outcome"], &answer["before"], &answer["after"], &answer["task_result"]),
            (&json!("done"), &json!("stopped"), &json!("running"), &json!("OK"))
        );
        assert!(answer["task"].as_str().unwrap().contains(kind), "{answer}");
        assert!(answer["took"].is_string());
        assert_eq!(posts(&sim).len(), 1);
    }
}

#[tokio::test]
async fn q131_a_guest_that_runs_already_is_as_it_should_be_and_nothing_is_sent() {
    for vm in ["100", "120"] {
        let sim = start().await;
        let answer = answer(&sim, "start_vm", json!({ "vm": vm })).await;
        assert_eq!((&answer["outcome"], &answer["before"]), (&json!("already"), &json!("running")));
        assert!(posts(&sim).is_empty());
    }
    // It was started by somebody else between the look and the request: a VM's task fails, a container
    // refuses at once.
    for (vm, path) in [("100", "/nodes/pve1/qemu/100"), ("120", "/nodes/pve1/lxc/120")] {
        let sim = start().await;
        let stopped = json!({ "vmid": vm, "status": "stopped", "qmpstatus": "stopped" });
        sim.answer(Rule::get(&format!("{path}/status/current")).data(&stopped).times(1));
        let answer = answer(&sim, "start_vm", json!({ "vm": vm })).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("already"), &json!("running")));
        assert_eq!(posts(&sim).len(), 1);
    }
}

#[tokio::test]
async fn a_hibernated_vm_is_woken() {
    let sim = start().await;
    let answer = answer(&sim, "start_vm", json!({ "vm": "hibernated" })).await;
    assert_eq!(
        (&answer["outcome"], &answer["before"], &answer["after"]),
        (&json!("done"), &json!("hibernated"), &json!("running"))
    );
}

#[tokio::test]
async fn q141_a_template_is_refused_before_anything_is_sent() {
    let sim = start().await;
    let told = refusal(&sim, "start_vm", json!({ "vm": "102" })).await;
    assert!(told.contains("template"), "{told}");
}

#[tokio::test]
async fn a_paused_a_broken_and_a_locked_guest_are_refused_with_the_next_step() {
    let sim = start().await;
    let told = refusal(&sim, "start_vm", json!({ "vm": "103" })).await;
    assert!(told.contains("paused") && told.contains("resume_vm"), "{told}");
    let told = refusal(&sim, "start_vm", json!({ "vm": "106" })).await;
    assert!(told.contains("I/O error") && told.contains("storage"), "{told}");
    let stopped = start_with(105, |guest| guest.state = State::Stopped).await;
    let told = refusal(&stopped, "start_vm", json!({ "vm": "105" })).await;
    assert!(told.contains("locked (backup) by vzdump of root@pam since 2026-11-30T"), "{told}");
    assert!(told.contains("still runs") && told.contains("UPID:pve1:"), "{told}");
    let prelaunch = start_with(105, |guest| guest.state = State::Prelaunch).await;
    let told = refusal(&prelaunch, "start_vm", json!({ "vm": "105" })).await;
    assert!(told.contains("back it up"), "{told}");
}

#[tokio::test]
async fn a_stale_lock_is_called_so_and_never_taken_off() {
    let sim = start_with(105, |guest| guest.state = State::Stopped).await;
    sim.change(|lab| {
        let task = &mut lab.tasks[0];
        (task.endtime, task.status) = (Some(task.starttime + 60), "unexpected status".to_owned());
    });
    let told = refusal(&sim, "start_vm", json!({ "vm": "105" })).await;
    assert!(told.contains("ended at 2026-11-30T") && told.contains("stale"), "{told}");
    assert!(told.contains("`qm unlock 105` on pve1") && told.contains("never unlocks"), "{told}");
    sim.change(|lab| lab.tasks.clear());
    let told = refusal(&sim, "start_vm", json!({ "vm": "105" })).await;
    assert!(told.contains("no task that this token can see"), "{told}");
    assert!(told.contains("`qm unlock 105` on pve1"), "{told}");
    // Containers are unlocked by another command, on their own node.
    sim.change(|lab| {
        lab.guest_mut(121).unwrap().lock = Some("snapshot".to_owned());
        let task = ("pve2", "vzsnapshot", "121", "root@pam", (1_796_020_000, 1_796_020_060));
        lab.tasks = vec![Task::ended(task.0, task.1, task.2, task.3, task.4, "unexpected status")];
    });
    let told = refusal(&sim, "start_vm", json!({ "vm": "121" })).await;
    assert!(told.contains("locked (snapshot) by vzsnapshot") && told.contains("stale"), "{told}");
    assert!(told.contains("`pct unlock 121` on pve2") && !told.contains("qm unlock"), "{told}");
}

#[tokio::test]
async fn without_quorum_nothing_is_started() {
    let sim = start().await;
    sim.change(|lab| lab.quorate = false);
    let told = refusal(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert!(told.contains("no quorum"), "{told}");
    // A token that may not see the quorum is told by PVE itself.
    sim.answer(Rule::get("/cluster/status").status(403, "Permission check failed (/, Sys.Audit)"));
    let told = failure(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert!(told.contains("no quorum"), "{told}");
    assert_eq!(posts(&sim), [START]);
}

#[tokio::test]
async fn a_guest_of_a_dead_node_is_refused() {
    let sim = start().await;
    sim.change(|lab| lab.node_mut("pve2").unwrap().online = false);
    let told = refusal(&sim, "start_vm", json!({ "vm": "121" })).await;
    assert!(told.contains("pve2") && told.contains("offline"), "{told}");
}

#[tokio::test]
async fn a_task_that_is_at_work_on_the_guest_comes_first() {
    let sim = start().await;
    let migration = Task::ended("pve1", "qmigrate", "101", "admin@pve", (1_796_020_100, 0), "");
    sim.change(|lab| lab.tasks.push(migration.still_running()));
    let told = refusal(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert!(told.contains("qmigrate of admin@pve since"), "{told}");
    // An open console is nobody's work.
    let console = Task::ended("pve1", "vncproxy", "101", "admin@pve", (1_796_020_100, 0), "");
    sim.change(|lab| lab.tasks = vec![console.still_running()]);
    assert_eq!(answer(&sim, "start_vm", json!({ "vm": "101" })).await["outcome"], "done");
}

#[tokio::test]
async fn a_start_that_fails_says_why_and_how_the_guest_is() {
    let sim = start().await;
    let told = failure(&sim, "start_vm", json!({ "vm": "failing" })).await;
    assert!(
        told.contains("storage 'nas' is not online") && told.contains("it is stopped"),
        "{told}"
    );
    assert!(told.contains("list_storage") && told.contains("UPID:pve2:"), "{told}");
    assert_eq!(posts(&sim).len(), 1);
}

#[tokio::test]
async fn warnings_of_the_task_are_told() {
    let sim = start_with(121, |guest| guest.warns = Some("Systemd 257 detected.".to_owned())).await;
    let answer = answer(&sim, "start_vm", json!({ "vm": "121" })).await;
    assert_eq!(
        (&answer["outcome"], &answer["task_result"]),
        (&json!("done"), &json!("WARNINGS: 1"))
    );
    assert_eq!(answer["warnings"], json!(["WARN: Systemd 257 detected."]));
}

#[tokio::test]
async fn it_took_as_long_as_its_task_and_no_longer_than_the_call() {
    let sim = start_with(101, |guest| guest.takes = Takes::Seconds(2)).await;
    let began = std::time::Instant::now();
    let started = answer(&sim, "start_vm", json!({ "vm": "101" })).await;
    let call = began.elapsed().as_secs();
    let took = started["took"].as_str().unwrap().strip_suffix('s').unwrap();
    let took: u64 = took.parse().unwrap();
    assert!((2..=call).contains(&took), "{started} in a call of {call} s");
    let task = sim.change(|lab| lab.tasks.last().unwrap().clone());
    // The task counts in whole seconds of the clock, so that one may be missing of the last.
    let of_task = task.endtime.unwrap() - task.starttime;
    assert!(of_task >= 1 && took + 1 >= of_task, "{started}, and the task took {of_task} s");
    let again = answer(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert_eq!((&again["outcome"], again.get("took")), (&json!("already"), None));
}

#[tokio::test]
async fn an_ha_managed_guest_is_followed_itself_and_not_its_task() {
    let mut lab = lab();
    let managed = lab.guest_mut(107).unwrap();
    *managed = Guest {
        ha: Some("stopped".to_owned()),
        takes: Takes::Polls(3),
        ..Guest::vm(107, "pve2", "managed")
    };
    let sim = Sim::start(lab).await.unwrap();
    let answer = answer(&sim, "start_vm", json!({ "vm": "107" })).await;
    assert!(answer["task"].as_str().unwrap().contains(":hastart:"), "{answer}");
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("running")));
}

#[tokio::test]
async fn an_ha_state_of_error_is_refused() {
    let sim = start_with(107, |guest| {
        guest.ha = Some("error".to_owned());
        guest.state = State::Stopped;
    })
    .await;
    let told = refusal(&sim, "start_vm", json!({ "vm": "107" })).await;
    assert!(told.contains("HA state `error`"), "{told}");
}

#[tokio::test]
async fn whoever_does_not_want_to_wait_gets_the_task() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let answer = answer(&sim, "start_vm", json!({ "vm": "101", "wait_seconds": 0 })).await;
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("sent"), &json!("stopped")));
    assert!(notes(&answer).contains("sent; not waited for"), "{answer}");
    assert!(notes(&answer).contains("get_task"), "{answer}");
    // The next call finds the task, and sends nothing.
    sim.forget_requests();
    let told = refusal(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert!(told.contains("qmstart of root@pam!demo since"), "{told}");
}

#[tokio::test]
async fn a_dry_run_checks_everything_and_sends_nothing() {
    let sim = start().await;
    let answer = answer(&sim, "start_vm", json!({ "vm": "101", "dry_run": true })).await;
    assert_eq!(answer["outcome"], "dry_run");
    assert_eq!(answer["would_send"], format!("POST {START}"));
    assert!(posts(&sim).is_empty());
    let told = refusal(&sim, "start_vm", json!({ "vm": "102", "dry_run": true })).await;
    assert!(told.contains("template"), "{told}");
}

#[tokio::test]
async fn a_lost_answer_is_made_up_for_by_the_task_and_never_by_sending_again() {
    for rule in
        [Rule::post(START).lost(), Rule::post(START).cut_after(20), Rule::post(START).cut_after(0)]
    {
        let sim = start().await;
        sim.answer(rule);
        let answer = answer(&sim, "start_vm", json!({ "vm": "101" })).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("running")));
        assert!(notes(&answer).contains("its task was found"), "{answer}");
        assert_eq!(posts(&sim), [START], "it was sent again");
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_with_its_request_leaves_the_outcome_open() {
    for status in [596, 599] {
        let sim = start().await;
        sim.answer(Rule::post(START).status(status, "Too many redirections"));
        // Somebody else's task of the same kind, and an old one of ours, are not ours.
        sim.answer(Rule::get("/nodes/pve1/tasks").data(&json!([
            { "upid": "UPID:pve1:00000001:00000001:7FFFFFFF:qmstart:101:admin@pve:", "user": "admin@pve",
              "type": "qmstart", "id": "101", "node": "pve1", "starttime": 2_147_483_647, "endtime": 2_147_483_647, "status": "OK" },
            { "upid": "UPID:pve1:00000002:00000001:6B000001:qmstart:101:root@pam!demo:", "user": "root@pam", "tokenid": "demo",
              "type": "qmstart", "id": "101", "node": "pve1", "starttime": 1_795_162_113, "endtime": 1_795_162_113, "status": "OK" },
        ])));
        let answer = answer(&sim, "start_vm", json!({ "vm": "101" })).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("unknown"), &json!("stopped")));
        assert!(notes(&answer).contains("nothing was sent again"), "{answer}");
        assert_eq!(posts(&sim), [START], "{status}: it was sent again");
    }
}

#[tokio::test]
async fn a_task_that_was_killed_or_has_vanished_is_judged_by_the_guest() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let client = connect(write_server(&sim)).await;
    let calling = tokio::spawn(async move {
        let mut request = rmcp::model::CallToolRequestParams::new("start_vm");
        request.arguments = json!({ "vm": "101" }).as_object().cloned();
        client.call_tool(request).await.unwrap()
    });
    while posts(&sim).is_empty() {
        tokio::task::yield_now().await;
    }
    sim.change(pve_sim::Cluster::kill_tasks);
    let told = crate::support::failed(&calling.await.unwrap());
    assert!(told.contains("killed") && told.contains("it is stopped"), "{told}");

    let sim = start().await;
    sim.answer(
        Rule::post(START)
            .data(&json!("UPID:pve1:00000001:00000001:6B0D1743:qmstart:101:root@pam!demo:")),
    );
    let answer = answer(&sim, "start_vm", json!({ "vm": "101", "wait_seconds": 1 })).await;
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("unknown"), &json!("stopped")));
}

#[tokio::test]
async fn two_calls_on_one_guest_send_one_request() {
    let sim = start().await;
    let client = connect(write_server(&sim)).await;
    let request = || {
        let mut request = rmcp::model::CallToolRequestParams::new("start_vm");
        request.arguments = json!({ "vm": "101" }).as_object().cloned();
        client.call_tool(request)
    };
    let (first, second) = tokio::join!(request(), request());
    let outcomes =
        [first.unwrap(), second.unwrap()].map(|result| structured(&result)["outcome"].clone());
    assert!(
        outcomes.contains(&json!("done")) && outcomes.contains(&json!("already")),
        "{outcomes:?}"
    );
    assert_eq!(posts(&sim), [START]);
}

/// Nobody means two reboots by two calls at once, of which the second finds the guest as it should be.
#[tokio::test]
async fn two_reboots_or_resets_at_once_are_one() {
    for (tool, path) in [("reboot_vm", "reboot timeout=60"), ("reset_vm", "reset")] {
        let sim = start().await;
        let path = format!("/nodes/pve1/qemu/100/status/{path}");
        let slow = Rule::post(path.split(' ').next().unwrap());
        sim.answer(slow.delay(std::time::Duration::from_millis(400)).times(1));
        let client = connect(write_server(&sim)).await;
        let request = || {
            let mut request = rmcp::model::CallToolRequestParams::new(tool);
            request.arguments = json!({ "vm": "100" }).as_object().cloned();
            client.call_tool(request)
        };
        let (first, second) = tokio::join!(request(), request());
        let mut results = [first.unwrap(), second.unwrap()];
        results.sort_by_key(|result| result.is_error == Some(true));
        assert_eq!(structured(&results[0])["outcome"], "done");
        let told = crate::support::failed(&results[1]);
        assert!(told.contains("another call has just done this to `app1`"), "{told}");
        assert!(told.contains("qm") && told.contains("call again"), "{told}");
        assert_eq!(posts(&sim), [path]);
        // Whoever means it calls again.
        assert_eq!(structured(&request().await.unwrap())["outcome"], "done");
    }
}

/// While one call acts, another does not answer by the state that is about to end.
#[tokio::test]
async fn an_opposite_call_is_judged_after_the_first_has_ended() {
    let sim = start().await;
    // Its task is not there before the request is answered.
    sim.answer(Rule::post(START).delay(std::time::Duration::from_millis(400)).times(1));
    let client = connect(write_server(&sim)).await;
    let request = |tool: &'static str| {
        let mut request = rmcp::model::CallToolRequestParams::new(tool);
        request.arguments = json!({ "vm": "101" }).as_object().cloned();
        client.call_tool(request)
    };
    let (first, second) = tokio::join!(request("start_vm"), async {
        while posts(&sim).is_empty() {
            tokio::task::yield_now().await;
        }
        request("stop_vm").await
    });
    assert_eq!(structured(&first.unwrap())["outcome"], "done");
    let second = second.unwrap();
    assert_eq!(structured(&second)["outcome"], "done", "{second:?}");
    assert_eq!(posts(&sim), [START, "/nodes/pve1/qemu/101/status/stop"]);
    assert!(!sim.change(|lab| lab.guest(101).unwrap().is_up()));
}

/// A guest that is being started is not said to be stopped by any tool.
#[tokio::test]
async fn a_start_under_way_is_named_by_every_other_tool() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let answer = answer(&sim, "start_vm", json!({ "vm": "101", "wait_seconds": 0 })).await;
    assert_eq!(answer["outcome"], "sent");
    for tool in
        ["start_vm", "shutdown_vm", "reboot_vm", "stop_vm", "reset_vm", "suspend_vm", "resume_vm"]
    {
        let told = failure(&sim, tool, json!({ "vm": "101" })).await;
        assert!(told.contains("qmstart"), "{tool}: {told}");
    }
}

/// What could not be read is not said to run.
#[tokio::test]
async fn a_task_that_cannot_be_read_is_unknown() {
    let sim = start_with(100, |guest| guest.takes = Takes::UntilTold).await;
    sim.answer(Rule::under("/nodes/pve1/tasks/").status(596, "Connection timed out"));
    let arguments = json!({ "vm": "100", "wait_seconds": 1 });
    let answer = answer(&sim, "shutdown_vm", arguments).await;
    assert_eq!(answer["outcome"], "unknown", "{answer}");
    assert!(notes(&answer).contains("could not be read at the end"), "{answer}");
    assert!(answer["task"].as_str().unwrap().contains(":qmshutdown:100:"), "{answer}");
}

#[tokio::test]
async fn calls_on_two_guests_go_side_by_side() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let client = connect(write_server(&sim)).await;
    let request = |vm: &str| {
        let mut request = rmcp::model::CallToolRequestParams::new("start_vm");
        request.arguments = json!({ "vm": vm }).as_object().cloned();
        client.call_tool(request)
    };
    // The first is not over before the second is.
    let (first, ()) = tokio::join!(request("101"), async {
        while posts(&sim).is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(structured(&request("121").await.unwrap())["outcome"], "done");
        sim.change(pve_sim::Cluster::finish_tasks);
    });
    assert_eq!(structured(&first.unwrap())["outcome"], "done");
}

#[tokio::test]
async fn nobody_waits_longer_than_a_client_does() {
    let sim = start().await;
    let told = failure(&sim, "start_vm", json!({ "vm": "101", "wait_seconds": 46 })).await;
    assert!(told.contains("`wait_seconds` must be a whole number from 0 to 45, not 46"), "{told}");
    assert!(posts(&sim).is_empty());
}

#[tokio::test]
async fn a_token_without_the_right_is_told_which_one_it_lacks() {
    let sim = start().await;
    sim.answer(Rule::get("/access/permissions").data(&json!({ "/vms/101": { "VM.Audit": 1 } })));
    let told = refusal(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert!(told.contains("VM.PowerMgmt on /vms/101") && told.contains("pveum"), "{told}");
}

#[tokio::test]
async fn a_write_that_was_carried_out_although_its_answer_was_lost_is_not_sent_again() {
    let sim = start().await;
    // PVE carried it out, and answers with 599 all the same.
    let client = connect(write_server(&sim)).await;
    sim.answer(Rule::post(START).lost().times(1));
    let mut request = rmcp::model::CallToolRequestParams::new("start_vm");
    request.arguments = json!({ "vm": "101" }).as_object().cloned();
    let answer: Value = structured(&client.call_tool(request).await.unwrap());
    assert_eq!(answer["after"], "running");
    assert_eq!(sim.change(|lab| lab.deeds.len()), 1);
    let _ = call(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert_eq!(sim.change(|lab| lab.deeds.len()), 1, "it runs already");
}
