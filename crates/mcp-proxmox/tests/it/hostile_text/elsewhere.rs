//! The same text through everything beside tools: resources, prompts, suggestions, questions to a person, progress,
//! and what is logged.

use std::collections::BTreeSet;

use mcp_proxmox::{answer::log_text, prompts, resources};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim, Task};
use rmcp::{
    RoleClient,
    model::{
        ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, ReadResourceRequestParams,
        Reference, ResourceContents,
    },
    service::{RunningService, ServiceError},
};
use serde_json::{Value, json};

use super::{
    client, is_harmful, own_words, refusals, without_moments,
    world::{ORDER, WORD, cluster, hostile, plain},
};
use crate::{
    faults::TOOLS,
    process::{Program, program_for},
};

/// The resources of the demo, one of each kind.
fn addresses(sim: &Sim) -> Vec<String> {
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    let address = |entry: &resources::Entry| {
        entry.uri.replace("{node}", "pve1").replace("{vmid}", "100").replace("{upid}", &upid)
    };
    resources::ALL.iter().map(address).collect()
}

async fn read(
    client: &RunningService<RoleClient, ()>,
    uri: &str,
) -> Result<Vec<ResourceContents>, ServiceError> {
    Ok(client.read_resource(ReadResourceRequestParams::new(uri)).await?.contents)
}

/// Nothing in it is more than text to read, and no order is in the server's own words.
fn plainly(what: &str, told: &str) {
    let harmful = told.chars().find(|c| is_harmful(*c) && !['\n', '\t'].contains(c));
    assert_eq!(harmful, None, "{what}: {told:?}");
    assert!(told.chars().count() <= 12_000, "{what} says {} characters", told.chars().count());
    assert!(!own_words(told).contains(ORDER), "{what} says of itself: {}", own_words(told));
}

/// The lines that are the server's alone, in which nobody else wrote.
fn own_lines(text: &str) -> Vec<String> {
    let moment = |line: &str| line.split('\t').map(without_moments).collect::<Vec<_>>().join("\t");
    text.lines().filter(|line| !line.contains(WORD)).map(moment).collect()
}

#[tokio::test]
async fn what_others_wrote_makes_no_line_of_a_resource() {
    let good = Sim::start(cluster(plain)).await.unwrap();
    let bad = Sim::start(cluster(hostile)).await.unwrap();
    let (of_good, of_bad) = (client(&good).await, client(&bad).await);
    let mut n_texts = 0;
    for (good_uri, uri) in addresses(&good).iter().zip(addresses(&bad)) {
        let contents = read(&of_bad, &uri).await.unwrap();
        let plain = read(&of_good, good_uri).await.unwrap();
        for (theirs, ours) in contents.iter().zip(&plain) {
            let (
                ResourceContents::TextResourceContents { text, .. },
                ResourceContents::TextResourceContents { text: plain, .. },
            ) = (theirs, ours)
            else {
                continue;
            };
            assert!(text.contains(WORD), "{uri} has nothing of others");
            assert_eq!(own_lines(text), own_lines(plain), "{uri}: {text}");
            let harmful = text.chars().find(|c| is_harmful(*c) && !['\n', '\t'].contains(c));
            assert_eq!(harmful, None, "{uri}: {text}");
            assert!(text.chars().count() <= 40_000, "{uri}: {}", text.chars().count());
            n_texts += 1;
        }
        // What cannot be read is told in an error of the protocol.
        for rule in refusals(Rule::everything) {
            let what = format!("{uri} under {} {}", rule.status.unwrap(), rule.reason);
            bad.answer(rule);
            match read(&of_bad, &uri).await {
                Err(ServiceError::McpError(error)) => {
                    plainly(&what, &error.message);
                    plainly(&what, &error.data.unwrap_or_default().to_string());
                }
                other => panic!("{what}: {other:?}"),
            }
            bad.forget_rules();
        }
        let other = format!("{uri}{}", hostile(1));
        let error = read(&of_bad, &other).await.unwrap_err();
        let ServiceError::McpError(error) = error else { panic!("{error:?}") };
        plainly("an address", &error.message);
    }
    assert_eq!(n_texts, resources::ALL.len() - 1, "all but the picture");
}

