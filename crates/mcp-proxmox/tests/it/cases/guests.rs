//! Lists of guests, and finding one in them.

use pve_sim::{Guest, Rule};
use serde_json::json;

use super::{CURRENT, asked, lab, listing, n_asked, refusing};
use crate::{
    in_the_way::TOOLS as POWER,
    power,
    support::{answer, failure, notes, row, rows},
};

#[tokio::test]
async fn q060_a_guest_without_a_name_is_not_lost() {
    let sim = listing(json!([
        { "id": "lxc/120", "vmid": 120, "type": "lxc", "node": "pve1", "status": "unknown" },
        { "id": "qemu/100", "vmid": 100, "type": "qemu", "node": "pve1", "name": "app1", "status": "running", "template": 0 },
    ]))
    .await;
    for detail in [false, true] {
        let list = answer(&sim, "list_vms", json!({ "detail": detail })).await;
        assert_eq!(list["total"], 2);
        let fresh = row(&list["guests"], "vmid", &json!(120));
        assert_eq!((&fresh["type"], &fresh["node"]), (&json!("lxc"), &json!("pve1")));
        assert_eq!(fresh["status"], "unknown");
        assert!(fresh["name"].is_null() && fresh["cpu%"].is_null(), "{fresh}");
    }
    let by_name = answer(&sim, "list_vms", json!({ "sort": "name" })).await;
    assert_eq!(by_name["total"], 2);
    let fresh = answer(&sim, "get_vm_status", json!({ "vm": "120" })).await;
    assert_eq!((&fresh["vmid"], &fresh["node"]), (&json!(120), &json!("pve1")));
}

#[tokio::test]
async fn q062_a_name_that_pve_made_up_is_none() {
    let sim = listing(json!([
        { "id": "qemu/105", "vmid": 105, "type": "qemu", "node": "pve1", "name": "VM 105", "status": "stopped", "maxcpu": 1, "maxmem": 536_870_912 },
        { "id": "lxc/106", "vmid": 106, "type": "lxc", "node": "pve1", "name": "CT106", "status": "stopped", "maxmem": 536_870_912 },
        { "id": "lxc/107", "vmid": 107, "type": "lxc", "node": "pve1", "name": "CT106b", "status": "stopped", "maxmem": 536_870_912 },
    ]))
    .await;
    let list = answer(&sim, "list_vms", json!({})).await;
    for vmid in [105, 106] {
        assert!(row(&list["guests"], "vmid", &json!(vmid))["name"].is_null(), "{list}");
    }
    assert_eq!(row(&list["guests"], "vmid", &json!(107))["name"], "CT106b");
    for vm in ["VM 105", "CT106"] {
        let told = failure(&sim, "get_vm_status", json!({ "vm": vm })).await;
        assert!(told.contains(&format!("named `{vm}`")), "{told}");
    }
    sim.answer(Rule::get("/nodes/pve1/qemu/105/status/current").data(
        &json!({ "vmid": 105, "name": "VM 105", "status": "stopped", "qmpstatus": "stopped", "cpus": 1, "maxmem": 536_870_912 }),
    ));
    let status = answer(&sim, "get_vm_status", json!({ "vm": "105" })).await;
    assert!(status.get("name").is_none(), "a name that finds nothing is shown: {status}");
}

#[tokio::test]
async fn q063_a_name_of_two_guests_is_refused_with_both() {
    let sim = listing(json!([
        { "id": "qemu/100", "vmid": 100, "type": "qemu", "node": "pve1", "name": "web", "status": "running", "template": 0 },
        { "id": "lxc/200", "vmid": 200, "type": "lxc", "node": "pve2", "name": "web", "status": "running", "template": 0 },
        { "id": "qemu/900", "vmid": 900, "type": "qemu", "node": "pve2", "name": "web", "status": "stopped", "template": 1 },
        { "id": "qemu/101", "vmid": 101, "type": "qemu", "node": "pve1", "name": "db", "status": "running", "template": 0 },
    ]))
    .await;
    for vm in ["web", "WEB"] {
        let told = failure(&sim, "get_vm_status", json!({ "vm": vm })).await;
        for guest in ["100 (qemu on pve1)", "200 (lxc on pve2)", "900 (qemu on pve2)", "vmid"] {
            assert!(told.contains(guest), "{guest} is missing in: {told}");
        }
        assert!(!told.contains("101"), "{told}");
    }
    assert_eq!(asked(&sim), ["/cluster/resources"; 2], "nothing was asked of either");
    let one = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(one["vmid"], 100);
    // Nor is anything done to either.
    for (tool, _) in POWER {
        let told = power::failure(&sim, tool, json!({ "vm": "web" })).await;
        assert!(told.contains("100 (qemu on pve1), 200 (lxc on pve2)"), "{tool}: {told}");
    }
    assert!(power::posts(&sim).is_empty());
}

