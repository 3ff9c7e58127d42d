//! Places in a journal: cursors at both ends, borders of batches, restarts, clocks, zones, and what breaks
//! on the way.

use jiff::tz::TimeZone;
use mcp_proxmox::{
    catalog::{self, Catalog},
    config::Output,
    server::Server,
};
use pve_sim::{JournalEntry, Rule, Sim, Version};
use serde_json::{Value, json};

use crate::{
    get_system_log::{START, messages, numbered, versions, with},
    logs::asked_for,
    support::{access, answer, call_on, demo, failure, notes, row, rows, structured},
};

const LOG: &str = "get_system_log";

fn add(sim: &Sim, entries: impl Iterator<Item = (u64, String)>) {
    sim.change(|cluster| {
        let journal = &mut cluster.node_mut("pve1").unwrap().journal.entries;
        let entries =
            entries.map(|(at, text)| JournalEntry::new(at * 1_000_000 + 5, "cron", 6, &text));
        journal.extend(entries);
    });
}

/// Follows `older_cursor` to the end. What is older comes in front.
async fn back(sim: &Sim, mut arguments: Value) -> Vec<String> {
    let mut seen = Vec::new();
    arguments["node"] = json!("pve1");
    for _ in 0..200 {
        let answer = answer(sim, LOG, arguments.clone()).await;
        let mut page = messages(&answer);
        page.extend(seen);
        seen = page;
        let Some(cursor) = answer["older_cursor"].as_str() else { return seen };
        arguments["cursor"] = json!(cursor);
    }
    panic!("it never ends: {arguments}");
}

#[tokio::test]
async fn borders_of_batches_lose_and_repeat_nothing() {
    let sim = with(&numbered(4700)).await;
    let wanted: Vec<_> = (0..4700).map(|nth| format!("entry {nth}.")).collect();
    for (version, _) in versions() {
        sim.change(|cluster| cluster.version = version.clone());
        let filter = json!({ "pattern": "entry", "limit": 300 });
        assert!(back(&sim, filter).await == wanted, "on {}", version.full());
        // The fourth and fifth batch of one call.
        let rare = back(&sim, json!({ "pattern": "entry 5.|entry 990.|entry 4600." })).await;
        assert_eq!(rare, ["entry 5.", "entry 990.", "entry 4600."]);
    }
}

#[tokio::test]
async fn what_was_shown_is_not_shown_again_where_entries_are_so_large_that_batches_shrink() {
    let sim = with(&numbered(40)).await;
    let large = format!("large {}", "x".repeat(500_000));
    add(&sim, (0..60).map(|nth| (START + 100 + nth, format!("{nth} {large}"))));
    let first = answer(&sim, LOG, json!({ "node": "pve1", "limit": 3 })).await;
    let cursor = first["older_cursor"].as_str().unwrap();
    let (_, entry) = cursor.split_once('~').unwrap();
    let next =
        answer(&sim, LOG, json!({ "node": "pve1", "limit": 2, "cursor": format!("30~{entry}") }))
            .await;
    let shown = messages(&next);
    // The entry itself is the newest, 59; the thirty before it were shown.
    assert!(shown[0].starts_with("27 large") && shown[1].starts_with("28 large"), "{shown:?}");
    let all = back(&sim, json!({ "limit": 60 })).await;
    assert_eq!(all.len(), 100);
}

#[tokio::test]
async fn a_poller_keeps_its_place_where_nothing_fits_yet() {
    for (version, _) in versions() {
        let sim = with(&numbered(10)).await;
        sim.change(|cluster| cluster.version = version.clone());
        let mut arguments = json!({ "node": "pve1", "severity": "critical" });
        for _ in 0..2 {
            let none = answer(&sim, LOG, arguments.clone()).await;
            assert_eq!(none["shown"], 0);
            arguments["cursor"] = none["newer_cursor"].clone();
            assert!(arguments["cursor"].is_string(), "{none} on {}", version.full());
        }
        sim.change(|cluster| {
            let journal = &mut cluster.node_mut("pve1").unwrap().journal.entries;
            for (at, level) in [(60, 6), (61, 2), (62, 6)] {
                let text = if level == 2 { "panic" } else { "other" };
                journal.push(JournalEntry::new((START + at) * 1_000_000, "kernel", level, text));
            }
        });
        // Of text the worst that can be guessed is an error.
        arguments["severity"] = json!(if version.at_least(9, 2) { "critical" } else { "error" });
        assert_eq!(messages(&answer(&sim, LOG, arguments).await), ["panic"]);
    }
}

