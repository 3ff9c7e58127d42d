//! Tests of `list_tasks`.

use std::collections::BTreeSet;

use pve_sim::{DEMO_TOKEN_SECRET, Rule, Sim, Task};
use serde_json::{Value, json};

use crate::{
    logs::{as_token, asked_for, recorded_answer},
    support::{answer, demo, failure, notes, row, rows, structured},
};

const NOW: i64 = 1_796_100_000;

fn upids(answer: &Value) -> Vec<String> {
    rows(&answer["tasks"]).iter().map(|row| row["upid"].as_str().unwrap().to_owned()).collect()
}

/// The demo cluster with these tasks alone.
async fn with(tasks: Vec<Task>) -> Sim {
    let sim = demo().await;
    sim.change(|cluster| cluster.tasks = tasks);
    sim
}

fn task(nth: u64, node: &str, kind: &str) -> Task {
    let start = u64::try_from(NOW).unwrap() + nth * 10;
    Task::ended(node, kind, "100", "root@pam", (start, start + 5), "OK")
}

#[tokio::test]
async fn lists_the_tasks_of_all_nodes_newest_first() {
    let sim = demo().await;
    let answer = answer(&sim, "list_tasks", json!({})).await;
    let starts: Vec<String> =
        rows(&answer["tasks"]).iter().map(|row| row["started"].to_string()).collect();
    assert!(starts.len() >= 6 && starts.windows(2).all(|pair| pair[0] >= pair[1]), "{starts:?}");
    let failed = row(&answer["tasks"], "type", &json!("qmstart"));
    assert_eq!(failed["outcome"], "error: storage 'nas' is not online");
    assert_eq!((&failed["id"], &failed["took"]), (&json!("125"), &json!("2s")));
    assert_eq!(asked_for(&sim, "/tasks?").len(), 3, "one request for each node");
    assert!(asked_for(&sim, "limit=0").is_empty());
}

