//! Traps that clients of Proxmox VE met in the field, one test for each.
//!
//! A test's name begins with the number of its case. It serves the answer that went wrong elsewhere, to a
//! real MCP client or to the real program, and looks at what comes out, and at what was asked.
//! **Invariant:** no number stands for two things: a case is tested once, or is in one of the two tables
//! below, [`NOT_APPLICABLE`] and [`LATER`].

mod auth;
mod behaviour;
mod cluster;
mod guest_state;
mod guests;
mod http;
mod nodes;
mod sending;
mod versions;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::future::join_all;
use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, Options, Rule, Seen, Sim};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde_json::{Value, json};

use crate::{
    faults::{TOOLS, ready, world::still},
    power::write_server,
    process::{program_for, run},
    support::{access, call_on, connect, server, settings, text},
};

/// Cases that cannot arise, and why.
const NOT_APPLICABLE: &[(&str, &str)] = &[
    ("Q012", "there is no login with a password, only API tokens"),
    ("Q098", "the physical disks of a node are not read"),
    ("Q127", "no shell of a node is offered"),
    ("Q147", "no request of ours has the parameter skiplock"),
    ("Q148", "tickets, passwords and second factors are never asked for"),
    ("Q152", "the configuration of a node is not read"),
];

/// Cases that a tool will meet which does not exist yet, and which tool that is.
const LATER: &[(&str, &str)] = &[];

#[test]
fn no_case_is_named_twice() {
    let tabled = NOT_APPLICABLE.iter().chain(LATER).map(|(id, _)| (*id).to_owned());
    let mut named = BTreeSet::new();
    let tested: Vec<String> = tested().into_iter().map(|(id, _)| id).collect();
    assert!(tested.len() > 50, "only {tested:?} were found in the sources");
    for id in tabled.chain(tested) {
        let is_id = id.len() == 4 && id.starts_with('Q') && id[1..].parse::<u16>().is_ok();
        assert!(is_id, "`{id}` is no number of a case");
        assert!(named.insert(id.clone()), "{id} is tested and in a table, or named twice");
    }
}

#[test]
fn no_case_waits_for_a_tool_that_exists() {
    for (id, tool) in LATER {
        let exists = mcp_proxmox::catalog::ALL.iter().any(|entry| entry.name == *tool);
        assert!(!exists, "`{tool}` is there: write the test of {id} and take it out of LATER");
    }
}

/// The numbers of the cases that have a test, anywhere in the workspace, with the names of the tests.
fn tested() -> Vec<(String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let names = ["mcp-proxmox", "pve-client", "pve-sim"].iter();
    let mut left: Vec<PathBuf> =
        names.flat_map(|name| ["src", "tests"].map(|part| crates.join(name).join(part))).collect();
    let mut tested = Vec::new();
    while let Some(folder) = left.pop() {
        // A crate may have no `tests`.
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let names = text.lines().filter_map(case_of);
                tested.extend(names.map(|name| (name[..4].to_uppercase(), name.to_owned())));
            }
        }
    }
    tested
}

/// `q035_…` of a line that begins the function of this name.
fn case_of(line: &str) -> Option<&str> {
    let (before, name) = line.split_once("fn q")?;
    let (digits, _) = name.split_once('_')?;
    let begins = matches!(before.trim(), "" | "async" | "pub" | "pub async");
    let is_case = begins && digits.len() == 3 && digits.bytes().all(|b| b.is_ascii_digit());
    let name = &line[before.len() + 3..];
    is_case.then(|| name.split_once('(').map_or(name, |(name, _)| name))
}

/// Two nodes, a running VM, a stopped VM and a running container, all on `pve1`.
async fn lab() -> Sim {
    lab_with(Options::default()).await
}

async fn lab_with(options: Options) -> Sim {
    let mut lab = Cluster::of_nodes(Some("lab"), &["pve1", "pve2"]);
    lab.guests = vec![
        Guest::vm(100, "pve1", "app1").running(100),
        Guest::vm(101, "pve1", "db1"),
        Guest::ct(120, "pve1", "ct1").running(3600),
    ];
    lab.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    Sim::start_with(lab, options).await.unwrap()
}

/// The lab, whose list of guests is this one.
async fn listing(guests: Value) -> Sim {
    let sim = lab().await;
    sim.answer(Rule::get("/cluster/resources?type=vm").data(&guests));
    sim
}

/// The lab, whose VM 100 says this of itself.
async fn saying(current: Value) -> Sim {
    let sim = lab().await;
    sim.answer(Rule::get(CURRENT).data(&current));
    sim
}

/// Where VM 100 is asked how it is.
const CURRENT: &str = "/nodes/pve1/qemu/100/status/current";

/// A refusal as the API gives it: the text in the status line and in the body.
fn refusing(path: &str, status: u16, text: &str) -> Rule {
    let body = json!({ "data": null, "message": format!("{text}\n") });
    Rule::get(path).status(status, text).body(body.to_string())
}

/// The paths that were asked, without their queries.
fn asked(sim: &Sim) -> Vec<String> {
    let path = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
    sim.requests().iter().map(|seen| path(&seen.path)).collect()
}

/// How often this path was asked, whatever the query.
fn n_asked(sim: &Sim, path: &str) -> usize {
    asked(sim).iter().filter(|asked| *asked == path).count()
}

/// What a tool said, and what was asked for it.
struct Said {
    tool: &'static str,
    told: String,
    is_error: bool,
    seen: Vec<Seen>,
}

/// Every tool of both tiers, each on a demo of its own, in which its guest is in a fitting state, under this rule.
async fn every_tool(rule: Option<&Rule>) -> Vec<Said> {
    let calls = TOOLS.iter().map(|(tool, arguments, action)| async move {
        let sim = Sim::start(still()).await.unwrap();
        ready(&sim, action);
        let upid = sim.change(|cluster| cluster.tasks[0].upid());
        let arguments = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
        if let Some(rule) = rule {
            sim.answer(rule.clone());
        }
        let result = call_on(write_server(&sim), tool, arguments).await;
        let is_error = result.is_error == Some(true);
        Said { tool, told: text(&result), is_error, seen: sim.requests() }
    });
    join_all(calls).await
}

/// `mcp-proxmox check` with these settings on top: its exit code, and all that it says.
fn check(sim: &Sim, settings: &[(&str, &str)]) -> (i32, String) {
    let mut command = program_for(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    command.envs(settings.iter().copied()).arg("check");
    let (code, stdout, stderr) = tokio::task::block_in_place(|| run(&mut command));
    (code, stdout + &stderr)
}

/// One client with one server, and so with the same connections to PVE from call to call.
struct Session(RunningService<RoleClient, ()>);

impl Session {
    async fn open(sim: &Sim) -> Self {
        Self(connect(server(access(sim))).await)
    }

    /// One whose calls share nothing with each other.
    async fn alone(sim: &Sim) -> Self {
        let settings = settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        let reader = Reader::new(settings).sharing_for(Duration::ZERO);
        Self(connect(server(Access::new(Level::Read, reader))).await)
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = arguments.as_object().cloned();
        self.0.call_tool(request).await.unwrap()
    }
}
