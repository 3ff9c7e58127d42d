//! Numbers that nobody expects, in every answer of PVE's under every tool: times before the world and after its end,
//! sizes without bound. No call breaks by them, none says more than it may, and none that changes something sends it
//! twice or says that it is done when it is not.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, stream};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim, Takes};
use rmcp::model::CallToolResult;
use serde_json::{Number, Value, json};

use crate::{
    faults::{
        TOOLS, gives_nothing_away, ready,
        world::{Servers, call, client_of, still},
    },
    lifecycle_faults::{deeds, judge},
    power::write_server,
    support::{connect, settings, text},
};

/// The guest that is changed.
const GUEST: u32 = 100;

/// How many worlds there are at once: most of the time they wait.
const AT_ONCE: usize = 48;

/// Tools that look at a guest's console or type there: each call gets a cluster of its own.
const CONSOLES: &[&str] = &["send_vm_keys", "get_vm_console", "get_vm_screenshot"];

/// What numbers break at. The last is none of whole numbers.
fn numbers() -> Vec<Number> {
    let whole = [i64::MIN, i64::MIN + 1, -9_200_000_000_000_000_000, -1, 0, 1, i64::MAX];
    let mut numbers: Vec<Number> = whole.into_iter().map(Number::from).collect();
    numbers.extend([u64::MAX.into(), 253_402_300_800_u64.into()]);
    numbers
        .extend([1e18, 9.1e18, 1e300, -1e300, 0.5].map(|float| Number::from_f64(float).unwrap()));
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_number_in_an_answer_breaks_a_call() {
    let servers = Servers::start();
    let sim = Sim::start(still()).await.unwrap();
    let client = client_of(&servers, settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)).await;
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    let (mut n_answered, mut broken) = (0, Vec::new());
    for (tool, arguments, action) in TOOLS {
        let arguments: Value = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
        // Those that change something have a test of their own.
        if !action.is_empty() || CONSOLES.contains(tool) {
            continue;
        }
        for number in numbers() {
            sim.answer(Rule::everything().numbers(number.clone()));
            let result = call(&client, tool, &arguments).await;
            sim.forget_rules();
            let told = all_of(&result);
            if told.contains("hit a bug") {
                broken.push(format!("{tool} with {number}"));
                continue;
            }
            gives_nothing_away(&told);
            let length = told.chars().count();
            assert!(length < 40_000, "{tool} with {number}: {length}");
            n_answered += usize::from(result.is_error != Some(true));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(n_answered > 100, "only {n_answered} calls were answered");
}

/// The text and the structured content.
fn all_of(result: &CallToolResult) -> String {
    let structured = result.structured_content.as_ref().map(Value::to_string).unwrap_or_default();
    format!("{} {structured}", text(result))
}

/// The demo with the guests in the state that an action needs, in which what is begun ends at once or never.
async fn world(action: &str, takes: Takes) -> Sim {
    let mut cluster: Cluster = still();
    cluster.guests.iter_mut().for_each(|guest| guest.takes = takes);
    let sim = Sim::start(cluster).await.unwrap();
    ready(&sim, action);
    sim
}

/// A call whose answers have strange numbers, on a cluster of its own.
#[derive(Clone)]
struct Try {
    tool: &'static str,
    action: &'static str,
    arguments: Value,
    rule: Rule,
    which: String,
    takes: Takes,
}

/// What a tool asks where all is well, without the queries: each is answered with strange numbers in its turn.
async fn asked(tool: &'static str, action: &str, arguments: &Value) -> BTreeSet<(String, String)> {
    let sim = world(action, Takes::AtOnce).await;
    let result = call(&connect(write_server(&sim)).await, tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{tool}: {}", text(&result));
    let path = |target: String| target.split('?').next().unwrap_or_default().to_owned();
    sim.requests().into_iter().map(|seen| (seen.method, path(seen.path))).collect()
}

/// What is tried with a tool: each answer of its own with strange numbers and all of them, for real and dry.
async fn tries(tool: &'static str, action: &'static str, arguments: Value) -> Vec<Try> {
    let rules = asked(tool, action, &arguments).await;
    let rules = rules.iter().map(|(method, path)| Rule::on(method, path));
    let mut tries = Vec::new();
    for (nth, rule) in std::iter::once(Rule::everything()).chain(rules).enumerate() {
        // Of one answer alone, those that are unlike each other.
        for number in numbers().into_iter().step_by(if nth == 0 { 1 } else { 6 }) {
            let which = format!("{tool} with {number} in {rule:?}");
            let rule = rule.clone().numbers(number);
            let one = Try {
                tool,
                action,
                arguments: arguments.clone(),
                rule,
                which,
                takes: Takes::AtOnce,
            };
            if !action.is_empty() {
                let mut dry = one.clone();
                dry.arguments["dry_run"] = json!(true);
                tries.push(dry);
                tries.push(Try { takes: Takes::UntilTold, ..one.clone() });
            }
            tries.push(one);
        }
    }
    tries
}

/// Makes a call, looks at what came of it, and says whether it was answered and whether something was sent.
async fn attempt(one: Try) -> (bool, bool) {
    let Try { tool, action, arguments, rule, which, takes } = one;
    let sim = world(action, takes).await;
    let client = connect(write_server(&sim)).await;
    sim.answer(rule);
    let result = call(&client, tool, &arguments).await;
    let told = all_of(&result);
    assert!(!told.contains("hit a bug"), "{which}: {told}");
    gives_nothing_away(&told);
    assert!(told.chars().count() < 40_000, "{which}: {}", told.chars().count());
    let is_dry = arguments["dry_run"] == true;
    let n_posts = sim.n_requests(|seen| seen.method != "GET");
    if action.is_empty() {
        // Keys that were typed are `enter`, once; a screen for which they do not fit has none.
        let keys = sim.terminal_messages();
        let n_keys = keys.iter().filter(|message| message.starts_with("0:")).count();
        assert!(n_keys <= usize::from(tool == "send_vm_keys"), "{which}: {keys:?}");
        let is_said = !told.contains("nothing was typed") || n_keys == 0;
        assert!(is_said, "{which}: {keys:?}, and was said: {told}");
    } else {
        let outcome = judge(&sim, tool, GUEST, &result);
        let deeds: Vec<_> =
            sim.change(|cluster| deeds(cluster, GUEST).map(|deed| deed.action).collect());
        assert!(n_posts <= usize::from(!is_dry), "{which}: {n_posts} writes");
        assert!(deeds.is_empty() || deeds == [action], "{which}: {deeds:?}");
        if outcome == "done" {
            assert_eq!(deeds, [action], "{which}: {told}");
            assert!(takes == Takes::AtOnce, "{which} is said to be done, and is under way: {told}");
        }
        let says_nothing = told.replace("nothing was sent again", "").contains("nothing was sent");
        assert!(!says_nothing || n_posts == 0, "{which}: something was sent: {told}");
    }
    (result.is_error != Some(true), n_posts > 0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_number_in_an_answer_sends_a_write_twice_or_makes_it_done() {
    let mut all = Vec::new();
    for (tool, arguments, action) in TOOLS {
        if action.is_empty() && !CONSOLES.contains(tool) {
            continue;
        }
        let mut arguments: Value = serde_json::from_str(arguments).unwrap();
        if !action.is_empty() {
            arguments["wait_seconds"] = json!(1);
        }
        all.extend(tries(tool, action, arguments).await);
    }
    let n_tries = all.len();
    let calls = all.into_iter().map(|one| tokio::spawn(attempt(one)));
    let ends: Vec<_> = stream::iter(calls).buffer_unordered(AT_ONCE).collect().await;
    let ends: Vec<(bool, bool)> = ends.into_iter().map(Result::unwrap).collect();
    let n_answered = ends.iter().filter(|(is_answered, _)| *is_answered).count();
    let n_sent = ends.iter().filter(|(_, is_sent)| *is_sent).count();
    println!("{n_tries} calls, {n_answered} answered, something sent in {n_sent}");
    assert!(
        n_answered > n_tries / 3 && n_sent > n_tries / 4,
        "{n_answered}, {n_sent} of {n_tries}"
    );
}
