//! Everything that can go wrong between us and PVE, under every tool: each answer comes in its time, is true or
//! says what is missing, and gives nothing away; and afterwards no connection and no task is left.
//!
//! `MCP_PROXMOX_FAULTS` sets how many faults must have struck, `MCP_PROXMOX_FAULT_SEED` which they are; a failure
//! names both. A call whose fault struck no connection of its does not count: it is made, and one more after it.

mod coming_back;
mod each_byte;
mod fault;
mod memory;
mod silence;
mod truth;
mod way;
pub mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use mcp_proxmox::catalog;
use pve_sim::{DEMO_TOKEN_SECRET, Sim, State};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use self::{
    fault::{Fault, any_fault, may_change_words},
    truth::{Places, lie, moving, places},
    way::Bad,
    world::{Servers, World, call, client},
};
use crate::{
    lifecycle_faults::{Chance, deeds, judge},
    process::number,
    support::text,
};

/// How many faults strike where nothing else is said.
const FAULTS: usize = 135;
/// After how many calls for each of them it is given up: nothing strikes any more.
const CALLS_FOR_ONE: usize = 20;
const SEED: u64 = 0x5EED_FA17;

/// How long a request may take. Most faults end there.
const TIMEOUT: Duration = Duration::from_millis(600);
/// How many calls are made at once, so that the machine is busy with waiting alone.
const AT_ONCE: usize = 8;
/// How long any call may take, whatever happens: it has several requests to make, one after the other.
const BOUND: Duration = Duration::from_secs(25);

/// The guest that is started and stopped.
const GUEST: u32 = 100;

