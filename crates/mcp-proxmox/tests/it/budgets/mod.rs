//! What everything costs a model, in tokens of o200k, and the bounds that hold.
//!
//! Clients show a model the text or the structure; the larger of the two counts. Pictures are not counted in
//! tokens of text.

mod worlds;

use std::{collections::BTreeMap, fmt::Write as _, fs, path::PathBuf};

use futures_util::future::join_all;
use jiff::tz::TimeZone;
use mcp_proxmox::{
    answer::{Answer, cost},
    call::Call,
    catalog::{self, Catalog},
    instructions,
    person::Person,
    policy::Policy,
    prompts,
    resources::{self, Body, Reading, Resources},
    server,
    tier::{Access, Level},
};
use pve_client::Reader;
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim};
use serde_json::{Map, Value, json};
use tiktoken_rs::CoreBPE;

use self::worlds::{CALLS, DENSE, GUESTS, NODES, RESOURCES, World, dense, large};
use crate::{
    documents::keep_current,
    support::{notes, rows, settings},
};

/// What nobody asked for in particular never costs more.
const PLAIN: usize = 10_000;
/// Nor can more be asked for: above it clients cut or refuse an answer.
const MOST: usize = 25_000;

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
                let object = Value::Object(object.clone());
                let paid = text.max(self.of(&object.to_string()));
                // What answers are bounded by is not less than what is paid.
                let said = cost::of_value(&object);
                assert!(paid <= said, "{paid} tokens are paid and not {said}: {object}");
                (paid, false)
            }
            Answer::Picture(_) => (text, true),
        }
    }
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

/// What a tool or a resource costs.
#[derive(Clone, Default)]
struct Costs {
    typical: usize,
    is_picture: bool,
    plain: usize,
    most: Option<usize>,
}

impl Costs {
    /// The larger of each, since the largest is what is looked for.
    fn or_larger(&mut self, other: &Self) {
        self.plain = self.plain.max(other.plain);
        self.most = self.most.max(other.most);
    }
}

/// Tools whose answers are mostly what others wrote: also of dense text no more can be asked for than clients take.
const OF_OTHERS: &[&str] =
    &["get_vm_console", "get_task", "get_system_log", "search_logs", "start_vm", "reboot_vm"];

/// What every call costs in a world.
async fn in_world(tokens: &Tokens, what: &str, world: &World) -> Vec<Costs> {
    let mut all = Vec::new();
    for entry in catalog::ALL {
        let (_, plain, most, action) = CALLS.iter().find(|(name, ..)| *name == entry.name).unwrap();
        let mut costs = Costs::default();
        for (arguments, bound) in [(plain, PLAIN), (most, MOST)] {
            let is_bounded = bound == PLAIN || what == "large" || OF_OTHERS.contains(&entry.name);
            if arguments.is_empty() || !is_bounded {
                continue;
            }
            world.ready(action);
            let arguments = serde_json::from_str(&world.named(arguments)).unwrap();
            let answer = call(&world.access, entry.name, &arguments).await;
            let (n, _) = tokens.of_answer(&answer);
            assert!(
                n <= bound,
                "{what}: {} {arguments} costs {n} tokens: {}",
                entry.name,
                answer.text()
            );
            if bound == PLAIN { costs.plain = n } else { costs.most = Some(n) }
        }
        all.push(costs);
    }
    all
}

/// What every resource costs in a world, attached by a person.
async fn attached(tokens: &Tokens, what: &str, world: &World) -> Vec<usize> {
    let catalog = Catalog::new(catalog::ALL, Level::Write, |_| true);
    let offered = Resources::new(resources::ALL, &catalog.names());
    let mut all = Vec::new();
    for (uri, is_much) in RESOURCES {
        let (entry, value) = offered.find(&world.named(uri)).unwrap();
        let call = Call::begin(TimeZone::UTC);
        let reading = Reading { access: &world.access, catalog: &catalog, call: &call };
        let Body::Text(text) = entry.read(&reading, &value).await.unwrap().body else {
            panic!("{uri} is no text")
        };
        let n = tokens.of(&text);
        let bound = if *is_much { MOST } else { PLAIN };
        assert!(n <= bound, "{what}: {uri} costs {n} tokens");
        all.push(n);
    }
    all
}

