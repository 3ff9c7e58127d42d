//! The token's secret, tickets and passwords of consoles under every tool of both tiers, every resource, prompt and
//! completion, with all that PVE, or what
//! stands before it, can say: nothing of them is in an answer, in the log at its loudest, or in the audit log.

use std::collections::BTreeSet;

use futures_util::{StreamExt as _, stream};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::{
    faults::TOOLS,
    process::{Program, program_for, run},
    requests,
};

/// How many programs run at once. They wait most of the time.
const AT_ONCE: usize = 6;

const WRONG: &str = "deadbeef-dead-4bad-8bad-c0ffee00feed";

/// What is said instead of what PVE would say, with the secret wherever a text can stand.
fn sayings(secret: &str) -> Vec<Rule> {
    let header = format!("Authorization: PVEAPIToken={DEMO_TOKEN_ID}={secret}");
    let body =
        json!({ "data": null, "message": header, "errors": { "vmid": header, secret: header } });
    let refusing = |rule: Rule, status| rule.status(status, &header).body(body.to_string());
    let mut sayings: Vec<Rule> = [401, 403, 500, 595, 596]
        .into_iter()
        .map(|status| refusing(Rule::everything(), status))
        .collect();
    sayings.extend([400, 403, 500].map(|status| refusing(Rule::under("/nodes/"), status)));
    // What is read is answered, so that something is sent.
    let sent = || Rule { method: Some("POST".to_owned()), ..Rule::under("/nodes/") };
    sayings.extend([401, 403, 500, 596].map(|status| refusing(sent(), status)));
    sayings.extend([
        sent().lost(),
        sent().status(200, "OK").body(json!({ "data": secret }).to_string()),
    ]);
    let row = json!({ "type": "qemu", "vmid": 100, "node": "pve1", "status": "running", "name": header, "tags": secret, "pool": secret });
    sayings.extend([
        Rule::everything()
            .status(502, "Bad Gateway")
            .header("Content-Type", "text/html")
            .body(header.clone()),
        Rule::everything()
            .status(302, "Found")
            .header("Location", &format!("https://{secret}/{secret}")),
        Rule::everything()
            .status(200, "OK")
            .header("Content-Type", &header)
            .header("X-Echo", &header)
            .body("{"),
        Rule::everything().status(200, "OK").body(json!({ "data": secret }).to_string()),
        Rule::get("/cluster/resources?type=vm").data(&json!([row])),
        Rule::everything().lost(),
        Rule::everything().cut_after(40),
    ]);
    sayings
}

/// A guest of its own for each tool that changes one, in a state in which it can.
const GUESTS: &[(&str, &str)] = &[
    ("start_vm", "126"),
    ("reboot_vm", "111"),
    ("suspend_vm", "110"),
    ("resume_vm", "122"),
    ("stop_vm", "120"),
    ("reset_vm", "121"),
];

/// Every tool with few arguments, and with all that it takes.
async fn calls(sim: &Sim) -> Vec<(&'static str, Value)> {
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    let mut calls = Vec::new();
    for (tool, arguments, _) in TOOLS {
        let few: Value = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
        for mut arguments in [few, requests::all_arguments(tool).await] {
            if let Some((_, guest)) = GUESTS.iter().find(|(of, _)| of == tool) {
                arguments["vm"] = json!(guest);
            }
            calls.push((*tool, arguments));
        }
    }
    calls
}

