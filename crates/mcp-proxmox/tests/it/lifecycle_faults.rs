//! Hundreds of calls that start and stop guests while connections are cut, answers come too late or never,
//! tasks take their time, guests move to another node, and the two hosts of the cluster go down in turn.
//!
//! The simulator counts: nothing was sent twice, no soft call was a hard one, and every answer told the
//! truth about the guest as it was when the answer came, and about what was sent: `done` is one deed whose task ended
//! well, and where nothing was sent there is none. `FAULT_CALLS` sets how many calls there are; `ci/full` makes
//! two thousand.

use std::{collections::HashMap, sync::Arc, time::Duration};

use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    tier::{Access, Level},
};
use pve_client::{Host as Address, Reader};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, Rule, Sim, State, Takes};
use rmcp::model::{CallToolRequestParams, CallToolResult};
use serde_json::json;

use crate::{
    door::{Door, Host},
    support::{connect, server, settings, text},
};

/// How many calls there are, where nobody wants another number. A multiple of the number of guests.
const CALLS: usize = 500;
const GUESTS: u32 = 20;
const TIMEOUT: Duration = Duration::from_millis(400);
const TOO_LATE: Duration = Duration::from_millis(700);

/// In one of how many calls a host goes down.
const FAIL_OVER: u64 = 50;

const TOOLS: [(&str, &str); 7] = [
    ("start_vm", "start"),
    ("shutdown_vm", "shutdown"),
    ("reboot_vm", "reboot"),
    ("stop_vm", "stop"),
    ("reset_vm", "reset"),
    ("suspend_vm", "suspend"),
    ("resume_vm", "resume"),
];

#[expect(clippy::disallowed_methods, reason = "whoever has the time asks for more calls")]
fn calls() -> usize {
    std::env::var("FAULT_CALLS").map_or(CALLS, |wanted| wanted.parse().unwrap())
}

/// Chance that is the same at every run.
pub struct Chance(u64);

impl Chance {
    /// What comes of this seed, which must not be zero.
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }
}

fn world() -> Cluster {
    let mut world = Cluster::of_nodes(Some("lab"), &["pve1", "pve2"]);
    world.guests = (0..GUESTS)
        .map(|nth| {
            let node = if nth % 2 == 0 { "pve1" } else { "pve2" };
            let mut guest = match nth % 4 {
                3 => Guest::ct(100 + nth, node, &format!("ct{nth}")),
                _ => Guest::vm(100 + nth, node, &format!("vm{nth}")),
            };
            guest.takes = if nth % 3 == 0 { Takes::Polls(nth % 4) } else { Takes::AtOnce };
            guest.deaf = nth % 7 == 5;
            if nth % 2 == 0 { guest.running(90_000) } else { guest }
        })
        .collect();
    world.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    world
}

/// A tool: mostly one for which the guest is in the right state.
fn any_or_fitting(sim: &Sim, chance: &mut Chance, vmid: u32) -> usize {
    let any = chance.index(TOOLS.len());
    match (chance.below(4), state(sim, vmid).as_str()) {
        (0, _) => any,
        (_, "stopped") => 0,
        (_, "paused" | "hibernated" | "prelaunch") => 6,
        (_, _) => 1 + any % 5,
    }
}

/// What goes wrong in the next call on this guest, if anything does.
fn trouble(sim: &Sim, chance: &mut Chance, vmid: u32, action: &str) {
    let (node, kind) = sim.change(|world| {
        let guest = world.guest(vmid).unwrap();
        (guest.node.clone(), guest.kind.name())
    });
    let guest = format!("/nodes/{node}/{kind}/{vmid}/status");
    let post = Rule::post(&format!("{guest}/{action}"));
    let get = match chance.below(4) {
        0 => Rule::get("/cluster/resources?type=vm"),
        1 => Rule::get(&format!("/nodes/{node}/tasks")),
        2 => Rule::get(&format!("/access/permissions?path=%2Fvms%2F{vmid}")),
        _ => Rule::get(&format!("{guest}/current")),
    };
    let at = chance.index(90);
    // What costs a call its whole search for the lost task is rarer than the rest.
    let rule = match chance.below(64) {
        0..=9 => post.lost(),
        10..=19 => post.cut_after(at),
        20..=22 => post.delay(TOO_LATE),
        23 => post.hang(),
        24 => post.status(599, "Too many redirections"),
        25 => post.status(596, "Connection timed out"),
        26..=31 => get.lost(),
        32..=37 => get.cut_after(at),
        38..=39 => get.delay(TOO_LATE),
        40..=42 => get.status(595, "No route to host"),
        _ => return,
    };
    sim.answer(rule.times(1));
}

