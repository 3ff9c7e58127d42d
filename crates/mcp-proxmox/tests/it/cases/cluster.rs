//! The cluster as a whole: quorum, large ones, and one that is reached in two ways.

use std::time::Duration;

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, Rule, Sim};
use serde_json::{Value, json};

use super::{asked, lab, listing};
use crate::{
    process::{program_for, run},
    support::{answer, failure, notes, row, rows},
};

#[tokio::test]
async fn q053_a_host_that_stands_alone_has_no_quorum_to_lose() {
    let mut host = Cluster::of_nodes(None, &["pve1"]);
    host.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let sim = Sim::start(host).await.unwrap();
    sim.answer(Rule::get("/cluster/status").data(&json!([
        { "type": "node", "id": "node/pve1", "name": "pve1", "nodeid": 0, "local": 1, "online": 1, "ip": "192.0.2.10", "level": "" },
    ])));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert!(list.get("cluster").is_none() && list.get("quorate").is_none(), "{list}");
    assert_eq!((&list["total"], &list["online"]), (&json!(1), &json!(1)));
    let told = notes(&list);
    assert!(told.contains("stands alone") && told.contains("quorum does not apply"), "{told}");
}

#[tokio::test]
async fn q054_a_cluster_with_a_node_off_may_have_quorum() {
    let sim = lab().await;
    sim.change(|lab| lab.node_mut("pve2").unwrap().online = false);
    let status = |quorate: u32| {
        json!([
            { "type": "node", "id": "node/pve2", "name": "pve2", "nodeid": 2, "local": 0, "online": 0 },
            { "type": "cluster", "id": "cluster", "name": "lab", "version": 7, "nodes": 3, "quorate": quorate },
            { "type": "node", "id": "node/pve1", "name": "pve1", "nodeid": 1, "local": 1, "online": 1, "ip": "192.0.2.10", "level": "" },
        ])
    };
    sim.answer(Rule::get("/cluster/status").data(&status(1)));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!((&list["cluster"], &list["quorate"]), (&json!("lab"), &json!(true)));
    assert_eq!((&list["total"], &list["online"]), (&json!(2), &json!(1)));
    assert_eq!(row(&list["nodes"], "node", &json!("pve2"))["status"], "offline");
    assert!(!notes(&list).contains("no quorum"), "{list}");
    sim.answer(Rule::get("/cluster/status").data(&status(0)));
    let list = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!(list["quorate"], false);
    assert!(notes(&list).contains("no quorum"), "{list}");
}

#[tokio::test]
async fn q057_a_kind_of_guest_is_picked_here_and_not_by_pve() {
    let sim = lab().await;
    for (kind, wanted) in [("lxc", vec![120]), ("qemu", vec![100, 101]), ("LXC", vec![120])] {
        let list = answer(&sim, "list_vms", json!({ "type": kind })).await;
        let found: Vec<_> = rows(&list["guests"]).iter().map(|row| row["vmid"].clone()).collect();
        assert_eq!(json!(found), json!(wanted), "{kind}");
    }
    assert!(sim.requests().iter().all(|seen| seen.path == "/cluster/resources?type=vm"));
    let told = failure(&sim, "list_vms", json!({ "type": "vm" })).await;
    assert!(told.contains("qemu") && told.contains("lxc"), "{told}");
}

#[tokio::test]
async fn q058_a_large_cluster_is_not_asked_guest_by_guest() {
    let names: Vec<_> = (1..=12).map(|nth| format!("pve{nth}")).collect();
    let mut cluster =
        Cluster::of_nodes(Some("large"), &names.iter().map(String::as_str).collect::<Vec<_>>());
    cluster.guests = (100..700)
        .zip(names.iter().cycle())
        .map(|(vmid, node)| Guest::vm(vmid, node, &format!("g{vmid}")).running(100))
        .collect();
    cluster.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let sim = Sim::start(cluster).await.unwrap();
    sim.answer(Rule::everything().delay(Duration::from_millis(5)));
    for (tool, arguments, most) in [
        ("list_vms", json!({}), 1),
        ("list_vms", json!({ "limit": 500, "detail": true }), 1),
        ("list_vms", json!({ "exact": true }), 1 + 12),
        ("get_vm_status", json!({ "vm": "g123" }), 3),
        ("list_nodes", json!({}), 3),
        ("list_nodes", json!({ "detail": true }), 3 + 12),
        ("get_node_status", json!({ "node": "pve7" }), 7),
    ] {
        sim.forget_requests();
        answer(&sim, tool, arguments.clone()).await;
        let n_requests = sim.requests().len();
        assert!(n_requests <= most, "{tool} {arguments} asked {n_requests} times");
        assert!(sim.peak_in_flight() <= 4, "{tool}: {} at once", sim.peak_in_flight());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q059_two_ways_into_a_cluster_show_every_guest_once() {
    let guest = json!([{ "id": "qemu/100", "vmid": 100, "type": "qemu", "node": "pve1", "name": "app1", "status": "running", "template": 0 }]);
    let (one, other) = (listing(guest.clone()).await, listing(guest).await);
    let mut command = program_for(&one, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    command.env("PVE_HOST", format!("{}, {}", one.address(), other.address()));
    command.env("PVE_TLS_FINGERPRINT", format!("{},{}", one.fingerprint(), other.fingerprint()));
    command.args(["call", "list_vms", "--json"]);
    let (code, stdout, stderr) = tokio::task::block_in_place(|| run(&mut command));
    assert_eq!(code, 0, "{stderr}");
    let list: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((&list["total"], rows(&list["guests"]).len()), (&json!(1), 1));
    assert_eq!(asked(&one).len() + asked(&other).len(), 1, "each host knows the whole cluster");
}
