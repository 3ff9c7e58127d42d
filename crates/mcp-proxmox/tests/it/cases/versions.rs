//! What other versions of PVE answer to the same question.

use pve_sim::Rule;
use serde_json::json;

use super::{CURRENT, check, every_tool, lab, listing, refusing, saying};
use crate::support::{answer, failure, row, rows};

#[tokio::test]
async fn q065_figures_may_be_texts() {
    let figures = json!({ "id": "lxc/101", "vmid": "101", "type": "lxc", "node": "pve1", "name": "ct1", "status": "running", "template": "0",
        "cpu": "0.125", "cpus": "2", "maxcpu": "2", "mem": "134217728", "maxmem": "536870912", "disk": "1200000000", "maxdisk": "8000000000", "uptime": "90061" });
    let sim = listing(json!([figures])).await;
    sim.answer(Rule::get("/nodes/pve1/lxc/101/status/current").data(&figures));
    let list = answer(&sim, "list_vms", json!({})).await;
    let shown = row(&list["guests"], "vmid", &json!(101));
    assert_eq!((&shown["status"], &shown["type"]), (&json!("running"), &json!("lxc")));
    assert_eq!(
        (&shown["cpu%"], &shown["mem%"], &shown["disk%"]),
        (&json!(12.5), &json!(25.0), &json!(15.0))
    );
    let filtered = answer(&sim, "list_vms", json!({ "name": "101" })).await;
    assert_eq!(filtered["total"], 1);
    for vm in [json!("101"), json!(101), json!("ct1")] {
        let status = answer(&sim, "get_vm_status", json!({ "vm": vm })).await;
        assert_eq!((&status["vmid"], &status["cores"]), (&json!(101), &json!(2)));
        assert_eq!(status["memory"], "128.0 of 512.0 MiB (25.0%)");
        assert_eq!((&status["uptime"], &status["cpu_percent"]), (&json!("1d 1h"), &json!(12.5)));
    }
}

#[tokio::test]
async fn q079_pressure_is_a_number_of_vms_and_a_text_of_containers() {
    let numbers =
        json!({ "pressurecpusome": 0, "pressureiosome": 1.23, "pressurememorysome": 0.0 });
    let texts = json!({ "pressurecpusome": "0.00", "pressureiosome": "1.23", "pressurememorysome": "0.00" });
    for pressure in [numbers, texts] {
        let mut said = json!({ "vmid": 100, "name": "app1", "status": "running", "cpu": 0, "cpus": 1, "mem": 1, "maxmem": 2, "disk": 1, "maxdisk": 2, "uptime": 3 });
        said.as_object_mut().unwrap().extend(pressure.as_object().unwrap().clone());
        let status = answer(&saying(said).await, "get_vm_status", json!({ "vm": "100" })).await;
        let shown = &status["pressure_percent"];
        assert_eq!(shown["io"], 1.23, "{status}");
        assert_eq!((&shown["cpu"], &shown["memory"]), (&json!(0.0), &json!(0.0)));

        let mut container = json!({ "id": "lxc/101", "vmid": 101, "type": "lxc", "node": "pve1", "name": "ct1", "status": "running", "cpu": 0, "cpus": 1, "maxcpu": 1, "mem": 1, "maxmem": 2, "disk": 1, "maxdisk": 2, "uptime": 3 });
        container.as_object_mut().unwrap().extend(pressure.as_object().unwrap().clone());
        let sim = listing(json!([container])).await;
        sim.answer(Rule::get("/nodes/pve1/lxc/101/status/current").data(&container));
        let list = answer(&sim, "list_vms", json!({ "sort": "cpu" })).await;
        assert_eq!(row(&list["guests"], "vmid", &json!(101))["mem%"], 50.0);
        let status = answer(&sim, "get_vm_status", json!({ "vm": "101" })).await;
        assert_eq!(status["pressure_percent"]["io"], 1.23, "{status}");
    }
}

