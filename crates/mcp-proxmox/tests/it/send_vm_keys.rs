//! Tests of `send_vm_keys`: what is typed arrives once, and nothing of it is kept.

use std::{path::PathBuf, sync::Arc};

use mcp_proxmox::{config::Confirm, policy::Policy, tier::Access, tier::Level};
use pve_client::Reader;
use pve_sim::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Program, Recordings, Role, Screen, Sim, State,
    Terminal, TerminalFault, Version,
};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use crate::{
    get_vm_console::until_nothing_is_open,
    power::{answer, failure, write_server_with},
    process::{Program as Process, program_for},
    support::{call_on, demo, failed, notes, server, settings, structured},
};

const TOOL: &str = "send_vm_keys";

fn lines(value: &Value) -> Vec<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// What went into terminals, without the sizes.
fn typed(sim: &Sim) -> Vec<String> {
    let messages = sim.terminal_messages();
    messages.into_iter().filter(|message| message.starts_with("0:")).collect()
}

/// The keys that went down on screens.
fn pressed(sim: &Sim) -> Vec<u32> {
    sim.pressed_keys().into_iter().filter_map(|(key, down)| down.then_some(key)).collect()
}

fn asking(confirm: Confirm, audit: Option<PathBuf>) -> Policy {
    Policy::new(None, "".parse().unwrap(), confirm, audit)
}

async fn call_under(sim: &Sim, policy: Policy, arguments: Value) -> CallToolResult {
    call_on(write_server_with(sim, policy), TOOL, arguments).await
}

/// A demo in which root is logged in at the serial port of VM 110.
async fn with_shell() -> Sim {
    let sim = demo().await;
    sim.change(|cluster| {
        cluster.guest_mut(110).unwrap().terminal =
            Terminal::running(Program::shell("mail", "root"));
    });
    sim
}

