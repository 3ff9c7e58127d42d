//! What others can write into a cluster, under every tool: names, notes, tags, logs, consoles, what an agent says
//! and what PVE answers hold orders for a model, terminal sequences and characters that nobody sees.
//!
//! None of it leaves its place: an answer with such text differs from one without in that text alone; the text has
//! fields of its own, or stands marked in the server's words; and nothing in it can be taken for more than text.

mod elsewhere;
pub mod world;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use futures_util::future::join_all;
use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    tier::{Access, Level},
};
use pve_client::Reader;
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use rmcp::{RoleClient, model::CallToolResult, service::RunningService};
use serde_json::{Value, json};

use self::world::{ORDER, WORD, cluster, hostile, plain};
use crate::{
    faults::{TOOLS, ready, world::call},
    support::{connect, server, settings, text},
};

/// Fields that hold what others wrote, and are named so that this is plain.
const THEIRS: &[&str] = &[
    ".addresses.interface",
    ".addresses.mac",
    ".agent_version",
    ".boot_mode",
    ".cluster",
    ".cpu",
    ".earlier[]",
    ".filesystems.device",
    ".filesystems.mountpoint",
    ".filesystems.type",
    ".findings.evidence",
    ".guest_nics.name",
    ".guests.name",
    ".hostname",
    ".interfaces.comment",
    ".kernel",
    ".lines.from",
    ".lines.message",
    ".log.text",
    ".machine",
    ".name",
    ".newest_backups.notes",
    ".os",
    ".other[]",
    ".owner_notes",
    ".pending[]",
    ".pool",
    ".screen[]",
    ".sdn_vnets.alias",
    ".services_not_running[]",
    ".snapshots.description",
    ".snapshots.snapshot",
    ".tags[]",
    ".tasks.outcome",
    ".warnings[]",
];

/// The most characters of one text, and of all that a call says. Without orders the longest says 2,500.
const TEXT: usize = 1200;
const ALL: usize = 12_000;

async fn client(sim: &Sim) -> RunningService<RoleClient, ()> {
    // Each call is to meet what is answered to it.
    let settings = settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let reader = Reader::new(settings).sharing_for(Duration::ZERO);
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    connect(server(Access::new(Level::Write, reader)).under(Arc::new(policy))).await
}

/// Every text in an answer, with its place: keys, and `[]` for each step into a list.
fn texts(value: &Value, place: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => found.push((place.to_owned(), text.clone())),
        Value::Array(items) => {
            for item in items {
                texts(item, &format!("{place}[]"), found);
            }
        }
        Value::Object(object) => {
            if let (Some(Value::Array(columns)), Some(Value::Array(rows))) =
                (object.get("columns"), object.get("rows"))
            {
                for row in rows.iter().filter_map(Value::as_array) {
                    for (column, cell) in columns.iter().zip(row) {
                        texts(cell, &format!("{place}.{}", column.as_str().unwrap()), found);
                    }
                }
                return;
            }
            for (key, value) in object {
                found.push(("a key".to_owned(), key.clone()));
                texts(value, &format!("{place}.{key}"), found);
            }
        }
        _ => {}
    }
}

/// The structure without what others wrote and without moments: what has to be the same whatever they wrote.
fn frame(value: &Value) -> Value {
    match value {
        Value::String(text) if text.contains(WORD) => json!("theirs"),
        Value::String(text) => json!(without_moments(text)),
        Value::Array(items) => items.iter().map(frame).collect(),
        Value::Object(object) => {
            // A place in a log is one in time.
            let frame = |key: &str, value| {
                if key.ends_with("cursor") { json!("a place") } else { frame(value) }
            };
            object.iter().map(|(key, value)| (key.clone(), frame(key, value))).collect()
        }
        other => other.clone(),
    }
}

