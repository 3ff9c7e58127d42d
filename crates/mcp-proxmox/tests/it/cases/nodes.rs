//! Nodes that are off, in maintenance, oddly named, or not there at all.

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, Rule, Sim};
use serde_json::json;

use super::{asked, lab, n_asked};
use crate::support::{answer, failure, notes, row};

/// A cluster of these nodes, with a running VM on the first.
async fn named(nodes: &[&str]) -> Sim {
    let mut cluster = Cluster::of_nodes(Some("lab"), nodes);
    cluster.guests = vec![Guest::vm(100, nodes[0], "app1").running(100)];
    cluster.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    Sim::start(cluster).await.unwrap()
}

#[tokio::test]
async fn q042_a_node_that_is_off_has_no_figures() {
    let sim = lab().await;
    let online = json!({ "id": "node/pve1", "type": "node", "node": "pve1", "status": "online", "cpu": 0.02, "maxcpu": 4, "mem": 4_894_556_160_u64, "maxmem": 8_095_223_808_u64, "disk": 30_470_643_712_u64, "maxdisk": 41_617_178_624_u64, "uptime": 2_431_567, "level": "", "cgroup-mode": 2 });
    let offline = json!({ "id": "node/pve2", "type": "node", "node": "pve2", "status": "offline", "cgroup-mode": 2 });
    for path in ["/nodes", "/cluster/resources?type=node"] {
        sim.answer(Rule::get(path).data(&json!([offline, online])));
    }
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!((&list["total"], &list["online"]), (&json!(2), &json!(1)));
    let off = row(&list["nodes"], "node", &json!("pve2"));
    assert_eq!(off["status"], "offline");
    for figure in ["cpu%", "cores", "memory", "root_disk", "uptime", "version", "load"] {
        assert!(off[figure].is_null(), "{figure} of a node that is off: {off}");
    }
    let on = row(&list["nodes"], "node", &json!("pve1"));
    assert_eq!((&on["cpu%"], &on["cores"]), (&json!(2.0), &json!(4)));
    assert_eq!(on["memory"], "4.6 of 7.5 GiB (60.5%)");
    assert!(!notes(&list).contains("PVE sent no figures"), "being off is no lack of rights");
    let off = answer(&sim, "get_node_status", json!({ "node": "pve2" })).await;
    assert_eq!(off["status"], "offline");
    for figure in ["cpu_percent", "memory", "uptime", "load"] {
        assert!(off.get(figure).is_none(), "{off}");
    }
    assert!(asked(&sim).iter().all(|path| !path.starts_with("/nodes/pve2/")));
}

#[tokio::test]
async fn q045_maintenance_is_shown_and_such_a_node_may_vanish() {
    let sim = lab().await;
    sim.answer(Rule::get("/cluster/resources?type=node").data(&json!([
        { "id": "node/pve2", "type": "node", "node": "pve2", "status": "online", "hastate": "maintenance", "cpu": 0.01, "maxcpu": 8, "mem": 1_000_000_000, "maxmem": 16_000_000_000_u64, "uptime": 500 },
        { "id": "node/pve1", "type": "node", "node": "pve1", "status": "online", "hastate": "online" },
    ])));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!(row(&list["nodes"], "node", &json!("pve2"))["status"], "online (maintenance)");
    assert_eq!(row(&list["nodes"], "node", &json!("pve1"))["status"], "online");
    sim.answer(Rule::under("/nodes/pve2/").status(595, "No route to host"));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!(row(&list["nodes"], "node", &json!("pve1"))["version"], "9.2.11");
    assert_eq!(row(&list["nodes"], "node", &json!("pve2"))["status"], "online (maintenance)");
    assert!(notes(&list).contains("no version and load from pve2"), "{list}");
    let node = answer(&sim, "get_node_status", json!({ "node": "pve2" })).await;
    assert_eq!(node["node"], "pve2");
    let missing = node["not_available"].to_string();
    assert!(missing.contains("cannot be reached (595 No route to host)"), "{missing}");
}

#[tokio::test]
async fn q047_a_node_is_asked_by_the_spelling_of_the_cluster() {
    let sim = named(&["HV-01", "hv-02"]).await;
    sim.answer(Rule::get("/nodes/HV-01/rrddata").data(&json!([])));
    for node in ["HV-01", "hv-01", " Hv-01 "] {
        let status = answer(&sim, "get_node_status", json!({ "node": node })).await;
        assert_eq!((&status["node"], &status["status"]), (&json!("HV-01"), &json!("online")));
        assert!(status.get("not_available").is_none(), "{status}");
        let list = answer(&sim, "list_vms", json!({ "node": node, "exact": true })).await;
        assert_eq!(row(&list["guests"], "vmid", &json!(100))["node"], "HV-01");
    }
    let status = answer(&sim, "get_vm_status", json!({ "vm": "app1" })).await;
    assert_eq!((&status["node"], &status["status"]), (&json!("HV-01"), &json!("running")));
    let below: Vec<_> =
        asked(&sim).into_iter().filter(|path| path.starts_with("/nodes/")).collect();
    assert!(below.iter().all(|path| path.starts_with("/nodes/HV-01/")), "{below:?}");
}

