//! The record of writes, as an administrator reads it.

use std::{path::PathBuf, process::Command};

use mcp_proxmox::{config::Confirm, policy::Policy};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim, Takes};
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};

use crate::{
    power::{posts, start, start_with, write_server_with},
    process::{PATIENCE, Program, program_for},
    support::{call_on, connect, failed, structured},
};

/// An audit log that is gone at the end of the test.
pub struct Record(pub PathBuf);

impl Record {
    pub fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("mcp-proxmox-{name}-{}", std::process::id())))
    }

    fn policy(&self) -> Policy {
        self.policy_of(None, "", Confirm::Never)
    }

    pub fn policy_of(&self, allow: Option<&str>, protect: &str, confirm: Confirm) -> Policy {
        let allow = allow.map(|text| text.parse().unwrap());
        Policy::new(allow, protect.parse().unwrap(), confirm, Some(self.0.clone()))
    }

    /// The program that may write, and keeps this record.
    fn kept_by_a_program_for(&self, sim: &Sim) -> Command {
        let mut command = program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", "write").env("PVE_AUDIT_LOG", &self.0);
        command
    }

    /// Such a program, in which request 9 starts VM 101 and waits for the task.
    fn with_a_start_under_way(&self, sim: &Sim) -> Program {
        let mut program = Program::start(&mut self.kept_by_a_program_for(sim));
        program.initialize("2025-11-25");
        let params = json!({ "name": "start_vm", "arguments": { "vm": "101" } });
        program
            .send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }));
        until_followed(sim);
        program
    }

    /// Its only line.
    pub fn line(&self) -> Value {
        let lines = self.lines();
        let [line] = lines.as_slice() else { panic!("{lines:#?}") };
        line.clone()
    }

    pub fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn a_write_leaves_two_lines_that_say_who_did_what_to_what_and_how_it_went() {
    let (sim, record) = (start().await, Record::new("two"));
    let server = write_server_with(&sim, record.policy());
    let answer = structured(&call_on(server, "stop_vm", json!({ "vm": "app1" })).await);
    let lines = record.lines();
    let [sent, outcome] = lines.as_slice() else { panic!("{lines:#?}") };
    for (name, value) in [
        ("event", json!("send")),
        ("user", json!("root@pam")),
        ("token", json!("demo")),
        ("client", json!("rmcp")),
        ("tool", json!("stop_vm")),
        ("target", json!("qemu/100")),
        ("node", json!("pve1")),
        ("before", json!("running")),
    ] {
        assert_eq!(sent[name], value, "{name}");
    }
    assert_eq!(sent["arguments"]["vm"], "app1");
    assert_eq!(sent["consent"], "not required");
    assert_eq!((&outcome["event"], &outcome["outcome"]), (&json!("outcome"), &json!("done")));
    assert_eq!((&outcome["id"], &outcome["upid"]), (&sent["id"], &answer["task"]));
    assert_eq!(outcome["after"], "stopped");
    assert!(sent["time"].as_str().unwrap().ends_with('Z'));
}

#[tokio::test]
async fn what_is_not_sent_is_not_recorded() {
    let (sim, record) = (start().await, Record::new("none"));
    for (tool, arguments) in [
        ("start_vm", json!({ "vm": "100" })),
        ("start_vm", json!({ "vm": "102" })),
        ("stop_vm", json!({ "vm": "100", "dry_run": true })),
    ] {
        call_on(write_server_with(&sim, record.policy()), tool, arguments).await;
    }
    assert!(record.lines().is_empty());
}

