//! The tools on answers recorded from a real Proxmox VE 9.2.11 server: what a person would read off.
//!
//! The recorded cluster has `pve1` online and `pve2` switched off, and seven tokens of different rights.

use pve_client::Reader;
use pve_sim::{RecordedState, Recordings, Sim};
use serde_json::{Value, json};

use crate::support::{call_on, failed, notes, row, rows, server, settings, structured};
use mcp_proxmox::tier::{Access, Level};

const ROOT: &str = "root@pam!lab";
/// The tokens that see the whole cluster.
const SEE_ALL: [&str; 3] = ["root@pam!lab", "monitor@pve!ro", "ops@pve!rw"];
/// The tokens that see nothing.
const SEE_NOTHING: [&str; 3] = ["root@pam!sep", "ops@pve!sepnone", "nopriv@pve!none"];

async fn call_in(
    state: RecordedState,
    token: &str,
    tool: &'static str,
    arguments: Value,
) -> rmcp::model::CallToolResult {
    let sim = Sim::replay(Recordings::of(state)).await.unwrap();
    let reader = Reader::new(settings(&sim, token, "any"));
    call_on(server(Access::new(Level::Read, reader)), tool, arguments).await
}

async fn answer_as(token: &str, tool: &'static str, arguments: Value) -> Value {
    structured(&call_in(RecordedState::Normal, token, tool, arguments).await)
}

async fn answer_in(state: RecordedState, tool: &'static str, arguments: Value) -> Value {
    structured(&call_in(state, ROOT, tool, arguments).await)
}

#[tokio::test]
async fn the_guests_of_the_cluster_are_listed_as_they_are() {
    for token in SEE_ALL {
        let answer = answer_as(token, "list_vms", json!({})).await;
        assert_eq!(answer["total"], 15, "{token}");
        assert_eq!(
            answer["by_status"],
            json!({ "running": 4, "stopped": 8, "template": 2, "unknown": 1 })
        );
        let web = row(&answer["guests"], "vmid", &json!(100));
        assert_eq!(web["name"], "web01");
        assert_eq!(
            (&web["type"], &web["status"], &web["node"]),
            (&json!("qemu"), &json!("running"), &json!("pve1"))
        );
        assert!(web["mem%"].as_f64().unwrap() > 80.0);
        assert!(web["disk%"].is_null(), "how full a VM's disk is is not known");
        let container = row(&answer["guests"], "vmid", &json!(200));
        assert_eq!(container["disk%"], 11.5);
        let dns = row(&answer["guests"], "vmid", &json!(101));
        assert_eq!((&dns["cpu%"], &container["cpu%"]), (&json!(0.9), &json!(0.0)));
        assert_eq!(row(&answer["guests"], "vmid", &json!(105))["status"], "stopped (lock: backup)");
        assert_eq!(row(&answer["guests"], "vmid", &json!(102))["status"], "template");
        let dead = row(&answer["guests"], "vmid", &json!(110));
        assert_eq!((&dead["status"], &dead["node"]), (&json!("unknown"), &json!("pve2")));
        assert!(dead["name"].is_null() && dead["cpu%"].is_null() && dead["mem%"].is_null());
    }
}

#[tokio::test]
async fn a_token_for_one_guest_sees_one() {
    let answer = answer_as("ops@pve!sep", "list_vms", json!({})).await;
    assert_eq!(answer["total"], 1);
    assert_eq!(rows(&answer["guests"])[0]["name"], "web01");
}

#[tokio::test]
async fn tokens_without_rights_are_told_so() {
    for token in SEE_NOTHING {
        let answer = answer_as(token, "list_vms", json!({})).await;
        assert_eq!(answer["total"], 0);
        assert!(notes(&answer).contains("VM.Audit"), "{token}: {answer}");
        let nodes = answer_as(token, "list_nodes", json!({})).await;
        assert_eq!(nodes["total"], 2);
        let pve1 = row(&nodes["nodes"], "node", &json!("pve1"));
        assert_eq!(pve1["status"], "online");
        assert!(pve1["memory"].is_null(), "{token}: {pve1}");
        assert!(notes(&nodes).contains("Sys.Audit"), "{token}: {nodes}");
    }
}