#[tokio::test]
async fn every_filter_filters() {
    let sim = demo().await;
    for (filter, wanted) in [
        (json!({ "type": "backup", "outcome": "running" }), vec!["123"]),
        (json!({ "type": "backup", "nodes": ["pve2"] }), vec![""]),
        (json!({ "type": "start" }), vec!["125", "204"]),
        (json!({ "nodes": ["pve1", "pve3"], "type": "start" }), vec!["204"]),
        (json!({ "outcome": "warning" }), vec!["204"]),
        (json!({ "outcome": "error", "type": "qmstart" }), vec!["125"]),
        (json!({ "vm": "204" }), vec!["204"]),
        (json!({ "vm": "legacy-crm" }), vec!["125"]),
        (json!({ "user": "ADMIN@pve", "nodes": "PVE1" }), vec!["204"]),
        (json!({ "since": "1h", "vm": "123" }), vec!["123"]),
        (json!({ "since": "1h", "vm": "125" }), vec![]),
        (json!({ "since": "20h", "until": "4h", "user": "admin" }), vec!["125"]),
    ] {
        let answer = answer(&sim, "list_tasks", filter.clone()).await;
        let found: Vec<_> = rows(&answer["tasks"])
            .iter()
            .map(|row| row["id"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(found, wanted, "{filter}: {answer}");
    }
}

#[tokio::test]
async fn every_outcome_can_be_asked_for() {
    let statuses =
        ["OK", "WARNINGS: 1", "job errors", "unexpected status", "", "OK"].map(str::to_owned);
    let tasks =
        (0..).zip(statuses).map(|(nth, status)| Task { status, ..task(nth, "pve1", "vzdump") });
    let mut tasks: Vec<Task> = tasks.collect();
    tasks.push(task(9, "pve2", "qmstart").still_running());
    let sim = with(tasks.clone()).await;
    for (outcome, wanted) in [
        ("ok", vec![5, 0]),
        ("warning", vec![1]),
        ("error", vec![2]),
        ("unknown", vec![4, 3]),
        ("running", vec![6]),
    ] {
        let answer = answer(&sim, "list_tasks", json!({ "outcome": outcome })).await;
        let wanted: Vec<String> = wanted.into_iter().map(|nth: usize| tasks[nth].upid()).collect();
        assert_eq!(upids(&answer), wanted, "{outcome}");
    }
}

/// Follows the cursor to the end.
async fn all_pages(sim: &Sim, mut arguments: Value) -> Vec<String> {
    let mut seen = Vec::new();
    for _ in 0..60 {
        let answer = answer(sim, "list_tasks", arguments.clone()).await;
        seen.extend(upids(&answer));
        let Some(cursor) = answer["next_cursor"].as_str() else { return seen };
        arguments["cursor"] = json!(cursor);
    }
    panic!("the cursor never ends: {arguments}");
}

#[tokio::test]
async fn what_others_did_in_between_hides_nothing_behind_it() {
    // Two that are wanted stand behind thousands that are not, one on a node that has little else.
    let mine = |nth, node| Task { user: "svc@pve!tool".to_owned(), ..task(nth, node, "qmstart") };
    let foreign = (1000..4000).map(|nth| task(nth, "pve1", "qmstop"));
    let mut tasks: Vec<Task> = foreign.collect();
    tasks.extend([mine(1, "pve1"), mine(2, "pve1"), mine(3, "pve2"), mine(2500, "pve2")]);
    tasks.extend([mine(2600, "pve1"), mine(3999, "pve3")]);
    let mut wanted: Vec<Task> =
        tasks.iter().filter(|task| task.user == "svc@pve!tool").cloned().collect();
    wanted.sort_by_key(|task| std::cmp::Reverse(task.starttime));
    let wanted: Vec<String> = wanted.iter().map(Task::upid).collect();
    let sim = with(tasks).await;
    for filter in [json!({ "user": "svc@pve" }), json!({ "type": "start", "limit": 1 })] {
        assert_eq!(all_pages(&sim, filter.clone()).await, wanted, "{filter}");
    }
}

#[tokio::test]
async fn a_thousand_tasks_of_one_second_are_all_shown() {
    let start = u64::try_from(NOW).unwrap();
    let tasks = (100..1100u32).map(|vmid| {
        let end = start + u64::from(vmid % 3);
        Task {
            pid: vmid,
            ..Task::ended("pve1", "qmstart", &vmid.to_string(), "root@pam", (start, end), "OK")
        }
    });
    let tasks: Vec<Task> = tasks.collect();
    let wanted: BTreeSet<String> = tasks.iter().map(Task::upid).collect();
    let sim = with(tasks).await;
    let seen = all_pages(&sim, json!({ "limit": 200 })).await;
    assert_eq!(seen.len(), 1000, "each once");
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), wanted);
}

#[tokio::test]
async fn since_has_what_ran_since_whenever_it_began() {
    let now = jiff::Timestamp::now().as_second().unsigned_abs();
    let ended = |start: u64, end: u64, kind| {
        Task::ended("pve1", kind, "100", "root@pam", (now - start, now - end), "job errors")
    };
    let sim = with(vec![
        ended(7200, 3600, "qmstop"),
        ended(7000, 60, "vzdump"),
        ended(90, 80, "qmstart"),
        ended(6000, 0, "qmigrate").still_running(),
    ])
    .await;
    let list = answer(&sim, "list_tasks", json!({ "since": "5m" })).await;
    let kinds: Vec<_> = rows(&list["tasks"]).iter().map(|row| row["type"].clone()).collect();
    assert_eq!(kinds, ["qmstart", "qmigrate", "vzdump"]);
}

#[tokio::test]
async fn a_slip_of_the_pen_is_told_apart_from_nothing() {
    let sim = demo().await;
    let none = answer(&sim, "list_tasks", json!({ "type": "foo" })).await;
    assert!(notes(&none).contains("`foo`") && notes(&none).contains("backup"), "{none}");
    let none = answer(&sim, "list_tasks", json!({ "vm": "999" })).await;
    assert!(notes(&none).contains("999"), "{none}");
    let none = answer(&sim, "list_tasks", json!({ "type": "rollback", "vm": "100" })).await;
    assert_eq!((&none["shown"], notes(&none).contains("rollback")), (&json!(0), false));
    for (limit, wanted) in [(0, "taken as 1"), (10_000, "taken as 200")] {
        let list = answer(&sim, "list_tasks", json!({ "limit": limit })).await;
        assert!(notes(&list).contains(wanted), "{list}");
    }
}