#[tokio::test]
async fn q084_either_of_two_privileges_is_named_as_pve_names_it() {
    let sim = lab().await;
    for (needed, named) in [
        (
            "VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted",
            "VM.GuestAgent.Audit or VM.GuestAgent.Unrestricted",
        ),
        ("VM.Monitor", "VM.Monitor"),
    ] {
        sim.answer(refusing(
            CURRENT,
            403,
            &format!("Permission check failed (/vms/100, {needed})"),
        ));
        let told = failure(&sim, "get_vm_status", json!({ "vm": "100" })).await;
        assert!(told.contains(&format!("lacks the privilege {named} on /vms/100 (403)")), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q112_no_limit_is_ever_zero() {
    let sim = lab().await;
    let all = every_tool(None).await.into_iter().flat_map(|said| said.seen);
    check(&sim, &[]);
    let mut n_lists = 0;
    for seen in sim.requests().into_iter().chain(all) {
        let (path, query) = seen.path.split_once('?').unwrap_or((&seen.path, ""));
        let limit = query.split('&').find_map(|part| part.strip_prefix("limit="));
        assert_ne!(limit, Some("0"), "{}", seen.path);
        if path.ends_with("/tasks") || path.ends_with("/log") && path.contains("/tasks/") {
            n_lists += 1;
            assert!(limit.is_some_and(|limit| limit.parse::<u32>().is_ok()), "{}", seen.path);
        }
    }
    assert!(n_lists > 10, "{n_lists} lists of tasks and of their lines");
}

/// After an upgrade from PVE 8 to 9 there are points of two kinds, the older ones without pressure.
#[tokio::test]
async fn the_newest_point_is_that_of_the_latest_time() {
    let sim = lab().await;
    let old = json!({ "time": 1_771_000_000, "cpu": 0.1 });
    let newer = json!({ "time": 1_771_010_800, "cpu": 0.2, "pressurecpusome": 1.0, "pressurememorysome": 0, "pressureiosome": 0 });
    let newest = json!({ "time": 1_771_012_600, "cpu": 0.3, "pressurecpusome": "3.04", "pressurememorysome": "0.00", "pressureiosome": "7.5" });
    let unknown = json!({ "time": 1_771_012_660 });
    for points in [
        json!([old, newer, newest, unknown]),
        json!([old, unknown, newest, newer]),
        json!([newest, unknown, newer, old]),
    ] {
        sim.answer(Rule::get("/nodes/pve1/rrddata").data(&points));
        let node = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
        let shown = &node["pressure_percent"];
        assert_eq!((&shown["cpu"], &shown["io"]), (&json!(3.0), &json!(7.5)), "{points}");
    }
    sim.answer(Rule::get("/nodes/pve1/rrddata").data(&json!([old, unknown])));
    let node = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
    assert!(node.get("pressure_percent").is_none(), "{node}");
    assert!(
        node.get("not_available").is_none(),
        "a version without pressure is no failure: {node}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn q153_a_version_may_be_written_in_many_ways() {
    let sim = lab().await;
    for (version, shown) in [
        (json!("9.1.11"), "Proxmox VE 9.1.11"),
        (json!("6.0-7"), "Proxmox VE 6.0-7"),
        (json!("9.0.0~11"), "Proxmox VE 9.0.0~11"),
        (json!(9), "Proxmox VE 9"),
        (json!(null), "an unknown version"),
    ] {
        let release = version.as_str().map_or("9", |version| &version[..3]);
        let data = json!({ "version": version, "release": release, "repoid": "0123abcd", "console": "xtermjs" });
        sim.answer(Rule::get("/version").data(&data));
        let (code, told) = check(&sim, &[]);
        assert_eq!(code, 0, "{told}");
        assert!(told.contains(shown), "{told}");
    }
    for (version, shown) in [
        ("pve-manager/9.1.6/abcdef (running kernel: 6.17.4-2-pve)", "9.1.6"),
        ("pve-manager/7.4-3/9002ab8a", "7.4-3"),
        ("pve-manager/9.0.0~11/abcdef", "9.0.0~11"),
        ("something else", "something"),
    ] {
        sim.answer(Rule::get("/nodes/pve1/status").data(&json!({ "pveversion": version })));
        let node = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
        assert_eq!(node["pve_version"], shown);
        let list = answer(&sim, "list_nodes", json!({})).await;
        assert_eq!(rows(&list["nodes"])[0]["version"], shown);
    }
}