/// The calls as requests.
fn requests_of(calls: &[(&'static str, Value)]) -> Vec<Value> {
    let of = |(tool, arguments): &(&str, Value)| {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": params })
    };
    calls.iter().map(of).collect()
}

/// Asks everything at once, and gives all answers back as text.
fn at_once(program: &mut Program, asked: &[Value]) -> String {
    for (id, request) in (1_000_u64..).zip(asked) {
        let mut request = request.clone();
        request["id"] = json!(id);
        program.send(&request);
    }
    let mut open: BTreeSet<u64> = (1_000_u64..).zip(asked).map(|(id, _)| id).collect();
    let mut output = String::new();
    while !open.is_empty() {
        let answer = program.receive();
        assert!(open.remove(&answer["id"].as_u64().unwrap()), "answered twice: {answer}");
        output += &answer.to_string();
    }
    output
}

/// Everything beside tools that a client can ask: resources, prompts, and what completes their arguments.
fn beside_tools(upid: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut ask = |method: &str, params: Value| {
        all.push(json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    };
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        ask(method, json!({}));
    }
    for resource in mcp_proxmox::resources::ALL {
        let uri = resource.uri.replace("{node}", "pve1").replace("{vmid}", "100");
        ask("resources/read", json!({ "uri": uri.replace("{upid}", upid) }));
        if let Some(name) = resource.variable() {
            let of = json!({ "type": "ref/resource", "uri": resource.uri });
            let argument = json!({ "name": name, "value": "" });
            ask("completion/complete", json!({ "ref": of, "argument": argument }));
        }
    }
    for prompt in mcp_proxmox::prompts::ALL {
        let arguments: Value =
            prompt.arguments.iter().map(|it| (it.name.to_owned(), json!("pve1"))).collect();
        ask("prompts/get", json!({ "name": prompt.name, "arguments": arguments }));
        for argument in prompt.arguments {
            let of = json!({ "type": "ref/prompt", "name": prompt.name });
            let argument = json!({ "name": argument.name, "value": "" });
            let context = json!({ "arguments": { "node": "pve1" } });
            ask(
                "completion/complete",
                json!({ "ref": of, "argument": argument, "context": context }),
            );
        }
    }
    all
}

/// The text as it stands in a query.
fn encoded(text: &str) -> String {
    let of = |c: char| match c {
        '+' | '/' | '=' | '%' | ':' => format!("%{:02X}", u32::from(c)),
        c => c.to_string(),
    };
    text.chars().map(of).collect()
}

#[test]
fn a_ticket_is_looked_for_as_it_stands_in_a_query() {
    assert_eq!(encoded("PVEVNC:6B::a+b/c=%"), "PVEVNC%3A6B%3A%3Aa%2Bb%2Fc%3D%25");
}

/// Where this stands in the output, with what is before it.
fn is_nowhere(output: &str, secret: &str, saying: &str) {
    let at = output.find(secret).map(|at| &output[at.saturating_sub(300)..at]);
    assert!(at.is_none(), "`{secret}` is in the output under {saying}, after: {at:?}");
}

/// All that comes out of the program under this saying, the audit log included, which is given back apart, and how
/// many tickets and passwords of consoles there were to give away.
async fn session(nth: usize, secret: &str, saying: Option<Rule>) -> (String, String, usize) {
    let audit = format!("mcp-proxmox-secrets-{}-{nth}.log", std::process::id());
    let audit = std::env::temp_dir().join(audit);
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let name = saying.as_ref().map_or_else(|| "nothing".to_owned(), |rule| format!("{rule:?}"));
    if let Some(rule) = saying {
        sim.answer(rule);
    }
    let calls = calls(&sim).await;
    let beside = beside_tools(&sim.change(|cluster| cluster.tasks[0].upid()));
    assert!(beside.len() > 30, "{beside:#?}");
    let output = tokio::task::block_in_place(|| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, secret);
        command
            .env("PVE_LOG", "trace,rmcp=trace")
            .env("PVE_ACCESS_TIER", "write")
            .env("PVE_CONFIRM", "never")
            .env("PVE_AUDIT_LOG", &audit);
        let mut program = Program::start(&mut command);
        let mut output = program.initialize("2025-11-25").to_string();
        output += &at_once(&mut program, &requests_of(&calls));
        output += &at_once(&mut program, &beside);
        let ended = program.end();
        output + &ended.lines.join("\n") + &ended.stderr
    });
    assert!(output.contains("DEBUG") || output.contains("INFO"), "the log was not on");
    let recorded = std::fs::read_to_string(&audit).unwrap();
    std::fs::remove_file(&audit).unwrap();
    let tickets = sim.console_secrets();
    for output in [&output, &recorded] {
        is_nowhere(output, secret, &name);
        is_nowhere(output, &secret[..18], &name);
        for ticket in &tickets {
            is_nowhere(output, ticket, &name);
            is_nowhere(output, &encoded(ticket), &name);
            is_nowhere(output, &encoded(ticket).to_lowercase(), &name);
            is_nowhere(output, &ticket.replace(':', "%3A"), &name);
        }
        // Also the beginning of one, and one that is encoded in any other way.
        is_nowhere(output, "PVEVNC", &name);
    }
    (output, recorded, tickets.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn no_tool_gives_a_secret_away_whatever_is_said_to_it() {
    // A wrong secret is refused by PVE itself, before anything else is said; some sayings come from elsewhere.
    let sessions = [(DEMO_TOKEN_SECRET, usize::MAX), (WRONG, 6)];
    let sessions = sessions.into_iter().flat_map(|(secret, n_sayings)| {
        // As PVE is, and then with each saying.
        let sayings = sayings(secret).into_iter().take(n_sayings).map(Some);
        std::iter::once(None).chain(sayings).map(move |saying| (secret, saying))
    });
    let sessions = sessions
        .enumerate()
        .map(|(nth, (secret, saying))| tokio::spawn(session(nth, secret, saying)));
    let all: Vec<_> = stream::iter(sessions).buffer_unordered(AT_ONCE).collect().await;
    let all: Vec<(String, String, usize)> = all.into_iter().map(Result::unwrap).collect();
    let n_told = all.iter().filter(|(output, ..)| output.contains("\"isError\":true")).count();
    assert!(n_told > 20, "{n_told} times something failed");
    let n_tickets: usize = all.iter().map(|(.., n_tickets)| n_tickets).sum();
    assert!(n_tickets > 10, "only {n_tickets} tickets of consoles could have been given away");
    let n_recorded: usize = all.iter().map(|(_, recorded, _)| recorded.lines().count()).sum();
    assert!(n_recorded > 100, "{n_recorded} lines of writes were recorded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_tool_gives_a_secret_away_on_the_command_line() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let sayings = sayings(DEMO_TOKEN_SECRET);
    // Each tool with another saying, so that all are used.
    for (nth, (tool, arguments)) in calls(&sim).await.into_iter().enumerate().step_by(2) {
        sim.forget_rules();
        sim.answer(sayings[nth / 2 % sayings.len()].clone());
        let output = tokio::task::block_in_place(|| {
            let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
            command.env("PVE_ACCESS_TIER", "write").env("PVE_CONFIRM", "never");
            command.args(["call", tool, &arguments.to_string(), "--log", "trace"]);
            let (_, stdout, stderr) = run(&mut command);
            stdout + &stderr
        });
        is_nowhere(&output, DEMO_TOKEN_SECRET, tool);
    }
}
