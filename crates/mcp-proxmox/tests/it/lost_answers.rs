//! Writes whose answer is lost: by PVE itself, which says 596 or 599 when a connection inside the cluster breaks,
//! or on its way to us. PVE may have carried them out or not, and the answer of the tool says which it was.

use futures_util::future::join_all;
use pve_sim::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, Kind, Rule, Seen, Sim, State, Takes,
};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use serde_json::{Value, json};

use crate::{
    power::write_server,
    support::{connect, failed, notes, structured},
};

/// What is asked of a guest, and how the guest is before and after.
struct Case {
    tool: &'static str,
    more: Value,
    action: &'static str,
    guest: Guest,
    before: &'static str,
    after: &'static str,
}

/// Every action, on VMs and containers, each on a guest of its own.
fn cases() -> Vec<Case> {
    let plain = || json!({});
    let mut cases = Vec::new();
    let mut case = |tool, more, action, kind, (before, after): (&'static str, &'static str)| {
        let vmid = 100 + u32::try_from(cases.len()).unwrap();
        let node = if vmid % 2 == 0 { "pve1" } else { "pve2" };
        let guest = match kind {
            Kind::Qemu => Guest::vm(vmid, node, &format!("vm{vmid}")),
            Kind::Lxc => Guest::ct(vmid, node, &format!("ct{vmid}")),
        };
        let mut guest = if before == "stopped" { guest } else { guest.running(3600) };
        if before == "paused" {
            guest.state = State::Paused;
        }
        guest.takes = Takes::Polls(1);
        cases.push(Case { tool, more, action, guest, before, after });
    };
    for kind in [Kind::Qemu, Kind::Lxc] {
        case("start_vm", plain(), "start", kind, ("stopped", "running"));
        case("shutdown_vm", plain(), "shutdown", kind, ("running", "stopped"));
        case("stop_vm", plain(), "stop", kind, ("running", "stopped"));
        case("reboot_vm", plain(), "reboot", kind, ("running", "running"));
    }
    let vm = Kind::Qemu;
    case("reset_vm", plain(), "reset", vm, ("running", "running"));
    case("suspend_vm", plain(), "suspend", vm, ("running", "paused"));
    case("suspend_vm", json!({ "to_disk": true }), "suspend", vm, ("running", "hibernated"));
    case("resume_vm", plain(), "resume", vm, ("paused", "running"));
    // The HA manager is asked, whose task ends before anything is done.
    case("stop_vm", plain(), "stop", vm, ("running", "stopped"));
    cases.last_mut().unwrap().guest.ha = Some("started".to_owned());
    cases
}

/// How an answer is lost, and what is said of that.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Says(u16),
    /// A proxy in between gave up.
    Proxy,
    Cut,
}

impl Way {
    fn rule(self, post: Rule, carried_out: bool) -> Rule {
        let lost = match self {
            Self::Says(596) => post.status(596, "Connection timed out"),
            Self::Says(status) => post.status(status, "Too many redirections"),
            Self::Proxy => {
                let page = post.status(504, "Gateway Timeout").body("<html>");
                page.header("Content-Type", "text/html").header("Server", "nginx")
            }
            Self::Cut => post.status(200, "OK").lost(),
        };
        if carried_out { lost.carried_out() } else { lost }
    }

    fn told(self) -> String {
        match self {
            Self::Says(status) => format!("({status} "),
            Self::Proxy => "something other than the Proxmox VE API answered".to_owned(),
            Self::Cut => "the connection broke".to_owned(),
        }
    }
}

async fn world(guests: Vec<Guest>) -> Sim {
    let mut world = Cluster::of_nodes(Some("lab"), &["pve1", "pve2"]);
    world.guests = guests;
    world.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    Sim::start(world).await.unwrap()
}

fn path(guest: &Guest, action: &str) -> String {
    format!("/nodes/{}/{}/{}/status/{action}", guest.node, guest.kind.name(), guest.vmid)
}