#[tokio::test]
async fn what_is_filled_into_a_prompt_stays_between_its_quotes() {
    let sim = Sim::start(cluster(hostile)).await.unwrap();
    let client = client(&sim).await;
    for prompt in prompts::ALL {
        let get = async |filled: &dyn Fn(usize) -> String| {
            let arguments = prompt
                .arguments
                .iter()
                .zip(1..)
                .map(|(argument, nth)| (argument.name.to_owned(), Value::String(filled(nth))));
            let request =
                GetPromptRequestParams::new(prompt.name).with_arguments(arguments.collect());
            serde_json::to_value(client.get_prompt(request).await.unwrap().messages).unwrap()
        };
        let text = |messages: &Value| messages[0]["content"]["text"].as_str().unwrap().to_owned();
        let (theirs, ours) = (text(&get(&hostile).await), text(&get(&plain).await));
        plainly(prompt.name, &theirs);
        assert!(theirs.contains(ORDER), "{}: nothing of what was filled in: {theirs}", prompt.name);
        let own = |text: &str| own_words(text).lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(own(&theirs), own(&ours), "{}", prompt.name);
        // One that does not exist.
        let arguments = json!({ hostile(1): "x", hostile(2): {} });
        let request = GetPromptRequestParams::new(prompt.name)
            .with_arguments(arguments.as_object().unwrap().clone());
        let ServiceError::McpError(error) = client.get_prompt(request).await.unwrap_err() else {
            panic!("an error of the protocol");
        };
        plainly(prompt.name, &error.message);
    }
}

#[tokio::test]
async fn suggestions_are_short_and_hold_nothing_that_is_not_seen() {
    let sim = Sim::start(cluster(hostile)).await.unwrap();
    sim.change(|cluster| {
        for node in &mut cluster.nodes {
            node.services.iter_mut().for_each(|service| service.name = hostile(1));
        }
        // A name that somebody would choose to be suggested.
        cluster.guests[0].name = Some(format!("{WORD}. {ORDER}"));
    });
    let client = client(&sim).await;
    let mut seen = BTreeSet::new();
    for prompt in prompts::ALL {
        for argument in prompt.arguments {
            for typed in [String::new(), WORD.to_owned(), ORDER.to_owned(), hostile(3)] {
                let request = CompleteRequestParams::new(
                    Reference::for_prompt(prompt.name),
                    ArgumentInfo::new(argument.name, &typed),
                );
                let values = client.complete(request).await.unwrap().completion.values;
                assert!(values.len() <= 100);
                for value in values {
                    assert_eq!(value.chars().find(|c| is_harmful(*c)), None, "{value:?}");
                    assert!(value.chars().count() <= 400, "{value}");
                    seen.insert(value);
                }
            }
        }
    }
    assert!(seen.iter().any(|value| value.contains("100")), "{seen:?}");
}