#[tokio::test]
async fn nodes_are_listed_with_the_one_that_is_off() {
    for token in SEE_ALL {
        let answer = answer_as(token, "list_nodes", json!({})).await;
        assert_eq!((&answer["cluster"], &answer["quorate"]), (&json!("lab"), &json!(true)));
        assert_eq!((&answer["total"], &answer["online"]), (&json!(2), &json!(1)));
        assert_eq!(answer["votes"], "2 of 3, 2 needed; without a QDevice's");
        let on = row(&answer["nodes"], "node", &json!("pve1"));
        assert_eq!(
            (&on["status"], &on["cores"], &on["version"]),
            (&json!("online"), &json!(2), &json!("9.2.11"))
        );
        assert!(on["memory"].as_str().unwrap().contains("of 23.5 GiB"), "{on}");
        assert!(on["uptime"].as_str().unwrap().starts_with("2h"), "{on}");
        assert!(on["cpu%"].as_f64().is_some_and(|cpu| cpu > 0.0 && cpu < 100.0), "{on}");
        let off = row(&answer["nodes"], "node", &json!("pve2"));
        assert_eq!(off["status"], "offline");
        for figure in ["cpu%", "cores", "memory", "root_disk", "uptime", "version", "load"] {
            assert!(off[figure].is_null(), "{figure} of a node that is off is unknown: {off}");
        }
    }
}

#[tokio::test]
async fn a_running_vm_is_read_live() {
    let answer = answer_as(ROOT, "get_vm_status", json!({ "vm": "web01" })).await;
    assert_eq!(
        (&answer["vmid"], &answer["status"], &answer["node"]),
        (&json!(100), &json!("running"), &json!("pve1"))
    );
    assert!(answer["memory"].as_str().unwrap().contains("of 256.0 MiB"), "{answer}");
    assert_eq!((&answer["cores"], &answer["agent_enabled"]), (&json!(1), &json!(true)));
    assert_eq!(answer["tags"], json!(["prod", "web"]));
    assert_eq!(answer["pool"], "prod");
    assert!(notes(&answer).contains("known only inside"), "{answer}");
}

#[tokio::test]
async fn a_running_and_a_stopped_container_are_told_apart() {
    let answer = answer_as(ROOT, "get_vm_status", json!({ "vm": "200" })).await;
    assert_eq!((&answer["type"], &answer["status"]), (&json!("lxc"), &json!("running")));
    assert!(answer["disk"].as_str().unwrap().contains("28.9 of 252.0 GiB"), "{answer}");
    assert!(answer["swap"].as_str().unwrap().contains("of 128.0 MiB"), "{answer}");
    for (vm, status) in [("201", "stopped"), ("202", "template"), ("204", "stopped")] {
        let answer = answer_as(ROOT, "get_vm_status", json!({ "vm": vm })).await;
        assert_eq!((&answer["type"], &answer["status"]), (&json!("lxc"), &json!(status)));
        assert!(answer.get("uptime").is_none() && answer.get("cpu_percent").is_none(), "{answer}");
    }
}

#[tokio::test]
async fn a_guest_of_the_node_that_is_off_is_unknown() {
    let answer = answer_as(ROOT, "get_vm_status", json!({ "vm": "110" })).await;
    assert_eq!((&answer["status"], &answer["node"]), (&json!("unknown"), &json!("pve2")));
    assert!(notes(&answer).contains("pve2"), "{answer}");
    for figure in ["memory", "cpu_percent", "uptime", "network_since_start", "disk"] {
        assert!(answer.get(figure).is_none(), "{figure}");
    }
}

#[tokio::test]
async fn a_paused_vm_is_paused_where_it_can_be_known() {
    let answer = answer_in(RecordedState::Paused, "get_vm_status", json!({ "vm": "107" })).await;
    assert_eq!(answer["status"], "paused");
    let answer = answer_in(RecordedState::Paused, "list_vms", json!({})).await;
    assert_eq!(row(&answer["guests"], "vmid", &json!(107))["status"], "running");
    assert!(notes(&answer).contains("exact"), "{answer}");
    let answer = answer_in(RecordedState::Paused, "list_vms", json!({ "exact": true })).await;
    assert_eq!(row(&answer["guests"], "vmid", &json!(107))["status"], "paused");
    assert_eq!(row(&answer["guests"], "vmid", &json!(100))["status"], "running");
    let answer = answer_in(RecordedState::Paused, "list_vms", json!({ "status": "paused" })).await;
    assert_eq!(answer["total"], 1);
}

