//! `watch_console` of `start_vm` and `reboot_vm`: the boot's text comes back with the outcome.

use std::time::{Duration, Instant};

use mcp_proxmox::{config::Confirm, policy::Policy, tier::Access, tier::Level};
use pve_client::Reader;
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Role, Sim, State, Takes, Terminal, TerminalFault};
use serde_json::{Value, json};

use crate::{
    get_vm_console::until_nothing_is_open,
    power::{answer, failure},
    process::{Program, program_for},
    support::{call_on, demo, notes, server, settings, structured},
};

fn lines(answer: &Value) -> Vec<&str> {
    answer["boot"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A demo whose VM 110 is stopped, and takes its time to start.
async fn stopped() -> Sim {
    let sim = demo().await;
    sim.change(|cluster| {
        let guest = cluster.guest_mut(110).unwrap();
        (guest.state, guest.takes) = (State::Stopped, Takes::Polls(2));
    });
    sim
}

fn consoles_opened(sim: &Sim) -> usize {
    let opened = |path: &str| path.contains("/termproxy") || path.contains("/vncproxy");
    sim.requests().iter().filter(|seen| opened(&seen.path)).count()
}

#[tokio::test]
async fn a_start_comes_back_with_what_the_guest_wrote_from_the_firmware_to_the_login() {
    let sim = stopped().await;
    let began = Instant::now();
    let answer = answer(&sim, "start_vm", json!({ "vm": "mail", "watch_console": 20 })).await;
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("running")));
    assert_eq!(
        answer["shows"],
        json!(["login prompt", "file system check", "boot loader", "firmware", "kernel log"]),
        "{answer}"
    );
    assert!(began.elapsed() < Duration::from_secs(18), "it ends with the login");
    let lines = lines(&answer);
    for line in
        ["Booting from Hard Disk...", "[  OK  ] Reached target Multi-User System.", "mail login:"]
    {
        assert!(lines.contains(&line), "{line}: {answer}");
    }
    assert_eq!(sim.terminal_messages(), ["1:100:30:"], "nothing is typed");
    until_nothing_is_open(&sim).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_console_that_the_user_left_out_is_not_watched_either() {
    let sim = stopped().await;
    let mut program = Program::start(program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET).args([
        "--access-tier",
        "write",
        "--exclude-tools",
        "get_vm_console",
    ]));
    tokio::task::block_in_place(|| {
        program.initialize("2025-11-25");
        let answer = program.call("start_vm", json!({ "vm": "mail", "watch_console": 5 }));
        let told = answer["result"]["structuredContent"].to_string();
        assert!(told.contains("get_vm_console is left out of what this server offers"), "{answer}");
    });
    assert_eq!(consoles_opened(&sim), 0);
}

#[tokio::test]
async fn a_reboot_shows_the_new_boot_and_a_container_its_login() {
    let sim = demo().await;
    sim.change(|cluster| cluster.guest_mut(110).unwrap().takes = Takes::Polls(2));
    let rebooted = answer(&sim, "reboot_vm", json!({ "vm": "mail", "watch_console": 20 })).await;
    assert_eq!(rebooted["outcome"], "done", "{rebooted}");
    assert_eq!(rebooted["shows"][0], "login prompt", "{rebooted}");
    sim.change(|cluster| cluster.guest_mut(200).unwrap().state = State::Stopped);
    let started = answer(&sim, "start_vm", json!({ "vm": 200, "watch_console": 20 })).await;
    assert_eq!(&started["shows"], &json!(["login prompt"]));
}

#[tokio::test]
async fn a_panic_is_recognised_and_ends_watching() {
    let sim = stopped().await;
    sim.change(|cluster| {
        let panic = "[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs\r\n";
        let terminal = Terminal { boots: vec![panic.into()], ..Terminal::default() };
        cluster.guest_mut(110).unwrap().terminal = terminal;
    });
    let began = Instant::now();
    let answer = answer(&sim, "start_vm", json!({ "vm": 110, "watch_console": 30 })).await;
    assert_eq!(answer["shows"], json!(["kernel panic"]), "{answer}");
    assert!(began.elapsed() < Duration::from_secs(25));
}