#[tokio::test]
async fn what_is_new_is_paged_back_to_what_was_seen_and_no_further() {
    for (version, is_structured) in versions() {
        let sim = with(&numbered(10)).await;
        sim.change(|cluster| cluster.version = version.clone());
        let first = answer(&sim, LOG, json!({ "node": "pve1" })).await;
        add(&sim, (0..7).map(|nth| (START + 60 + nth, format!("new {nth}"))));
        let cursor = first["newer_cursor"].clone();
        let next = answer(&sim, LOG, json!({ "node": "pve1", "cursor": cursor, "limit": 2 })).await;
        assert_eq!(messages(&next), ["new 5", "new 6"]);
        let mut wanted: Vec<String> = (0..7).map(|nth| format!("new {nth}")).collect();
        // Text has whole seconds, so that the last second is shown again, and that is said.
        if !is_structured {
            wanted.insert(0, "entry 9.".to_owned());
            assert!(notes(&next).contains("are shown again"), "{next}");
        }
        let seen = back(&sim, json!({ "cursor": first["newer_cursor"], "limit": 2 })).await;
        assert_eq!(seen, wanted, "on {}", version.full());
        let newest = next["newer_cursor"].clone();
        let none = answer(&sim, LOG, json!({ "node": "pve1", "cursor": newest })).await;
        assert_eq!(none["shown"], u64::from(!is_structured));
    }
}

#[tokio::test]
async fn a_restart_is_told_once_with_its_time_wherever_a_page_ends() {
    for (version, _) in versions() {
        let sim = with(&numbered(9)).await;
        sim.change(|cluster| {
            cluster.version = version.clone();
            for entry in cluster.node_mut("pve1").unwrap().journal.entries.iter_mut().skip(4) {
                entry.boot = 1;
            }
        });
        for limit in 1..10 {
            let all = back(&sim, json!({ "limit": limit })).await;
            let at: Vec<_> =
                all.iter().enumerate().filter(|(_, text)| text.starts_with("-- ")).collect();
            assert_eq!((all.len(), at.len(), at[0].0), (10, 1, 4), "{limit} on {}", version.full());
        }
        let page = answer(&sim, LOG, json!({ "node": "pve1", "limit": 5 })).await;
        let rows = rows(&page["lines"]);
        assert_eq!(rows[0]["message"], "-- the node started again --");
        assert_eq!(rows[0]["time"], rows[1]["time"]);
    }
}

#[tokio::test]
async fn a_boot_with_a_wrong_clock_hides_nothing_without_a_word() {
    let sim = with(&numbered(30)).await;
    // It wrote five entries before it learned the time.
    add(&sim, (0..5).map(|nth| (1_000_000_000 + nth, format!("early {nth}"))));
    add(&sim, (0..5).map(|nth| (START + 60 + nth, format!("late {nth}"))));
    let since = json!({ "node": "pve1", "since": (START + 20).to_string() });
    let whole = answer(&sim, LOG, since.clone()).await;
    let shown = messages(&whole);
    assert_eq!((shown.len(), shown[0].as_str()), (15, "entry 20."), "{shown:?}");
    // Where the wrong entries go on for longer than is read at once, that is said.
    add(&sim, (0..400).map(|nth| (1_000_000_100 + nth, format!("early {nth}"))));
    add(&sim, (0..3).map(|nth| (START + 90 + nth, format!("latest {nth}"))));
    let cut = answer(&sim, LOG, since).await;
    assert_eq!(cut["shown"], 3);
    assert!(notes(&cut).contains("clock was wrong") && cut["older_cursor"].is_string(), "{cut}");
}

#[tokio::test]
async fn what_was_read_before_a_timeout_is_shown_with_the_way_on() {
    let sim = with(&numbered(4700)).await;
    let wanted = json!({ "node": "pve1", "pattern": "entry 4600.|entry 2." });
    sim.answer(
        Rule::under("/nodes/pve1/journal?lastentries=3000").status(596, "Connection timed out"),
    );
    let part = answer(&sim, LOG, wanted.clone()).await;
    assert_eq!(messages(&part), ["entry 4600."]);
    assert!(notes(&part).contains("older_cursor goes on"), "{part}");
    sim.forget_rules();
    let mut arguments = wanted;
    arguments["cursor"] = part["older_cursor"].clone();
    assert_eq!(messages(&answer(&sim, LOG, arguments).await), ["entry 2."]);
}