#[tokio::test]
async fn a_failure_is_recorded_with_its_reason() {
    let (sim, record) = (start().await, Record::new("failure"));
    let server = write_server_with(&sim, record.policy());
    failed(&call_on(server, "start_vm", json!({ "vm": "108" })).await);
    let outcome = &record.lines()[1];
    assert_eq!(outcome["outcome"], "failed");
    assert!(outcome["why"].as_str().unwrap().contains("storage 'nas' is not online"));
    assert!(outcome["upid"].as_str().unwrap().starts_with("UPID:pve2:"), "{outcome}");
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_the_write() {
    let sim = start().await;
    let nowhere = Some(PathBuf::from("/nowhere/at/all/audit.log"));
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, nowhere);
    let told =
        failed(&call_on(write_server_with(&sim, policy), "stop_vm", json!({ "vm": "100" })).await);
    assert!(told.contains("PVE_AUDIT_LOG") && told.contains("nothing was sent"), "{told}");
    assert!(posts(&sim).is_empty());
    assert!(sim.change(|lab| lab.guest(100).unwrap().is_up()));
}

/// Nobody is asked, and no dry run succeeds, for what could not be recorded.
#[tokio::test]
async fn a_dry_run_finds_that_the_log_cannot_be_written() {
    let sim = start().await;
    let policy = || {
        let nowhere = Some(PathBuf::from("/nowhere/at/all/audit.log"));
        Policy::new(None, "".parse().unwrap(), Confirm::Always, nowhere)
    };
    for arguments in [json!({ "vm": "100", "dry_run": true }), json!({ "vm": "100" })] {
        let told = failed(&call_on(write_server_with(&sim, policy()), "stop_vm", arguments).await);
        assert!(told.contains("the audit log cannot be written"), "{told}");
        assert!(told.contains("PVE_AUDIT_LOG") && !told.contains("confirm"), "{told}");
    }
}