/// What was asked after the write: its tasks and its state.
fn asked_after(requests: &[Seen], guest: &Guest, action: &str) -> (bool, bool) {
    let write = requests.iter().position(|seen| seen.path == path(guest, action)).unwrap();
    let later = &requests[write..];
    let tasks = format!("/nodes/{}/tasks?", guest.node);
    let vmid = format!("vmid={}", guest.vmid);
    let has_tasks =
        later.iter().any(|seen| seen.path.starts_with(&tasks) && seen.path.contains(&vmid));
    (has_tasks, later.iter().any(|seen| seen.path == path(guest, "current")))
}

/// Every case in one world in which answers are lost in this way, all at once.
async fn in_a_world(way: Way, carried_out: bool) {
    let cases = cases();
    let sim = world(cases.iter().map(|case| case.guest.clone()).collect()).await;
    for case in &cases {
        let post = Rule::post(&path(&case.guest, case.action));
        sim.answer(way.rule(post, carried_out).times(1));
    }
    let client = connect(write_server(&sim)).await;
    let calls = cases.iter().map(|case| {
        let mut arguments = case.more.clone();
        arguments["vm"] = json!(case.guest.vmid.to_string());
        let mut request = CallToolRequestParams::new(case.tool);
        request.arguments = arguments.as_object().cloned();
        client.call_tool(request)
    });
    let results: Vec<CallToolResult> =
        join_all(calls).await.into_iter().map(Result::unwrap).collect();
    let requests = sim.requests();
    for (case, result) in cases.iter().zip(&results) {
        let vmid = case.guest.vmid;
        let which = format!("{} {vmid}, {way:?}, carried out: {carried_out}", case.tool);
        let answer = structured(result);
        let told = notes(&answer);
        let (outcome, after) =
            if carried_out { ("done", case.after) } else { ("unknown", case.before) };
        assert_eq!(
            (&answer["outcome"], &answer["before"], &answer["after"]),
            (&json!(outcome), &json!(case.before), &json!(after)),
            "{which}: {answer}"
        );
        assert!(told.contains(&way.told()), "{which}: {told}");
        assert!(told.contains("nothing was sent again"), "{which}: {told}");
        let word = if carried_out { "its task was found" } else { "no task of ours was found" };
        assert!(told.contains(word), "{which}: {told}");
        let task = sim.change(|world| {
            let deeds: Vec<_> = world.deeds.iter().filter(|deed| deed.vmid == vmid).collect();
            assert_eq!(deeds.len(), usize::from(carried_out), "{which}: {deeds:?}");
            assert!(deeds.iter().all(|deed| deed.action == case.action), "{which}: {deeds:?}");
            let id = vmid.to_string();
            world.tasks.iter().find(|task| task.id == id).map(pve_sim::Task::upid)
        });
        assert_eq!(answer["task"].as_str(), task.as_deref(), "{which}");
        let is_write =
            |seen: &&Seen| seen.method == "POST" && seen.path.starts_with(&path(&case.guest, ""));
        assert_eq!(requests.iter().filter(is_write).count(), 1, "{which}: it was sent again");
        assert_eq!(asked_after(&requests, &case.guest, case.action), (true, true), "{which}");
    }
}