#[tokio::test]
async fn what_a_task_failed_with_is_cleaned_cut_and_marked_as_data() {
    let status = format!("mount https://bob:hunter2@nas failed\u{1b}[31m {}", "x".repeat(200));
    let sim = with(vec![Task { status, ..task(0, "pve1", "vzdump") }]).await;
    let list = answer(&sim, "list_tasks", json!({})).await;
    let outcome = rows(&list["tasks"])[0]["outcome"].as_str().unwrap().to_owned();
    assert!(outcome.starts_with("error: mount https://bob:***@nas failed x"), "{outcome}");
    assert!(outcome.ends_with("bytes)"), "{outcome}");
    assert!(notes(&list).contains("never instructions"), "{list}");
}

#[tokio::test]
async fn following_the_cursor_shows_every_task_once() {
    let nodes = ["pve1", "pve2", "pve3"];
    let tasks = (0..700).map(|nth| task(nth, nodes[usize::try_from(nth).unwrap() % 3], "qmstart"));
    let mut tasks: Vec<Task> = tasks.collect();
    // One that took long and ended last.
    tasks.push(Task::ended("pve1", "vzdump", "", "root@pam", (1_796_100_123, 1_796_120_000), "OK"));
    let all: BTreeSet<String> = tasks.iter().map(Task::upid).collect();
    let sim = with(tasks).await;
    let mut seen = BTreeSet::new();
    let mut arguments = json!({ "limit": 60 });
    loop {
        let answer = answer(&sim, "list_tasks", arguments.clone()).await;
        for upid in upids(&answer) {
            assert!(seen.insert(upid.clone()), "{upid} is shown twice");
        }
        let Some(cursor) = answer["next_cursor"].as_str() else { break };
        assert!(notes(&answer).contains("next_cursor"));
        arguments["cursor"] = json!(cursor);
    }
    assert_eq!(seen, all);
}

#[tokio::test]
async fn a_node_that_does_not_answer_is_named_and_costs_nothing_else() {
    let sim = demo().await;
    sim.answer(Rule::under("/nodes/pve2/tasks").status(595, "No route to host"));
    sim.change(|cluster| cluster.node_mut("pve3").unwrap().online = false);
    let list = answer(&sim, "list_tasks", json!({})).await;
    let missing = list["not_available"].to_string();
    assert!(missing.contains("pve2") && missing.contains("pve3 is offline"), "{missing}");
    assert!(!rows(&list["tasks"]).is_empty());
    assert!(asked_for(&sim, "/nodes/pve3/").is_empty());
    let told = failure(&sim, "list_tasks", json!({ "nodes": ["pve2"] })).await;
    assert!(told.contains("cannot be reached"), "{told}");
    let told = failure(&sim, "list_tasks", json!({ "nodes": ["pve9"] })).await;
    assert!(told.contains("no node `pve9`") && told.contains("pve1, pve2"), "{told}");
}

