//! Tests of `list_networks`.

use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{
    Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, RecordedState, Recordings, Rule, Sim,
};
use serde_json::{Value, json};

use crate::support::{
    answer, call_on, demo, failure, notes, row, rows, server, settings, structured,
};

async fn recorded(state: RecordedState, token: &str, arguments: Value) -> Value {
    let sim = Sim::replay(Recordings::of(state)).await.unwrap();
    let access = Access::new(Level::Read, Reader::new(settings(&sim, token, "any")));
    structured(&call_on(server(access), "list_networks", arguments).await)
}

/// The row of this interface of this node.
fn iface(answer: &Value, node: &str, iface: &str) -> Value {
    let all = rows(&answer["interfaces"]);
    let found = all.iter().find(|row| row["node"] == node && row["iface"] == iface);
    found.cloned().unwrap_or_else(|| panic!("no {iface} of {node} in {all:#?}"))
}

/// The row of the guests on this bridge of this node with this tag.
fn guests(answer: &Value, node: &str, bridge: &str, tag: Value) -> Value {
    let all = rows(&answer["guests"]);
    let fits = |row: &&Value| row["node"] == node && row["bridge"] == bridge && row["tag"] == tag;
    all.iter().find(fits).cloned().unwrap_or_else(|| panic!("none of {bridge} in {all:#?}"))
}

#[tokio::test]
async fn every_kind_of_interface_is_told() {
    let answer = answer(&demo().await, "list_networks", json!({ "node": "pve1" })).await;
    let bond = iface(&answer, "pve1", "bond0");
    assert_eq!(
        (&bond["type"], &bond["active"], &bond["mtu"]),
        (&json!("bond"), &json!("yes"), &json!(9000))
    );
    assert_eq!(bond["details"], "mode 802.3ad, slaves enp1s0f0 enp1s0f1, hash layer3+4");
    let bridge = iface(&answer, "pve1", "vmbr0");
    assert_eq!(bridge["details"], "ports bond0, VLAN aware (2-4094)");
    assert_eq!(
        (&bridge["addresses"], &bridge["gateway"], &bridge["comment"]),
        (&json!("192.168.10.11/24"), &json!("192.168.10.1"), &json!("LAN and VLANs"))
    );
    assert_eq!(iface(&answer, "pve1", "bond0.50")["details"], "tag 50, on bond0");
    let lab = iface(&answer, "pve1", "vmbr1");
    assert!(lab["details"].as_str().unwrap().starts_with("no ports"), "{lab}");
    assert!(answer.get("pending").is_none(), "{answer}");
}

#[tokio::test]
async fn guests_are_told_by_bridge_and_tag() {
    let sim = demo().await;
    let all = answer(&sim, "list_networks", json!({})).await;
    let mail = guests(&all, "pve2", "vmbr0", json!(30));
    assert_eq!((&mail["count"], &mail["vmids"]), (&json!(1), &json!("110")));
    let proxy = guests(&all, "pve2", "vmbr0", json!(20));
    assert_eq!(proxy["vmids"], "201/net1");
    let untagged = guests(&all, "pve2", "vmbr0", Value::Null);
    let vmids = untagged["vmids"].as_str().unwrap();
    assert!(vmids.contains("101") && vmids.contains("201") && !vmids.contains("110"), "{vmids}");
    let one = answer(&sim, "list_networks", json!({ "node": "pve2", "iface": "bond0" })).await;
    let names: Vec<_> = rows(&one["interfaces"]).iter().map(|row| row["iface"].clone()).collect();
    assert_eq!(names, ["bond0", "bond0.50", "vmbr0"], "what is built of it belongs to it");
}

#[tokio::test]
async fn zones_and_vnets_are_told_with_the_nodes_on_which_they_fail() {
    let answer = answer(&demo().await, "list_networks", json!({})).await;
    let zone = row(&answer["sdn_zones"], "zone", &json!("dmz"));
    assert_eq!((&zone["type"], &zone["bridge"]), (&json!("vlan"), &json!("vmbr0")));
    let vnet = row(&answer["sdn_vnets"], "vnet", &json!("dmzweb"));
    assert_eq!((&vnet["tag"], &vnet["alias"]), (&json!(40), &json!("web servers")));
    assert!(notes(&answer).contains("the SDN zone dmz is `error` on pve3"), "{answer}");
}