#[tokio::test]
async fn q064_digits_are_a_vmid_even_where_they_are_a_name() {
    let sim = listing(json!([
        { "id": "qemu/100", "vmid": 100, "type": "qemu", "node": "pve1", "name": "101", "status": "running", "template": 0 },
        { "id": "qemu/101", "vmid": 101, "type": "qemu", "node": "pve1", "name": "db1", "status": "running", "template": 0 },
    ]))
    .await;
    for vm in [json!("101"), json!(101)] {
        let status = answer(&sim, "get_vm_status", json!({ "vm": vm })).await;
        assert_eq!((&status["vmid"], &status["name"]), (&json!(101), &json!("db1")));
        let told = notes(&status);
        assert!(told.contains("the guest 100 has the name `101`"), "{told}");
    }
    assert_eq!(n_asked(&sim, CURRENT), 0, "the guest of that name was asked");
    // And it is the one that something is done to.
    for (tool, state) in POWER {
        sim.forget_requests();
        sim.change(|lab| {
            let guest = lab.guest_mut(101).unwrap();
            *guest = Guest { state, ..Guest::vm(101, "pve1", "db1").running(3600) };
            lab.deeds.clear();
        });
        let done = power::answer(&sim, tool, json!({ "vm": "101" })).await;
        assert_eq!((&done["outcome"], &done["vmid"]), (&json!("done"), &json!(101)), "{tool}");
        assert!(notes(&done).contains("the guest 100 has the name `101`"), "{tool}: {done}");
        let posts = power::posts(&sim);
        assert!(posts.len() == 1 && posts[0].contains("/qemu/101/"), "{tool}: {posts:?}");
        assert!(sim.change(|lab| lab.deeds.iter().all(|deed| deed.vmid == 101)), "{tool}");
    }
}

#[tokio::test]
async fn q066_null_is_absent() {
    let sim = listing(json!([
        { "id": "qemu/900", "vmid": 900, "type": "qemu", "node": "pve1", "name": "tmpl", "status": "stopped", "template": 1,
          "cpu": null, "mem": null, "maxcpu": 1, "maxmem": 1_073_741_824, "uptime": null, "lock": null, "tags": null, "hastate": null, "pool": null },
    ]))
    .await;
    sim.answer(Rule::get("/nodes/pve1/qemu/900/status/current").data(&json!({
        "vmid": 900, "name": "tmpl", "status": "stopped", "template": 1, "pid": null, "cpus": 1, "maxmem": 1_073_741_824,
        "lock": null, "agent": null, "clipboard": null, "uptime": null, "ha": null, "nics": null,
    })));
    for detail in [false, true] {
        let list = answer(&sim, "list_vms", json!({ "detail": detail })).await;
        assert_eq!(row(&list["guests"], "vmid", &json!(900))["status"], "template");
    }
    let status = answer(&sim, "get_vm_status", json!({ "vm": "tmpl" })).await;
    assert_eq!(status["status"], "template");
    for key in ["lock", "agent_enabled", "uptime", "ha", "tags", "pool"] {
        assert!(status.get(key).is_none(), "{key}: {status}");
    }
}

#[tokio::test]
async fn q068_any_state_in_the_list_is_shown_as_it_is() {
    let row_of = |vmid: u32, status: &str| json!({ "id": format!("qemu/{vmid}"), "vmid": vmid, "type": "qemu", "node": "pve1", "name": format!("g{vmid}"), "status": status, "template": 0, "cpu": 0, "maxcpu": 2, "mem": 1_073_741_824, "maxmem": 2_147_483_648_u64, "uptime": 100 });
    let states = ["paused", "prelaunch", "io-error", "postmigrate", "brand-new"];
    let guests: Vec<_> = (100..).zip(states).map(|(vmid, status)| row_of(vmid, status)).collect();
    let sim = listing(json!(guests)).await;
    let list = answer(&sim, "list_vms", json!({})).await;
    for (vmid, status) in (100..).zip(states) {
        let row = row(&list["guests"], "vmid", &json!(vmid));
        assert_eq!(row["status"], status);
        assert_eq!(list["by_status"][status], 1);
    }
    assert!(list["by_status"].get("running").is_none(), "{list}");
    assert_eq!(row(&list["guests"], "vmid", &json!(100))["mem%"], 50.0);
    let running = answer(&sim, "list_vms", json!({ "status": "running" })).await;
    assert_eq!(running["total"], 0);
    let paused = answer(&sim, "list_vms", json!({ "status": "paused" })).await;
    assert_eq!(rows(&paused["guests"])[0]["vmid"], 100);
}

#[tokio::test]
async fn q077_the_disk_of_a_stopped_container_is_not_measured() {
    let figures = json!({ "disk": 0, "maxdisk": 4_294_967_296_u64, "mem": 0, "maxmem": 536_870_912, "swap": 0, "maxswap": 536_870_912, "cpus": 2, "maxcpu": 2, "uptime": 0 });
    let with = |more: serde_json::Value| {
        let mut all = figures.as_object().unwrap().clone();
        all.extend(more.as_object().unwrap().clone());
        json!(all)
    };
    let listed = with(
        json!({ "id": "lxc/101", "vmid": 101, "node": "pve1", "name": "ct1", "status": "stopped", "type": "lxc" }),
    );
    let sim = listing(json!([listed])).await;
    let current = with(json!({ "vmid": 101, "name": "ct1", "status": "stopped", "type": "lxc" }));
    sim.answer(Rule::get("/nodes/pve1/lxc/101/status/current").data(&current));
    let list = answer(&sim, "list_vms", json!({})).await;
    assert!(rows(&list["guests"])[0]["disk%"].is_null(), "{list}");
    let list = answer(&sim, "list_vms", json!({ "detail": true })).await;
    assert_eq!(rows(&list["guests"])[0]["disk"], "? of 4.0 GiB");
    let status = answer(&sim, "get_vm_status", json!({ "vm": "101" })).await;
    assert_eq!(status["disk"], "4.0 GiB");
    assert!(notes(&status).contains("`disk` of a stopped container is what is configured"));
}