/// A line that a full disk cut off spoils no other.
#[tokio::test]
async fn a_line_that_was_cut_off_is_not_gone_on_with() {
    let (sim, record) = (start().await, Record::new("torn"));
    std::fs::write(&record.0, r#"{"time":"2026-11-30T"#).unwrap();
    let server = write_server_with(&sim, record.policy());
    structured(&call_on(server, "stop_vm", json!({ "vm": "app1" })).await);
    let text = std::fs::read_to_string(&record.0).unwrap();
    let lines: Vec<Option<Value>> =
        text.lines().map(|line| serde_json::from_str(line).ok()).collect();
    let [None, Some(sent), Some(outcome)] = lines.as_slice() else { panic!("{text}") };
    assert_eq!((&sent["event"], &outcome["event"]), (&json!("send"), &json!("outcome")));
}

/// Waits until the task of VM 101 is looked at, without a clock: its request was answered by then.
fn until_followed(sim: &Sim) {
    let is_followed = || sim.requests().iter().any(|seen| seen.path.contains("/tasks/UPID"));
    let began = std::time::Instant::now();
    while !is_followed() {
        assert!(began.elapsed() < PATIENCE, "no task of it is looked at");
        std::thread::yield_now();
    }
}

/// The record says what was sent, and why nobody knows what came of it.
fn is_given_up(record: &Record, why: &str) {
    let lines = record.lines();
    let [sent, outcome] = lines.as_slice() else { panic!("{lines:#?}") };
    assert_eq!((&sent["event"], &outcome["outcome"]), (&json!("send"), &json!("unknown")));
    let told = |name: &str| outcome[name].as_str().unwrap();
    assert!(told("sent").starts_with("start qemu/101 (task UPID:pve1:"), "{outcome}");
    assert!(told("upid").starts_with("UPID:pve1:"), "{outcome}");
    assert!(told("why").contains(why), "{outcome}");
}

/// Waits until a request was sent, without a clock.
async fn until_sent(sim: &Sim) {
    while posts(sim).is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_is_recorded_as_unknown() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let record = Record::new("given-up");
    let client = connect(write_server_with(&sim, record.policy())).await;
    let mut request = CallToolRequestParams::new("start_vm");
    request.arguments = json!({ "vm": "101" }).as_object().cloned();
    let calling = client.send_cancellable_request(
        rmcp::model::ClientRequest::CallToolRequest(rmcp::model::CallToolRequest::new(request)),
        rmcp::service::PeerRequestOptions::no_options(),
    );
    let handle = calling.await.unwrap();
    until_sent(&sim).await;
    // What is to be done was written down before PVE heard of it.
    let before = record.lines();
    assert_eq!((before.len(), &before[0]["event"]), (1, &json!("send")), "{before:?}");
    assert!(before[0].get("upid").is_none(), "{before:?}");
    handle.cancel(Some("enough".to_owned())).await.unwrap();
    while record.lines().len() < 2 {
        tokio::task::yield_now().await;
    }
    let lines = record.lines();
    assert_eq!((&lines[1]["outcome"], &lines[1]["id"]), (&json!("unknown"), &lines[0]["id"]));
    assert!(lines[1]["why"].as_str().unwrap().starts_with("the client cancelled"), "{}", lines[1]);
    // The task goes on all the same.
    assert_eq!(sim.change(|lab| lab.tasks.iter().filter(|task| task.endtime.is_none()).count()), 2);
    sim.change(pve_sim::Cluster::finish_tasks);
    assert!(sim.change(|lab| lab.guest(101).unwrap().is_up()));
}

/// A cancelled call gets no answer, so that what goes on is told on stderr, and recorded.
#[tokio::test(flavor = "multi_thread")]
async fn what_goes_on_of_a_cancelled_write_is_on_stderr_and_in_the_record() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let record = Record::new("cancelled");
    let (next, stderr) = tokio::task::block_in_place(|| {
        let mut program = record.with_a_start_under_way(&sim);
        program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } }));
        while record.lines().len() < 2 {
            std::thread::yield_now();
        }
        // Nothing is said of it on standard output: the next line answers the next request.
        let next = program.call("get_vm_status", json!({ "vm": "101" }));
        let ended = program.end();
        assert!(ended.lines.is_empty(), "{:?}", ended.lines);
        (next, ended.stderr)
    });
    is_given_up(&record, "the client cancelled the call");
    assert!(next.to_string().contains("qmstart"), "{next}");
    let upid = record.lines()[1]["upid"].as_str().unwrap().to_owned();
    assert!(stderr.contains("the client cancelled a call"), "{stderr}");
    assert!(stderr.contains(&format!("`start qemu/101 (task {upid})`")), "{stderr}");
    assert!(stderr.contains("goes on there"), "{stderr}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_during_a_write_leaves_an_unknown_outcome_behind() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let record = Record::new("left");
    tokio::task::block_in_place(|| {
        let program = record.with_a_start_under_way(&sim);
        let ended = program.end();
        assert!(ended.status.success());
        let told = ended.lines.join("\n");
        assert!(told.contains("`start qemu/101 (task UPID:pve1:"), "{told}");
        assert!(told.contains("may take effect, and was not waited for"), "{told}");
    });
    is_given_up(&record, "the client left");
    assert_eq!(record.lines()[0]["client"], "test");
}

#[cfg(unix)]
/// Whether the tests were begun by `nohup`, say. What they start inherits that.
fn ignores_the_end_of_its_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & 1 == 1)
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_during_a_write_leaves_an_unknown_outcome_behind() {
    for (signal, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        if signal == "-HUP" && ignores_the_end_of_its_terminal() {
            eprintln!(
                "SIGHUP left out: what started the tests has it ignored, and so have the programs that they start"
            );
            continue;
        }
        let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
        let record = Record::new(&format!("signal{signal}"));
        tokio::task::block_in_place(|| {
            let mut command = record.kept_by_a_program_for(&sim);
            let mut program = Program::start(&mut command);
            program.initialize("2025-11-25");
            let params = json!({ "name": "start_vm", "arguments": { "vm": "101" } });
            program.send(
                &json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }),
            );
            until_followed(&sim);
            program.signal(signal);
            let answer = program.receive();
            assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(9), &json!(true)));
            assert!(answer.to_string().contains("`start qemu/101 (task UPID:pve1:"), "{answer}");
            assert_eq!(program.ends_by_itself().code(), Some(code));
        });
        is_given_up(&record, "told to end");
    }
}

