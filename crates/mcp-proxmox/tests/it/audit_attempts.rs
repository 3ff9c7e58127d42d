//! What the audit log says of writes that were asked for and not sent.

use std::path::PathBuf;

use mcp_proxmox::{config::Confirm, policy::Policy};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule};
use serde_json::{Value, json};

use crate::{
    asking::{initialize, lab_at_once, program, send_call},
    audit::Record,
    power::{posts, start, write_server_with},
    process::{program_for, run},
    support::{access, call_on, failed, server},
};

const PASSWORD: &str = "hunter2-hunter2";

#[tokio::test]
async fn a_write_that_the_settings_refuse_has_one_line_with_who_what_and_why() {
    for (nth, allow, protect, confirm, why) in [
        (0, None, "100", Confirm::Never, "PVE_PROTECT_VMS"),
        (1, Some("200-300"), "", Confirm::Never, "PVE_ALLOW_VMS"),
        (2, None, "", Confirm::Always, "needs the user's consent"),
    ] {
        for (tool, arguments) in [
            ("stop_vm", json!({ "vm": "app1", "wait_seconds": 5 })),
            ("send_vm_keys", json!({ "vm": "app1", "text": PASSWORD, "keys": ["enter"] })),
        ] {
            let (sim, record) =
                (start().await, Record::new(&format!("tried-refused-{nth}-{tool}")));
            let policy = record.policy_of(allow, protect, confirm);
            failed(&call_on(write_server_with(&sim, policy), tool, arguments).await);
            let line = record.line();
            for (name, value) in [
                ("event", json!("attempt")),
                ("user", json!("root@pam")),
                ("token", json!("demo")),
                ("client", json!("rmcp")),
                ("tool", json!(tool)),
                ("target", json!("qemu/100")),
                ("node", json!("pve1")),
                ("name", json!("app1")),
                ("outcome", json!("refused")),
            ] {
                assert_eq!(line[name], value, "{tool} {why}: {name} of {line}");
            }
            assert_eq!(line["arguments"]["vm"], "app1");
            assert!(line["why"].as_str().unwrap().contains(why), "{line}");
            assert!(!line.to_string().contains(PASSWORD), "{line}");
            assert!(line["time"].as_str().unwrap().ends_with('Z') && line["id"].is_string());
            assert!(posts(&sim).is_empty());
        }
    }
}