#[tokio::test]
async fn q049_a_node_may_be_named_by_digits() {
    let sim = named(&["01", "2024"]).await;
    let list = answer(&sim, "list_nodes", json!({})).await;
    for node in ["01", "2024"] {
        assert_eq!(row(&list["nodes"], "node", &json!(node))["version"], "9.2.11", "{list}");
    }
    for node in [json!("2024"), json!(2024)] {
        let status = answer(&sim, "get_node_status", json!({ "node": node })).await;
        assert_eq!(status["node"], "2024");
    }
    let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(status["node"], "01");
    let guests = answer(&sim, "list_vms", json!({ "node": "01" })).await;
    assert_eq!(row(&guests["guests"], "vmid", &json!(100))["node"], "01");
    let told = failure(&sim, "get_node_status", json!({ "node": "1" })).await;
    assert!(told.contains("there is no node `1`"), "01 is not 1: {told}");
    for entry in mcp_proxmox::catalog::Catalog::new(
        mcp_proxmox::catalog::ALL,
        mcp_proxmox::tier::Level::Write,
        |_| true,
    )
    .tools()
    {
        let kind = &entry.input_schema()["properties"]["node"]["type"];
        assert!(kind.is_null() || kind == "string", "{}: {kind}", entry.entry.name);
    }
}

#[tokio::test]
async fn q050_texts_and_large_numbers_are_figures() {
    let sim = lab().await;
    sim.answer(Rule::get("/nodes/pve1/status").data(&json!({
        "uptime": 86_400, "loadavg": ["0.12", "0.20", "0.18"], "cpu": 0.03, "wait": 0,
        "memory": { "total": 16_000_000_000_u64, "used": 8_000_000_000_u64, "free": 8_000_000_000_u64 },
        "swap": { "total": 0, "used": 0, "free": 0 },
        "rootfs": { "total": 100, "used": 40, "avail": 60, "free": 60 },
        "cpuinfo": { "cpus": 8, "mhz": "2400.000", "hvm": "1" },
        "ksm": { "shared": 42_268_934_144_u64 }, "pveversion": "pve-manager/9.1.6/abcdef",
    })));
    let node = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
    assert_eq!(node["load"], json!([0.12, 0.2, 0.18]));
    assert_eq!(node["memory"], "7.5 of 14.9 GiB (50.0%)");
    assert_eq!(node["root_disk"], "40 of 100 B (40.0%)");
    assert!(node.get("swap").is_none(), "there is no share of nothing: {node}");
    assert_eq!((&node["ksm_shared"], &node["uptime"]), (&json!("39.4 GiB"), &json!("1d")));
    assert_eq!((&node["cpu"], &node["pve_version"]), (&json!("8 threads"), &json!("9.1.6")));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!(row(&list["nodes"], "node", &json!("pve1"))["load"], "0.12 0.20 0.18");
}

#[tokio::test]
async fn q051_an_empty_list_of_nodes_is_a_hiccup() {
    let sim = lab().await;
    sim.answer(Rule::get("/nodes").data(&json!([])).times(2));
    for (tool, arguments) in
        [("list_nodes", json!({})), ("get_node_status", json!({ "node": "pve1" }))]
    {
        let told = failure(&sim, tool, arguments).await;
        assert!(told.contains("an empty list of nodes"), "{told}");
        assert!(told.contains("cluster file system") && told.contains("try again"), "{told}");
        assert!(!told.contains("there is no node"), "{told}");
    }
    assert_eq!(answer(&sim, "list_nodes", json!({})).await["total"], 2);
}

#[tokio::test]
async fn q052_a_node_that_is_off_is_not_asked() {
    let sim = lab().await;
    sim.change(|lab| lab.node_mut("pve2").unwrap().online = false);
    let list = answer(&sim, "list_nodes", json!({ "detail": true })).await;
    assert_eq!(row(&list["nodes"], "node", &json!("pve1"))["version"], "9.2.11");
    let node = answer(&sim, "get_node_status", json!({ "node": "pve2" })).await;
    assert!(notes(&node).contains("the node is offline"), "{node}");
    assert!(asked(&sim).iter().all(|path| !path.starts_with("/nodes/pve2")), "{:?}", asked(&sim));
    // It goes off between two questions.
    sim.change(|lab| lab.node_mut("pve2").unwrap().online = true);
    let path = "/nodes/pve2/status";
    let gone = "Errors during connection establishment, proxy handshake: Connection timed out";
    sim.answer(Rule::get(path).status(595, gone));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!(row(&list["nodes"], "node", &json!("pve1"))["version"], "9.2.11");
    assert!(notes(&list).contains("no version and load from pve2"), "{list}");
    assert_eq!(n_asked(&sim, path), 1);
}

#[tokio::test]
async fn q156_a_node_is_there_only_if_it_is_listed() {
    let sim = lab().await;
    let names = ["aplinfo", "apt", "qemu", "lxc", "status", "tasks"];
    let index = json!(names.map(|name| json!({ "name": name })));
    sim.answer(Rule::under("/nodes/pve9").data(&index));
    let told = failure(&sim, "get_node_status", json!({ "node": "pve9" })).await;
    assert!(told.contains("there is no node `pve9`"), "{told}");
    let list = answer(&sim, "list_vms", json!({ "node": "pve9", "exact": true })).await;
    assert_eq!(list["total"], 0);
    assert!(asked(&sim).iter().all(|path| !path.starts_with("/nodes/")), "{:?}", asked(&sim));
}
