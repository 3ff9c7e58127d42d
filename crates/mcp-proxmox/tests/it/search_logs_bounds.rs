//! What `search_logs` did not look at, and says so; ranges, guests, and how to go on.

use std::collections::BTreeSet;

use pve_sim::{DEMO_TOKEN_SECRET, Journal, JournalEntry, Rule, Sim, Task, Version};
use serde_json::{Value, json};

use crate::{
    logs::{as_token, asked_for},
    support::{answer, demo, failure, notes, rows, structured},
};

const SEARCH: &str = "search_logs";
const START: u64 = 1_796_000_000;

fn messages(answer: &Value) -> Vec<String> {
    rows(&answer["lines"]).iter().map(|row| row["message"].as_str().unwrap().to_owned()).collect()
}

/// The demo cluster without any logs but these entries, a second after each other, and these tasks.
async fn with(entries: &[&str], tasks: Vec<Task>) -> Sim {
    let sim = demo().await;
    let entries = (0u64..).zip(entries);
    let entries =
        entries.map(|(nth, text)| JournalEntry::new((START + nth) * 1_000_000, "cron", 6, text));
    let entries: Vec<_> = entries.collect();
    sim.change(|cluster| {
        for node in ["pve1", "pve2", "pve3"] {
            cluster.node_mut(node).unwrap().journal = Journal::default();
        }
        cluster.node_mut("pve1").unwrap().journal.entries = entries;
        cluster.log.clear();
        cluster.tasks = tasks;
    });
    sim
}

fn ended(kind: &str, id: &str, (start, end): (u64, u64), status: &str, log: &[&str]) -> Task {
    Task::ended("pve1", kind, id, "root@pam", (START + start, START + end), status).with_log(log)
}

/// All of those days.
fn then() -> Value {
    json!({ "since": "1795900000", "until": "1796100000" })
}

#[tokio::test]
async fn a_unit_is_looked_for_in_journals_alone_and_that_is_said() {
    let sim = demo().await;
    for sources in [json!(["tasks"]), json!(["cluster", "tasks"])] {
        let told = failure(&sim, SEARCH, json!({ "unit": "kernel", "sources": sources })).await;
        assert!(told.contains("`unit` narrows journals"), "{told}");
    }
    let told = failure(&sim, SEARCH, json!({ "unit": "pve!!" })).await;
    assert!(told.contains("not the name of a systemd unit"), "{told}");
    let found = answer(&sim, SEARCH, json!({ "unit": "kernel" })).await;
    assert!(notes(&found).contains("journals alone are searched"), "{found}");
    let found = answer(&sim, SEARCH, json!({ "unit": "kernel", "sources": ["journal"] })).await;
    assert!(!notes(&found).contains("journals alone are searched"), "{found}");
}

#[tokio::test]
async fn what_is_a_guess_is_said_to_be_one_though_nothing_fits() {
    let sim = with(&["all is well", "a disk failed"], Vec::new()).await;
    for (version, is_guessed) in
        [(Version::v8_4(), true), (Version::v9_0(), true), (Version::v9_2(), false)]
    {
        sim.change(|cluster| cluster.version = version);
        let mut arguments = then();
        arguments["severity"] = json!("error");
        let found = answer(&sim, SEARCH, arguments.clone()).await;
        assert_eq!(notes(&found).contains("approximate"), is_guessed, "{found}");
        assert_eq!(found["shown"], u64::from(is_guessed));
        if is_guessed {
            assert_eq!(rows(&found["lines"])[0]["severity"], "~error");
        }
        arguments["pattern"] = json!("absent");
        arguments["unit"] = json!("cron");
        let none = answer(&sim, SEARCH, arguments).await;
        assert_eq!(none["shown"], 0);
        assert_eq!(notes(&none).contains("approximate"), is_guessed, "{none}");
        assert_eq!(notes(&none).contains("compared with the name"), is_guessed, "{none}");
    }
}

#[tokio::test]
async fn a_task_is_where_it_ended() {
    let sim = with(&[], vec![ended("qmigrate", "104", (0, 2400), "migration aborted", &[])]).await;
    let count = async |since: u64, until: u64| {
        let range =
            json!({ "since": (START + since).to_string(), "until": (START + until).to_string() });
        answer(&sim, SEARCH, range).await["found"].as_u64().unwrap()
    };
    // It failed within the range though it began before.
    assert_eq!(count(1800, 3600).await, 1);
    assert_eq!(count(0, 1800).await, 0);
    assert_eq!(count(2400, 2401).await, 1);
    assert_eq!(count(2401, 3600).await, 0);
}

