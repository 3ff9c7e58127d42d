//! What people meet who set the program up for the first time, at their shell.

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::json;

use crate::{
    power::{lab, write_server},
    process::{program, program_for, run},
    support::{access, call_on, failed, server},
};

async fn sim() -> Sim {
    Sim::start(Cluster::demo()).await.unwrap()
}

/// Privileges with which nothing may be done but look at one guest.
fn looks_only(sim: &Sim) {
    let see = json!({ "VM.Audit": 1 });
    sim.answer(Rule::get("/access/permissions").data(&json!({ "/vms": see, "/vms/100": see })));
}

#[tokio::test]
async fn what_gives_a_missing_privilege_names_the_token_itself_under_every_tool_that_says_so() {
    let sim = Sim::start(lab()).await.unwrap();
    looks_only(&sim);
    let denied = "Permission check failed (/nodes/pve1, Sys.Syslog)";
    sim.answer(Rule::get("/nodes/pve1/journal").status(403, denied));
    let (user, token) = (DEMO_TOKEN_ID.rsplit_once('!').unwrap().0, DEMO_TOKEN_ID);
    for (tool, arguments) in [
        ("stop_vm", json!({ "vm": "100" })),
        ("send_vm_keys", json!({ "vm": "100", "keys": ["enter"] })),
        ("get_vm_console", json!({ "vm": "120" })),
        ("get_vm_screenshot", json!({ "vm": "100" })),
        ("get_system_log", json!({ "node": "pve1" })),
    ] {
        let told = failed(&call_on(write_server(&sim), tool, arguments).await);
        let named = format!("--users '{user}' --tokens '{token}' --roles PVEAuditor,MCP");
        assert!(told.contains(&named), "{tool}: {told}");
        assert!(!told.contains("REALM") && !told.contains(DEMO_TOKEN_SECRET), "{tool}: {told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_a_shell_the_user_is_spoken_to_and_an_agent_is_told_of_them() {
    let sim = Sim::start(lab()).await.unwrap();
    let said = |words: &[&str], more: &[(&str, &str)]| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", "write").envs(more.iter().copied());
        let (code, stdout, stderr) = tokio::task::block_in_place(|| run(command.args(words)));
        assert_eq!(code, 1, "{stdout}{stderr}");
        stdout + &stderr
    };
    let stop = ["call", "stop_vm", "vm=100"];
    for (words, more, expected) in [
        (&stop[..], &[][..], "needs your consent, and `--yes` was not given; nothing was sent"),
        (&stop, &[], "To agree, call again with --yes"),
        (&stop, &[("PVE_PROTECT_VMS", "100")], "hint: only you can change that setting"),
        (&stop, &[("PVE_ACCESS_TIER", "read")], "PVE_ACCESS_TIER=write, or --access-tier write"),
        (&stop, &[("PVE_TOOLS", "list_vms")], "hint: you left it out"),
        (&stop, &[("PVE_TOKEN_SECRET", "wrong")], "; only you can mend PVE_TOKEN_ID"),
        (&["check"], &[("PVE_TOKEN_SECRET", "wrong")], "; only you can mend PVE_TOKEN_ID"),
        (&["check"], &[("PVE_TLS_FINGERPRINT", "")], "hint: set PVE_TLS_"),
    ] {
        let told = said(words, more);
        assert!(told.contains(expected), "{expected}: {told}");
        assert!(!told.contains("the user"), "{told}");
    }
    let told = failed(&call_on(server(access(&sim)), "stop_vm", json!({ "vm": "100" })).await);
    assert!(told.contains("its user decides that"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_shows_the_fingerprint_of_the_certificate_that_was_trusted() {
    let sim = sim().await;
    let shown =
        format!("TLS         ok, certificate's SHA-256 fingerprint {}\n", sim.fingerprint());
    for (name, value) in [("PVE_TIMEZONE", "UTC"), ("PVE_TLS_REJECT_UNAUTHORIZED", "false")] {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        if name == "PVE_TLS_REJECT_UNAUTHORIZED" {
            command.env_remove("PVE_TLS_FINGERPRINT");
        }
        let (_, stdout, _) =
            tokio::task::block_in_place(|| run(command.env(name, value).arg("check")));
        assert!(stdout.contains(&shown), "{stdout}");
    }
    let both = format!("127.0.0.1:{0},localhost:{0}", sim.port());
    let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let (_, stdout, _) =
        tokio::task::block_in_place(|| run(command.env("PVE_HOST", both).arg("check")));
    assert_eq!(stdout.matches(sim.fingerprint()).count(), 3, "each host has its own: {stdout}");
}

#[tokio::test(flavor = "multi_thread")]
async fn check_warns_of_a_token_that_may_do_everything_and_of_no_other() {
    let sim = sim().await;
    let checked = |tier: &str| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.env("PVE_ACCESS_TIER", tier).arg("check");
        tokio::task::block_in_place(|| run(&mut command)).1
    };
    let told = checked("read");
    assert!(told.contains("\nwarning     this token may do everything in the cluster."), "{told}");
    assert!(
        told.contains("only looks, in the tier read") && told.contains("docs/access.md"),
        "{told}"
    );
    assert!(checked("write").contains("starts, stops and types, in the tier write"));
    looks_only(&sim);
    let told = checked("read");
    assert!(!told.contains("warning"), "{told}");
    let mut demo = program();
    let told = run(demo.args(["--demo", "check"])).1;
    let told = told.lines().find(|line| line.contains("may do everything"));
    assert!(told.is_some_and(|told| told.starts_with("note        the demo's token")), "{told:?}");
}

#[test]
fn a_word_that_is_no_argument_is_told_with_what_to_write() {
    for (words, expected) in [
        (&["get_vm_status", "101"][..], "write `vm=101`"),
        (&["get_node_status", "pve1"], "write `node=pve1`"),
        (&["list_vms", "node", "pve1"], "write `node=…`"),
        (&["get_task", "UPID:x"], "write `upid=UPID:x`"),
        (&["list_vms", "web"], "this tool takes `type`, "),
        (&["get_access", "x"], "this tool takes none"),
    ] {
        let mut command = program();
        let (code, stdout, stderr) = run(command.args(["--demo", "call"]).args(words));
        assert_eq!((code, stdout.as_str()), (2, ""), "{words:?}");
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
    }
}

#[test]
fn flags_of_call_are_taken_behind_it_and_told_where_they_stand_elsewhere() {
    let said = |words: &[&str]| run(program().arg("--demo").args(words));
    let write = ["--access-tier", "write"];
    for words in [
        &["call", "shutdown_vm", "vm=101", "--dry-run"][..],
        &["call", "--dry-run", "shutdown_vm", "vm=101"],
        &["call", "--json", "--dry-run", "shutdown_vm", "vm=101"],
    ] {
        let (code, stdout, stderr) = said(&[&write, words].concat());
        assert_eq!(code, 0, "{words:?}: {stderr}");
        assert!(stdout.contains("dry_run") && stdout.contains("nothing was sent"), "{stdout}");
    }
    let (code, _, stderr) = said(&["call", "list_vms", "--dry-run"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("`list_vms` changes nothing"), "{stderr}");
    for (words, expected) in [
        (&["--json", "call", "list_vms"][..], "`mcp-proxmox call TOOL … --json`"),
        (&["--dry-run", "call", "stop_vm", "vm=101"], "`mcp-proxmox call TOOL … --dry-run`"),
        (&["call", "shutdown_vm", "vm=101", "--wait-seconds", "5"], "`wait_seconds=…`"),
        (&["call", "list_vms", "--sort=cpu"], "`sort="),
    ] {
        let (code, stdout, stderr) = said(words);
        assert_eq!((code, stdout.as_str()), (2, ""), "{words:?}");
        assert!(stderr.contains(expected), "{words:?}: {stderr}");
    }
}