#[tokio::test]
async fn where_the_bridges_may_not_be_read_configurations_are_and_that_is_said() {
    let sim = demo().await;
    sim.answer(
        Rule::get("/nodes/pve2/sdn/zones/localnetwork/bridges")
            .status(403, "Permission check failed (/sdn/zones/localnetwork, SDN.Audit)"),
    );
    let answer = answer(&sim, "list_networks", json!({ "node": "pve2" })).await;
    assert_eq!(guests(&answer, "pve2", "vmbr0", json!(30))["vmids"], "110");
    let told = notes(&answer);
    assert!(told.contains("SDN.Audit on /sdn/zones/localnetwork"), "{told}");
    assert!(told.contains("configurations of 6 of 6 running guests"), "{told}");
}

#[tokio::test]
async fn a_node_that_is_off_or_fails_costs_only_itself() {
    let sim = demo().await;
    sim.change(|cluster| cluster.node_mut("pve3").unwrap().online = false);
    sim.answer(Rule::get("/nodes/pve2/network").status(596, "Connection timed out"));
    let answer = answer(&sim, "list_networks", json!({})).await;
    assert!(notes(&answer).contains("offline, not asked: pve3"), "{answer}");
    assert!(answer["not_available"].to_string().contains("interfaces of pve2"), "{answer}");
    assert!(rows(&answer["interfaces"]).iter().all(|row| row["node"] == "pve1"));
    let told = failure(&sim, "list_networks", json!({ "node": "pve3" })).await;
    assert!(told.contains("offline"), "{told}");
    let told = failure(&sim, "list_networks", json!({ "node": "pve2" })).await;
    assert!(told.contains("596"), "{told}");
}

#[tokio::test]
async fn an_interface_that_is_not_there_is_said_not_to_be() {
    let answer = answer(&demo().await, "list_networks", json!({ "iface": "vmbr9" })).await;
    assert!(rows(&answer["interfaces"]).is_empty());
    assert!(notes(&answer).contains("nothing is named `vmbr9`"), "{answer}");
    for other in ["sdn_zones", "sdn_vnets", "pending", "guests"] {
        assert!(answer.get(other).is_none(), "{other} of others: {answer}");
    }
    assert!(!notes(&answer).contains("the SDN zone"), "{answer}");
}

#[tokio::test]
async fn with_one_interface_nothing_of_others_is_told() {
    let sim = demo().await;
    let pending = |answer: &Value| answer.get("pending").is_some();
    let bond = answer(&sim, "list_networks", json!({ "iface": "bond0" })).await;
    assert!(!pending(&bond) && bond.get("sdn_zones").is_none(), "{bond}");
    let lab = answer(&sim, "list_networks", json!({ "iface": "vmbr1" })).await;
    assert!(pending(&lab), "its own change is told: {lab}");
    assert!(lab.get("sdn_zones").is_none(), "the zone is on vmbr0: {lab}");
    let vnet = answer(&sim, "list_networks", json!({ "iface": "dmzweb" })).await;
    assert_eq!(rows(&vnet["sdn_zones"]).len(), 1, "a network is told with its zone: {vnet}");
}

#[tokio::test]
async fn guests_of_bridges_are_said_to_be_those_that_run() {
    let all = answer(&demo().await, "list_networks", json!({})).await;
    assert!(notes(&all).contains("stopped ones are in their configuration"), "{all}");
}

