//! Tools that misbehave do not take the server, or the client, with them.

use mcp_proxmox::{
    call::Call,
    catalog::{Catalog, Entry, Tool, Toolset, entry},
    config::Output,
    failure::Failure,
    server::Server,
    tier::{Level, Reads},
};
use pve_client::Reader;
use rmcp::model::CallToolRequestParams;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    process::PATIENCE,
    support::{access, connect, demo, failed, structured},
};

const TOOLS: &[Entry] = &[entry::<Panics>(), entry::<Works>()];

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

    async fn run(_: Reader, _: &Call, _: Nothing) -> Result<Done, Failure> {
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

    async fn run(_: Reader, call: &Call, _: Nothing) -> Result<Done, Failure> {
        call.progress.report(1.0, Some(2.0), "half");
        Ok(Done { done: true })
    }
}

#[tokio::test]
async fn a_panic_is_answered() {
    let sim = demo().await;
    let catalog = Catalog::new(TOOLS, Level::Read, |_| true);
    let server = Server::new(access(&sim), catalog, Output::Both, jiff::tz::TimeZone::UTC);
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