#[tokio::test]
async fn a_vm_without_serial_port_is_started_and_a_screenshot_is_named() {
    let sim = demo().await;
    sim.change(|cluster| cluster.guest_mut(100).unwrap().state = State::Stopped);
    let answer = answer(&sim, "start_vm", json!({ "vm": "dc01", "watch_console": 20 })).await;
    assert_eq!((&answer["outcome"], &answer["boot"]), (&json!("done"), &Value::Null));
    assert!(
        notes(&answer).contains("no serial port") && notes(&answer).contains("get_vm_screenshot")
    );
    assert_eq!(consoles_opened(&sim), 0);
}

#[tokio::test]
async fn where_nothing_boots_nothing_is_watched() {
    let sim = demo().await;
    let already = answer(&sim, "start_vm", json!({ "vm": "mail", "watch_console": 20 })).await;
    assert_eq!(already["outcome"], "already");
    assert!(notes(&already).contains("no boot was watched"), "{already}");
    let dry = json!({ "vm": "mail", "watch_console": 20, "dry_run": true });
    assert_eq!(answer(&sim, "reboot_vm", dry).await["outcome"], "dry_run");
    sim.change(|cluster| {
        let guest = cluster.guest_mut(110).unwrap();
        (guest.state, guest.ha) = (State::Stopped, None);
        guest.start_fails = Some("storage 'nas' is not online".to_owned());
    });
    let told = failure(&sim, "start_vm", json!({ "vm": "mail", "watch_console": 20 })).await;
    assert!(told.contains("storage 'nas' is not online"), "{told}");
    assert_eq!(consoles_opened(&sim), 0);
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn a_silent_or_broken_console_does_not_spoil_the_start() {
    for (terminal, words) in [
        (Terminal::default(), "nothing came on its console"),
        (Terminal { fault: Some(TerminalFault::Ends), ..Terminal::default() }, "ended by itself"),
        (Terminal { fault: Some(TerminalFault::Garbage), ..Terminal::default() }, "broke off"),
        (Terminal::saying("booting, and nothing more"), "no prompt came"),
    ] {
        let sim = stopped().await;
        sim.change(|cluster| cluster.guest_mut(110).unwrap().terminal = terminal);
        let answer = answer(&sim, "start_vm", json!({ "vm": 110, "watch_console": 1 })).await;
        assert_eq!(answer["outcome"], "done");
        assert!(notes(&answer).contains(words), "{words}: {answer}");
        until_nothing_is_open(&sim).await;
    }
}

#[tokio::test]
async fn a_token_that_may_open_no_console_starts_the_guest_all_the_same() {
    let sim = stopped().await;
    let (token, secret) = ("ops@pve!power", "s3cret");
    sim.change(|cluster| {
        let role = Role::new("Power", &["VM.Audit", "VM.PowerMgmt"]);
        cluster.separated_token(token, secret).grant("/vms", token, role.clone());
        cluster.grant("/vms", "ops@pve", role);
    });
    let reader = Reader::new(settings(&sim, token, secret));
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    let server = server(Access::new(Level::Write, reader)).under(policy.into());
    let arguments = json!({ "vm": 110, "watch_console": 5 });
    let answer = structured(&call_on(server, "start_vm", arguments).await);
    assert_eq!(answer["outcome"], "done");
    assert!(notes(&answer).contains("the boot was not watched"), "{answer}");
    assert!(notes(&answer).contains("VM.Console"), "{answer}");
}

#[tokio::test]
async fn a_shell_that_is_there_at_once_ends_watching_too() {
    let sim = stopped().await;
    sim.change(|cluster| {
        cluster.guest_mut(110).unwrap().terminal =
            Terminal::running(pve_sim::Program::shell("mail", "root"));
    });
    let answer = answer(&sim, "start_vm", json!({ "vm": 110, "watch_console": 30 })).await;
    assert_eq!(answer["shows"], json!(["shell prompt"]), "{answer}");
}