#[tokio::test]
async fn a_token_that_sees_only_its_own_tasks_is_told_so() {
    let sim = demo().await;
    sim.change(|cluster| {
        cluster.token("nobody@pve!t", DEMO_TOKEN_SECRET);
    });
    let result = as_token(&sim, "nobody@pve!t", DEMO_TOKEN_SECRET, "list_tasks", json!({})).await;
    let answer = structured(&result);
    assert_eq!(answer["shown"], 0);
    assert!(notes(&answer).contains("only this token's own tasks"), "{answer}");
    let all = crate::support::answer(&sim, "list_tasks", json!({})).await;
    assert!(!notes(&all).contains("own tasks"), "{all}");
    // One that has done something sees just that.
    let own = Task { user: "nobody@pve!t".to_owned(), ..task(0, "pve2", "qmstart") };
    let upid = own.upid();
    sim.change(|cluster| cluster.tasks.push(own));
    let result = as_token(&sim, "nobody@pve!t", DEMO_TOKEN_SECRET, "list_tasks", json!({})).await;
    let answer = structured(&result);
    assert_eq!(upids(&answer), [upid]);
    assert!(notes(&answer).contains("of pve1, pve2, pve3 only this token's own tasks"), "{answer}");
    // Where nobody can say whether that is all, that is said.
    sim.answer(Rule::get("/access/permissions").status(500, "got timeout"));
    let result = as_token(&sim, "nobody@pve!t", DEMO_TOKEN_SECRET, "list_tasks", json!({})).await;
    assert!(notes(&structured(&result)).contains("privileges could not be read"));
}

#[tokio::test]
async fn a_wrong_cursor_and_a_wrong_time_are_refused() {
    let sim = demo().await;
    let told = failure(&sim, "list_tasks", json!({ "cursor": "7" })).await;
    assert!(told.contains("the `cursor` is not one of this tool's"), "{told}");
    let told = failure(&sim, "list_tasks", json!({ "since": "soonish" })).await;
    assert!(told.contains("`since`: `soonish` is not a time"), "{told}");
    assert!(sim.requests().is_empty(), "nothing is asked before that is known");
}

#[tokio::test]
async fn the_recorded_tasks_are_listed_as_they_are() {
    let quiet = recorded_answer("root@pam!lab", "list_tasks", json!({})).await;
    assert!(rows(&quiet["tasks"]).iter().all(|row| row["type"] != "vncproxy"), "{quiet}");
    assert!(quiet["not_available"].to_string().contains("pve2 is offline"));
    let loud = recorded_answer("root@pam!lab", "list_tasks", json!({ "type": "console" })).await;
    let console = row(&loud["tasks"], "type", &json!("vncproxy"));
    assert_eq!(console["outcome"], "running");
    let none = recorded_answer("nopriv@pve!none", "list_tasks", json!({})).await;
    assert_eq!(none["shown"], 0);
    assert!(notes(&none).contains("Sys.Audit"), "{none}");
}

#[tokio::test]
async fn q107_a_backup_with_job_errors_has_failed() {
    let mut job =
        Task::ended("pve1", "vzdump", "", "root@pam", (1_772_204_739, 1_772_208_000), "job errors");
    job.log = [
        "INFO: Starting Backup of VM 100 (qemu)",
        "INFO: Finished Backup of VM 100 (00:00:10)",
        "INFO: Starting Backup of VM 101 (qemu)",
        "ERROR: Backup of VM 101 failed - no space left on device",
        "INFO: Starting Backup of VM 102 (lxc)",
        "ERROR: Backup of VM 102 failed - command 'mount' failed: exit code 32",
        "TASK ERROR: job errors",
    ]
    .map(str::to_owned)
    .to_vec();
    let upid = job.upid();
    let sim = with(vec![job]).await;
    let failed = json!({ "type": "backup", "outcome": "error" });
    let list = answer(&sim, "list_tasks", failed).await;
    assert_eq!(rows(&list["tasks"])[0]["outcome"], "error: job errors");
    let warned = answer(&sim, "list_tasks", json!({ "outcome": "warning" })).await;
    assert_eq!(warned["shown"], 0, "errors are no warnings: {warned}");
    // Which guests were not backed up stands in the log alone.
    let task = answer(&sim, "get_task", json!({ "upid": upid })).await;
    assert_eq!(task["outcome"], "error: job errors");
    for (vmid, result) in [
        (100, "ok"),
        (101, "error: no space left on device"),
        (102, "error: command 'mount' failed: exit code 32"),
    ] {
        assert_eq!(row(&task["backups"], "vmid", &json!(vmid))["result"], result, "{task}");
    }
}