/// `nohup` has the end of the terminal ignored, and means that.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn who_ignores_the_end_of_its_terminal_goes_on() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let record = Record::new("nohup");
    tokio::task::block_in_place(|| {
        let own = record.kept_by_a_program_for(&sim);
        let mut command = Command::new("nohup");
        command.arg(own.get_program()).args(["call", "start_vm", "vm=101"]);
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut program = Program::start(&mut command);
        until_followed(&sim);
        program.signal("-HUP");
        // That it goes on is seen by what comes after the signal: the task ends, and its outcome is recorded.
        sim.change(pve_sim::Cluster::finish_tasks);
        assert_eq!(program.ends_by_itself().code(), Some(0));
    });
    assert_eq!(record.lines()[1]["outcome"], "done");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_signal_during_a_write_on_the_command_line_leaves_an_unknown_outcome_behind() {
    let sim = start_with(101, |guest| guest.takes = Takes::UntilTold).await;
    let record = Record::new("signal-call");
    tokio::task::block_in_place(|| {
        let mut command = record.kept_by_a_program_for(&sim);
        command.args(["call", "start_vm", "vm=101"]);
        let mut program = Program::start(&mut command);
        until_followed(&sim);
        program.signal("-INT");
        assert_eq!(program.ends_by_itself().code(), Some(130));
    });
    is_given_up(&record, "told to end");
}

#[tokio::test(flavor = "multi_thread")]
async fn how_consent_came_about_is_recorded() {
    let sim = start().await;
    let record = Record::new("consent");
    let policy =
        || Policy::new(None, "".parse().unwrap(), Confirm::Destructive, Some(record.0.clone()));
    let arguments = json!({ "vm": "106", "confirm": true });
    structured(&call_on(write_server_with(&sim, policy()), "stop_vm", arguments).await);
    tokio::task::block_in_place(|| {
        let command = || record.kept_by_a_program_for(&sim);
        let mut flag = command();
        flag.args(["call", "stop_vm", "vm=100", "--yes"]);
        assert_eq!(crate::process::run(&mut flag).0, 0);
        let mut program = Program::start(&mut command());
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "test", "version": "1" } });
        program.request("initialize", hello);
        program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let params = json!({ "name": "stop_vm", "arguments": { "vm": "120" } });
        program
            .send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }));
        let yes = json!({ "action": "accept", "content": { "confirm": true } });
        let id = program.receive()["id"].clone();
        program.send(&json!({ "jsonrpc": "2.0", "id": id, "result": yes }));
        assert_eq!(program.receive()["result"]["structuredContent"]["outcome"], "done");
    });
    let lines = record.lines();
    let how: Vec<_> = lines.iter().filter_map(|line| line["consent"].as_str()).collect();
    assert_eq!(how, ["confirm: true", "--yes", "asked and accepted"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_after_something_was_typed_leaves_its_length_behind_and_not_the_text()
{
    let mut demo = pve_sim::Cluster::demo();
    let shell = pve_sim::Program::shell("mail", "root");
    demo.guest_mut(110).unwrap().terminal = pve_sim::Terminal::running(shell);
    let sim = Sim::start(demo).await.unwrap();
    let record = Record::new("left-typing");
    let told = tokio::task::block_in_place(|| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", "write").env("PVE_CONFIRM", "never");
        let mut program = Program::start(command.env("PVE_AUDIT_LOG", &record.0));
        program.initialize("2025-11-25");
        let arguments = json!({ "vm": "110", "serial": 0, "text": "hunter2", "keys": ["enter"],
            "listen_seconds": 20 });
        let params = json!({ "name": "send_vm_keys", "arguments": arguments });
        program
            .send(&json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }));
        while !sim.terminal_messages().iter().any(|message| message.starts_with("0:")) {
            std::thread::yield_now();
        }
        program.end().lines.join("\n")
    });
    let lines = record.lines();
    let what = "type 7 characters, then enter into ";
    assert!(told.contains(what) && !told.contains("hunter2"), "{told}");
    assert!(lines[1]["sent"].as_str().unwrap().starts_with(what), "{lines:?}");
    assert!(!format!("{lines:?}").contains("hunter2"), "{lines:?}");
}