/// What all tools and all resources cost: typically, and at most in any world.
async fn costs(tokens: &Tokens) -> (Vec<Costs>, Vec<Costs>) {
    let examples = examples();
    let typical = join_all(catalog::ALL.iter().map(|entry| {
        let calls = examples
            .get(entry.name)
            .unwrap_or_else(|| panic!("{}: write examples into .ci/examples.json", entry.name));
        typical(entry.name, &calls[0])
    }))
    .await;
    let mut worlds = vec![("large", large().await)];
    for (what, text) in DENSE {
        worlds.push((what, dense(*text).await));
    }
    let of_worlds = join_all(worlds.iter().map(|(what, world)| async move {
        (in_world(tokens, what, world).await, attached(tokens, what, world).await)
    }))
    .await;
    let mut tools: Vec<Costs> = typical
        .iter()
        .map(|answer| {
            let (typical, is_picture) = tokens.of_answer(answer);
            Costs { typical, is_picture, ..Costs::default() }
        })
        .collect();
    let mut resources = vec![Costs::default(); RESOURCES.len()];
    for (of_tools, of_resources) in of_worlds {
        tools.iter_mut().zip(&of_tools).for_each(|(all, one)| all.or_larger(one));
        resources.iter_mut().zip(of_resources).for_each(|(all, n)| all.plain = all.plain.max(n));
    }
    (tools, resources)
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
    let (costs, of_resources) = costs(&tokens).await;
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
         A typical call on the demo cluster ({} nodes, {} guests). The largest answer to the plainest call, which must stay under {}: \
         on a cluster of {NODES} nodes and {GUESTS} guests with long logs and many backups, and on the demo when all that others write \
         is a hexadecimal dump, a trace, base64, escapes or rare ideographs. And the most that can be asked for there, with `limit`, \
         `lines` or the like, which must stay under {}.\n\n| tool | definition | typical | largest | most |\n|---|---|---|---|---|\n",
        demo.nodes.len(),
        demo.guests.len(),
        figure(PLAIN),
        figure(MOST)
    );
    let list = server::definitions(&Catalog::new(catalog::ALL, Level::Write, |_| true));
    for ((entry, cost), definition) in catalog::ALL.iter().zip(&costs).zip(list.as_array().unwrap())
    {
        let most = cost.most.map(|most| figure(most.max(cost.plain)));
        let picture = if cost.is_picture { " and a picture" } else { "" };
        let _ = writeln!(
            text,
            "| `{}` | {} | {}{picture} | {}{picture} | {} |",
            entry.name,
            figure(tokens.of(&of_model(definition).to_string())),
            figure(cost.typical),
            figure(cost.plain),
            most.unwrap_or_else(|| "-".to_owned())
        );
    }
    text.push_str(
        "\nA resource is attached by a person. The log of a task is much on purpose: as much as clients take.\n\n\
         | resource | largest |\n|---|---|\n",
    );
    for ((uri, _), cost) in RESOURCES.iter().zip(&of_resources) {
        let uri =
            uri.replace("$NODE", "{node}").replace("$VM", "{vmid}").replace("$UPID", "{upid}");
        let _ = writeln!(text, "| `{uri}` | {} |", figure(cost.plain));
    }
    println!("{text}");
    for (entry, cost) in catalog::ALL.iter().zip(&costs) {
        let name = entry.name;
        assert!(cost.typical <= 2000, "{name}: a typical answer costs {} tokens", cost.typical);
        assert!(cost.plain >= cost.typical, "{name}: a typical answer is larger than the largest");
    }
    keep_current("tokens.md", &text);
}

/// The structure of a plain answer in a world of dumps.
async fn in_dumps(world: &World, tool: &str, arguments: &str) -> Value {
    let arguments = serde_json::from_str(&world.named(arguments)).unwrap();
    match call(&world.access, tool, &arguments).await {
        Answer::Structured(object) => Value::Object(object),
        Answer::Picture(_) => panic!("{tool} answers with a picture"),
    }
}

#[tokio::test]
async fn what_had_no_room_is_said_and_can_be_had() {
    let world = dense(DENSE[0].1).await;
    let all = "$NODE\",\"pattern\":\"error: 0000\"";
    let newer = in_dumps(&world, "get_system_log", &format!(r#"{{"node":"{all}}}"#)).await;
    assert!(
        newer["shown"].as_u64().unwrap() < 50 && notes(&newer).contains("older_cursor"),
        "{newer}"
    );
    let cursor = newer["older_cursor"].as_str().unwrap();
    let older = format!(r#"{{"node":"{all},"cursor":"{cursor}"}}"#);
    let older = in_dumps(&world, "get_system_log", &older).await;
    let place = |line: &Value| {
        let (_, place) = line["message"].as_str().unwrap().split_once("error: ").unwrap();
        u64::from_str_radix(&place[..8], 16).unwrap() / 16
    };
    let (newer, older) = (rows(&newer["lines"]), rows(&older["lines"]));
    assert_eq!(place(&newer[0]), place(older.last().unwrap()) + 1, "nothing is left out between");
    for (tool, arguments, said) in [
        ("search_logs", "{}", "older lines are not shown"),
        ("get_task", r#"{"upid":"$UPID"}"#, "more guests of the backup are not in `backups`"),
        ("get_vm_console", r#"{"vm":"$CT","listen_seconds":1}"#, "before them are not"),
        ("get_vm_details", r#"{"vm":"$VM"}"#, "left out are the last"),
    ] {
        let answer = in_dumps(&world, tool, arguments).await;
        assert!(notes(&answer).contains(said), "{tool}: {answer}");
    }
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