/// Thirteen cases, four ways, carried out or not.
#[tokio::test]
async fn q024_a_write_whose_answer_is_lost_is_sent_once_and_the_answer_says_whether_it_was_carried_out()
 {
    let ways = [Way::Says(596), Way::Says(599), Way::Proxy, Way::Cut];
    let worlds = ways.into_iter().flat_map(|way| [(way, true), (way, false)]);
    join_all(worlds.map(|(way, carried_out)| in_a_world(way, carried_out))).await;
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_and_whose_task_fails_has_failed_for_the_tasks_reason() {
    for way in [Way::Says(596), Way::Says(599), Way::Cut] {
        let mut failing = Guest::vm(108, "pve1", "failing");
        failing.start_fails = Some("storage 'nas' is not online".to_owned());
        let start = path(&failing, "start");
        let sim = world(vec![failing]).await;
        sim.answer(way.rule(Rule::post(&start), true));
        let told = failed(&crate::power::call(&sim, "start_vm", json!({ "vm": "108" })).await);
        assert!(told.contains("storage 'nas' is not online"), "{told}");
        assert!(told.contains("it is stopped"), "{told}");
        assert_eq!(crate::power::posts(&sim), [start]);
    }
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_and_whose_task_still_runs_is_said_to_be_sent_with_its_task() {
    for status in [596, 599] {
        let guest = Guest { takes: Takes::UntilTold, ..Guest::vm(101, "pve1", "db1") };
        let start = path(&guest, "start");
        let sim = world(vec![guest]).await;
        sim.answer(Way::Says(status).rule(Rule::post(&start), true));
        let arguments = json!({ "vm": "101", "wait_seconds": 0 });
        let answer = crate::power::answer(&sim, "start_vm", arguments).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("sent"), &json!("stopped")));
        let upid = sim.change(|world| world.tasks[0].upid());
        assert_eq!(answer["task"], json!(upid));
        assert_eq!(crate::power::posts(&sim), [start]);
    }
}

/// Whoever cannot look says so, instead of what a look would have told.
#[tokio::test]
async fn a_write_whose_answer_is_lost_and_whose_tasks_cannot_be_read_is_not_said_to_have_never_begun()
 {
    for readable_before in [true, false] {
        let sim = crate::power::start().await;
        let tasks = Rule::get("/nodes/pve1/tasks");
        sim.answer(tasks.clone().status(596, "Connection timed out"));
        if readable_before {
            // The first look is answered as ever.
            sim.answer(tasks.times(1));
        }
        sim.answer(Way::Says(599).rule(crate::power::on_100("suspend"), true));
        let answer = crate::power::answer(&sim, "suspend_vm", json!({ "vm": "100" })).await;
        assert_eq!(answer["outcome"], "unknown", "{answer}");
        let told = notes(&answer);
        assert!(
            told.contains("tasks could not be read") && !told.contains("never began"),
            "{told}"
        );
        assert!(told.contains("nothing was sent again"), "{told}");
        assert_eq!(crate::power::posts(&sim).len(), 1);
    }
}

/// A reset leaves no trace in the state of a VM: what ran before runs afterwards, whether it was reset or not.
#[tokio::test]
async fn a_reset_that_was_refused_or_failed_or_vanished_is_never_called_done() {
    let reset = crate::power::on_100("reset");
    let refused = json!({ "data": null, "message": "unable to find the monitor\n" });
    let sim = crate::power::start().await;
    sim.answer(reset.clone().status(500, "unable to find the monitor").body(refused.to_string()));
    let told = crate::power::failure(&sim, "reset_vm", json!({ "vm": "100" })).await;
    assert!(told.contains("unable to find the monitor"), "{told}");

    // It was locked between the look and the request: the task fails.
    let sim = crate::power::start().await;
    sim.change(|lab| lab.guest_mut(100).unwrap().lock = Some("backup".to_owned()));
    let free = json!({ "vmid": 100, "status": "running", "qmpstatus": "running" });
    sim.answer(Rule::get("/nodes/pve1/qemu/100/status/current").data(&free).times(1));
    let told = crate::power::failure(&sim, "reset_vm", json!({ "vm": "100" })).await;
    assert!(told.contains("VM is locked (backup)") && told.contains("it is running"), "{told}");

    let sim = crate::power::start().await;
    let upid = "UPID:pve1:00000001:00000001:6B0D1743:qmreset:100:root@pam!demo:";
    sim.answer(reset.data(&json!(upid)));
    let arguments = json!({ "vm": "100", "wait_seconds": 1 });
    let answer = crate::power::answer(&sim, "reset_vm", arguments).await;
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("unknown"), &json!("running")));
}
