//! What one guest says of itself, and what that means.

use pve_sim::Rule;
use serde_json::json;

use super::{lab, listing, saying};
use crate::{
    in_the_way::TOOLS as POWER,
    power,
    support::{answer, notes, row, rows},
};

#[tokio::test]
async fn q067_a_paused_vm_is_not_called_running() {
    let word = |qmpstatus: &str| json!({ "vmid": 100, "name": "app1", "status": "running", "qmpstatus": qmpstatus, "cpu": 0, "cpus": 2, "mem": 1, "maxmem": 2_147_483_648_u64, "uptime": 100, "ha": { "managed": 0 } });
    for (qmpstatus, remark) in [
        ("paused", "until it is resumed"),
        ("io-error", "a full or broken storage"),
        ("prelaunch", "the guest does not run"),
        ("suspended", ""),
        ("running", ""),
    ] {
        let sim = saying(word(qmpstatus)).await;
        let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
        assert_eq!(status["status"], qmpstatus);
        assert!(notes(&status).contains(remark), "{status}");
        sim.answer(Rule::get("/nodes/pve1/qemu").data(&json!([word(qmpstatus)])));
        let list = answer(&sim, "list_vms", json!({ "exact": true })).await;
        assert_eq!(row(&list["guests"], "vmid", &json!(100))["status"], qmpstatus);
        let inexact = answer(&sim, "list_vms", json!({})).await;
        let told = notes(&inexact);
        assert!(
            told.contains("a VM that is paused or stopped by a disk error is listed as running"),
            "{inexact}"
        );
    }
}

#[tokio::test]
async fn q069_a_hibernated_vm_is_told_from_a_stopped_one() {
    let sim = saying(json!({ "vmid": 100, "name": "app1", "status": "stopped", "qmpstatus": "stopped", "lock": "suspended", "cpus": 2, "maxmem": 2_147_483_648_u64, "uptime": 0, "ha": { "managed": 0 } })).await;
    let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(status["status"], "hibernated");
    assert!(notes(&status).contains("starting it resumes"), "{status}");
    let sim = lab().await;
    sim.change(|lab| lab.guest_mut(101).unwrap().lock = Some("suspended".to_owned()));
    let list = answer(&sim, "list_vms", json!({})).await;
    assert_eq!(row(&list["guests"], "vmid", &json!(101))["status"], "hibernated");
    let filtered = answer(&sim, "list_vms", json!({ "status": "hibernated" })).await;
    assert_eq!(filtered["total"], 1);
    let stopped = answer(&sim, "list_vms", json!({ "status": "stopped" })).await;
    assert_eq!(stopped["total"], 0);
    // Its lock is none that is in the way: a start resumes it.
    let started = power::answer(&sim, "start_vm", json!({ "vm": "101" })).await;
    assert_eq!(
        (&started["outcome"], &started["before"], &started["after"]),
        (&json!("done"), &json!("hibernated"), &json!("running"))
    );
}

#[tokio::test]
async fn q075_a_lock_is_shown_and_never_offered_to_be_taken_off() {
    let locks = [
        "backup",
        "clone",
        "create",
        "migrate",
        "rollback",
        "snapshot",
        "snapshot-delete",
        "suspending",
        "fstrim",
        "mounted",
    ];
    let row_of = |vmid: u32, lock: &str| json!({ "id": format!("qemu/{vmid}"), "vmid": vmid, "type": "qemu", "node": "pve1", "name": format!("g{vmid}"), "status": "running", "template": 0, "lock": lock });
    let guests: Vec<_> = (100..).zip(locks).map(|(vmid, lock)| row_of(vmid, lock)).collect();
    let list = answer(&listing(json!(guests)).await, "list_vms", json!({})).await;
    for (vmid, lock) in (100..).zip(locks) {
        let status = &row(&list["guests"], "vmid", &json!(vmid))["status"];
        assert_eq!(status, &json!(format!("running (lock: {lock})")));
    }
    let sim = lab().await;
    for lock in locks {
        sim.change(|lab| lab.guest_mut(100).unwrap().lock = Some(lock.to_owned()));
        let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
        assert_eq!((&status["lock"], &status["status"]), (&json!(lock), &json!("running")));
        assert!(!status.to_string().contains("unlock"), "{status}");
    }
    // It is in the way of whatever is asked, with its name, and nothing here takes it off.
    for lock in locks {
        for (tool, state) in POWER {
            sim.change(|lab| {
                let guest = lab.guest_mut(100).unwrap();
                (guest.state, guest.lock) = (state, Some(lock.to_owned()));
            });
            let told = power::refusal(&sim, tool, json!({ "vm": "100" })).await;
            assert!(told.contains(&format!("is locked ({lock})")), "{tool}: {told}");
            assert!(told.contains("this server never unlocks"), "{tool}: {told}");
        }
    }
}

#[tokio::test]
async fn q076_cpu_is_a_share_of_the_guests_own_cores() {
    for (cpu, shown) in [
        (json!(1.0312), json!(103.1)),
        (json!(0.25), json!(25.0)),
        (json!(0), json!(0.0)),
        (json!(0.008_377_046_690_032_85), json!(0.8)),
        (json!("0.5"), json!(50.0)),
    ] {
        let figures = json!({ "id": "qemu/100", "type": "qemu", "node": "pve1", "vmid": 100, "name": "app1", "status": "running", "qmpstatus": "running", "cpu": cpu, "cpus": 2, "maxcpu": 2, "mem": 1, "maxmem": 2, "uptime": 5 });
        let sim = saying(figures.clone()).await;
        sim.answer(Rule::get("/cluster/resources?type=vm").data(&json!([figures])));
        let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
        assert_eq!(status["cpu_percent"], shown, "{cpu}");
        let list = answer(&sim, "list_vms", json!({})).await;
        assert_eq!(rows(&list["guests"])[0]["cpu%"], shown, "{cpu}");
    }
}

#[tokio::test]
async fn q078_cores_may_be_a_fraction_a_text_or_absent() {
    for (cpus, shown) in [
        (json!("0.4"), json!(0.4)),
        (json!(0.4), json!(0.4)),
        (json!("2"), json!(2)),
        (json!(2), json!(2)),
        (json!(null), json!(null)),
    ] {
        let figures = json!({ "id": "qemu/100", "type": "qemu", "node": "pve1", "vmid": 100, "name": "app1", "status": "running", "qmpstatus": "running", "cpu": 0.1, "cpus": cpus, "maxcpu": cpus, "mem": "1073741824", "maxmem": "2147483648", "agent": "1" });
        let sim = saying(figures.clone()).await;
        let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
        assert_eq!(status["cores"], shown, "{cpus}");
        assert_eq!(status["memory"], "1.0 of 2.0 GiB (50.0%)");
        assert_eq!(status["agent_enabled"], true);
        sim.answer(Rule::get("/cluster/resources?type=vm").data(&json!([figures])));
        let list = answer(&sim, "list_vms", json!({ "detail": true })).await;
        assert_eq!(rows(&list["guests"])[0]["cores"], shown, "{cpus}");
    }
}
