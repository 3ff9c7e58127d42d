//! Tests of `get_network_stats`.

use std::time::Duration;

use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Recordings, Rule, Sim};
use serde_json::{Value, json};

use crate::support::{
    answer, call_on, demo, failed, notes, row, rows, server, settings, structured,
};

fn asked(sim: &Sim, end: &str) -> usize {
    sim.requests().iter().filter(|seen| seen.path.ends_with(end)).count()
}

#[tokio::test]
async fn the_interfaces_of_a_node_have_their_errors() {
    let sim = demo().await;
    let answer = answer(&sim, "get_network_stats", json!({ "node": "pve3" })).await;
    let card = row(&answer["interfaces"], "iface", &json!("enp1s0f0"));
    assert_eq!((&card["type"], &card["state"]), (&json!("card in bond0"), &json!("up")));
    assert_eq!((&card["rx_errors"], &card["rx_dropped"]), (&json!(18_204), &json!(6068)));
    assert_eq!((&card["rx"], &card["rx_overruns"]), (&json!("2.1 TiB"), &json!(0)));
    assert_eq!((&card["tx_carrier"], &card["collisions"]), (&json!(0), &json!(0)));
    let kinds = |name| row(&answer["interfaces"], "iface", &json!(name))["type"].clone();
    assert_eq!(kinds("bond0"), "bond 802.3ad, sum of its ports");
    assert_eq!(kinds("bond0.50"), "vlan 50 on bond0");
    assert_eq!(kinds("vmbr0"), "bridge, VLAN aware");
    assert_eq!(kinds("lo"), "loopback");
    assert!(answer["counters_read_at"].as_str().unwrap().contains('T'));
    assert!(notes(&answer).contains("interfaces of guests"), "{answer}");
    assert_eq!((asked(&sim, "/report"), asked(&sim, "/netstat")), (1, 1));
    assert!(rows(&answer["guest_nics"]).iter().all(|nic| nic["node"] == "pve3"));
}

#[tokio::test]
async fn the_errors_of_all_nodes_are_found_in_one_call_the_worst_first() {
    let sim = demo().await;
    let all = answer(&sim, "get_network_stats", json!({ "node": "all" })).await;
    let worst = rows(&all["worst_interfaces"]);
    assert_eq!((&worst[0]["node"], &worst[0]["iface"]), (&json!("pve3"), &json!("enp1s0f0")));
    assert_eq!((&worst[0]["rx_errors"], &worst[0]["rx_dropped"]), (&json!(18_204), &json!(6068)));
    assert!(
        worst.iter().all(|row| row.as_object().unwrap().values().any(|n| n.as_u64() > Some(0)))
    );
    assert!(notes(&all).contains("on 3 nodes have errors or drops"), "{all}");
    assert_eq!((asked(&sim, "/report"), asked(&sim, "/netstat")), (3, 3));
    assert!(all.get("interfaces").is_none());
    // A node that does not say is named, and the others are told.
    sim.answer(Rule::get("/nodes/pve3/report").status(596, "Connection timed out"));
    let some = answer(&sim, "get_network_stats", json!({ "node": "all" })).await;
    assert!(some["not_available"].to_string().contains("interfaces of pve3"), "{some}");
    assert!(notes(&some).contains("on 2 nodes"), "{some}");
    assert!(rows(&some["worst_interfaces"]).iter().all(|row| row["node"] != "pve3"), "{some}");
}

#[tokio::test]
async fn without_a_node_the_top_talkers_of_all_cost_one_request_a_node() {
    let sim = demo().await;
    let answer = answer(&sim, "get_network_stats", json!({ "limit": 3 })).await;
    let nics = rows(&answer["guest_nics"]);
    assert_eq!(nics.len(), 3);
    assert_eq!((&nics[0]["vmid"], &nics[0]["name"]), (&json!(123), &json!("nextcloud")));
    assert!(answer["guest_total"].as_str().unwrap().starts_with("in "));
    assert!(notes(&answer).contains("raise `limit`"), "{answer}");
    assert!(answer.get("interfaces").is_none());
    assert!(notes(&answer).contains("name a `node`, or `all`"), "{answer}");
    assert_eq!((asked(&sim, "/report"), asked(&sim, "/netstat")), (0, 3));
}