#[tokio::test]
async fn somebody_logs_in_at_a_container_and_the_password_is_not_echoed() {
    let sim = demo().await;
    let arguments = json!({ "vm": "pihole", "keys": ["enter"], "listen_seconds": 1 });
    let woken = answer(&sim, TOOL, arguments).await;
    assert_eq!((&woken["outcome"], &woken["to"]), (&json!("sent"), &json!("tty")));
    assert_eq!(woken["shows"], json!(["login prompt"]), "{woken}");
    let name = json!({ "vm": "pihole", "text": "root\n", "listen_seconds": 1 });
    let asked = answer(&sim, TOOL, name).await;
    assert_eq!(asked["shows"], json!(["password prompt"]), "{asked}");
    let password = json!({ "vm": "pihole", "text": "simulated\n", "listen_seconds": 1 });
    let inside = answer(&sim, TOOL, password).await;
    assert_eq!(inside["shows"], json!(["shell prompt"]), "{inside}");
    assert_eq!(lines(&inside["screen"]).last(), Some(&"root@pihole:~#"));
    assert_eq!(inside["keys_sent"], "10 of 10");
    assert_eq!(inside["typing"], "10 characters");
    assert!(!inside.to_string().contains("simulated"), "{inside}");
    assert_eq!(typed(&sim).concat().matches("0:1:").count(), 16, "each key once");
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn the_prompts_that_came_when_somebody_pressed_enter_are_read_and_only_enter_was_sent() {
    for (session, arguments, prompt, shows) in [
        ("term-ct-typed", json!({ "vm": "ct-web" }), "ct-web login:", "login prompt"),
        ("term-vm-typed", json!({ "vm": "101", "serial": 0 }), "~ #", "shell prompt"),
    ] {
        let sim = Sim::replay(Recordings::load().with_session(session)).await.unwrap();
        let access = Access::new(Level::Write, Reader::new(settings(&sim, "ops@pve!rw", "any")));
        let server = server(access).under(Arc::new(asking(Confirm::Never, None)));
        let mut arguments = arguments;
        (arguments["keys"], arguments["listen_seconds"]) = (json!(["enter"]), json!(1));
        let answer = structured(&call_on(server, TOOL, arguments).await);
        assert_eq!(answer["outcome"], "sent", "{answer}");
        assert_eq!(lines(&answer["screen"]).last(), Some(&prompt), "{answer}");
        assert_eq!(answer["shows"], json!([shows]), "{answer}");
        assert_eq!(sim.terminal_messages(), ["1:100:30:", "0:1:\r"], "the size and one Enter");
    }
}

#[tokio::test]
async fn a_command_at_a_serial_port_is_answered_and_named_keys_move_through_a_menu() {
    let sim = with_shell().await;
    let echo = json!({ "vm": 110, "serial": 0, "text": "echo caf\u{e9}", "keys": ["enter"],
        "listen_seconds": 1 });
    let said = answer(&sim, TOOL, echo).await;
    assert_eq!(said["to"], "serial0");
    assert!(lines(&said["screen"]).contains(&"caf\u{e9}"), "{said}");
    assert_eq!(
        (&said["typing"], &said["keys_sent"]),
        (&json!("9 characters, then enter"), &json!("10 of 10"))
    );
    let menu = json!({ "vm": 110, "serial": 0, "text": "menu\n", "listen_seconds": 1 });
    let menu = answer(&sim, TOOL, menu).await;
    assert_eq!(menu["shows"], json!(["full-screen program"]), "{menu}");
    assert!(lines(&menu["screen"]).contains(&"    > keyboard"), "{menu}");
    let keys = json!({ "vm": 110, "serial": 0, "keys": ["down", "down", "up", "enter"],
        "listen_seconds": 1 });
    let chosen = answer(&sim, TOOL, keys).await;
    assert!(
        lines(&chosen["screen"]).iter().any(|line| line.contains("chosen: network")),
        "{chosen}"
    );
    assert!(typed(&sim).contains(&"0:3:\u{1b}[B".to_owned()));
}

#[tokio::test]
async fn a_display_gets_keys_with_what_is_held_down_and_they_are_seen_on_it() {
    let sim = demo().await;
    let lit = async || {
        let arguments = json!({ "vm": "postgres" });
        let result = crate::support::call(&sim, "get_vm_screenshot", arguments).await;
        crate::get_vm_screenshot::seen(&result).lit()
    };
    let before = lit().await;
    let sent =
        answer(&sim, TOOL, json!({ "vm": "postgres", "text": "Bob_", "keys": ["enter"] })).await;
    assert_eq!((&sent["outcome"], &sent["to"]), (&json!("sent"), &json!("display")));
    assert!(sent["screen"].is_null() && notes(&sent).contains("get_vm_screenshot"), "{sent}");
    assert!(notes(&sent).contains("US keyboard"), "{sent}");
    let shift = 0xffe1;
    let expected = [shift, 0x42, u32::from('o'), u32::from('b'), shift, u32::from('_'), 0xff0d];
    assert_eq!(pressed(&sim), expected);
    assert!(lit().await > before + 100, "the name and the question for the password are on it");
    let all = sim.pressed_keys();
    assert_eq!(all.len(), 2 * expected.len(), "what went down goes up");
    answer(&sim, TOOL, json!({ "vm": "dc01", "keys": ["ctrl-alt-del"] })).await;
    let chord: Vec<(u32, bool)> = sim.pressed_keys().split_off(all.len());
    let (ctrl, alt, delete) = (0xffe3, 0xffe9, 0xffff);
    let expected =
        [(ctrl, true), (alt, true), (delete, true), (delete, false), (alt, false), (ctrl, false)];
    assert_eq!(chord, expected);
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn whoever_cannot_be_asked_has_to_confirm_and_a_dry_run_types_nothing() {
    let sim = demo().await;
    let told =
        failed(&call_under(&sim, Policy::default(), json!({ "vm": "mail", "text": "x" })).await);
    assert!(told.contains("to type into the display of VM `mail` (110)"), "{told}");
    assert!(told.contains("confirm: true") && told.contains("nothing was sent"), "{told}");
    let dry = json!({ "vm": "mail", "text": "secret", "keys": ["enter"], "dry_run": true });
    let dry = structured(&call_under(&sim, Policy::default(), dry).await);
    assert_eq!(
        (&dry["outcome"], &dry["typing"]),
        (&json!("dry_run"), &json!("6 characters, then enter"))
    );
    assert!(
        notes(&dry).contains("consent is asked for first") && !dry.to_string().contains("secret"),
        "{dry}"
    );
    assert!(sim.requests().iter().all(|seen| seen.method == "GET"), "a console was opened");
    let agreed = json!({ "vm": "mail", "text": "x", "confirm": true });
    assert_eq!(structured(&call_under(&sim, Policy::default(), agreed).await)["outcome"], "sent");
    assert_eq!(pressed(&sim), [u32::from('x')]);
}

#[tokio::test]
async fn protected_guests_and_those_that_are_not_allowed_are_not_typed_into() {
    let sim = demo().await;
    for (allow, protect, variable) in
        [(None, "110", "PVE_PROTECT_VMS"), (Some("200"), "", "PVE_ALLOW_VMS")]
    {
        let allow = allow.map(|text: &str| text.parse().unwrap());
        let policy = Policy::new(allow, protect.parse().unwrap(), Confirm::Never, None);
        let told = failed(&call_under(&sim, policy, json!({ "vm": "mail", "text": "x" })).await);
        assert!(told.contains(variable), "{told}");
    }
    assert!(sim.requests().iter().all(|seen| seen.method == "GET"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_is_shown_what_is_typed_and_who_declines_is_heard() {
    for (action, outcome, keys) in [("accept", "sent", 10), ("decline", "declined", 0)] {
        let sim = demo().await;
        let answer = tokio::task::block_in_place(|| {
            let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
            command.env("PVE_ACCESS_TIER", "write");
            let mut program = Process::start(&mut command);
            let params = json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
                "clientInfo": { "name": "test", "version": "1" } });
            program.request("initialize", params);
            program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            let params = json!({ "name": TOOL, "arguments": { "vm": "mail", "text": "ls  -a\nid", "keys": ["enter"] } });
            program.send(
                &json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }),
            );
            let question = program.receive();
            let text = question["params"]["message"].as_str().unwrap_or_default();
            assert!(
                text.contains("into the display of VM `mail` (110): `ls␣␣-a⏎id`?"),
                "{question}"
            );
            assert!(text.contains("9 characters, then enter"), "{text}");
            assert!(pressed(&sim).is_empty(), "something was typed before anybody agreed");
            let result = json!({ "action": action, "content": { "confirm": true } });
            program.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }));
            program.receive()
        });
        assert_eq!(answer["result"]["structuredContent"]["outcome"], outcome, "{answer}");
        assert_eq!(pressed(&sim).len(), keys);
    }
}