#[tokio::test]
async fn many_nodes_cost_two_requests_each_and_a_bounded_answer() {
    let sim = Sim::start(Cluster::generated(64, 10_000, 7)).await.unwrap();
    let reader = Reader::new(settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET));
    let access = Access::new(Level::Read, reader);
    let result = call_on(server(access), "list_networks", json!({})).await;
    let answer = structured(&result);
    assert_eq!(sim.requests().len(), 1 + 2 + 2 * 64);
    assert!(sim.peak_in_flight() <= 4);
    assert_eq!(rows(&answer["interfaces"]).len(), 150);
    assert_eq!(rows(&answer["guests"]).len(), 64);
    assert!(notes(&answer).contains("42 more interfaces"), "{}", notes(&answer));
    let encoder = tiktoken_rs::o200k_base().unwrap();
    let n_tokens = encoder.encode_ordinary(&answer.to_string()).len();
    assert!(n_tokens < 10_000, "{n_tokens} tokens");
    println!("{n_tokens} tokens");
}

#[tokio::test]
async fn the_recorded_cluster_is_read_as_it_is() {
    for token in ["root@pam!lab", "monitor@pve!ro"] {
        let answer = recorded(RecordedState::Normal, token, json!({})).await;
        let bridge = iface(&answer, "pve1", "vmbr0");
        assert_eq!((&bridge["details"], &bridge["comment"]), (&json!("ports nic0"), &json!("LAN")));
        assert_eq!(bridge["addresses"], "192.168.77.11/24");
        assert_eq!(iface(&answer, "pve1", "nic1")["active"], "no");
        let on = guests(&answer, "pve1", "vmbr0", Value::Null);
        assert_eq!((&on["count"], &on["vmids"]), (&json!(3), &json!("100 101 200")), "{token}");
        assert!(notes(&answer).contains("offline, not asked: pve2"), "{answer}");
        assert!(answer.get("sdn_zones").is_none() && answer.get("not_available").is_none());
    }
    let both = recorded(RecordedState::Remote, "root@pam!lab", json!({ "node": "pve2" })).await;
    assert_eq!(iface(&both, "pve2", "vmbr0")["addresses"], "192.168.77.12/24");
}

#[tokio::test]
async fn q100_blank_separated_lists_and_text_numbers_are_read() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/network").data(&json!([
        { "iface": "bond0", "type": "bond", "slaves": "eno1 eno2", "bond_mode": "active-backup", "bond-primary": "eno1",
          "bond_miimon": "100", "method": "manual", "method6": "manual", "families": ["inet"], "autostart": 1, "active": 1,
          "priority": 7, "comments": "uplink\n" },
        { "iface": "vmbr0", "type": "bridge", "bridge_ports": "bond0", "bridge_stp": "off", "bridge_fd": "0",
          "bridge_vlan_aware": 1, "bridge_vids": "2-4094", "cidr": "192.0.2.10/24", "address": "192.0.2.10", "netmask": "24",
          "gateway": "192.0.2.1", "method": "static", "method6": "manual", "families": ["inet"], "autostart": 1, "active": 1,
          "priority": 8 },
        { "iface": "vmbr5", "type": "bridge", "bridge_ports": "", "autostart": "1", "active": "1", "mtu": "9000" },
    ])));
    let answer = answer(&sim, "list_networks", json!({ "node": "pve1" })).await;
    let bond = iface(&answer, "pve1", "bond0");
    assert_eq!(bond["details"], "mode active-backup, slaves eno1 eno2, primary eno1");
    assert_eq!(bond["comment"], "uplink");
    assert_eq!(iface(&answer, "pve1", "vmbr0")["details"], "ports bond0, VLAN aware (2-4094)");
    let empty = iface(&answer, "pve1", "vmbr5");
    assert_eq!((&empty["active"], &empty["mtu"]), (&json!("yes"), &json!(9000)));
}