#[tokio::test]
async fn rates_are_from_two_readings() {
    let sim = demo().await;
    let netstat = "/nodes/pve2/netstat";
    let reading = |vmid: u32, bytes: u64| json!({ "vmid": vmid.to_string(), "dev": "net0", "in": bytes.to_string(), "out": 0 });
    // The newest rule wins, once.
    let second = json!([reading(110, 11_000_000), reading(101, 50_000_000), reading(201, 5)]);
    sim.answer(Rule::get(netstat).data(&second).times(1));
    let first = json!([reading(110, 1_000_000), reading(101, 50_000_000), reading(201, 9_000_000)]);
    sim.answer(Rule::get(netstat).data(&first).times(1));
    let arguments = json!({ "vm": "mail", "sample_seconds": 1 });
    let mail = answer(&sim, "get_network_stats", arguments).await;
    let rate = row(&mail["guest_nics"], "vmid", &json!(110))["in/s"].as_str().unwrap().to_owned();
    let mib: f64 = rate.strip_suffix(" MiB").unwrap().parse().unwrap();
    assert!((4.0..=9.6).contains(&mib), "10 MB in a second or a little more: {rate}");
    assert_eq!(asked(&sim, "/netstat"), 2);
    assert_eq!(rows(&mail["guest_nics"]).len(), 1);
    let inside = row(&mail["inside"], "interface", &json!("ens18"));
    assert_eq!((&inside["rx_errors"], &inside["tx_dropped"]), (&json!(0), &json!(0)));

    sim.answer(Rule::get(netstat).data(&second).times(1));
    sim.answer(Rule::get(netstat).data(&first).times(1));
    let arguments = json!({ "node": "pve2", "sample_seconds": 1 });
    let all = answer(&sim, "get_network_stats", arguments).await;
    assert_eq!(rows(&all["guest_nics"])[0]["vmid"], 110, "the busiest now comes first");
    let anew = row(&all["guest_nics"], "vmid", &json!(201));
    assert!(anew["in/s"].is_null(), "a counter that went back has no rate: {anew}");
    assert!(notes(&all).contains("1 guest NICs have no rate"), "{all}");
}

#[tokio::test]
async fn a_report_that_fails_leaves_the_history_of_the_node() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/report").status(596, "Broken pipe"));
    sim.answer(Rule::get("/nodes/pve1/rrddata").data(&json!([
        { "time": 1 },
        { "time": 2, "netin": 1_048_576.0, "netout": "0" },
        { "time": 3, "netin": 3_145_728.0, "netout": 1024 },
        { "time": 4 },
    ])));
    let answer = answer(&sim, "get_network_stats", json!({ "node": "pve1" })).await;
    assert_eq!(
        answer["node_traffic"],
        "in 3.0 MiB/s, out 1.0 KiB/s now; in 2.0 MiB/s, out 512 B/s on average over the last hour"
    );
    assert!(answer.get("interfaces").is_none());
    assert!(answer["not_available"].to_string().contains("596"), "{answer}");
    assert!(!rows(&answer["guest_nics"]).is_empty());
}

/// A report in which every counter is another, from a node whose clock says this.
const REPORT: &str = "\
# ip -details -statistics address
7: eno7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP group default qlen 1000
    link/ether bc:24:11:00:00:07 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 65535
    RX:  bytes packets errors dropped  missed   mcast
          1024      11     12      13      14      15
    TX:  bytes packets errors dropped carrier collsns
          2048      21     22      23      24      25

# ip -details -4 route show
";

#[tokio::test]
async fn each_counter_is_in_its_own_column_with_the_time_at_which_the_node_printed_it() {
    let sim = demo().await;
    let date = "Mon, 30 Nov 2026 06:26:25 GMT";
    let report = Rule::get("/nodes/pve1/report").data(&json!(REPORT)).header("Date", date);
    sim.answer(report);
    let answer = answer(&sim, "get_network_stats", json!({ "node": "pve1" })).await;
    assert_eq!(answer["counters_read_at"], "2026-11-30T06:26:25+00:00");
    assert_eq!(
        rows(&answer["interfaces"]),
        [json!({
            "iface": "eno7", "type": "card", "state": "up",
            "rx": "1.0 KiB", "rx_packets": 11, "rx_errors": 12, "rx_dropped": 13, "rx_overruns": 14,
            "tx": "2.0 KiB", "tx_packets": 21, "tx_errors": 22, "tx_dropped": 23, "tx_carrier": 24,
            "collisions": 25,
        })]
    );
}

#[tokio::test]
async fn a_report_that_the_token_may_not_read_leaves_the_history_and_names_the_privilege() {
    let sim = demo().await;
    let refusal = "Permission check failed (/nodes/pve1, Sys.Audit)";
    sim.answer(Rule::get("/nodes/pve1/report").status(403, refusal));
    let answer = answer(&sim, "get_network_stats", json!({ "node": "pve1" })).await;
    let missing = answer["not_available"].to_string();
    assert!(missing.contains("Sys.Audit on /nodes/pve1"), "{missing}");
    assert!(answer["node_traffic"].as_str().unwrap().contains("over the last hour"), "{answer}");
    assert!(notes(&answer).contains("node_traffic is from PVE's history"), "{answer}");
}