#[tokio::test]
async fn the_record_has_the_length_of_a_text_and_the_names_of_keys_and_never_the_text() {
    let file = std::env::temp_dir().join(format!("mcp-proxmox-keys-{}", std::process::id()));
    let sim = with_shell().await;
    let arguments = json!({ "vm": 110, "serial": 0, "text": "hunter2\n", "keys": ["ctrl-c"],
        "listen_seconds": 1 });
    let policy = asking(Confirm::Never, Some(file.clone()));
    structured(&call_under(&sim, policy, arguments.clone()).await);
    let record = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let lines: Vec<Value> =
        record.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let recorded = &lines[0]["arguments"];
    assert_eq!(recorded["text"], "8 characters, which are not recorded");
    assert_eq!(recorded["keys"], json!(["ctrl-c"]));
    assert_eq!((&lines[0]["target"], &lines[0]["tool"]), (&json!("qemu/110"), &json!(TOOL)));
    assert_eq!((&lines[1]["outcome"], &lines[1]["keys_sent"]), (&json!("sent"), &json!("9 of 9")));
    assert!(!record.contains("hunter2"), "{record}");
    let nowhere = asking(Confirm::Never, Some(PathBuf::from("/nowhere/at/all/audit.log")));
    let n_typed = typed(&sim).len();
    let told = failed(&call_under(&sim, nowhere, arguments).await);
    assert!(told.contains("PVE_AUDIT_LOG"), "{told}");
    assert_eq!(typed(&sim).len(), n_typed, "what cannot be recorded is not typed");
}

