//! Calls that are given up while a node hangs: PVE goes on with what was asked, so no more may be asked than it has
//! workers for, and whoever asks next is told why.

use std::time::{Duration, Instant};

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};

use crate::{
    process::{PATIENCE, Program, program_for},
    support::{connect, failed, server, settings, structured},
};

/// The demo cluster, of which a node goes on with everything for as long as PVE lets it.
async fn where_pve1_hangs() -> Sim {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    let patience = Duration::from_secs(30);
    sim.answer(Rule::under("/nodes/pve1/").delay(patience).status(596, "Connection timed out"));
    sim
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_are_cancelled_one_after_the_other_keep_two_workers_of_a_node() {
    let sim = where_pve1_hangs().await;
    tokio::task::block_in_place(|| {
        let mut program = Program::start(&mut program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
        program.initialize("2025-11-25");
        let calls = [
            ("get_vm_status", json!({ "vm": "100" })),
            ("get_node_status", json!({ "node": "pve1" })),
            ("get_vm_details", json!({ "vm": "100" })),
            ("list_networks", json!({ "node": "pve1" })),
        ];
        for (nth, (tool, arguments)) in (1..=12).zip(calls.iter().cycle()) {
            let id = 500 + nth;
            let params = json!({ "name": tool, "arguments": arguments });
            program.send(
                &json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }),
            );
            // The first two come to the node, where they stay; the others wait for them.
            let began = Instant::now();
            while sim.peak_at_node("pve1") < 2.min(nth) {
                assert!(began.elapsed() < PATIENCE, "{tool} did not come to the node");
                std::thread::yield_now();
            }
            program.call("list_vms", json!({}));
            program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
        }
        let other = program.call("get_node_status", json!({ "node": "pve2" }));
        assert_eq!(other["result"]["isError"], false, "{other}");
        let began = Instant::now();
        let answer = program.call("get_vm_status", json!({ "vm": "100" }));
        assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
        let told = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(told.contains("node `pve1` has not answered 2 earlier requests"), "{told}");
        assert!(told.contains("list_nodes"), "{told}");
        assert!(program.end().status.success());
    });
    assert_eq!(sim.peak_at_node("pve1"), 2, "one of its workers is left for people");
}

#[tokio::test]
async fn calls_whose_time_is_over_keep_two_workers_of_a_node_and_the_others_are_asked_on() {
    let sim = where_pve1_hangs().await;
    let mut settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    settings.request_timeout = Duration::from_millis(300);
    let access = mcp_proxmox::tier::Access::new(
        mcp_proxmox::tier::Level::Read,
        pve_client::Reader::new(settings),
    );
    let client = connect(server(access)).await;
    let call = async |tool: &'static str, arguments: Value| {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = arguments.as_object().cloned();
        client.call_tool(request).await.unwrap()
    };
    let mut told = String::new();
    for _ in 0..4 {
        told = failed(&call("get_vm_status", json!({ "vm": "100" })).await);
        let others = call("get_node_status", json!({ "node": "pve2" })).await;
        structured(&others);
        let all = call("list_tasks", json!({})).await;
        let missing = structured(&all)["not_available"].to_string();
        assert!(missing.contains("pve1") && missing.contains("answer"), "{missing}");
        assert!(structured(&call("list_vms", json!({})).await)["total"].is_number());
    }
    assert!(told.contains("node `pve1` has not answered 2 earlier requests"), "{told}");
    assert_eq!(sim.peak_at_node("pve1"), 2, "one of its workers is left for people");
}