#[tokio::test]
async fn the_report_that_the_recorded_node_could_not_give_is_named_beside_its_history() {
    let sim = Sim::replay(Recordings::load()).await.unwrap();
    let access = Access::new(Level::Read, Reader::new(settings(&sim, "root@pam!lab", "any")));
    let arguments = json!({ "node": "pve1" });
    let answer = structured(&call_on(server(access), "get_network_stats", arguments).await);
    let missing = answer["not_available"].to_string();
    assert!(missing.contains("counters of the node's interfaces"), "{missing}");
    assert!(missing.contains("596") && missing.contains("Broken pipe"), "{missing}");
    // Nothing went through the recorded node's cards.
    assert_eq!(
        answer["node_traffic"],
        "in 0 B/s, out 0 B/s now; in 0 B/s, out 0 B/s on average over the last hour"
    );
    assert!(answer.get("interfaces").is_none(), "{answer}");
    assert!(notes(&answer).contains("node_traffic is from PVE's history"), "{answer}");
    assert_eq!(rows(&answer["guest_nics"]).len(), 3);
}

#[tokio::test]
async fn a_report_without_the_chapter_is_said_to_have_none() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/report").data(&json!("==== general system info ====\n")));
    let answer = answer(&sim, "get_network_stats", json!({ "node": "pve1" })).await;
    assert!(answer["not_available"].to_string().contains("does not hold them"), "{answer}");
}

#[tokio::test]
async fn a_node_that_fails_is_named_and_the_others_answer() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve2/netstat").status(596, "Connection timed out"));
    let answer = answer(&sim, "get_network_stats", json!({})).await;
    assert!(answer["not_available"].to_string().contains("guests on pve2"), "{answer}");
    assert!(rows(&answer["guest_nics"]).iter().all(|nic| nic["node"] != "pve2"));
}

#[tokio::test]
async fn a_guest_that_does_not_run_has_no_traffic_and_that_is_said() {
    let answer = answer(&demo().await, "get_network_stats", json!({ "vm": "126" })).await;
    assert!(answer.get("guest_nics").is_none() && answer.get("inside").is_none());
    assert!(answer["not_available"].to_string().contains("VM 126 is not running"), "{answer}");
    assert!(notes(&answer).contains("does not run"), "{answer}");
}

#[tokio::test]
async fn the_recorded_traffic_is_that_of_the_recorded_guests() {
    let sim = Sim::replay(Recordings::load()).await.unwrap();
    let access = Access::new(Level::Read, Reader::new(settings(&sim, "monitor@pve!ro", "any")));
    let answer = structured(&call_on(server(access), "get_network_stats", json!({})).await);
    let ct = row(&answer["guest_nics"], "vmid", &json!(200));
    assert_eq!(
        (&ct["name"], &ct["in"], &ct["out"]),
        (&json!("ct-web"), &json!("206.1 KiB"), &json!("1.1 KiB"))
    );
    assert_eq!(rows(&answer["guest_nics"]).len(), 3);
    let access = Access::new(Level::Read, Reader::new(settings(&sim, "nopriv@pve!none", "any")));
    let told = failed(&call_on(server(access), "get_network_stats", json!({})).await);
    assert!(told.contains("Sys.Audit"), "{told}");
}

#[tokio::test]
async fn a_slow_report_does_not_keep_the_traffic_back() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/report").delay(Duration::from_millis(300)));
    let answer: Value = answer(&sim, "get_network_stats", json!({ "node": "pve1" })).await;
    assert!(answer["interfaces"].is_object() && answer["guest_nics"].is_object());
}

#[tokio::test]
async fn the_top_talkers_of_many_nodes_cost_one_request_each() {
    let sim = Sim::start(Cluster::generated(64, 10_000, 7)).await.unwrap();
    let reader = Reader::new(settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET));
    let access = Access::new(Level::Read, reader);
    let answer = structured(&call_on(server(access), "get_network_stats", json!({})).await);
    assert_eq!(sim.requests().len(), 2 + 64, "the nodes, the names, and the traffic of each node");
    assert_eq!(rows(&answer["guest_nics"]).len(), 20);
    assert!(answer.to_string().len() < 4000, "{answer}");
}

#[tokio::test]
async fn a_guest_of_another_node_is_said_to_be_there() {
    let arguments = json!({ "vm": "200", "node": "pve3" });
    let answer = answer(&demo().await, "get_network_stats", arguments).await;
    let told = notes(&answer);
    assert!(told.contains("200 is on pve1"), "{told}");
    assert!(!told.contains("plugged in"), "{told}");
}
