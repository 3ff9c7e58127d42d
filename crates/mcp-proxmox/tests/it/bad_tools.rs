//! Tools that misbehave do not take the server, or the client, with them.

use mcp_proxmox::{
    call::Call,
    catalog::{Catalog, Entry, Tool, Toolset, entry},
    config::Output,
    failure::Failure,
    server::Server,
    tier::{Level, Reads},
};
use pve_client::Observer;
use rmcp::model::CallToolRequestParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    process::{PATIENCE, Program},
    support::{access, connect, demo, failed, structured},
};

const TOOLS: &[Entry] = &[entry::<Panics>(), entry::<Works>(), entry::<Hangs>()];

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Done {
    done: bool,
}

struct Panics;

impl Tool for Panics {
    const NAME: &'static str = "get_panic";
    const TITLE: &'static str = "Panics";
    const DESCRIPTION: &'static str = "Panics on purpose.";
    const TOOLSET: Toolset = Toolset::Guests;

    type Effect = Reads;
    type Input = Nothing;
    type Output = Done;

    async fn run(_: Observer, _: &Call, _: Nothing) -> Result<Done, Failure> {
        panic!("on purpose")
    }
}

struct Works;

impl Tool for Works {
    const NAME: &'static str = "get_done";
    const TITLE: &'static str = "Works";
    const DESCRIPTION: &'static str = "Works.";
    const TOOLSET: Toolset = Toolset::Guests;

    type Effect = Reads;
    type Input = Nothing;
    type Output = Done;

    async fn run(_: Observer, call: &Call, _: Nothing) -> Result<Done, Failure> {
        call.progress.report(1.0, Some(2.0), "half");
        Ok(Done { done: true })
    }
}

struct Hangs;

impl Tool for Hangs {
    const NAME: &'static str = "get_nothing";
    const TITLE: &'static str = "Hangs";
    const DESCRIPTION: &'static str = "Never ends.";
    const TOOLSET: Toolset = Toolset::Guests;

    type Effect = Reads;
    type Input = Nothing;
    type Output = Done;

    async fn run(_: Observer, _: &Call, _: Nothing) -> Result<Done, Failure> {
        std::future::pending().await
    }
}

/// Whether this process is the child of the test that reads its lines.
const CHILD: &str = "MCP_PROXMOX_TEST_SERVES_BAD_TOOLS";

fn bad_server(sim: &pve_sim::Sim) -> Server {
    let catalog = Catalog::new(TOOLS, Level::Read, |_| true);
    Server::new(access(sim), catalog, Output::Both, jiff::tz::TimeZone::UTC)
}

#[test]
fn a_panic_is_answered_on_the_wire_and_the_next_call_too() {
    // The program has no tool that panics, so this binary serves some: see the next test.
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "bad_tools::a_child_serves_bad_tools", "--nocapture"]).env(CHILD, "1");
    let mut program = Program::start(&mut command);
    // What the test harness says before it gives standard output away.
    while program.line() != "running 1 test" {}
    program.initialize("2025-11-25");
    let told = program.call("get_panic", json!({}));
    assert_eq!(told["result"]["isError"], true, "{told}");
    assert!(told.to_string().contains("hit a bug in this server"), "{told}");
    let done = program.call("get_done", json!({}));
    assert_eq!(done["result"]["structuredContent"]["done"], true, "{done}");
}

#[tokio::test]
async fn a_child_serves_bad_tools() {
    // On its own it has nothing to do: it is the other half of the test before it.
    if std::env::var_os(CHILD).is_some() {
        bad_server(&demo().await).serve_stdio().await.unwrap();
    }
}

#[tokio::test]
async fn a_panic_is_answered() {
    let sim = demo().await;
    let server = bad_server(&sim);
    let client = connect(server).await;
    // Without an answer the client would wait for ever.
    let answer = client.call_tool(CallToolRequestParams::new("get_panic"));
    let told = failed(&tokio::time::timeout(PATIENCE, answer).await.expect("an answer").unwrap());
    assert!(told.contains("hit a bug in this server"), "{told}");
    assert!(!told.contains("on purpose"), "what a panic says is not for the client: {told}");
    let answer =
        structured(&client.call_tool(CallToolRequestParams::new("get_done")).await.unwrap());
    assert_eq!(answer["done"], true);
}

#[tokio::test]
async fn a_tool_that_forgets_its_deadline_is_given_up_after_fifty_seconds() {
    let client = connect(bad_server(&demo().await)).await;
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let told = client.call_tool(CallToolRequestParams::new("get_nothing")).await.unwrap();
    assert!(failed(&told).contains("was not done after 50 s and was given up"));
    assert_eq!(began.elapsed().as_secs(), 50);
}