#[tokio::test]
async fn a_connection_that_breaks_says_how_far_it_came_and_nothing_is_sent_again() {
    let sim = demo().await;
    sim.change(|cluster| {
        let guest = cluster.guest_mut(110).unwrap();
        guest.terminal = Terminal {
            fault: Some(TerminalFault::EndsAfter(3)),
            ..Terminal::running(Program::shell("mail", "root"))
        };
        guest.screen = Screen { ends_after_keys: Some(2), ..Screen::default() };
    });
    let text = "a long line of text that does not arrive as a whole ".repeat(6);
    let arguments = json!({ "vm": 110, "serial": 0, "text": text, "listen_seconds": 1 });
    let lost = answer(&sim, TOOL, arguments).await;
    assert_eq!(lost["outcome"], "lost", "{lost}");
    let count = |answer: &Value| -> usize {
        let sent = answer["keys_sent"].as_str().unwrap();
        sent.split(' ').next().unwrap().parse().unwrap()
    };
    assert!((3..text.len()).contains(&count(&lost)), "{lost}");
    assert!(notes(&lost).contains("nothing is sent again"), "{lost}");
    assert_eq!(typed(&sim).len(), 3, "what arrived");
    let on_display = answer(&sim, TOOL, json!({ "vm": 110, "text": text })).await;
    assert_eq!(on_display["outcome"], "lost", "{on_display}");
    assert!((2..text.len()).contains(&count(&on_display)), "{on_display}");
    let opened = |word: &str| {
        sim.requests()
            .iter()
            .filter(|seen| seen.method == "POST" && seen.path.ends_with(word))
            .count()
    };
    assert_eq!((opened("/termproxy"), opened("/vncproxy")), (1, 1));
    until_nothing_is_open(&sim).await;
}

#[tokio::test]
async fn a_display_that_breaks_after_the_last_key_is_unconfirmed() {
    let sim = demo().await;
    sim.change(|cluster| {
        cluster.guest_mut(110).unwrap().screen.ends_after_keys = Some(0);
    });
    let sent = answer(&sim, TOOL, json!({ "vm": 110, "keys": ["enter"] })).await;
    assert_eq!((&sent["outcome"], &sent["keys_sent"]), (&json!("unconfirmed"), &json!("1 of 1")));
    assert!(notes(&sent).contains("nothing is sent again"), "{sent}");
}

#[tokio::test]
async fn two_calls_on_one_guest_take_turns() {
    let sim = with_shell().await;
    let server = write_server_with(&sim, asking(Confirm::Never, None));
    let client = crate::support::connect(server).await;
    let call = async |text: &'static str| {
        let mut request = rmcp::model::CallToolRequestParams::new(TOOL);
        let arguments = json!({ "vm": 110, "serial": 0, "text": text, "listen_seconds": 1 });
        request.arguments = arguments.as_object().cloned();
        structured(&client.call_tool(request).await.unwrap())
    };
    let (first, second) = tokio::join!(call("aaaaaaaaaaaaaaaaaaaa"), call("bbbbbbbbbbbbbbbbbbbb"));
    assert_eq!((&first["outcome"], &second["outcome"]), (&json!("sent"), &json!("sent")));
    let letters: String = typed(&sim).iter().filter_map(|message| message.chars().last()).collect();
    let (a, b) = ("a".repeat(20), "b".repeat(20));
    assert!(letters == format!("{a}{b}") || letters == format!("{b}{a}"), "{letters}");
}