#[tokio::test]
async fn a_match_deep_in_a_journal_of_a_million_entries_is_reached_by_cursor() {
    let sim = with(&[("kernel", 3, "the newest")]).await;
    sim.change(|cluster| cluster.node_mut("pve1").unwrap().journal.filler = 1_000_000);
    let found = back_until(&sim, json!({ "pattern": "status update 955000," }), 3).await;
    assert!(found.starts_with("status update 955000"), "{found}");
    assert!(asked_for(&sim, "/journal").len() < 20);
}

async fn back_until(sim: &Sim, mut arguments: Value, most: usize) -> String {
    arguments["node"] = json!("pve1");
    for _ in 0..most {
        let answer = answer(sim, LOG, arguments.clone()).await;
        if let Some(found) = messages(&answer).pop() {
            return found;
        }
        arguments["cursor"] = answer["older_cursor"].clone();
    }
    panic!("not found within {most} calls");
}

/// As a user in Berlin.
async fn in_berlin(sim: &Sim, tool: &'static str, arguments: Value) -> Value {
    let access = access(sim);
    let catalog = Catalog::new(catalog::ALL, access.level(), |_| true);
    let berlin = TimeZone::get("Europe/Berlin").unwrap();
    structured(&call_on(Server::new(access, catalog, Output::Both, berlin), tool, arguments).await)
}

#[tokio::test]
async fn times_are_those_of_the_user_whatever_the_zone_of_the_node() {
    for (version, _) in versions() {
        let sim = with(&numbered(100)).await;
        sim.change(|cluster| {
            cluster.version = version.clone();
            cluster.node_mut("pve1").unwrap().utc_offset = -330;
        });
        // 00:54:50 UTC.
        let arguments = json!({ "node": "pve1", "since": "2026-11-30T01:54:50" });
        let log = in_berlin(&sim, LOG, arguments).await;
        assert_eq!((&log["shown"], &messages(&log)[0]), (&json!(10), &"entry 90.".to_owned()));
        assert_eq!(rows(&log["lines"])[0]["time"], "2026-11-30T01:54:50+01:00");
        let range = json!({ "since": "2026-11-30T01:54:50", "until": "2026-11-30T01:54:52", "sources": ["journal"], "nodes": ["pve1"] });
        let found = in_berlin(&sim, "search_logs", range).await;
        assert_eq!(found["found"], 2, "{found}");
        assert_eq!(rows(&found["lines"])[1]["last"], "2026-11-30T01:54:51+01:00");
    }
    let sim = with(&[]).await;
    let task = pve_sim::Task::ended("pve1", "qmstart", "100", "root@pam", (START, START + 9), "OK");
    let upid = task.upid();
    sim.change(|cluster| cluster.tasks = vec![task]);
    let wanted = "2026-11-30T01:53:20+01:00";
    let list = in_berlin(
        &sim,
        "list_tasks",
        json!({ "since": "2026-11-30T01:53:20", "until": "2026-11-30T01:54" }),
    )
    .await;
    assert_eq!(rows(&list["tasks"])[0]["started"], wanted, "{list}");
    assert_eq!(in_berlin(&sim, "get_task", json!({ "upid": upid })).await["started"], wanted);
}

#[tokio::test]
async fn a_night_in_which_the_clocks_change_is_told_in_order() {
    let sim = with(&[]).await;
    sim.change(|cluster| cluster.version = Version::v8_4());
    let cursor = |seconds: i64| format!("s=1;i=1;t={:x}", seconds * 1_000_000);
    // Berlin, 25 October 2026: 03:00 summer time is 02:00 winter time.
    sim.answer(Rule::get("/nodes/pve1/journal?lastentries=51").data(&json!([
        cursor(1_792_872_000),
        "Oct 24 22:00:00 pve1 cron[1]: evening",
        "Oct 25 02:59:00 pve1 cron[1]: summer",
        "Oct 25 02:10:00 pve1 cron[1]: winter",
        "Oct 25 09:00:00 pve1 cron[1]: morning",
        cursor(1_792_915_200),
    ])));
    let log = in_berlin(&sim, LOG, json!({ "node": "pve1" })).await;
    let times: Vec<_> = rows(&log["lines"]).iter().map(|row| row["time"].clone()).collect();
    assert_eq!(
        times,
        [
            "2026-10-24T22:00:00+02:00",
            "2026-10-25T02:59:00+02:00",
            "2026-10-25T02:10:00+01:00",
            "2026-10-25T09:00:00+01:00"
        ]
    );
}