/// One host goes down, with all that is under way there, and the other is up; seldom, both are down.
fn fail_over(hosts: &[Host; 2], chance: &mut Chance) {
    let [up, down] = if chance.below(2) == 0 { [0, 1] } else { [1, 0] };
    hosts[up].set(if chance.below(8) == 0 { Door::Shut } else { Door::Open });
    hosts[down].set(Door::Shut);
}

/// The guest's state in the words of the answers.
fn state(sim: &Sim, vmid: u32) -> String {
    sim.change(|world| {
        let guest = world.guest(vmid).unwrap();
        match (guest.state, guest.lock.as_deref()) {
            (State::Stopped, Some("suspended")) => "hibernated",
            (State::Stopped, _) => "stopped",
            (State::Paused, _) => "paused",
            (State::Prelaunch, _) => "prelaunch",
            (State::IoError, _) => "io-error",
            (State::Running, _) => "running",
        }
        .to_owned()
    })
}

/// Whether a guest in this state is as the tool was to make it.
fn is_done(tool: &str, state: &str) -> bool {
    match tool {
        "start_vm" | "reboot_vm" | "resume_vm" => state == "running",
        "reset_vm" => ["running", "paused", "prelaunch"].contains(&state),
        "shutdown_vm" | "stop_vm" => state == "stopped" || state == "hibernated",
        _ => state == "paused" || state == "hibernated",
    }
}

/// Checks an answer against the world, and says what it was.
pub fn judge(sim: &Sim, tool: &str, vmid: u32, result: &CallToolResult) -> String {
    let is = state(sim, vmid);
    let told = text(result);
    if result.is_error == Some(true) {
        for word in ["running", "stopped", "paused", "hibernated"] {
            let claims = told.contains(&format!("; it is {word}"));
            assert!(!claims || is == word, "{tool} {vmid}: it is {is}, and was said: {told}");
        }
        let before = told.contains("nothing was sent")
            || told.starts_with("could not find")
            || told.starts_with("could not read");
        return if before { "refused" } else { "failed" }.to_owned();
    }
    let answer = result.structured_content.as_ref().unwrap();
    let outcome = answer["outcome"].as_str().unwrap();
    if let Some(after) = answer["after"].as_str() {
        assert_eq!(after, is, "{tool} {vmid}: {answer}");
    }
    if ["done", "already"].contains(&outcome) {
        assert!(is_done(tool, &is), "{tool} {vmid}: it is {is}, and was said: {answer}");
    }
    outcome.to_owned()
}

/// Checks an answer against what was sent and done for it.
fn judge_deeds(
    world: &Cluster,
    (tool, outcome): (&str, &str),
    result: &CallToolResult,
    new: &[&pve_sim::Deed],
    n_posts: usize,
) {
    let told = text(result);
    let which = format!("{tool}: {new:?} and {n_posts} requests, and was said: {told}");
    assert!(n_posts <= 1, "sent twice: {which}");
    if told.replace("nothing was sent again", "").contains("nothing was sent") {
        assert!(new.is_empty() && n_posts == 0, "something was sent: {which}");
    }
    if told.contains("probably never began") {
        assert!(new.is_empty(), "it began: {which}");
    }
    if outcome == "done" {
        assert_eq!(new.len(), 1, "nothing was done: {which}");
        let answer = result.structured_content.as_ref().unwrap();
        let is_ours = |task: &&pve_sim::Task| answer["task"] == json!(task.upid());
        let is_fine = world.tasks.iter().find(is_ours).is_some_and(pve_sim::Task::is_fine);
        // What is as it should be in spite of its task is said to be so. A guest that runs shows neither.
        let needs_task = ["reset_vm", "reboot_vm"].contains(&tool);
        let in_spite = told.contains("the task failed, but") && !needs_task;
        assert!(is_fine || in_spite, "its task did not end well: {which}");
    }
}

