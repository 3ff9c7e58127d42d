//! The token's secret appears nowhere, whatever fails and however much is logged.

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim, Version};
use serde_json::json;

use crate::process::{Program, program_for, run};

const WRONG: &str = "deadbeef-dead-4bad-8bad-c0ffee00feed";

#[tokio::test(flavor = "multi_thread")]
async fn the_secret_appears_nowhere() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let mut output = String::new();
    for secret in [DEMO_TOKEN_SECRET, WRONG] {
        for rule in [
            None,
            Some(Rule::everything().status(500, "something broke").body("{\"data\":null}")),
            Some(
                Rule::everything()
                    .status(200, "OK")
                    .header("Content-Type", "text/html")
                    .body("<html>login</html>"),
            ),
            Some(
                Rule::everything()
                    .status(302, "Found")
                    .header("Location", "https://example.test/login")
                    .body(""),
            ),
            Some(Rule::everything().lost()),
            Some(Rule::everything().cut_after(7)),
        ] {
            sim.forget_rules();
            if let Some(rule) = rule {
                sim.answer(rule);
            }
            let session = || {
                let mut command = program_for(&sim, DEMO_TOKEN_ID, secret);
                command.env("PVE_LOG", "trace,rmcp=trace");
                let mut program = Program::start(&mut command);
                let mut output = program.initialize("2025-11-25").to_string();
                for entry in mcp_proxmox::catalog::ALL {
                    let arguments = json!({ "vm": "100", "node": "pve1" });
                    let fitting = arguments
                        .as_object()
                        .unwrap()
                        .iter()
                        .filter(|(name, _)| takes(entry.name, name));
                    let fitting =
                        fitting.map(|(name, value)| (name.clone(), value.clone())).collect();
                    output +=
                        &program.call(entry.name, serde_json::Value::Object(fitting)).to_string();
                }
                output + &program.end().stderr
            };
            output += &tokio::task::block_in_place(session);
            let (_, stdout, stderr) = tokio::task::block_in_place(|| {
                run(program_for(&sim, DEMO_TOKEN_ID, secret).args(["check", "--log", "trace"]))
            });
            output += &(stdout + &stderr);
        }
    }
    assert!(
        output.contains("DEBUG") || output.contains("TRACE") || output.contains("INFO"),
        "the log was not on"
    );
    assert!(output.contains("dc01"), "no call succeeded");
    for secret in [DEMO_TOKEN_SECRET, WRONG] {
        let at = output.find(secret).map(|at| &output[at.saturating_sub(200)..at]);
        assert!(at.is_none(), "the secret is in the output, after: {at:?}");
        assert!(!output.contains(&secret[..18]), "the beginning of the secret is in the output");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_echoes_the_request_does_not_bring_the_secret_back() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let header = format!("Authorization: PVEAPIToken={DEMO_TOKEN_ID}={DEMO_TOKEN_SECRET}");
    let refused = json!({ "data": null, "message": header, "errors": { "vm": header } });
    let row = json!({ "type": "qemu", "vmid": 100, "node": "pve1", "name": header });
    for (status, reason, body) in [
        (401, header.as_str(), "{}".to_owned()),
        (500, header.as_str(), refused.to_string()),
        (400, "Parameter verification failed.", refused.to_string()),
        (200, "OK", json!({ "data": [row] }).to_string()),
    ] {
        sim.forget_rules();
        sim.answer(Rule::get("/cluster/resources").status(status, reason).body(body));
        let (_, stdout, stderr) = tokio::task::block_in_place(|| {
            let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
            run(command.args(["call", "list_vms", "--log", "trace"]))
        });
        assert!(!(stdout + &stderr).contains(DEMO_TOKEN_SECRET), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistaken_configuration_does_not_repeat_the_secret() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let mut command = program_for(&sim, "not a token id", WRONG);
    let (code, stdout, stderr) =
        tokio::task::block_in_place(|| run(command.env("PVE_PORT", "no").arg("check")));
    assert_eq!(code, 2);
    assert!(!stdout.contains(WRONG) && !stderr.contains(WRONG));
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_and_passwords_of_consoles_appear_nowhere() {
    let mut output = String::new();
    let mut secrets = Vec::new();
    // Before PVE 9 the password of a screen is its ticket.
    for version in [Version::v9_2(), Version::v8_4()] {
        let mut cluster = Cluster::demo();
        cluster.version = version;
        let sim = Sim::start(cluster).await.unwrap();
        let sockets: Vec<_> = [("pve1", "qemu/100"), ("pve1", "lxc/200"), ("pve1", "qemu/110")]
            .map(|(node, guest)| format!("/nodes/{node}/{guest}/vncwebsocket"))
            .to_vec();
        let rule = |nth: u32, path: &str| match nth {
            0 => Rule::get(path),
            1 => Rule::get(path).status(401, "permission denied - invalid ticket"),
            2 => Rule::get(path).status(502, "Bad Gateway").body("<html>"),
            3 => Rule::get(path).status(200, "OK").body("{\"data\":null}"),
            4 => Rule::get(path).echo(500),
            _ => Rule::get(path).lost(),
        };
        for nth in 0..6 {
            sim.forget_rules();
            for path in &sockets {
                sim.answer(rule(nth, path));
            }
            output += &tokio::task::block_in_place(|| {
                let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
                command
                    .env("PVE_LOG", "trace,rmcp=trace")
                    .env("PVE_ACCESS_TIER", "write")
                    .env("PVE_CONFIRM", "never");
                let mut program = Program::start(&mut command);
                let mut output = program.initialize("2025-11-25").to_string();
                for (tool, arguments) in [
                    ("get_vm_screenshot", json!({ "vm": "100", "max_width": 320 })),
                    ("get_vm_console", json!({ "vm": "200", "listen_seconds": 1 })),
                    (
                        "send_vm_keys",
                        json!({ "vm": "100", "keys": ["enter"], "listen_seconds": 1 }),
                    ),
                    (
                        "send_vm_keys",
                        json!({ "vm": "200", "keys": ["enter"], "listen_seconds": 1 }),
                    ),
                    ("list_tasks", json!({ "vm": "100" })),
                ] {
                    output += &program.call(tool, arguments).to_string();
                }
                output + &program.end().stderr
            });
        }
        secrets.extend(sim.console_secrets());
    }
    assert!(output.contains("INFO") || output.contains("DEBUG"), "the log was not on");
    assert!(secrets.len() > 30, "only {} were given", secrets.len());
    for secret in secrets {
        let encoded = secret.replace(':', "%3A");
        for form in [secret.as_str(), &encoded] {
            let at = output.find(form).map(|at| &output[at.saturating_sub(200)..at]);
            assert!(at.is_none(), "`{form}` is in the output, after: {at:?}");
        }
    }
    assert!(!output.contains("PVEVNC"), "a part of a ticket is in the output");
}

fn takes(tool: &str, argument: &str) -> bool {
    let catalog = mcp_proxmox::catalog::Catalog::new(
        mcp_proxmox::catalog::ALL,
        mcp_proxmox::tier::Level::Write,
        |_| true,
    );
    let offered = catalog.find(tool).unwrap();
    offered.input_schema()["properties"].get(argument).is_some()
        && !(tool == "list_vms" && argument == "node")
}