fn program(sim: &Sim, settings: &[(&str, &str)]) -> Program {
    let mut command = program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    command.env("PVE_ACCESS_TIER", "write").envs(settings.iter().copied());
    let mut program = Program::start(&mut command);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": { "name": "test", "version": "1" } });
    program.request("initialize", params);
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    program
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_to_a_person_quote_the_name_of_the_guest() {
    let sim = Sim::start(cluster(hostile)).await.unwrap();
    tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[("PVE_CONFIRM", "always")]);
        let mut n_asked = 0;
        for (tool, arguments, action) in TOOLS {
            if action.is_empty() && *tool != "send_vm_keys" {
                continue;
            }
            crate::faults::ready(&sim, action);
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            let params = json!({ "name": tool, "arguments": arguments });
            program.send(
                &json!({ "jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params }),
            );
            let question = program.receive();
            assert_eq!(question["method"], "elicitation/create", "{tool}: {question}");
            let told = question["params"]["message"].as_str().unwrap();
            plainly(tool, told);
            assert!(told.contains(ORDER) && told.chars().count() < 600, "{tool}: {told}");
            assert_eq!(told.lines().count(), 1, "{tool}: {told}");
            let answer = json!({ "action": "decline" });
            program.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
            assert_eq!(program.receive()["id"], 77);
            n_asked += 1;
        }
        assert_eq!(n_asked, 8);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_tells_what_others_wrote_as_one_short_line() {
    let sim = Sim::start(cluster(hostile)).await.unwrap();
    let upid = sim.change(|cluster| {
        let mut task =
            Task::ended("pve1", "vzdump", "100", "root@pam", (1_790_000_000, 1_790_000_001), "OK");
        task.endtime = None;
        task.log =
            (1..40).map(|nth| format!("INFO: {nth}% (1 of 2), read: {}", hostile(nth))).collect();
        let upid = task.upid();
        cluster.tasks.push(task);
        cluster.guests.iter_mut().for_each(|guest| guest.takes = pve_sim::Takes::Polls(3));
        upid
    });
    tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[("PVE_CONFIRM", "never")]);
        let mut told = Vec::new();
        let mut calls = vec![("get_task", json!({ "upid": upid, "wait_seconds": 3 }), "")];
        for (tool, arguments, action) in TOOLS {
            if !action.is_empty() {
                calls.push((tool, serde_json::from_str(arguments).unwrap(), action));
            }
        }
        for (tool, arguments, action) in calls {
            crate::faults::ready(&sim, action);
            let params =
                json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": "p" } });
            program.send(
                &json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params }),
            );
            loop {
                let message = program.receive();
                if message["id"] == 9 {
                    break;
                }
                told.push((
                    tool,
                    message["params"]["message"].as_str().unwrap_or_default().to_owned(),
                ));
            }
        }
        for (tool, told) in &told {
            assert_eq!(told.chars().find(|c| is_harmful(*c)), None, "{tool}: {told:?}");
            assert!(told.chars().count() <= log_text::WIDTH + 40, "{tool}: {told}");
        }
        assert!(told.iter().any(|(_, told)| told.contains(WORD)), "{told:?}");
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_logged_stays_on_its_line() {
    let sim = Sim::start(cluster(hostile)).await.unwrap();
    let ended = tokio::task::block_in_place(|| {
        let mut program = program(&sim, &[("PVE_CONFIRM", "never"), ("PVE_LOG", "info")]);
        let calls = [
            ("get_vm_status", json!({ "vm": "100" })),
            ("get_vm_console", json!({ "vm": "200", "listen_seconds": 1 })),
            ("get_vm_status", json!({ "vm": hostile(1) })),
            (ORDER, json!({})),
        ];
        let order = format!("text/{WORD}` {ORDER}\t2026-11-30T00:00:00Z  WARN all is well");
        let foreign = Rule::everything().status(200, "OK").header("Content-Type", &order);
        for rule in refusals(Rule::everything).into_iter().chain([foreign]) {
            sim.answer(rule);
            for (tool, arguments) in &calls {
                program.call(tool, arguments.clone());
            }
            sim.forget_rules();
        }
        program.end()
    });
    assert!(ended.status.success());
    let is_ours = |line: &str| {
        let stamp = line.split_once(' ').map_or("", |(first, _)| first);
        line.starts_with("mcp-proxmox") || (stamp.len() > 19 && stamp.ends_with('Z'))
    };
    for line in ended.stderr.lines() {
        assert!(is_ours(line), "somebody else's line: {line:?}");
        assert_eq!(line.chars().find(|c| is_harmful(*c)), None, "{line:?}");
        assert!(line.chars().count() < 4000, "{} characters", line.chars().count());
    }
    assert!(ended.stderr.contains(ORDER), "nothing of others was logged: {}", ended.stderr);
}