#[tokio::test]
async fn q081_a_guest_that_has_moved_is_found_where_it_is() {
    let guest = |node: &str| json!([{ "id": "qemu/100", "vmid": 100, "type": "qemu", "node": node, "name": "app1", "status": "running", "template": 0 }]);
    let sim = listing(guest("pve2")).await;
    sim.answer(Rule::get("/cluster/resources?type=vm").data(&guest("pve1")).times(1));
    let gone = "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist";
    sim.answer(refusing(CURRENT, 500, gone));
    let there = "/nodes/pve2/qemu/100/status/current";
    sim.answer(Rule::get(there).data(
        &json!({ "vmid": 100, "name": "app1", "status": "running", "qmpstatus": "running", "cpu": 0.1, "cpus": 2 }),
    ));
    let status = answer(&sim, "get_vm_status", json!({ "vm": "app1" })).await;
    assert_eq!((&status["node"], &status["status"]), (&json!("pve2"), &json!("running")));
    assert_eq!((n_asked(&sim, CURRENT), n_asked(&sim, there)), (1, 1));
    // The node is never a matter of what somebody remembers.
    sim.forget_requests();
    answer(&sim, "get_vm_status", json!({ "vm": "app1" })).await;
    assert_eq!((n_asked(&sim, CURRENT), n_asked(&sim, there)), (0, 1));
    // What is done to it is done where it is, also when the list did not know yet.
    for (tool, state) in POWER {
        let sim = lab().await;
        sim.change(|lab| {
            let guest = lab.guest_mut(100).unwrap();
            (guest.node, guest.state) = ("pve2".to_owned(), state);
        });
        sim.answer(Rule::get("/cluster/resources?type=vm").data(&guest("pve1")).times(1));
        let done = power::answer(&sim, tool, json!({ "vm": "app1" })).await;
        assert_eq!((&done["outcome"], &done["node"]), (&json!("done"), &json!("pve2")), "{tool}");
        let posts = power::posts(&sim);
        assert!(posts.len() == 1 && posts[0].starts_with("/nodes/pve2/qemu/100/"), "{posts:?}");
    }
    // It moves between the look and the request, which then finds nobody there.
    for (tool, told_so) in [
        ("shutdown_vm", "the guest is not on that node"),
        ("stop_vm", "qemu-server/100.conf' does not exist; it is running on pve2 now"),
    ] {
        let sim = lab().await;
        let here =
            json!({ "vmid": 100, "name": "app1", "status": "running", "qmpstatus": "running" });
        sim.change(|lab| lab.guest_mut(100).unwrap().node = "pve2".to_owned());
        sim.answer(Rule::get("/cluster/resources?type=vm").data(&guest("pve1")).times(1));
        sim.answer(Rule::get(CURRENT).data(&here).times(1));
        let told = power::failure(&sim, tool, json!({ "vm": "app1" })).await;
        assert!(told.contains(told_so), "{tool}: {told}");
        assert_eq!(power::posts(&sim).len(), 1, "{tool}");
        assert!(sim.change(|lab| lab.guest(100).unwrap().is_up()), "{tool}");
    }
}

#[tokio::test]
async fn q085_the_guests_of_a_dead_node_are_listed_without_asking_it() {
    let sim = lab().await;
    sim.change(|lab| {
        lab.guests.push(Guest::vm(110, "pve2", "far").running(100));
        lab.guests.push(Guest::ct(210, "pve2", "far-ct").running(100));
        lab.node_mut("pve2").unwrap().online = false;
    });
    for exact in [false, true] {
        let list = answer(&sim, "list_vms", json!({ "exact": exact })).await;
        assert_eq!(list["total"], 5);
        for vmid in [110, 210] {
            let dead = row(&list["guests"], "vmid", &json!(vmid));
            assert_eq!((&dead["status"], &dead["node"]), (&json!("unknown"), &json!("pve2")));
        }
        assert_eq!(row(&list["guests"], "vmid", &json!(100))["status"], "running");
    }
    let dead = answer(&sim, "get_vm_status", json!({ "vm": "110" })).await;
    assert_eq!((&dead["status"], &dead["node"]), (&json!("unknown"), &json!("pve2")));
    assert!(notes(&dead).contains("pve2 is offline"), "{dead}");
    assert!(asked(&sim).iter().all(|path| !path.starts_with("/nodes/pve2")), "{:?}", asked(&sim));
}