#[tokio::test]
async fn what_cannot_be_typed_into_is_refused_in_words_before_anything_is_opened() {
    let sim = demo().await;
    for (arguments, words) in [
        (json!({ "vm": "staging-webshop", "text": "x" }), "is stopped"),
        (json!({ "vm": "dc01", "serial": 0, "text": "x" }), "no serial port"),
        (json!({ "vm": "mail", "serial": 1, "text": "x" }), "no serial1, only serial0"),
        (json!({ "vm": "pihole", "serial": 0, "text": "x" }), "is a container"),
        (
            json!({ "vm": "mail", "serial": 0, "keys": ["ctrl-alt-del"] }),
            "means nothing to a terminal",
        ),
        (
            json!({ "vm": "mail", "text": "caf\u{e9}" }),
            "character 4 of `text` is not on a US keyboard",
        ),
        (json!({ "vm": "mail", "keys": ["p", "w"] }), "belongs into `text`"),
        (json!({ "vm": "mail", "keys": ["any"] }), "`any` is no key"),
        (json!({ "vm": "mail" }), "nothing to type"),
        (json!({ "vm": "mail", "serial": 4, "text": "x" }), "from 0 to 3"),
    ] {
        let told = failure(&sim, TOOL, arguments.clone()).await;
        assert!(told.contains(words), "{arguments}: {told}");
    }
    sim.change(|cluster| cluster.guest_mut(100).unwrap().state = State::Paused);
    let told = failure(&sim, TOOL, json!({ "vm": "dc01", "keys": ["enter"] })).await;
    assert!(told.contains("is paused") && told.contains("resume_vm first"), "{told}");
    assert!(!told.contains("start_vm"), "start_vm refuses it: {told}");
    sim.change(|cluster| cluster.version = Version::v8_4());
    let told = failure(&sim, TOOL, json!({ "vm": "mail", "serial": 0, "keys": ["enter"] })).await;
    assert!(told.contains("PVE 8.4"), "{told}");
    assert!(sim.requests().iter().all(|seen| seen.method == "GET"), "a console was opened");
}

#[tokio::test]
async fn before_tokens_came_to_a_tty_a_container_is_typed_into_through_its_display() {
    for version in [Version::v8_4(), Version::v9_0()] {
        let sim = demo().await;
        sim.change(|cluster| cluster.version = version);
        let sent = answer(&sim, TOOL, json!({ "vm": "pihole", "keys": ["enter"] })).await;
        assert_eq!((&sent["outcome"], &sent["to"]), (&json!("sent"), &json!("display")));
        assert_eq!(pressed(&sim), [0xff0d]);
    }
}

#[tokio::test]
async fn a_missing_privilege_is_named_before_anything_is_opened() {
    let sim = demo().await;
    let (token, secret) = ("ops@pve!power", "s3cret");
    sim.change(|cluster: &mut Cluster| {
        let role = Role::new("Power", &["VM.Audit", "VM.PowerMgmt"]);
        cluster.separated_token(token, secret).grant("/vms", token, role.clone());
        cluster.grant("/vms", "ops@pve", role);
    });
    let reader = Reader::new(settings(&sim, token, secret));
    let server = server(Access::new(Level::Write, reader));
    let arguments = json!({ "vm": "mail", "text": "x", "confirm": true });
    let told = failed(&call_on(server, TOOL, arguments).await);
    assert!(
        told.contains("VM.Console on /vms/110") && told.contains("nothing was typed"),
        "{told}"
    );
    assert!(sim.requests().iter().all(|seen| seen.method == "GET"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_typed_is_in_no_log() {
    let sim = with_shell().await;
    let stderr = tokio::task::block_in_place(|| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        command.envs([
            ("PVE_LOG", "trace"),
            ("PVE_ACCESS_TIER", "write"),
            ("PVE_CONFIRM", "never"),
        ]);
        let mut program = Process::start(&mut command);
        program.initialize("2025-11-25");
        for serial in [json!(0), json!(null)] {
            let arguments =
                json!({ "vm": "mail", "serial": serial, "text": "hunter2", "listen_seconds": 1 });
            let answer = program.call(TOOL, arguments).to_string();
            assert!(answer.contains("7 of 7"), "{answer}");
        }
        program.end().stderr
    });
    assert!(stderr.contains("upgraded"), "the log is on");
    for word in ["hunter2", "PVEVNC", "vncticket"] {
        assert!(!stderr.contains(word), "{word}");
    }
}