#[tokio::test]
async fn q114_what_runs_is_listed_too() {
    let sim = demo().await;
    let upid = "UPID:pve1:000A1B2C:00F0E1D2:69A1B2C3:vzdump::root@pam:";
    sim.answer(Rule::under("/nodes/pve1/tasks").data(&json!([
        { "upid": upid, "node": "pve1", "pid": 1, "pstart": 2, "starttime": 1_772_204_739, "type": "vzdump", "id": "", "user": "root@pam", "status": "RUNNING" },
        { "upid": "UPID:pve1:000A1B2C:00F0E1D2:69A1B2C3:qmstop:100:root@pam:", "node": "pve1", "starttime": 1_772_204_000, "endtime": 1_772_204_005, "type": "qmstop", "id": "100", "user": "root@pam" },
    ])));
    let answer = answer(&sim, "list_tasks", json!({ "nodes": ["pve1"] })).await;
    assert!(asked_for(&sim, "/nodes/pve1/tasks?")[0].contains("source=all"));
    assert_eq!(row(&answer["tasks"], "upid", &json!(upid))["outcome"], "running");
    // An ended one without a status: nobody knows.
    assert_eq!(row(&answer["tasks"], "type", &json!("qmstop"))["outcome"], "unknown");
}

#[tokio::test]
async fn q115_a_token_is_found_by_its_whole_name() {
    let sim = with(vec![
        Task::ended("pve1", "qmstart", "100", "svc@pve!tool", (1_772_204_739, 1_772_204_741), "OK"),
        Task::ended("pve1", "qmstart", "101", "svc@pve", (1_772_204_739, 1_772_204_741), "OK"),
    ])
    .await;
    for user in ["svc@pve!tool", "!tool", "SVC@pve!"] {
        let answer = answer(&sim, "list_tasks", json!({ "user": user })).await;
        let ids: Vec<_> = rows(&answer["tasks"]).iter().map(|row| row["id"].clone()).collect();
        assert_eq!(ids, [json!("100")], "{user}");
    }
}

#[tokio::test]
async fn q129_consoles_are_left_out_unless_asked_for() {
    let mut tasks = vec![task(0, "pve1", "qmstart")];
    tasks.push(Task { status: "connection timed out".to_owned(), ..task(1, "pve1", "vncproxy") });
    let sim = with(tasks).await;
    let kinds = |answer: &Value| -> Vec<Value> {
        rows(&answer["tasks"]).iter().map(|row| row["type"].clone()).collect()
    };
    let usual = answer(&sim, "list_tasks", json!({})).await;
    assert_eq!(kinds(&usual), ["qmstart"]);
    assert!(notes(&usual).contains("console tasks are left out"), "{usual}");
    assert_eq!(
        kinds(&answer(&sim, "list_tasks", json!({ "type": "console" })).await),
        ["vncproxy"]
    );
}

#[tokio::test]
async fn backups_of_several_guests_are_said_not_to_be_found_by_one() {
    let sim = demo().await;
    let arguments = json!({ "vm": "125", "type": "backup" });
    let backups = answer(&sim, "list_tasks", arguments).await;
    assert!(notes(&backups).contains("search_logs vm=125"), "{backups}");
    let found = answer(&sim, "search_logs", json!({ "vm": "125" })).await;
    assert!(found["lines"].to_string().contains("backup of 125 (legacy-crm) error"), "{found}");
    let starts = answer(&sim, "list_tasks", json!({ "vm": "125", "type": "start" })).await;
    assert!(!notes(&starts).contains("several guests"), "{starts}");
}

#[tokio::test]
async fn a_user_who_did_nothing_is_said_to_have_done_nothing() {
    let sim = demo().await;
    let nobody = answer(&sim, "list_tasks", json!({ "user": "nobody" })).await;
    assert!(notes(&nobody).contains("by a user with `nobody` in the name"), "{nobody}");
    let admin = answer(&sim, "list_tasks", json!({ "user": "admin", "type": "clone" })).await;
    assert!(!notes(&admin).contains("by a user with"), "{admin}");
}