#[tokio::test]
async fn a_node_is_read_in_depth() {
    let answer = answer_as(ROOT, "get_node_status", json!({ "node": "pve1" })).await;
    assert_eq!((&answer["status"], &answer["pve_version"]), (&json!("online"), &json!("9.2.11")));
    assert_eq!(answer["kernel"], "6.17.4-2-pve");
    assert_eq!(answer["boot_mode"], "legacy-bios");
    assert!(answer["memory"].as_str().unwrap().contains("of 23.5 GiB"), "{answer}");
    assert!(answer["root_disk"].as_str().unwrap().contains("of 252.0 GiB"), "{answer}");
    assert_eq!(answer["load"].as_array().unwrap().len(), 3);
    assert!(answer.get("swap").is_none(), "there is no swap, so no share of it");
    assert_eq!(answer["pending_updates"], 0);
    assert_eq!(answer["certificates_ending"], json!([]));
    assert!(answer["cpu"].as_str().unwrap().contains("AMD EPYC"), "{answer}");
}

#[tokio::test]
async fn the_node_that_is_off_is_said_to_be_off() {
    let answer = answer_as(ROOT, "get_node_status", json!({ "node": "PVE2" })).await;
    assert_eq!((&answer["node"], &answer["status"]), (&json!("pve2"), &json!("offline")));
    assert!(answer.get("memory").is_none() && answer.get("uptime").is_none());
}

#[tokio::test]
async fn without_quorum_it_is_said_what_that_means() {
    let answer = answer_in(RecordedState::NoQuorum, "list_nodes", json!({})).await;
    assert_eq!(answer["quorate"], false);
    assert!(notes(&answer).contains("no quorum"), "{answer}");
    let answer = answer_in(RecordedState::NoQuorum, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(answer["status"], "running");
}

#[tokio::test]
async fn with_pvedaemon_down_the_last_known_figures_are_marked_as_such() {
    let answer =
        answer_in(RecordedState::PvedaemonDown, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(answer["status"], "running");
    assert!(notes(&answer).contains("not live") && notes(&answer).contains("595"), "{answer}");
    let answer =
        answer_in(RecordedState::PvedaemonDown, "list_vms", json!({ "exact": true })).await;
    assert!(notes(&answer).contains("states on pve1 are not exact"), "{answer}");
}

#[tokio::test]
async fn with_pmxcfs_down_every_tool_says_so() {
    for (tool, arguments) in [
        ("list_vms", json!({})),
        ("list_nodes", json!({})),
        ("get_vm_status", json!({ "vm": "100" })),
        ("get_node_status", json!({ "node": "pve1" })),
    ] {
        let told = failed(&call_in(RecordedState::PmxcfsDown, ROOT, tool, arguments).await);
        assert!(told.contains("cluster file system"), "{tool}: {told}");
    }
}

#[tokio::test]
async fn with_both_nodes_up_guests_of_the_second_are_read_through_the_first() {
    let answer = answer_in(RecordedState::Remote, "list_nodes", json!({})).await;
    assert_eq!(answer["online"], 2);
    assert!(answer.get("votes").is_none(), "they are all there");
    let answer =
        answer_in(RecordedState::Remote, "get_node_status", json!({ "node": "pve2" })).await;
    assert_eq!(answer["status"], "online");
    assert!(answer["memory"].as_str().is_some());
}

#[tokio::test]
async fn a_wrong_secret_is_told_at_once_and_once() {
    let sim = Sim::replay(Recordings::load()).await.unwrap();
    let reader = Reader::new(settings(&sim, ROOT, "wrong"));
    let told =
        failed(&call_on(server(Access::new(Level::Read, reader)), "list_nodes", json!({})).await);
    assert!(told.contains("did not accept the API token"), "{told}");
    assert_eq!(
        sim.requests().len(),
        1,
        "a wrong token costs 3 s each time, so nothing more is asked"
    );
}
