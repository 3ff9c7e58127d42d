//! Tests of `get_vm_status`.

use pve_sim::{Rule, State};
use serde_json::{Value, json};

use crate::support::{answer, demo, failure, notes};

#[tokio::test]
async fn a_guest_is_found_by_vmid_number_or_name() {
    let sim = demo().await;
    for vm in [json!("111"), json!(111), json!("postgres"), json!("POSTGRES"), json!(" 111 ")] {
        let answer = answer(&sim, "get_vm_status", json!({ "vm": vm })).await;
        assert_eq!(
            (&answer["vmid"], &answer["name"], &answer["node"]),
            (&json!(111), &json!("postgres"), &json!("pve3"))
        );
    }
}

#[tokio::test]
async fn tells_each_state_by_its_name() {
    let sim = demo().await;
    for (vm, status, remark) in [
        ("100", "running", ""),
        ("126", "stopped", ""),
        ("122", "paused", "until it is resumed"),
        ("124", "hibernated", "starting it resumes"),
    ] {
        let answer = answer(&sim, "get_vm_status", json!({ "vm": vm })).await;
        assert_eq!(answer["status"], status);
        assert!(notes(&answer).contains(remark), "{answer}");
    }
    let locked = answer(&sim, "get_vm_status", json!({ "vm": "123" })).await;
    assert_eq!(locked["lock"], "backup");
    let managed = answer(&sim, "get_vm_status", json!({ "vm": "110" })).await;
    assert_eq!(managed["ha"], "managed, started");
}

#[tokio::test]
async fn a_state_of_the_ha_manager_that_does_not_fit_is_explained() {
    let sim = demo().await;
    sim.change(|cluster| {
        let shop = cluster.guest_mut(112).unwrap();
        (shop.state, shop.uptime) = (State::Stopped, 0);
        cluster.guest_mut(201).unwrap().ha = Some("error".to_owned());
    });
    for (vm, wanted) in
        [("112", "the HA manager wants it running"), ("201", "the HA manager gave up on it")]
    {
        let answer = answer(&sim, "get_vm_status", json!({ "vm": vm })).await;
        assert!(notes(&answer).contains(wanted), "{answer}");
        assert!(notes(&answer).contains("unit=pve-ha-lrm"), "{answer}");
    }
    let fine = answer(&sim, "get_vm_status", json!({ "vm": "110" })).await;
    assert!(!notes(&fine).contains("HA manager"), "{fine}");
}

#[tokio::test]
async fn traffic_is_what_pve_counted_since_the_guest_started() {
    let sim = demo().await;
    let mib = 1 << 20;
    sim.change(|cluster| {
        let usage = &mut cluster.guest_mut(100).unwrap().usage;
        (usage.received, usage.sent) = (3 * mib, 5 * mib);
        (usage.read, usage.written) = (7 * mib, 11 * mib);
    });
    let answer = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(answer["network_since_start"], json!({ "in": "3.0 MiB", "out": "5.0 MiB" }));
    assert_eq!(answer["disk_io_since_start"], json!({ "read": "7.0 MiB", "written": "11.0 MiB" }));
}

/// A guest that runs on pve3 as its worker says, which read its CPU for the first time.
async fn whose_worker_says_zero(vmid: u32) -> Value {
    let sim = demo().await;
    let current = format!("/nodes/pve3/qemu/{vmid}/status/current");
    sim.answer(Rule::get(&current).data(
        &json!({ "status": "running", "qmpstatus": "running", "vmid": vmid, "cpu": 0, "cpus": 8 }),
    ));
    answer(&sim, "get_vm_status", json!({ "vm": vmid.to_string() })).await
}

#[tokio::test]
async fn cpu_is_pvestatd_s_figure_not_the_zero_of_a_worker_s_first_read() {
    let answer = whose_worker_says_zero(121).await;
    assert!(answer["cpu_percent"].as_f64().unwrap() > 80.0, "{answer}");
}

#[tokio::test]
async fn of_a_guest_that_was_just_started_a_worker_s_zero_is_no_figure() {
    let answer = whose_worker_says_zero(126).await;
    assert_eq!(answer["status"], "running", "{answer}");
    assert!(answer.get("cpu_percent").is_none(), "{answer}");
}

#[tokio::test]
async fn what_runs_on_it_is_told() {
    let sim = demo().await;
    let answer = answer(&sim, "get_vm_status", json!({ "vm": "123" })).await;
    let tasks = answer["running_tasks"].to_string();
    assert!(tasks.contains("vzdump since 20"), "{answer}");
}

#[tokio::test]
async fn a_stopped_guest_has_no_figures_of_use() {
    let answer = answer(&demo().await, "get_vm_status", json!({ "vm": "126" })).await;
    for figure in
        ["cpu_percent", "network_since_start", "disk_io_since_start", "uptime", "pressure_percent"]
    {
        assert!(answer.get(figure).is_none(), "{figure}: {answer}");
    }
    assert_eq!(answer["memory"], "4.0 GiB configured");
}

#[tokio::test]
async fn a_guest_that_moves_between_two_questions_is_followed() {
    let sim = demo().await;
    let gone = "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist";
    let body = json!({ "data": null, "message": format!("{gone}\n") }).to_string();
    sim.answer(
        Rule::get("/nodes/pve1/qemu/100/status/current").status(500, gone).body(body).times(1),
    );
    let answer = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(answer["status"], "running");
}

#[tokio::test]
async fn says_what_to_do_when_there_is_no_such_guest() {
    let sim = demo().await;
    let told = failure(&sim, "get_vm_status", json!({ "vm": "postgress" })).await;
    assert!(told.contains("did you mean `postgres`?"), "{told}");
    let told = failure(&sim, "get_vm_status", json!({ "vm": "99" })).await;
    assert!(told.contains("100 to 999999999"), "{told}");
    let told = failure(&sim, "get_vm_status", json!({})).await;
    assert!(told.contains("`vm` is required"), "{told}");
}

#[tokio::test]
async fn no_text_from_a_model_reaches_another_path() {
    let sim = demo().await;
    for vm in [
        "100/status/stop",
        "100%2Fstatus%2Fstop",
        "../nodes",
        "100?x=1",
        "",
        " ",
        "100\r\nX: y",
        "١٠٠",
    ] {
        failure(&sim, "get_vm_status", json!({ "vm": vm })).await;
    }
    assert!(
        sim.requests().iter().all(|seen| seen.path == "/cluster/resources?type=vm"),
        "{:?}",
        sim.requests()
    );
}