/// The text without times, with `…` for how long something took or how old it is.
fn without_moments(text: &str) -> String {
    let is_long = |word: &str| {
        let word = word.trim_matches(['(', ')', ',', ';', '.', ':']);
        if word.contains("UPID:") || word.as_bytes().get(10) == Some(&b'T') {
            return true;
        }
        let digits = word.trim_end_matches(['s', 'm', 'h', 'd']);
        digits.len() + 1 == word.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_time = text.len() == 25 && text.as_bytes().get(10) == Some(&b'T');
    if is_time || text.starts_with("UPID:") {
        return "a moment".to_owned();
    }
    // An hour and its minutes are shown as one word where there are none.
    let mut words: Vec<_> =
        text.split(' ').map(|word| if is_long(word) { "…" } else { word }).collect();
    // So are the seconds by which clocks differ, and those that something took.
    for at in 1..words.len() {
        let bare = |word: &str| word.trim_matches(['(', ')', ',', ';', '.', ':']).to_owned();
        let (before, unit) = (bare(words[at - 1]), bare(words[at]));
        if unit == "s" && before.bytes().all(|byte| byte.is_ascii_digit()) {
            words[at - 1] = "…";
        }
    }
    words.dedup();
    words.join(" ")
}

/// What is left of the server's words without what is quoted in them, and without what PVE said, which stands
/// behind its status to the end of a line.
fn own_words(text: &str) -> String {
    let own = |line: &str| {
        let parts: Vec<&str> = line.split('`').collect();
        // Every second part is quoted; a quotation that does not end is none.
        let is_own = |nth: usize| nth.is_multiple_of(2) || nth + 1 == parts.len();
        let own = parts.iter().enumerate().filter(|(nth, _)| is_own(*nth)).map(|(_, part)| *part);
        let mut own: String = own.collect();
        let said = own.match_indices('(').map(|(at, _)| at).find(|at| {
            let behind = own.as_bytes().get(at + 1..at + 5).unwrap_or_default();
            behind.len() == 4
                && [b'4', b'5'].contains(&behind[0])
                && behind[..3].iter().all(u8::is_ascii_digit)
                && [b' ', b')'].contains(&behind[3])
        });
        own.truncate(said.unwrap_or(own.len()));
        own
    };
    text.lines().map(own).collect::<Vec<_>>().join("\n")
}

/// A character that is no part of a text to read.
pub fn is_harmful(c: char) -> bool {
    let is_unseen = matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() || is_unseen
}

/// Looks at everything that was said, and says in which fields of others there was something of theirs.
fn look(what: &str, result: &CallToolResult) -> BTreeSet<String> {
    let told = text(result);
    let harmful = told.chars().find(|c| is_harmful(*c) && !['\n', '\t'].contains(c));
    assert_eq!(harmful, None, "{what}: {told}");
    assert!(told.chars().count() <= ALL, "{what} says {} characters", told.chars().count());
    let mut theirs = BTreeSet::new();
    let Some(structure) = &result.structured_content else {
        assert!(!own_words(&told).contains(ORDER), "{what} says of itself: {}", own_words(&told));
        return theirs;
    };
    assert_eq!(told, mcp_proxmox::answer::text::draw(structure.as_object().unwrap()), "{what}");
    let mut found = Vec::new();
    texts(structure, "", &mut found);
    for (place, text) in found {
        assert!(text.chars().count() <= TEXT, "{what}: {place} has {}", text.chars().count());
        assert_eq!(text.chars().find(|c| is_harmful(*c)), None, "{what}: {place}: {text:?}");
        if !text.contains(WORD) && !text.contains(ORDER) {
            continue;
        }
        if THEIRS.contains(&place.as_str()) {
            theirs.insert(place);
        } else {
            let own = own_words(&text);
            assert!(!own.contains(ORDER), "{what}: {place} says of itself: {own}");
        }
    }
    theirs
}

/// Refusals of PVE's with orders in every place of an answer that can hold text.
fn refusals(rule: impl Fn() -> Rule) -> Vec<Rule> {
    let phrase = hostile(1).replace(['\r', '\n', '\0'], " ");
    let message = |text: &str| json!({ "data": null, "message": text }).to_string();
    let errors = json!({ "data": null, "errors": { "vmid": hostile(1), hostile(2): hostile(3) } });
    let forbidden = format!("Permission check failed (/vms/{}, {})", hostile(1), hostile(2));
    let mut refusals = vec![
        rule().status(500, &phrase),
        rule().status(400, "Parameter verification failed.").body(errors.to_string()),
        rule().status(403, "Permission check failed").body(message(&forbidden)),
        rule().status(502, "Bad Gateway").header("Content-Type", "text/html").body(hostile(1)),
        rule().status(200, "OK").header("Content-Type", &phrase).body(hostile(2)),
    ];
    let statuses = [401, 403, 404, 500, 501, 595, 596, 599];
    refusals.extend(statuses.map(|status| rule().status(status, "no").body(message(&hostile(2)))));
    refusals
}

/// All that a tool says, with and without orders in everything. Says which fields of others were seen.
async fn of_tool(
    (tool, arguments, action): (&'static str, &'static str, &'static str),
) -> BTreeSet<String> {
    let good = Sim::start(cluster(plain)).await.unwrap();
    let bad = Sim::start(cluster(hostile)).await.unwrap();
    // The tasks of each began a while before it did.
    let arguments_in = |sim: &Sim| -> Value {
        let upid = sim.change(|cluster| cluster.tasks[0].upid());
        let arguments = arguments.replace("\"wait_seconds\":2", "\"wait_seconds\":20");
        serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap()
    };
    let (of_good, client) = (client(&good).await, client(&bad).await);
    let mut theirs = BTreeSet::new();
    // A busy machine may be late with a part of the one or of the other, and says so.
    for tries_left in (0..3).rev() {
        ready(&good, action);
        let plainly = call(&of_good, tool, &arguments_in(&good)).await;
        assert_ne!(plainly.is_error, Some(true), "{tool}: {}", text(&plainly));
        ready(&bad, action);
        let result = call(&client, tool, &arguments_in(&bad)).await;
        assert_ne!(result.is_error, Some(true), "{tool}: {}", text(&result));
        theirs.extend(look(tool, &result));
        let frames = [&plainly, &result].map(|it| it.structured_content.as_ref().map(frame));
        // What a terminal shows of a text depends on all of it, and lines of 100 kB are all that is read of a
        // journal.
        match tool {
            "get_vm_console" | "send_vm_keys" => {}
            "search_logs" => assert!(text(&result).contains("not everything was looked at")),
            _ if frames[0] != frames[1] && tries_left > 0 => continue,
            _ => assert_eq!(frames[0], frames[1], "{tool} says other things than without orders"),
        }
        break;
    }
    let arguments = arguments_in(&bad);
    // The whole fails, or parts of it.
    let all = refusals(Rule::everything).into_iter().chain(refusals(|| Rule::under("/nodes/")));
    for rule in all {
        let what = format!("{tool} under {} {}", rule.status.unwrap(), rule.reason);
        ready(&bad, action);
        bad.answer(rule);
        theirs.extend(look(&what, &call(&client, tool, &arguments).await));
        bad.forget_rules();
    }
    theirs
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_wrote_stays_in_its_place_under_every_tool() {
    let tools = TOOLS.iter().map(|tool| tokio::spawn(of_tool(*tool)));
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for tool in join_all(tools).await {
        seen.extend(tool.unwrap());
    }
    let known: BTreeSet<String> = THEIRS.iter().map(|place| (*place).to_owned()).collect();
    assert_eq!(seen, known, "fields that hold what others wrote");
}

#[tokio::test]
async fn refusals_of_our_own_quote_what_others_wrote() {
    let sim = Sim::start(cluster(hostile)).await.unwrap();
    sim.change(|cluster| {
        for guest in &mut cluster.guests {
            guest.lock = Some("backup".to_owned());
            guest.start_fails = Some(hostile(2));
        }
        cluster.guest_mut(101).unwrap().lock = None;
    });
    let client = client(&sim).await;
    let mut calls: Vec<(&'static str, Value)> = [
        ("get_vm_status", json!({ "vm": WORD })),
        ("list_vms", json!({ "tag": WORD })),
        ("list_vms", json!({ "pool": WORD })),
        ("list_vms", json!({ "name": WORD })),
        ("get_metrics", json!({ "vm": WORD })),
        ("list_networks", json!({ "iface": "nothing" })),
        ("list_tasks", json!({ "outcome": "error" })),
        ("get_storage_status", json!({ "storage": "nothing" })),
    ]
    .into();
    for (tool, arguments, action) in TOOLS {
        if !action.is_empty() {
            calls.push((*tool, serde_json::from_str(arguments).unwrap()));
            calls.push((*tool, json!({ "vm": "101", "wait_seconds": 2 })));
        }
    }
    for (tool, arguments) in calls {
        look(&format!("{tool} {arguments}"), &call(&client, tool, &arguments).await);
    }
}

#[test]
fn own_words_are_what_is_neither_quoted_nor_said_by_pve() {
    assert_eq!(own_words("`a` is not `b`, but c"), " is not , but c");
    assert_eq!(
        own_words("could not x: PVE refused (500 it said this) that\nhint: y"),
        "could not x: PVE refused \nhint: y"
    );
    assert_eq!(own_words("1 guest (101 of them)"), "1 guest (101 of them)");
    assert_eq!(own_words("`a` is b` c"), " is b c", "a quotation that does not end");
}
