//! What everything costs a model, in tokens of o200k, and the bounds that hold.
//!
//! Clients show a model the text or the structure; the larger of the two counts. Pictures are not counted in
//! tokens of text.

use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

use futures_util::future::join_all;
use jiff::{Timestamp, tz::TimeZone};
use mcp_proxmox::{
    answer::Answer,
    call::Call,
    catalog::{self, Catalog},
    instructions,
    person::Person,
    policy::Policy,
    prompts, server,
    tier::{Access, Level},
};
use pve_client::Reader;
use pve_sim::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET,
    JournalEntry, Sim, Task, Volume,
};
use serde_json::{Map, Value, json};
use tiktoken_rs::CoreBPE;

use crate::{documents::keep_current, support::settings};

/// The large cluster.
const NODES: usize = 32;
const GUESTS: usize = 5000;
/// What nobody asked for in particular never costs more.
const PLAIN: usize = 10_000;
/// Nor can more be asked for: above it clients cut or refuse an answer.
const MOST: usize = 25_000;

/// Calls on a very large cluster: with what is required alone, and with everything that makes an answer longer.
/// A tool that is not here is measured with its examples of `.ci/examples.json` only.
const LARGE: &[(&str, &str, &str)] = &[
    ("list_vms", "{}", r#"{"limit":500,"detail":true}"#),
    ("get_vm_status", r#"{"vm":"100"}"#, ""),
    ("get_vm_details", r#"{"vm":"100"}"#, ""),
    ("list_nodes", "{}", ""),
    ("get_node_status", r#"{"node":"pve01"}"#, ""),
    ("list_storage", "{}", r#"{"live":true}"#),
    ("get_storage_status", r#"{"storage":"backup"}"#, r#"{"storage":"backup","limit":200}"#),
    ("get_metrics", r#"{"node":"pve01"}"#, r#"{"node":"pve01","timeframe":"year"}"#),
    ("get_access", "{}", ""),
    ("list_networks", "{}", r#"{"node":"pve01"}"#),
    ("get_network_stats", "{}", r#"{"limit":500}"#),
    ("list_tasks", "{}", r#"{"limit":200,"since":"1000d"}"#),
    ("get_task", r#"{"upid":"$UPID"}"#, r#"{"upid":"$UPID","lines":200}"#),
    ("get_system_log", r#"{"node":"pve01"}"#, r#"{"node":"pve01","limit":300}"#),
    ("search_logs", "{}", r#"{"since":"30d","limit":500}"#),
    ("get_cluster_health", "{}", ""),
];

struct Tokens(CoreBPE);

impl Tokens {
    fn of(&self, text: &str) -> usize {
        self.0.encode_ordinary(text).len()
    }

    /// What an answer costs, and whether it is a picture beside that.
    fn of_answer(&self, answer: &Answer) -> (usize, bool) {
        let text = self.of(&answer.text());
        match answer {
            Answer::Structured(object) => {
                (text.max(self.of(&Value::Object(object.clone()).to_string())), false)
            }
            Answer::Picture(_) => (text, true),
        }
    }
}

/// A cluster with much of everything, and a task with a long log.
async fn large() -> (Sim, String) {
    let mut cluster = Cluster::generated(NODES, GUESTS, 7);
    let now = u64::try_from(Timestamp::now().as_microsecond()).unwrap();
    for node in cluster.nodes.iter_mut().take(8) {
        let name = node.name.clone();
        node.journal.entries = (0..3000)
            .map(|nth| {
                let message = format!(
                    "{name}: request {nth} failed with error {}: {}",
                    nth * 7919,
                    "a long story ".repeat(12)
                );
                let priority = if nth % 3 == 0 { 3 } else { 6 };
                JournalEntry::new(now - (3000 - nth) * 1_000_000, "pvedaemon", priority, &message)
            })
            .collect();
    }
    let storage = cluster.storages.iter_mut().find(|storage| storage.name == "backup").unwrap();
    storage.volumes = (100..5100_u32)
        .map(|vmid| {
            let created = now / 1_000_000 - u64::from(vmid) * 60;
            let name = format!("vm/{vmid}/{created}");
            let mut backup = Volume::backup(&name, "pbs-vm", 1 << 34, (vmid, created));
            backup.notes = Some("a note that somebody wrote, of the usual length".to_owned());
            backup
        })
        .collect();
    let lines: Vec<String> =
        (0..3000).map(|nth| format!("INFO: {nth} {}", "of a long story ".repeat(10))).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let start = now / 1_000_000 - 600;
    let task = Task::ended("pve01", "vzdump", "", "root@pam", (start, start + 60), "job errors")
        .with_log(&lines);
    let upid = task.upid();
    cluster.tasks.push(task);
    (Sim::start(cluster).await.unwrap(), upid)
}

async fn call(access: &Access, tool: &str, arguments: &Value) -> Answer {
    let catalog = Catalog::new(catalog::ALL, Level::Write, |_| true);
    let call = Call::begin(TimeZone::UTC).with_person(Person::who_agreed());
    let arguments = arguments.as_object().cloned().unwrap();
    catalog
        .find(tool)
        .unwrap()
        .call(access, &call, arguments)
        .await
        .unwrap_or_else(|failure| panic!("{tool}: {failure}"))
}

fn examples() -> BTreeMap<String, Vec<Value>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.ci/examples.json");
    let written: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let tools = written["tools"].as_object().unwrap();
    tools.iter().map(|(name, calls)| (name.clone(), calls.as_array().cloned().unwrap())).collect()
}

/// The first example of a tool, on a demo cluster of its own.
async fn typical(tool: &str, example: &Value) -> Answer {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let access =
        Access::new(Level::Write, Reader::new(settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)));
    let mut arguments = Map::new();
    for (name, value) in example.as_object().unwrap() {
        let value = match value.as_str().and_then(|text| text.strip_prefix('$')) {
            None => value.clone(),
            Some(reference) => {
                let parts: Vec<_> = reference.split('.').collect();
                let Answer::Structured(answer) = call(&access, parts[0], &json!({})).await else {
                    panic!("{reference} is no table");
                };
                let table = &answer[parts[1]];
                let at = table["columns"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .position(|name| name == parts[2])
                    .unwrap();
                table["rows"][0][at].clone()
            }
        };
        arguments.insert(name.clone(), value);
    }
    call(&access, tool, &Value::Object(arguments)).await
}

#[derive(Default)]
struct Costs {
    typical: usize,
    is_picture: bool,
    plain: Option<usize>,
    most: Option<usize>,
}

async fn costs(tokens: &Tokens) -> Vec<Costs> {
    let examples = examples();
    let typical = join_all(catalog::ALL.iter().map(|entry| {
        let calls = examples
            .get(entry.name)
            .unwrap_or_else(|| panic!("{}: write examples into .ci/examples.json", entry.name));
        typical(entry.name, &calls[0])
    }))
    .await;
    let (sim, upid) = large().await;
    let settings = settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
    let access = Access::new(Level::Write, Reader::new(settings));
    let mut costs = Vec::new();
    for (entry, answer) in catalog::ALL.iter().zip(typical) {
        let (typical, is_picture) = tokens.of_answer(&answer);
        let mut cost = Costs { typical, is_picture, ..Costs::default() };
        if let Some((_, plain, most)) = LARGE.iter().find(|(name, ..)| *name == entry.name) {
            for (arguments, cell) in [(plain, &mut cost.plain), (most, &mut cost.most)] {
                if !arguments.is_empty() {
                    let arguments =
                        serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
                    let answer = call(&access, entry.name, &arguments).await;
                    *cell = Some(tokens.of_answer(&answer).0);
                }
            }
        }
        costs.push(cost);
    }
    costs
}

fn figure(n: usize) -> String {
    match n {
        0..100 => n.to_string(),
        100..1000 => (n.div_ceil(10) * 10).to_string(),
        _ => format!("{},{:03}", n / 1000, n % 1000 / 10 * 10),
    }
}

/// What a model reads of a tool.
fn of_model(definition: &Value) -> Value {
    json!({
        "name": definition["name"],
        "description": definition["description"],
        "inputSchema": definition["inputSchema"],
    })
}

fn definitions(tokens: &Tokens, text: &mut String) {
    text.push_str("| tier | tools | what a model reads | budget | whole `tools/list` | budget |\n|---|---|---|---|---|---|\n");
    for (level, model_budget, list_budget) in
        [(Level::Read, 3000, 6500), (Level::Write, 4200, 9000)]
    {
        let catalog = Catalog::new(catalog::ALL, level, |_| true);
        let list = server::definitions(&catalog);
        let model: Vec<Value> = list.as_array().unwrap().iter().map(of_model).collect();
        let n_model = tokens.of(&Value::from(model).to_string());
        let n_list = tokens.of(&list.to_string());
        assert!(n_model < model_budget, "{level}: a model reads {n_model} tokens of the tools");
        assert!(n_list < list_budget, "{level}: tools/list costs {n_list} tokens");
        let _ = writeln!(
            text,
            "| {level} | {} | {} | {} | {} | {} |",
            catalog.tools().count(),
            figure(n_model),
            figure(model_budget),
            figure(n_list),
            figure(list_budget)
        );
    }
}

#[tokio::test]
async fn no_answer_is_larger_than_its_bound_and_the_figures_are_current() {
    let tokens = Tokens(tiktoken_rs::o200k_base().unwrap());
    let costs = costs(&tokens).await;
    let mut text = String::from(
        "# What it costs a model\n\n\
         Tokens of o200k, measured by the test `no_answer_is_larger_than_its_bound_and_the_figures_are_current`. Figures move a \
         little with times and figures in the answers.\n\n## Before anything is called\n\n",
    );
    definitions(&tokens, &mut text);
    let names: Vec<_> = catalog::ALL.iter().map(|entry| entry.name).collect();
    let instructions = tokens.of(&instructions::text(Level::Write, &names, &Policy::default()));
    assert!(instructions < 600, "the instructions cost {instructions} tokens");
    let _ = write!(
        text,
        "\nThe instructions cost about {} tokens. Prompts and resources cost nothing until a person picks one; the text of a prompt \
         has at most {} tokens.\n",
        figure(instructions),
        figure(longest_prompt(&tokens, &names))
    );
    let demo = Cluster::demo();
    let _ = write!(
        text,
        "\n## Answers\n\n\
         A typical call on the demo cluster ({} nodes, {} guests); the plainest call on a cluster of {NODES} nodes and {GUESTS} guests \
         with long logs and many backups, which must stay under {}; and the most that can be asked for there, which must stay \
         under {}.\n\n| tool | definition | typical | large cluster, plain | most |\n|---|---|---|---|---|\n",
        demo.nodes.len(),
        demo.guests.len(),
        figure(PLAIN),
        figure(MOST)
    );
    let list = server::definitions(&Catalog::new(catalog::ALL, Level::Write, |_| true));
    for ((entry, cost), definition) in catalog::ALL.iter().zip(&costs).zip(list.as_array().unwrap())
    {
        let cell = |n: Option<usize>| n.map_or_else(|| "-".to_owned(), figure);
        let picture = if cost.is_picture { " and a picture" } else { "" };
        let row = format!(
            "| `{}` | {} | {}{picture} | {} | {} |",
            entry.name,
            figure(tokens.of(&of_model(definition).to_string())),
            figure(cost.typical),
            cell(cost.plain),
            cell(cost.most)
        );
        println!("{row}");
        let _ = writeln!(text, "{row}");
    }
    for (entry, cost) in catalog::ALL.iter().zip(&costs) {
        let name = entry.name;
        assert!(cost.typical <= 2000, "{name}: a typical answer costs {} tokens", cost.typical);
        assert!(
            cost.plain.is_none_or(|n| n <= PLAIN),
            "{name}: a plain call costs {:?} tokens",
            cost.plain
        );
        assert!(
            cost.most.is_none_or(|n| n <= MOST),
            "{name}: {:?} tokens can be asked for",
            cost.most
        );
    }
    keep_current("tokens.md", &text);
}

fn longest_prompt(tokens: &Tokens, names: &[&'static str]) -> usize {
    let prompts = prompts::Prompts::new(prompts::ALL, names.to_vec(), Level::Write);
    let lengths = prompts.all().map(|entry| {
        let filled =
            entry.arguments.iter().map(|each| (each.name.to_owned(), json!("100"))).collect();
        tokens.of(&prompts.text(entry, &filled).unwrap())
    });
    lengths.max().unwrap()
}