/// Each tool, with arguments and what it does to a guest.
pub const TOOLS: &[(&str, &str, &str)] = &[
    ("get_cluster_health", "{}", ""),
    ("list_vms", r#"{"exact":true}"#, ""),
    ("get_vm_status", r#"{"vm":"100"}"#, ""),
    ("get_vm_details", r#"{"vm":"100"}"#, ""),
    ("list_nodes", "{}", ""),
    ("get_node_status", r#"{"node":"pve1"}"#, ""),
    ("list_storage", r#"{"live":true}"#, ""),
    ("get_storage_status", r#"{"storage":"pbs"}"#, ""),
    ("get_metrics", r#"{"vm":"100"}"#, ""),
    ("get_metrics_chart", r#"{"vm":"100"}"#, ""),
    ("get_access", "{}", ""),
    ("list_networks", "{}", ""),
    ("get_network_stats", r#"{"node":"pve1"}"#, ""),
    ("get_vm_console", r#"{"vm":"200","listen_seconds":1}"#, ""),
    ("get_vm_screenshot", r#"{"vm":"100","max_width":320}"#, ""),
    ("list_tasks", "{}", ""),
    ("get_task", r#"{"upid":"$UPID"}"#, ""),
    ("get_system_log", r#"{"node":"pve1","limit":20}"#, ""),
    ("search_logs", r#"{"pattern":"error","since":"24h"}"#, ""),
    ("start_vm", r#"{"vm":"100","wait_seconds":2}"#, "start"),
    ("shutdown_vm", r#"{"vm":"100","wait_seconds":2}"#, "shutdown"),
    ("reboot_vm", r#"{"vm":"100","wait_seconds":2}"#, "reboot"),
    ("suspend_vm", r#"{"vm":"100","wait_seconds":2}"#, "suspend"),
    ("resume_vm", r#"{"vm":"100","wait_seconds":2}"#, "resume"),
    ("stop_vm", r#"{"vm":"100","wait_seconds":2}"#, "stop"),
    ("reset_vm", r#"{"vm":"100","wait_seconds":2}"#, "reset"),
    ("send_vm_keys", r#"{"vm":"200","keys":["enter"],"listen_seconds":1}"#, ""),
];

/// Tools whose answers are pictures, or are of the very moment: there is no second true answer to compare.
const OF_THE_MOMENT: &[&str] =
    &["get_metrics_chart", "get_vm_console", "get_vm_screenshot", "send_vm_keys"];

/// What no answer holds, whatever went wrong.
pub fn gives_nothing_away(told: &str) {
    let secrets = [DEMO_TOKEN_SECRET, "PVEAPIToken", "PVEVNC:", "vncticket", "PVETERM"];
    for secret in secrets {
        assert!(!told.contains(secret), "`{secret}` is in: {told}");
    }
    for word in ["hit a bug", "panicked", "hyper::", "TlsProblem", "Some(", "os error"] {
        assert!(!told.contains(word), "`{word}` is in: {told}");
    }
}

/// What there was of a tool's calls.
#[derive(Default)]
struct Tally {
    calls: usize,
    /// Calls whose fault struck a connection.
    struck: usize,
    whole: usize,
    partial: usize,
    failed: usize,
    slowest: Duration,
    lies: Vec<String>,
}

/// Calls of one tool until so many faults have struck.
async fn under_faults(
    (tool, arguments, action): (&'static str, &str, &'static str),
    n_faults: usize,
    seed: u64,
    (at_once, servers): (&Semaphore, &Servers),
) -> (&'static str, Tally) {
    let place = at_once.acquire().await.unwrap();
    let world = World::new(servers).await;
    let upid = world.sim.change(|cluster| cluster.tasks[0].upid());
    let arguments: Value = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
    let mut chance = Chance::of(seed);
    let patient = client(servers, &world.sim, world.way.port(), Duration::from_secs(35)).await;
    ready(&world.sim, action);
    let first = call(&patient, tool, &arguments).await;
    assert_ne!(first.is_error, Some(true), "{tool}: {}", text(&first));
    let asked = world.sim.requests();
    let compares = action.is_empty() && !OF_THE_MOMENT.contains(&tool);
    let second = if compares { Some(call(&patient, tool, &arguments).await) } else { None };
    let (truth, moving) = second.map(|second| truth(&first, &second)).unwrap_or_default();
    patient.cancel().await.unwrap();
    drop(place);
    let mut tally = Tally::default();
    while tally.struck < n_faults {
        let nth = tally.calls;
        assert!(nth < n_faults * CALLS_FOR_ONE, "{tool}: {} of {nth} faults struck", tally.struck);
        tally.calls += 1;
        let _place = at_once.acquire().await.unwrap();
        let fault = any_fault(&mut chance, &asked);
        ready(&world.sim, action);
        let n_before = world.sim.change(|cluster| deeds(cluster, GUEST).count());
        let enters_before = enters(&world.sim);
        let strikes = || world.sim.strikes() + world.way.strikes();
        let strikes_before = strikes();
        let client = match &fault {
            Fault::Nobody => &world.of_nobody,
            Fault::Way(bad) => {
                world.way.set(*bad);
                &world.client
            }
            Fault::Server(rule) => {
                world.sim.answer(rule.clone());
                &world.client
            }
        };
        let began = Instant::now();
        let result = call(client, tool, &arguments).await;
        let took = began.elapsed();
        world.sim.forget_rules();
        world.way.set(Bad::Not);
        let has_struck = matches!(fault, Fault::Nobody) || strikes() > strikes_before;
        tally.struck += usize::from(has_struck);
        let structure = result.structured_content.as_ref().map(ToString::to_string);
        let told = format!("{} {}", text(&result), structure.unwrap_or_default());
        let which = format!("{tool}, call {nth}, seed {seed}, {fault:?}");
        tally.slowest = tally.slowest.max(took);
        assert!(took < BOUND, "{which}: it took {took:?}: {told}");
        gives_nothing_away(&told);
        if !action.is_empty() {
            world.sim.change(|cluster| {
                let new: Vec<_> = deeds(cluster, GUEST).skip(n_before).collect();
                assert!(new.len() <= 1, "{which}: carried out twice: {new:?}");
                assert!(new.iter().all(|deed| deed.action == action), "{which}: {new:?}");
            });
            if !may_change_words(&fault) {
                judge(&world.sim, tool, GUEST, &result);
            }
        }
        if tool == "send_vm_keys" {
            judge_keys(&world.sim, enters_before, &fault, &result, &which).await;
        }
        if result.is_error == Some(true) {
            claims_no_absence(&fault, &told, &which);
            assert!(told.split_whitespace().count() < 130, "{which}: {told}");
            tally.failed += 1;
            continue;
        }
        if !compares {
            tally.whole += 1;
            continue;
        }
        let got = places(result.structured_content.as_ref().unwrap());
        if got == truth {
            tally.whole += 1;
        } else {
            tally.partial += 1;
        }
        if let Some(lie) = lie(&truth, &moving, &got)
            && (!may_change_words(&fault) || lie.contains("is said to be"))
        {
            tally.lies.push(format!("{which}: {lie}"));
        }
    }
    // What went wrong leaves nothing behind but the connections that are kept for the next call.
    world.way.until_open(4).await;
    assert_ne!(call(&world.of_nobody, "list_nodes", &json!({})).await.is_error, Some(false));
    ready(&world.sim, action);
    let after = recovered(&world, tool, &arguments).await;
    assert_ne!(after.is_error, Some(true), "{tool} after all is well again: {}", text(&after));
    let World { sim, way, client, of_nobody, .. } = world;
    client.cancel().await.unwrap();
    of_nobody.cancel().await.unwrap();
    way.until_open(0).await;
    drop(sim);
    (tool, tally)
}

/// All that was asked for is there: a failure may say that it was not seen, and not that there is none.
fn claims_no_absence(fault: &Fault, told: &str, which: &str) {
    let claims = ["there is no ", "shows no ", "does not exist"];
    let claim = claims.iter().find(|claim| told.contains(**claim));
    assert!(claim.is_none() || may_change_words(fault), "{which}: {told}");
}

/// How often Enter came into a terminal.
fn enters(sim: &Sim) -> usize {
    sim.terminal_messages().iter().filter(|message| *message == "0:1:\r").count()
}

/// A key is pressed once at most, and said to be sent where it was. What a broken way still carries nobody knows.
async fn judge_keys(sim: &Sim, before: usize, fault: &Fault, result: &CallToolResult, which: &str) {
    let is_sent =
        result.structured_content.as_ref().is_some_and(|answer| answer["outcome"] == "sent");
    if is_sent && !matches!(fault, Fault::Way(_)) {
        let arriving = async {
            while enters(sim) == before {
                tokio::task::yield_now().await;
            }
        };
        let arrived = tokio::time::timeout(Duration::from_secs(5), arriving).await;
        assert!(arrived.is_ok(), "{which}: nothing was sent: {}", text(result));
    }
    assert!(enters(sim) <= before + 1, "{which}: pressed more than once");
}

/// What both of two true answers say, and where they differ.
fn truth(first: &CallToolResult, second: &CallToolResult) -> (Places, BTreeSet<String>) {
    let places = |result: &CallToolResult| places(result.structured_content.as_ref().unwrap());
    let (first, second) = (places(first), places(second));
    let moving = moving(&first, &second);
    (first, moving)
}

/// A call on a way that is good again, by a client that has been through everything.
async fn recovered(world: &World, tool: &'static str, arguments: &Value) -> CallToolResult {
    // Its time for a request is so short that a busy machine may miss it.
    let mut last = call(&world.client, tool, arguments).await;
    for _ in 0..20 {
        if last.is_error != Some(true) {
            break;
        }
        last = call(&world.client, tool, arguments).await;
    }
    last
}

/// Brings the guest into a state in which the action makes sense.
pub fn ready(sim: &Sim, action: &str) {
    if action.is_empty() {
        return;
    }
    sim.change(|cluster| {
        let guest = cluster.guest_mut(GUEST).unwrap();
        guest.lock = None;
        guest.state = match action {
            "start" => State::Stopped,
            "resume" => State::Paused,
            _ => State::Running,
        };
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_every_fault_every_tool_answers_in_time_and_truly_and_leaves_nothing_behind() {
    let n_faults = number("MCP_PROXMOX_FAULTS");
    let n_faults = n_faults.map_or(FAULTS, |faults| usize::try_from(faults).unwrap());
    let seed = number("MCP_PROXMOX_FAULT_SEED").unwrap_or(SEED);
    let servers = Servers::start();
    let began = Instant::now();
    let each = n_faults.div_ceil(TOOLS.len());
    let at_once = Semaphore::new(AT_ONCE);
    let calls = TOOLS
        .iter()
        .zip(1_u64..)
        .map(|(tool, nth)| under_faults(*tool, each, seed ^ (nth << 40), (&at_once, &servers)));
    let tallies: BTreeMap<_, _> = join_all(calls).await.into_iter().collect();
    let mut all = Tally::default();
    for (tool, tally) in &tallies {
        let Tally { calls, struck, whole, partial, failed, slowest, lies: _ } = tally;
        println!(
            "{tool:<20} {calls:>4} calls, {struck:>4} struck: {whole:>4} whole {partial:>4} partial {failed:>4} failed, {slowest:?}"
        );
        all.calls += calls;
        all.struck += struck;
        all.whole += whole;
        all.partial += partial;
        all.failed += failed;
    }
    let took = began.elapsed();
    println!("{} faults struck in {} calls and {took:?}, seed {seed}", all.struck, all.calls);
    assert!(all.struck >= n_faults);
    // The test tests something: some calls got through, some in part, and some did not.
    assert!(all.whole + all.partial > n_faults / 10 && all.failed > n_faults / 10);
    let lies: Vec<_> = tallies.values().flat_map(|tally| &tally.lies).collect();
    assert!(lies.is_empty(), "{} answers are not true:\n{lies:#?}", lies.len());
    let leaving = async {
        while servers.n_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    let left = tokio::time::timeout(Duration::from_secs(20), leaving).await;
    assert!(left.is_ok(), "{} tasks are left", servers.n_tasks());
}

#[test]
fn every_tool_goes_through_the_faults() {
    let mut named: Vec<_> = TOOLS.iter().map(|(tool, ..)| *tool).collect();
    let mut all: Vec<_> = catalog::ALL.iter().map(|entry| entry.name).collect();
    named.sort_unstable();
    all.sort_unstable();
    assert_eq!(named, all);
}