#[tokio::test]
async fn a_private_key_over_several_entries_and_guesses_at_secrets_show_nothing() {
    let key = "MIIEowIBAAKCAQEAx0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL";
    for (version, _) in versions() {
        let sim = with(&[
            ("cloud-init", 6, "-----BEGIN OPENSSH PRIVATE KEY-----"),
            ("cloud-init", 6, key),
            ("cloud-init", 6, "QUJDREVG"),
            ("cloud-init", 6, "-----END OPENSSH PRIVATE KEY-----"),
            ("cron", 6, "login password=hunter2 ok"),
        ])
        .await;
        sim.change(|cluster| cluster.version = version.clone());
        let log = answer(&sim, LOG, json!({ "node": "pve1" })).await;
        assert!(!log.to_string().contains("MIIE") && !log.to_string().contains("QUJD"), "{log}");
        for (guess, shown) in [("hunter", 0), ("password=h", 0), ("MIIE", 0), ("login pass", 1)] {
            let log = answer(&sim, LOG, json!({ "node": "pve1", "pattern": guess })).await;
            assert_eq!(log["shown"], shown, "{guess}");
        }
    }
}

#[tokio::test]
async fn what_was_taken_otherwise_than_it_was_meant_is_said() {
    let sim = with(&numbered(5)).await;
    for (limit, wanted) in [(0, "taken as 1"), (100_000, "taken as 300")] {
        let log = answer(&sim, LOG, json!({ "node": "pve1", "limit": limit })).await;
        assert!(notes(&log).contains(wanted), "{log}");
    }
    let none = answer(&sim, LOG, json!({ "node": "pve1", "pattern": "ent.*" })).await;
    assert!(notes(&none).contains("plain text"), "{none}");
    let huge = "x".repeat(17 << 20);
    add(&sim, [(START + 50, huge), (START + 60, "after".to_owned())].into_iter());
    let cut = answer(&sim, LOG, json!({ "node": "pve1" })).await;
    assert!(
        notes(&cut).contains("`until` before it, 2026-11-30T00:54:20+00:00 or earlier"),
        "{cut}"
    );
}

#[tokio::test]
async fn a_cursor_of_another_node_is_refused() {
    let sim = demo().await;
    let first = answer(&sim, "get_system_log", json!({ "node": "pve3", "limit": 2 })).await;
    for cursor in [&first["older_cursor"], &first["newer_cursor"]] {
        let told =
            failure(&sim, "get_system_log", json!({ "node": "pve1", "cursor": cursor })).await;
        assert!(told.contains("the `cursor` is of node `pve3`, not of pve1"), "{told}");
    }
}

#[tokio::test]
async fn a_unit_of_which_nothing_is_found_may_not_be_there() {
    let arguments = json!({ "node": "pve1", "unit": "nonsense" });
    let answer = answer(&demo().await, "get_system_log", arguments).await;
    assert!(notes(&answer).contains("if there is a unit `nonsense`"), "{answer}");
}

#[tokio::test]
async fn the_journals_of_the_demo_say_what_its_nodes_say() {
    let sim = demo().await;
    for node in ["pve1", "pve2", "pve3"] {
        // They are up for 41 days.
        let arguments = json!({ "node": node, "since": "24h", "pattern": "started again|Shutting down|Linux version" });
        assert_eq!(answer(&sim, LOG, arguments).await["shown"], 0, "{node}");
        let journal = sim.change(|cluster| cluster.node(node).unwrap().journal.clone());
        assert!(journal.entries.iter().all(|entry| entry.boot == 0), "{node}");
    }
    let health = answer(&sim, "get_cluster_health", json!({})).await.to_string();
    assert!(health.contains("get_system_log node=pve3 unit=chrony"), "{health}");
    let told = messages(&answer(&sim, LOG, json!({ "node": "pve3", "unit": "chrony" })).await);
    assert!(told.last().unwrap().contains("Failed with result"), "{told:?}");
    assert!(told.iter().any(|text| text.contains("clock wrong by 40")), "{told:?}");
    // A guest whose last start is among the tasks runs since then.
    let tasks = answer(&sim, "list_tasks", json!({ "vm": "204", "since": "7d" })).await;
    assert_eq!(row(&tasks["tasks"], "id", &json!("204"))["type"], "vzstart", "{tasks}");
    let status = answer(&sim, "get_vm_status", json!({ "vm": "204" })).await;
    assert!(status["uptime"].as_str().unwrap().starts_with("2d"), "{status}");
}