#[tokio::test]
async fn a_write_that_the_token_may_not_or_the_tier_forbids_has_one_line() {
    let (sim, record) = (start().await, Record::new("tried-token"));
    sim.answer(Rule::get("/access/permissions").data(&json!({ "/vms": { "VM.Audit": 1 } })));
    let policy = record.policy_of(None, "", Confirm::Never);
    failed(&call_on(write_server_with(&sim, policy), "stop_vm", json!({ "vm": "100" })).await);
    assert!(record.line()["why"].as_str().unwrap().contains("VM.PowerMgmt"), "{}", record.line());

    let (sim, record) = (start().await, Record::new("tried-tier"));
    let policy = record.policy_of(None, "", Confirm::Never);
    let reads = server(access(&sim)).under(policy.into());
    failed(&call_on(reads, "send_vm_keys", json!({ "vm": "100", "text": PASSWORD })).await);
    let line = record.line();
    assert_eq!((&line["tool"], &line["outcome"]), (&json!("send_vm_keys"), &json!("refused")));
    assert_eq!(line["arguments"], json!({ "vm": "100" }));
    assert!(line["why"].as_str().unwrap().contains("not offered by this server"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_does_not_agree_has_one_line() {
    for (result, outcome) in [
        (json!({ "action": "decline" }), "declined"),
        (json!({ "action": "cancel" }), "unanswered"),
    ] {
        let mut reasons = Vec::new();
        for (tool, arguments) in [
            ("stop_vm", json!({ "vm": "app1" })),
            ("send_vm_keys", json!({ "vm": "app1", "text": PASSWORD })),
        ] {
            let (sim, record) =
                (lab_at_once().await, Record::new(&format!("tried-{outcome}-{tool}")));
            tokio::task::block_in_place(|| {
                let mut program = program(&sim, &[("PVE_AUDIT_LOG", record.0.to_str().unwrap())]);
                initialize(&mut program, "2025-06-18");
                send_call(&mut program, 77, tool, &arguments);
                let question = program.receive();
                program.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
                program.receive()
            });
            let line = record.line();
            assert_eq!((&line["outcome"], &line["target"]), (&json!(outcome), &json!("qemu/100")));
            assert_eq!(line["event"], "attempt");
            assert!(!line.to_string().contains(PASSWORD), "{line}");
            let why = line["why"].as_str().unwrap_or_default().to_owned();
            assert!(why.starts_with("the user") && !why.contains("again"), "{line}");
            reasons.push(why);
        }
        assert_eq!(reasons[0], reasons[1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_command_line_it_is_the_same() {
    let (sim, record) = (start().await, Record::new("tried-shell"));
    for (tier, words) in [
        ("read", &["stop_vm", "vm=100"][..]),
        ("write", &["stop_vm", "vm=100"]),
        ("read", &["stop_vm", "vm=100", "dry_run"]),
        ("read", &["stop_vm", "vm=100", "--dry-run"]),
    ] {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", tier).env("PVE_AUDIT_LOG", &record.0);
        let (code, ..) = tokio::task::block_in_place(|| run(command.arg("call").args(words)));
        assert_eq!(code, 1);
    }
    let lines = record.lines();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines.iter().all(|line| line["client"] == "command line"));
    assert!(lines.iter().all(|line| line["outcome"] == "refused"));
}

#[test]
fn only_what_may_write_makes_the_file() {
    let folder = std::env::temp_dir().join(format!("mcp-proxmox-making-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("audit.log");
    let with_tier = |tier: &str, file: &PathBuf, words: &[&str]| {
        let mut command = crate::process::program();
        command.env("PVE_ACCESS_TIER", tier).env("PVE_AUDIT_LOG", file);
        run(command.stdin(std::process::Stdio::null()).args(words))
    };
    let nowhere = folder.join("nowhere/audit.log");
    for (tier, words) in [
        ("write", &["tools"][..]),
        ("write", &["--demo", "config", "cursor"]),
        ("write", &["--demo", "check"]),
        ("read", &["--demo", "call", "list_nodes"]),
        ("read", &["--demo", "serve"]),
    ] {
        let (code, _, stderr) = with_tier(tier, &file, words);
        assert_eq!(code, 0, "{words:?}: {stderr}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "{words:?}");
        let (code, _, stderr) = with_tier(tier, &nowhere, words);
        assert!(code == 2 && stderr.contains("audit.log`: it cannot be written"), "{stderr}");
    }
    assert_eq!(with_tier("write", &file, &["completions", "bash"]).0, 0);
    assert!(!file.exists());
    for words in [&["--demo", "call", "list_nodes"][..], &["--demo", "serve"]] {
        let (code, _, stderr) = with_tier("write", &file, words);
        assert!(code == 0 && file.is_file(), "{words:?}: {stderr}");
        std::fs::remove_file(&file).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn what_is_no_attempt_to_write_has_no_line() {
    let (sim, record) = (start().await, Record::new("tried-none"));
    for (tool, arguments) in [
        ("stop_vm", json!({ "vm": "100", "dry_run": true })),
        ("stop_vm", json!({ "vm": "nope" })),
        ("stop_vm", json!({ "vm": "100", "nonsense": 1 })),
        ("get_vm_status", json!({ "vm": "100" })),
        ("get_vm_status", json!({ "vm": "nope" })),
    ] {
        let policy = record.policy_of(None, "100", Confirm::Always);
        call_on(write_server_with(&sim, policy), tool, arguments).await;
    }
    assert_eq!(record.lines(), Vec::<Value>::new());
}

#[tokio::test]
async fn a_refusal_that_cannot_be_recorded_says_so() {
    let sim = start().await;
    let nowhere = Some(PathBuf::from("/nowhere/at/all/audit.log"));
    let policy = Policy::new(None, "100".parse().unwrap(), Confirm::Never, nowhere);
    let told =
        failed(&call_on(write_server_with(&sim, policy), "stop_vm", json!({ "vm": "100" })).await);
    assert!(told.contains("PVE_PROTECT_VMS"), "{told}");
    assert!(told.contains("this is not in the audit log, which cannot be written"), "{told}");
}
