//! What tokens with fewer rights are shown, and what they are told.

use pve_client::Reader;
use pve_sim::{Cluster, LAB_SECRET, Sim};
use serde_json::{Value, json};

use crate::support::{call_on, failed, notes, rows, server, settings, structured};
use mcp_proxmox::tier::{Access, Level};

/// Calls a tool on the recorded cluster as one of its tokens.
async fn call(token: &str, tool: &'static str, arguments: Value) -> rmcp::model::CallToolResult {
    let sim = Sim::start(Cluster::lab()).await.unwrap();
    let access = Access::new(Level::Read, Reader::new(settings(&sim, token, LAB_SECRET)));
    call_on(server(access), tool, arguments).await
}

#[tokio::test]
async fn an_empty_list_may_be_empty_for_lack_of_rights_and_says_so() {
    let answer = structured(&call("nopriv@pve!none", "list_vms", json!({})).await);
    assert_eq!(answer["total"], 0);
    assert!(notes(&answer).contains("VM.Audit"), "{answer}");
}

#[tokio::test]
async fn a_token_without_rights_sees_nodes_without_figures_and_is_told_why() {
    let answer = structured(&call("nopriv@pve!none", "list_nodes", json!({})).await);
    assert_eq!(answer["total"], 2);
    for row in rows(&answer["nodes"]) {
        assert!(row["memory"].is_null() && row["cpu%"].is_null(), "{row}");
    }
    let notes = notes(&answer);
    assert!(
        notes.contains("Sys.Audit on /") && notes.contains("PVE sent no figures of"),
        "{notes}"
    );
    assert!(answer.get("quorate").is_none(), "unknown is not said");
}

#[tokio::test]
async fn parts_that_the_token_may_not_see_are_named_with_the_privilege() {
    let answer =
        structured(&call("nopriv@pve!none", "get_node_status", json!({ "node": "pve1" })).await);
    let missing = answer["not_available"].to_string();
    assert!(
        missing.contains("live state") && missing.contains("Sys.Audit on /nodes/pve1"),
        "{missing}"
    );
    assert!(answer.get("memory").is_none() && answer.get("load").is_none());
}

#[tokio::test]
async fn q146_a_hidden_guest_is_told_like_one_that_is_not_there() {
    let told = failed(&call("nopriv@pve!none", "get_vm_status", json!({ "vm": "999" })).await);
    assert!(told.contains("VM.Audit"), "{told}");
    let told = failed(&call("monitor@pve!ro", "get_vm_status", json!({ "vm": "999" })).await);
    assert!(told.contains("there is no VM or container 999 that this token can see"), "{told}");
}