/// How many writes came in for a guest.
fn posts_to(sim: &Sim, vmid: u32) -> usize {
    let vmid = vmid.to_string();
    sim.n_requests(|seen| seen.method == "POST" && seen.path.split('/').nth(4) == Some(&vmid))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_under_fire_send_nothing_twice_and_tell_the_truth() {
    let calls = calls();
    let sim = Arc::new(Sim::start(world()).await.unwrap());
    let hosts = Arc::new([Host::of(&sim).await, Host::of(&sim).await]);
    let mut settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    settings.hosts = hosts.iter().map(|host| Address::new("127.0.0.1", host.port())).collect();
    settings.request_timeout = TIMEOUT;
    let access = Access::new(Level::Write, Reader::new(settings));
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    let client = Arc::new(connect(server(access).under(Arc::new(policy))).await);
    let workers = (0..GUESTS).map(|nth| {
        let (sim, client, hosts) = (Arc::clone(&sim), Arc::clone(&client), Arc::clone(&hosts));
        tokio::spawn(async move {
            let vmid = 100 + nth;
            let mut chance = Chance(0x9E37_79B9_7F4A_7C15 ^ (u64::from(nth) << 32) ^ 0xABCD);
            let mut outcomes: HashMap<String, usize> = HashMap::new();
            // What was sent and done so far: what comes late counts too, for the call in which it is seen.
            let (mut n_posts, mut n_deeds) = (0, 0);
            for _ in 0..calls / GUESTS as usize {
                let (tool, action) = TOOLS[any_or_fitting(&sim, &mut chance, vmid)];
                trouble(&sim, &mut chance, vmid, action);
                if chance.below(FAIL_OVER) == 0 {
                    fail_over(&hosts, &mut chance);
                }
                if chance.below(20) == 0 {
                    // The HA manager brought it to the other node.
                    sim.change(|world| {
                        let guest = world.guest_mut(vmid).unwrap();
                        guest.node = if guest.node == "pve1" { "pve2" } else { "pve1" }.to_owned();
                    });
                }
                let mut request = CallToolRequestParams::new(tool);
                let arguments = json!({ "vm": vmid.to_string(), "wait_seconds": 5 });
                request.arguments = arguments.as_object().cloned();
                let result = client.call_tool(request).await.unwrap();
                let outcome = judge(&sim, tool, vmid, &result);
                let n_posts_before = std::mem::replace(&mut n_posts, posts_to(&sim, vmid));
                sim.change(|world| {
                    let new: Vec<_> = deeds(world, vmid).skip(n_deeds).collect();
                    n_deeds += new.len();
                    judge_deeds(world, (tool, &outcome), &result, &new, n_posts - n_posts_before);
                    assert!(new.len() <= 1, "{tool} {vmid} was carried out twice: {new:?}");
                    let may_be_hard = tool == "stop_vm" || tool == "reset_vm";
                    assert!(
                        new.iter().all(|deed| may_be_hard || !deed.hard),
                        "{tool} was hard: {new:?}"
                    );
                    assert!(new.iter().all(|deed| deed.action == action), "{tool}: {new:?}");
                });
                *outcomes.entry(outcome).or_default() += 1;
            }
            (vmid, outcomes, n_deeds)
        })
    });
    let mut sent: HashMap<u32, usize> = HashMap::new();
    let mut all: HashMap<String, usize> = HashMap::new();
    for worker in workers.collect::<Vec<_>>() {
        let (vmid, outcomes, n_deeds) = worker.await.unwrap();
        let n_in_the_end = sim.change(|world| deeds(world, vmid).count());
        assert_eq!(n_in_the_end, n_deeds, "{vmid}: something was done that no call was seen to do");
        let n_sent = outcomes.iter().filter(|(outcome, _)| *outcome != "refused");
        sent.insert(vmid, n_sent.map(|(_, n)| n).sum());
        for (outcome, n) in outcomes {
            *all.entry(outcome).or_default() += n;
        }
    }
    println!("{all:?}");
    let mut posts: HashMap<u32, usize> = HashMap::new();
    for seen in sim.requests().iter().filter(|seen| seen.method == "POST") {
        let vmid = seen.path.split('/').nth(4).unwrap().parse().unwrap();
        assert!(!seen.body.contains("forceStop"), "{seen:?}");
        *posts.entry(vmid).or_default() += 1;
    }
    for (vmid, n_posts) in posts {
        assert!(n_posts <= sent[&vmid], "{vmid}: {n_posts} requests for {} calls", sent[&vmid]);
    }
    let through = hosts.each_ref().map(Host::n_through);
    assert!(through.iter().all(|n| *n > calls / 20), "both hosts were asked: {through:?}");
    // The test tests something: most calls got through, and some did not.
    assert!(all.get("done").is_some_and(|n| *n > calls / 10), "{all:?}");
    assert!(all.get("unknown").is_some_and(|n| *n > 0), "{all:?}");
}

pub fn deeds(world: &Cluster, vmid: u32) -> impl Iterator<Item = &pve_sim::Deed> {
    world.deeds.iter().filter(move |deed| deed.vmid == vmid)
}

#[tokio::test]
async fn a_request_that_pve_is_slow_to_answer_is_said_to_be_what_took_so_long() {
    let sim = crate::power::start().await;
    let slow = Duration::from_millis(1200);
    sim.answer(crate::power::on_100("stop").delay(slow).times(1));
    let arguments = serde_json::json!({ "vm": "100", "wait_seconds": 1 });
    let result = crate::power::call(&sim, "stop_vm", arguments).await;
    let told = serde_json::to_string(&result).unwrap();
    assert!(told.contains("sending the request alone took 1s"), "{told}");
}