const BACKUP: [&str; 11] = [
    "INFO: starting new backup job: vzdump 100 110 125 --mode snapshot",
    "INFO: Starting Backup of VM 100 (qemu)",
    "INFO: VM Name: dc01",
    "INFO: 100% (100.0 GiB of 100.0 GiB) in 100s",
    "INFO: Finished Backup of VM 100 (00:01:42)",
    "INFO: Starting Backup of VM 110 (qemu)",
    "INFO: VM Name: mail",
    "INFO: Finished Backup of VM 110 (00:01:42)",
    "INFO: Starting Backup of VM 125 (qemu)",
    "ERROR: Backup of VM 125 failed - storage 'nas' is not online",
    "TASK ERROR: job errors",
];

#[tokio::test]
async fn of_a_backup_of_several_each_guest_has_its_own_end() {
    let other = ["INFO: 100% (100.0 GiB of 100.0 GiB)", "TASK ERROR: job errors"];
    let sim = with(
        &["status update 9001", "VM mail is busy", "VM 110 is busy too"],
        vec![
            ended("vzdump", "", (0, 60), "job errors", &BACKUP),
            ended("vzdump", "", (100, 160), "job errors", &other),
            ended("qmstart", "110", (200, 201), "OK", &[]),
        ],
    )
    .await;
    let search = async |vm: &str, more: Value| {
        let mut arguments = then();
        arguments["vm"] = json!(vm);
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        messages(&answer(&sim, SEARCH, arguments).await)
    };
    for vm in ["110", "mail"] {
        let found = search(vm, json!({})).await;
        let has = |text: &str| found.iter().any(|message| message.contains(text));
        assert_eq!(found.len(), 4, "{found:#?}");
        assert!(has("backup of 110 (mail) ok") && has("qmstart 110"), "{found:#?}");
        assert!(has("VM mail is busy") && has("VM 110 is busy too"), "{found:#?}");
        assert!(!has("job errors"), "its own backup is fine: {found:#?}");
        assert!(search(vm, json!({ "severity": "error" })).await.is_empty());
    }
    let found = search("100", json!({})).await;
    assert_eq!(found.len(), 1, "a percentage is no guest: {found:#?}");
    assert!(found[0].contains("backup of 100 (dc01) ok"), "{found:#?}");
    let found = search("125", json!({ "severity": "error" })).await;
    assert!(found[0].contains("backup of 125 error: storage 'nas' is not online"), "{found:#?}");
    assert!(search("9001", json!({})).await.is_empty(), "a number is no guest");
}

#[tokio::test]
async fn logs_that_were_not_searched_are_named() {
    let mut tasks: Vec<Task> = (0..8u64)
        .map(|nth| {
            ended(
                "qmstart",
                "104",
                (nth * 10, nth * 10 + 5),
                "start failed",
                &["TASK ERROR: start failed"],
            )
        })
        .collect();
    tasks[7].filler = 900;
    let (gone, long) = (tasks[6].upid(), tasks[7].upid());
    let sim = with(&[], tasks).await;
    sim.answer(
        Rule::get(&format!("/nodes/pve1/tasks/{gone}/log")).status(500, "unable to open file"),
    );
    let mut arguments = then();
    arguments["pattern"] = json!("start");
    let found = answer(&sim, SEARCH, arguments).await;
    let told = notes(&found);
    assert!(told.contains("of 8 failed tasks on pve1 only the logs of the newest 5"), "{told}");
    assert!(told.contains("of 1 long task logs on pve1 only the last lines"), "{told}");
    assert!(found["not_available"].to_string().contains(&gone), "{found}");
    assert!(!found["not_available"].to_string().contains(&long), "{found}");
    assert_eq!(found["found"], 8);
}

#[tokio::test]
async fn what_repeats_is_counted_as_far_as_it_was_looked_at_and_that_is_said() {
    let sim = with(&["the newest"], Vec::new()).await;
    sim.change(|cluster| cluster.node_mut("pve1").unwrap().journal.filler = 20_000);
    let mut arguments = then();
    arguments["pattern"] = json!("status update");
    arguments["limit"] = json!(5);
    let found = answer(&sim, SEARCH, arguments.clone()).await;
    assert_eq!(
        (found["found"].as_u64().unwrap(), found["shown"].as_u64().unwrap()),
        (9999, 1),
        "{found}"
    );
    let told = notes(&found);
    assert!(told.contains("only back to: journal of pve1 2026-11-29T22:06:"), "{told}");
    assert!(told.contains("`found`, `count` and `first` reach no further; `until`"), "{told}");
    assert!(found["complete_since"].as_str().unwrap().starts_with("2026-11-29T22:06:"), "{found}");
    // The way that is shown leads to what is left.
    let until = told.split("; `until` ").nth(1).unwrap().split(' ').next().unwrap();
    arguments["until"] = json!(until);
    let rest = answer(&sim, SEARCH, arguments).await;
    assert!(rest["found"].as_u64().unwrap() >= 10_000, "{rest}");
}