#[tokio::test]
async fn open_vswitch_and_vlans_that_name_their_device_are_told_with_what_they_are_built_of() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/network").data(&json!([
        { "iface": "vmbr7", "type": "OVSBridge", "ovs_ports": "bond7 mgmt7", "autostart": 1, "active": 1 },
        { "iface": "bond7", "type": "OVSBond", "ovs_bonds": "eno1 eno2", "ovs_bridge": "vmbr7",
          "bond_mode": "balance-slb", "active": 1 },
        { "iface": "mgmt7", "type": "OVSIntPort", "ovs_bridge": "vmbr7", "ovs_tag": "50",
          "cidr": "192.0.2.7/24", "address": "192.0.2.7", "active": 1 },
        { "iface": "backup", "type": "vlan", "vlan-raw-device": "eno3", "vlan-id": "60",
          "autostart": 1, "active": 1 },
        { "iface": "empty7", "type": "OVSBridge", "autostart": 1, "active": 1 },
    ])));
    let all = answer(&sim, "list_networks", json!({ "node": "pve1" })).await;
    for (name, details) in [
        ("vmbr7", "ports bond7 mgmt7"),
        // They come up with their bridge, whatever is said of them alone.
        ("bond7", "mode balance-slb, slaves eno1 eno2, on vmbr7"),
        ("mgmt7", "tag 50, on vmbr7"),
        ("backup", "tag 60, on eno3"),
        ("empty7", "no ports: guests reach only each other and the node"),
    ] {
        assert_eq!(iface(&all, "pve1", name)["details"], details, "{name}");
    }
    assert_eq!(iface(&all, "pve1", "mgmt7")["addresses"], "192.0.2.7/24");
    assert!(!notes(&all).contains("no bridge is listed"), "{all}");
    let names = async |wanted: &str| -> Vec<Value> {
        let arguments = json!({ "node": "pve1", "iface": wanted });
        let one = answer(&sim, "list_networks", arguments).await;
        rows(&one["interfaces"]).iter().map(|row| row["iface"].clone()).collect()
    };
    assert_eq!(names("vmbr7").await, ["bond7", "mgmt7", "vmbr7"], "with its ports");
    assert_eq!(names("eno2").await, ["bond7"]);
    assert_eq!(names("eno3").await, ["backup"]);
}

#[tokio::test]
async fn of_many_guests_some_configurations_are_read_and_that_is_said() {
    let sim = Sim::start(Cluster::generated(1, 120, 7)).await.unwrap();
    sim.answer(
        Rule::get("/nodes/pve01/sdn/zones/localnetwork/bridges")
            .status(403, "Permission check failed (/sdn/zones/localnetwork, SDN.Audit)"),
    );
    let n_running = sim.change(|cluster| cluster.guests.iter().filter(|it| it.is_up()).count());
    assert!(n_running > 40, "{n_running}");
    let reader = Reader::new(settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET));
    let access = Access::new(Level::Read, reader);
    let answer = structured(&call_on(server(access), "list_networks", json!({})).await);
    let told = notes(&answer);
    let expected = format!("configurations of 40 of {n_running} running guests");
    assert!(told.contains(&expected), "{told}");
    let configs = sim.requests().iter().filter(|seen| seen.path.contains("/config")).count();
    assert_eq!(configs, 40);
    assert!(sim.peak_in_flight() <= 4);
}

#[tokio::test]
async fn q102_a_hidden_bridge_is_called_hidden_and_not_absent() {
    for token in ["ops@pve!rw", "nopriv@pve!none", "ops@pve!sep"] {
        let answer = recorded(RecordedState::Normal, token, json!({ "node": "pve1" })).await;
        assert!(rows(&answer["interfaces"]).iter().all(|row| row["type"] == "eth"));
        let told = notes(&answer);
        assert!(told.contains("hidden") && told.contains("SDN.Audit"), "{token}: {told}");
    }
    let operator = recorded(RecordedState::Normal, "ops@pve!rw", json!({ "node": "pve1" })).await;
    assert_eq!(guests(&operator, "pve1", "vmbr0", Value::Null)["vmids"], "100 101 200");
}

#[tokio::test]
async fn q103_changes_that_wait_are_not_told_as_what_is() {
    let answer = answer(&demo().await, "list_networks", json!({ "node": "pve2" })).await;
    assert_eq!(
        answer["pending"],
        json!(["pve2: vmbr1: - bridge-ports none | + bridge-ports enp2s0"])
    );
    assert!(notes(&answer).contains("what will be"), "{answer}");
}
