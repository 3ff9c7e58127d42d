//! A client that talks MCP to a server that talks HTTPS to a simulated cluster.

use std::time::Duration;

use jiff::tz::TimeZone;
use mcp_proxmox::{
    catalog::{self, Catalog},
    config::Output,
    server::Server,
    tier::{Access, Level},
};
use pve_client::{Fingerprint, Host, Reader, Secret, Settings, Tls, Token, Trust};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim};
use rmcp::{
    RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde_json::Value;

/// The demo cluster.
pub async fn demo() -> Sim {
    Sim::start(Cluster::demo()).await.unwrap()
}

/// How a client reaches `sim` as `token_id`.
pub fn settings(sim: &Sim, token_id: &str, secret: &str) -> Settings {
    let (user, name) = token_id.rsplit_once('!').unwrap();
    let pin: Fingerprint = sim.fingerprint().parse().unwrap();
    Settings {
        hosts: vec![Host::new("127.0.0.1", sim.port())],
        token: Token::new(user, name, Secret::new(secret.to_owned())).unwrap(),
        tls: Tls { trust: Trust::Pinned(vec![pin]), server_name: None },
        request_timeout: Duration::from_secs(35),
        user_agent: "test".to_owned(),
    }
}

/// Access of the read tier with all rights.
pub fn access(sim: &Sim) -> Access {
    Access::new(Level::Read, Reader::new(settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)))
}

/// A server with every tool of the tier.
pub fn server(access: Access) -> Server {
    let catalog = Catalog::new(catalog::ALL, access.level(), |_| true);
    Server::new(access, catalog, Output::Both, TimeZone::UTC)
}

/// An MCP client connected to `server`.
pub async fn connect(server: Server) -> RunningService<RoleClient, ()> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(far);
    tokio::spawn(server.serve(input, output));
    ().serve(near).await.unwrap()
}

/// Calls one tool of `server`, over MCP.
pub async fn call_on(server: Server, tool: &'static str, arguments: Value) -> CallToolResult {
    let client = connect(server).await;
    let mut request = CallToolRequestParams::new(tool);
    request.arguments = arguments.as_object().cloned();
    client.call_tool(request).await.unwrap()
}

/// Calls one tool as a client would, with all rights on `sim`.
pub async fn call(sim: &Sim, tool: &'static str, arguments: Value) -> CallToolResult {
    call_on(server(access(sim)), tool, arguments).await
}

/// The structured answer of a call that works; its text must say the same.
pub async fn answer(sim: &Sim, tool: &'static str, arguments: Value) -> Value {
    structured(&call(sim, tool, arguments).await)
}

/// The structured answer of a result that is no failure.
pub fn structured(result: &CallToolResult) -> Value {
    assert_ne!(result.is_error, Some(true), "{}", text(result));
    let answer = result.structured_content.clone().expect("a structured answer");
    assert_eq!(text(result), mcp_proxmox::answer::text::draw(answer.as_object().unwrap()));
    answer
}

/// The text of a failure.
pub async fn failure(sim: &Sim, tool: &'static str, arguments: Value) -> String {
    failed(&call(sim, tool, arguments).await)
}

/// The text of a result that is a failure. It is short, whatever went wrong.
pub fn failed(result: &CallToolResult) -> String {
    assert_eq!(result.is_error, Some(true), "it did not fail: {}", text(result));
    assert!(result.structured_content.is_none());
    let text = text(result);
    assert!(text.split_whitespace().count() < 110, "a failure is longer than it should be: {text}");
    text
}

/// All text of a result.
pub fn text(result: &CallToolResult) -> String {
    let blocks = result.content.iter().filter_map(|block| block.as_text());
    blocks.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// The row of a table whose cell in `column` is `value`, as an object.
pub fn row(table: &Value, column: &str, value: &Value) -> Value {
    let rows = rows(table);
    rows.iter()
        .find(|row| &row[column] == value)
        .cloned()
        .unwrap_or_else(|| panic!("no {column} {value} in {rows:#?}"))
}

/// The rows of a table as objects.
pub fn rows(table: &Value) -> Vec<Value> {
    let columns: Vec<&str> =
        table["columns"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    let rows = table["rows"].as_array().unwrap().iter();
    rows.map(|row| {
        let cells = row.as_array().unwrap();
        assert_eq!(cells.len(), columns.len(), "a row has a cell for each column");
        columns.iter().map(|name| (*name).to_owned()).zip(cells.iter().cloned()).collect()
    })
    .collect()
}

/// The notes of an answer as one text.
pub fn notes(answer: &Value) -> String {
    let notes = answer["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    notes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}