#[tokio::test]
async fn guests_with_large_numbers_are_not_folded_into_one() {
    let sim = with(
        &["VM 10001 started", "VM 10002 started", "worker 10003 ends", "worker 10004 ends"],
        Vec::new(),
    )
    .await;
    let found = answer(&sim, SEARCH, then()).await;
    assert_eq!(
        messages(&found),
        ["cron: VM 10001 started", "cron: VM 10002 started", "cron: worker 10004 ends"]
            .map(|text| text.replace("cron:", &cron(&found)))
    );
}

/// How the entries' service is written, with its process.
fn cron(found: &Value) -> String {
    messages(found)[0].split(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn the_way_on_loses_no_line_of_the_second_at_which_a_page_ends() {
    let sim = with(&["a one", "b two", "c three", "d four", "e five"], Vec::new()).await;
    sim.change(|cluster| {
        let mut other = JournalEntry::new((START + 2) * 1_000_000 + 7, "zed", 6, "z three");
        other.pid = None;
        cluster.node_mut("pve2").unwrap().journal.entries = vec![other];
    });
    let mut arguments = then();
    arguments["limit"] = json!(3);
    let mut seen = BTreeSet::new();
    loop {
        let found = answer(&sim, SEARCH, arguments.clone()).await;
        seen.extend(
            messages(&found).iter().map(|text| text.split(": ").nth(1).unwrap().to_owned()),
        );
        let told = notes(&found);
        let Some((_, way)) = told.split_once("not shown: `until` ") else {
            assert!(!told.contains("not shown"), "{told}");
            break;
        };
        arguments["until"] = json!(way.split(' ').next().unwrap());
    }
    assert_eq!(seen.len(), 6, "{seen:?}");
    // Where more fit into a second than are shown, no time leads on.
    arguments =
        json!({ "since": (START + 2).to_string(), "until": (START + 3).to_string(), "limit": 1 });
    let told = notes(&answer(&sim, SEARCH, arguments).await);
    assert!(told.contains("1 older lines are not shown: a larger limit"), "{told}");
}

#[tokio::test]
async fn what_is_hidden_from_a_token_and_what_nobody_knows_is_said() {
    let sim = with(
        &[],
        vec![
            Task { user: "own@pve!t".to_owned(), ..ended("qmstart", "100", (0, 1), "OK", &[]) },
            ended("qmstop", "101", (5, 6), "OK", &[]),
        ],
    )
    .await;
    sim.change(|cluster| {
        cluster.token("own@pve!t", DEMO_TOKEN_SECRET);
    });
    let arguments =
        json!({ "sources": ["tasks", "cluster"], "since": "1795900000", "until": "1796100000" });
    let own = async || {
        structured(&as_token(&sim, "own@pve!t", DEMO_TOKEN_SECRET, SEARCH, arguments.clone()).await)
    };
    let found = own().await;
    assert_eq!(found["found"], 1, "{found}");
    assert!(notes(&found).contains("of pve1, pve2, pve3 only this token's own tasks"), "{found}");
    sim.answer(Rule::get("/access/permissions").status(500, "got timeout"));
    assert!(notes(&own().await).contains("privileges could not be read"));
}

#[tokio::test]
async fn a_timeout_on_the_way_loses_nothing_that_was_read() {
    let sim = with(&["the needle"], Vec::new()).await;
    sim.change(|cluster| cluster.node_mut("pve1").unwrap().journal.filler = 5000);
    sim.answer(
        Rule::under("/nodes/pve1/journal?lastentries=3000").status(596, "Connection timed out"),
    );
    let mut arguments = then();
    arguments["pattern"] = json!("needle");
    let found = answer(&sim, SEARCH, arguments).await;
    assert_eq!(found["found"], 1, "{found}");
    assert!(
        found["not_available"].to_string().contains("read on in the journal of pve1"),
        "{found}"
    );
    assert!(notes(&found).contains("only back to: journal of pve1"), "{found}");
}

#[tokio::test]
async fn journals_of_a_million_entries_are_searched_in_part_and_that_is_said() {
    let sim = with(&["the newest"], Vec::new()).await;
    sim.change(|cluster| {
        for node in ["pve1", "pve2", "pve3"] {
            cluster.node_mut(node).unwrap().journal.filler = 1_000_000;
        }
    });
    let found = answer(&sim, SEARCH, json!({ "since": "1790000000", "pattern": "status.*" })).await;
    assert_eq!(found["shown"], 0);
    let told = notes(&found);
    assert!(told.contains("nothing was found in what was looked at"), "{told}");
    assert!(told.contains("plain text"), "{told}");
    assert_eq!(told.matches("not everything was looked at").count(), 1, "{told}");
    assert!(asked_for(&sim, "/journal").len() <= 12);
}
