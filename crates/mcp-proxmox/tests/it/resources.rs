//! Resources say what their tools say, within the same bounds, and ask PVE for nothing that was not checked.

use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, LAB_SECRET, Rule, Sim, Task};
use rmcp::{
    RoleClient,
    model::{ReadResourceRequestParams, ResourceContents},
    service::{RunningService, ServiceError},
};
use serde_json::{Value, json};

use crate::support::{access, answer, connect, demo, server, settings};

type Client = RunningService<RoleClient, ()>;

async fn client(sim: &Sim) -> Client {
    connect(server(access(sim))).await
}

async fn read(client: &Client, uri: &str) -> Result<String, ServiceError> {
    let read = client.read_resource(ReadResourceRequestParams::new(uri)).await?;
    let [ResourceContents::TextResourceContents { uri: of, text, .. }] = read.contents.as_slice()
    else {
        panic!("not one text: {read:?}");
    };
    assert_eq!(of, uri);
    Ok(text.clone())
}

fn drawn(answer: &Value) -> String {
    mcp_proxmox::answer::text::draw(answer.as_object().unwrap())
}

/// Lines whose figures do not change from one moment to the next.
fn steady(text: &str) -> Vec<&str> {
    let moving = ["uptime", "cpu", "load", "network", "disk_io", "memory", "pressure", "took"];
    text.lines().filter(|line| !moving.iter().any(|word| line.starts_with(word))).collect()
}

/// Figures as `#`: ages and clocks go on between two answers.
fn timeless(text: &str) -> String {
    let mut timeless = text.replace(|c: char| c.is_ascii_digit(), "#");
    while timeless.contains("##") {
        timeless = timeless.replace("##", "#");
    }
    timeless
}

#[tokio::test]
async fn a_resource_says_what_its_tool_says() {
    let sim = demo().await;
    let client = client(&sim).await;
    for (uri, tool, arguments) in [
        ("pve://cluster/health", "get_cluster_health", json!({})),
        ("pve://nodes/pve1", "get_node_status", json!({ "node": "pve1" })),
        ("pve://vms/101", "get_vm_status", json!({ "vm": "101" })),
        ("pve://vms/200", "get_vm_status", json!({ "vm": "200" })),
    ] {
        let told = drawn(&answer(&sim, tool, arguments).await);
        let read = read(&client, uri).await.unwrap();
        let [read, told] = [&read, &told].map(|text| timeless(&steady(text).join("\n")));
        assert_eq!(read, told, "{uri}");
    }
}

#[tokio::test]
async fn a_failure_is_told_in_the_tools_words() {
    let sim = Sim::start(Cluster::lab()).await.unwrap();
    let none = Reader::new(settings(&sim, "nopriv@pve!none", LAB_SECRET));
    let client = connect(server(Access::new(Level::Read, none))).await;
    let error = read(&client, "pve://vms/100").await.unwrap_err().to_string();
    assert!(error.contains("VM.Audit"), "{error}");
    let sim = demo().await;
    sim.answer(Rule::get("/cluster/resources?type=vm").status(500, "no quorum?"));
    let client = connect(server(access(&sim))).await;
    let ServiceError::McpError(error) = read(&client, "pve://vms/100").await.unwrap_err() else {
        panic!("an error of the protocol");
    };
    assert_eq!(error.code.0, -32603, "{error}");
    assert!(error.message.contains("could not find `100`"), "{error}");
}

#[tokio::test]
async fn nothing_is_asked_of_pve_for_an_address_that_was_not_checked() {
    let sim = demo().await;
    let client = client(&sim).await;
    for uri in [
        "pve://vms/100%2Fstatus%2Fcurrent",
        "pve://nodes/pve1%2F..%2Fpve2",
        "pve://nodes/..",
        "pve://vms/web01",
        "pve://tasks/UPID:pve1:0:0:0:x:..%2F..:root@pam:/log",
        "pve://storage/local",
    ] {
        assert!(read(&client, uri).await.is_err(), "{uri}");
    }
    assert!(sim.requests().is_empty(), "{:?}", sim.requests());
}

#[tokio::test]
async fn a_long_task_log_is_longer_than_the_tools_answer_and_bounded() {
    let sim = demo().await;
    let line = "INFO:  42% (13.4 GiB of 32.0 GiB) in 1m 54s, read: 120.6 MiB/s, write: 98.1 MiB/s";
    let lines: Vec<&str> = std::iter::repeat_n(line, 3000).collect();
    let task =
        Task::ended("pve1", "vzdump", "100", "root@pam", (1_796_000_000, 1_796_000_075), "OK")
            .with_log(&lines);
    let upid = task.upid();
    sim.change(|cluster| cluster.tasks.push(task));
    let answer = answer(&sim, "get_task", json!({ "upid": upid, "lines": 200 })).await;
    let client = client(&sim).await;
    let uri = format!("pve://tasks/{upid}/log");
    let text = read(&client, &uri).await.unwrap();
    let n_lines = text.lines().filter(|line| line.contains("\tINFO")).count();
    assert!(n_lines > answer["log"]["rows"].as_array().unwrap().len(), "{n_lines} lines");
    assert!(text.chars().count() < 101_000, "{}", text.chars().count());
    assert!(
        text.contains(&format!("lines 1 to {} of 3000 are not here", 3000 - n_lines)),
        "{text}"
    );
    assert!(text.contains("\n3000\tINFO"), "the end is what tells most");
    // An encoded address is the same one.
    let encoded = uri.replace("UPID:", "UPID%3A").replace('@', "%40");
    assert_eq!(read(&client, &encoded).await.unwrap(), text);
}

#[tokio::test]
async fn a_token_of_the_demo_reads_every_template() {
    let sim = demo().await;
    let reader = Reader::new(settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
    let client = connect(server(Access::new(Level::Write, reader))).await;
    let templates = client.list_all_resource_templates().await.unwrap();
    assert!(
        templates.iter().all(|template| template.title.is_some() && template.mime_type.is_some())
    );
    let read = client
        .read_resource(ReadResourceRequestParams::new("pve://vms/100/screenshot"))
        .await
        .unwrap();
    let [ResourceContents::BlobResourceContents { blob, .. }] = read.contents.as_slice() else {
        panic!("not one picture");
    };
    assert!(blob.len() < 500_000);
}
