//! What `get_task` tells of the reason for an end, of progress and of the guests of a backup.

use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim, Task};
use serde_json::{Value, json};

use crate::{
    process::{Program, program_for},
    support::{answer, demo, failure, notes, row, rows},
};

async fn with(task: Task) -> (Sim, String) {
    let sim = demo().await;
    let upid = task.upid();
    sim.change(|cluster| cluster.tasks.push(task));
    (sim, upid)
}

fn task(kind: &str, id: &str, status: &str, log: &[&str]) -> Task {
    Task::ended("pve2", kind, id, "root@pam", (1_796_000_000, 1_796_000_075), status).with_log(log)
}

fn texts(table: &Value) -> Vec<String> {
    rows(table).iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_migration_tells_why_although_its_lines_begin_with_a_time() {
    let (sim, upid) = with(task(
        "qmigrate",
        "104",
        "migration aborted",
        &[
            "2025-04-15 11:04:02 starting migration of VM 104 to node 'pve2' (192.168.1.12)",
            "2025-04-15 11:04:06 ERROR: migration aborted (duration 00:00:04): Can't connect to destination address using public key",
            "TASK ERROR: migration aborted",
        ],
    ))
    .await;
    let task = answer(&sim, "get_task", json!({ "upid": upid })).await;
    let told = texts(&task["telling_lines"]);
    assert!(told[0].contains("Can't connect to destination address"), "{told:?}");
    assert_eq!(told[1], "TASK ERROR: migration aborted");
}

#[tokio::test]
async fn many_errors_do_not_hide_the_last_word_and_early_ones_are_found() {
    let errors: Vec<String> =
        (0..40).map(|nth| format!("ERROR: block {nth} is unreadable")).collect();
    let mut log: Vec<&str> = errors.iter().map(String::as_str).collect();
    let progress = vec!["copied one more block"; 3000];
    log.extend(progress);
    log.push("TASK ERROR: copy failed");
    let (sim, upid) = with(task("move_volume", "104", "copy failed", &log)).await;
    let task = answer(&sim, "get_task", json!({ "upid": upid, "lines": 1 })).await;
    let told = texts(&task["telling_lines"]);
    assert_eq!((told.len(), told[0].as_str()), (12, "ERROR: block 0 is unreadable"));
    assert_eq!(told[11], "TASK ERROR: copy failed");
    assert!(notes(&task).contains("29 more lines tell of errors"), "{task}");
    // A log without end is looked through in its last part, and that is said.
    sim.change(|cluster| {
        cluster.tasks.iter_mut().find(|task| task.upid() == upid).unwrap().filler = 100_000;
    });
    let task = answer(&sim, "get_task", json!({ "upid": upid, "lines": 1 })).await;
    assert!(
        notes(&task).contains("only lines 82042 to 103041 were looked through"),
        "{}",
        notes(&task)
    );
}

const TWO: [&str; 8] = [
    "INFO: starting new backup job: vzdump 100 101 --mode snapshot",
    "INFO: Starting Backup of VM 100 (qemu)",
    "INFO: 100% (2.0 GiB of 2.0 GiB) in 3s, read: 1.1 GiB/s",
    "INFO: backup was done incrementally, reused 1.90 GiB (95%)",
    "INFO: Finished Backup of VM 100 (00:00:04)",
    "INFO: Starting Backup of VM 101 (qemu)",
    "INFO:   7% (1.0 GiB of 14.0 GiB) in 3s, read: 1.1 GiB/s",
    "INFO: backup is sparse: 1 GiB (62%) total zero data",
];

#[tokio::test]
async fn a_killed_backup_leaves_nobody_running() {
    let (sim, upid) = with(task("vzdump", "", "unexpected status", &TWO)).await;
    let task = answer(&sim, "get_task", json!({ "upid": upid })).await;
    assert_eq!(task["outcome"], "unknown");
    assert_eq!(row(&task["backups"], "vmid", &json!(100))["result"], "ok");
    assert_eq!(row(&task["backups"], "vmid", &json!(101))["result"], "unknown");
    assert!(task.get("progress_percent").is_none());
}

#[tokio::test]
async fn of_a_backup_of_several_the_guest_that_runs_has_the_percentage() {
    let (sim, upid) = with(task("vzdump", "", "", &TWO).still_running()).await;
    let task = answer(&sim, "get_task", json!({ "upid": upid })).await;
    assert_eq!(task["progress_percent"], 7.0);
    assert!(notes(&task).contains("of the guest whose backup runs"), "{task}");
    assert_eq!(row(&task["backups"], "vmid", &json!(101))["result"], "running");
    // Between two guests nobody knows.
    sim.change(|cluster| {
        cluster.tasks.iter_mut().find(|task| task.upid() == upid).unwrap().log.truncate(5);
    });
    assert!(
        answer(&sim, "get_task", json!({ "upid": upid })).await.get("progress_percent").is_none()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_goes_on_with_the_next_guest_over_the_wire() {
    let (sim, upid) = with(task("vzdump", "", "", &TWO[..3]).still_running()).await;
    let told = tokio::task::block_in_place(|| {
        let mut program = Program::start(&mut program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
        program.initialize("2025-11-25");
        let params = json!({ "name": "get_task", "arguments": { "upid": upid, "wait_seconds": 30 }, "_meta": { "progressToken": "p" } });
        program
            .send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }));
        let mut told = Vec::new();
        loop {
            let message = program.receive();
            if message["id"] == 9 {
                assert_eq!(message["result"]["structuredContent"]["outcome"], "ok", "{message}");
                return told;
            }
            // Each word that the client hears lets the task go on.
            told.push(message["params"].clone());
            sim.change(|cluster| {
                let task = cluster.tasks.iter_mut().find(|task| task.upid() == upid).unwrap();
                if told.len() == 1 {
                    task.log.extend(TWO[3..].iter().map(|line| (*line).to_owned()));
                } else {
                    (task.endtime, task.status) = (Some(task.starttime + 60), "OK".to_owned());
                }
            });
        }
    });
    let done: Vec<f64> = told.iter().map(|told| told["progress"].as_f64().unwrap()).collect();
    assert_eq!(done, [100.0, 107.0], "{told:?}");
    assert_eq!(told[0]["progressToken"], "p");
    assert!(
        told[0].get("total").is_none_or(Value::is_null),
        "nobody knows how many guests there are"
    );
}

#[tokio::test]
async fn lines_around_a_match_are_shown_though_they_match_too() {
    let lines: Vec<String> = (1..=30).map(|nth| format!("INFO: step {nth}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (sim, upid) = with(task("qmstart", "100", "OK", &lines)).await;
    let arguments = json!({ "upid": upid, "pattern": "INFO", "lines": 1, "context": 100 });
    let found = answer(&sim, "get_task", arguments).await;
    assert_eq!(texts(&found["log"]).len(), 11, "the match and ten lines after it");
    assert!(notes(&found).contains("`context` was taken as 10"), "{found}");
    assert!(notes(&found).contains("from_line 12"), "{found}");
    let none = answer(&sim, "get_task", json!({ "upid": upid, "pattern": "step.*" })).await;
    assert!(notes(&none).contains("plain text"), "{none}");
}

#[tokio::test]
async fn a_node_that_is_not_there_is_called_that() {
    let upid = "UPID:pve9:00000001:00000001:6B000001:qmstart:100:root@pam:";
    let told = failure(&demo().await, "get_task", json!({ "upid": upid })).await;
    assert!(told.contains("no node `pve9`") && !told.contains("hostname"), "{told}");
}

#[tokio::test]
async fn what_a_backup_says_of_a_guest_is_masked_and_cut_with_its_length() {
    let why = format!(
        "ERROR: Backup of VM 100 failed - mount https://bob:hunter2@nas {}",
        "x".repeat(200)
    );
    let key = "MIIEowIBAAKCAQEAx0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL";
    let log = [
        "INFO: Starting Backup of VM 100 (qemu)",
        &why,
        "-----BEGIN PRIVATE KEY-----",
        key,
        "QUJD",
        "-----END PRIVATE KEY-----",
    ];
    let (sim, upid) = with(task("vzdump", "100", "job errors", &log)).await;
    let task = answer(&sim, "get_task", json!({ "upid": upid })).await;
    let result = row(&task["backups"], "vmid", &json!(100))["result"].as_str().unwrap().to_owned();
    assert!(
        result.starts_with("error: mount https://bob:***@nas") && result.ends_with("bytes)"),
        "{result}"
    );
    for secret in ["hunter2", "MIIE", "QUJD"] {
        assert!(!task.to_string().contains(secret), "{task}");
    }
}
