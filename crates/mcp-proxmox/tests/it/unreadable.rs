//! What Proxmox VE, or something in front of it, sends and nobody can read: it is told as not known, never as a
//! default, as nothing, or as a lack of rights.

use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::{
    faults::{
        TOOLS, gives_nothing_away,
        world::{Servers, call, client_of, still},
    },
    support::{answer, demo, failure, notes, row, rows, settings, text},
};

/// The lines on what is missing.
fn missing(answer: &Value) -> String {
    let lines = answer["not_available"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

async fn details_of(sim: &Sim, path: &str, vm: &str, config: &Value) -> Value {
    sim.forget_rules();
    sim.answer(Rule::get(path).data(config));
    answer(sim, "get_vm_details", json!({ "vm": vm })).await
}

const VM: &str = "/nodes/pve3/qemu/111/config";
const CT: &str = "/nodes/pve2/lxc/201/config";

#[tokio::test]
async fn what_is_set_and_cannot_be_read_is_not_told_as_the_default() {
    let sim = demo().await;
    for odd in [json!("perhaps"), json!(1e300), json!(-1), json!([1]), json!({ "a": 1 })] {
        let keys = ["agent", "cores", "memory", "onboot", "protection", "sockets", "template"];
        let config = keys.iter().map(|key| ((*key).to_owned(), odd.clone())).collect();
        let told = details_of(&sim, VM, "111", &config).await;
        let missing = missing(&told);
        let line = "keys of the configuration whose values could not be read: ";
        let named = missing.split(line).nth(1).unwrap_or_else(|| panic!("{odd}: {told}"));
        assert_eq!(named.lines().next(), Some(keys.join(", ").as_str()), "{odd}: {told}");
        assert!(missing.contains("whether the guest agent is enabled could not be read"), "{told}");
        assert!(told["cpu"].as_str().unwrap().starts_with("? cores"), "{told}");
        assert!(told["memory"].as_str().unwrap().starts_with("?, "), "{told}");
        assert_eq!((&told["start_at_boot"], told.get("guest_agent")), (&json!("?"), None));
        assert!(!notes(&told).contains("template"), "{told}");
    }
}

#[tokio::test]
async fn a_container_of_unreadable_isolation_is_called_neither() {
    let sim = demo().await;
    for odd in [json!("x"), json!(-1), json!(1e300), json!([])] {
        let config =
            json!({ "unprivileged": odd, "cores": odd, "memory": odd, "swap": odd, "rootfs": odd });
        let told = details_of(&sim, CT, "201", &config).await;
        for fact in ["isolation", "memory", "swap"] {
            assert_eq!(told.get(fact), None, "{odd}: {told}");
        }
        assert!(told["cpu"].as_str().unwrap().starts_with("? cores"), "{told}");
        assert!(missing(&told).contains("cores, memory"), "{told}");
    }
}

#[tokio::test]
async fn a_disk_or_an_interface_that_cannot_be_read_is_there_all_the_same() {
    let sim = demo().await;
    let config = json!({
        "scsi0": ["local:x"], "scsi1": "local:vm-111-disk-1,size=big", "net0": { "bridge": "vmbr0" },
        "net1": "virtio=BC:24:11:00:00:01,bridge=vmbr1,tag=x,firewall=perhaps",
    });
    let told = details_of(&sim, VM, "111", &config).await;
    let disk = row(&told["disks"], "disk", &json!("scsi0"));
    assert_eq!((&disk["storage"], &disk["size"]), (&Value::Null, &Value::Null), "{told}");
    let nic = row(&told["nics"], "nic", &json!("net1"));
    assert_eq!((&nic["tag"], &nic["firewall"]), (&Value::Null, &Value::Null), "{told}");
    row(&told["nics"], "nic", &json!("net0"));
    assert!(missing(&told).contains("could not be read: net0, net1, scsi0, scsi1"), "{told}");
}

#[tokio::test]
async fn what_is_not_set_is_the_default() {
    let sim = demo().await;
    let null = json!({ "cores": null, "memory": null, "onboot": null, "agent": null });
    for config in [json!({}), null] {
        let told = details_of(&sim, VM, "111", &config).await;
        assert!(told["cpu"].as_str().unwrap().starts_with("1 core, "), "{told}");
        assert!(told["memory"].as_str().unwrap().starts_with("512.0 MiB"), "{told}");
        assert_eq!(
            (&told["start_at_boot"], &told["guest_agent"]),
            (&json!("no"), &json!("not enabled"))
        );
        assert!(!missing(&told).contains("could not be read"), "{told}");
    }
}

const NOTHING: [u8; 3] = [0, 0, 0];

/// Something of every kind that is no entry of any list.
fn with_odd_entries(data: &mut Value) {
    if let Value::Array(entries) = data {
        entries.extend([json!(1), Value::Null, json!("x"), json!([])]);
    }
}

#[tokio::test]
async fn a_list_that_cannot_be_read_is_neither_empty_nor_hidden() {
    let sim = demo().await;
    sim.answer(Rule::get("/cluster/resources").data(&json!(NOTHING)));
    sim.answer(Rule::get("/nodes").data(&json!(NOTHING)));
    for (tool, arguments) in [
        ("list_vms", json!({})),
        ("list_nodes", json!({})),
        ("list_storage", json!({})),
        ("get_vm_status", json!({ "vm": "100" })),
        ("get_vm_details", json!({ "vm": "postgres" })),
        ("get_node_status", json!({ "node": "pve1" })),
    ] {
        let told = failure(&sim, tool, arguments).await;
        assert!(told.contains("it has 3 entries, and none is as expected"), "{tool}: {told}");
        for word in ["Audit", "restarting", "there is no", "shows no"] {
            assert!(!told.contains(word), "{tool}: {told}");
        }
    }
}

#[tokio::test]
async fn entries_that_cannot_be_read_are_left_out_and_counted() {
    let sim = Sim::start(still()).await.unwrap();
    let whole = answer(&sim, "list_nodes", json!({})).await;
    sim.answer(Rule::everything().changed(with_odd_entries));
    let told = answer(&sim, "list_nodes", json!({})).await;
    assert_eq!((&told["total"], &told["nodes"]), (&whole["total"], &whole["nodes"]));
    let line = "4 entries of PVE's answer to `GET /nodes` could not be read and are left out";
    assert!(notes(&told).contains(line), "{told}");
    let told = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(told.get("running_tasks"), None, "{told}");
    // What is looked for may be one of those.
    let told = failure(&sim, "get_vm_status", json!({ "vm": "999" })).await;
    assert!(told.contains("4 entries of PVE's answer to `GET /cluster/resources`"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_entries_in_every_list_are_counted_under_every_tool() {
    let servers = Servers::start();
    let sim = Sim::start(still()).await.unwrap();
    let client = client_of(&servers, settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)).await;
    let upid = sim.change(|cluster| cluster.tasks[0].upid());
    for (tool, arguments, action) in TOOLS {
        let arguments: Value = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
        // The way to a console is no answer.
        let is_console = ["send_vm_keys", "get_vm_console", "get_vm_screenshot"].contains(tool);
        if !action.is_empty() || is_console {
            continue;
        }
        let before = sim.requests().len();
        sim.answer(Rule::everything().changed(with_odd_entries));
        let result = call(&client, tool, &arguments).await;
        sim.forget_rules();
        let told = text(&result);
        gives_nothing_away(&told);
        assert_ne!(result.is_error, Some(true), "{tool}: {told}");
        let asked = sim.requests();
        let lists = ["/cluster/resources", "/nodes", "/tasks"];
        let has_list = asked[before..].iter().any(|seen| {
            let path = seen.path.split('?').next().unwrap_or_default();
            lists.iter().any(|list| path == *list || (*list == "/tasks" && path.ends_with(list)))
        });
        assert!(!has_list || told.contains("could not be read"), "{tool}: {told}");
    }
}

/// Every text empty, every number a text, every truth a word.
fn emptied(data: &mut Value) {
    match data {
        Value::Array(items) => items.iter_mut().for_each(emptied),
        Value::Object(object) => {
            let others = object.iter_mut().filter(|(key, _)| {
                !["node", "vmid", "type", "name", "Package"].contains(&key.as_str())
            });
            others.for_each(|(_, value)| emptied(value));
        }
        Value::String(text) => text.clear(),
        _ => *data = json!("?"),
    }
}

#[tokio::test]
async fn a_node_whose_answers_are_emptied_is_not_called_healthy() {
    let sim = demo().await;
    let whole = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
    let parts = ["services_not_running", "certificates_ending", "subscription"];
    assert!(parts.iter().all(|part| whole.get(*part).is_some()), "{whole}");
    let empty: fn(&mut Value) = |data| *data = json!([]);
    for by in [emptied, empty] {
        sim.forget_rules();
        for part in ["services", "certificates/info", "subscription"] {
            sim.answer(Rule::get(&format!("/nodes/pve1/{part}")).changed(by));
        }
        let told = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
        for part in parts {
            assert_eq!(told.get(part), None, "{told}");
        }
        for part in ["services", "certificates", "subscription"] {
            assert!(missing(&told).contains(part), "{part}: {told}");
        }
    }
}

#[tokio::test]
async fn only_one_and_zero_are_yes_and_no() {
    let sim = demo().await;
    let unclear: fn(&mut Value) = |data| {
        for row in data.as_array_mut().into_iter().flatten() {
            row["template"] = json!(-1);
            row["shared"] = json!("perhaps");
        }
    };
    sim.answer(Rule::get("/cluster/resources").changed(unclear));
    let guests = answer(&sim, "list_vms", json!({ "limit": 100 })).await;
    let all = rows(&guests["guests"]);
    assert!(all.len() == 25 && all.iter().all(|row| row["status"] != "template"), "{guests}");
    let storages = answer(&sim, "list_storage", json!({})).await;
    for row in rows(&storages["storages"]) {
        assert_ne!(row["shared"], "no", "{row}");
    }
}

#[tokio::test]
async fn figures_that_cannot_be_are_not_known() {
    let sim = demo().await;
    for (number, shown) in [(json!(1e300), "e+"), (json!(-3), "-3"), (json!(1.8e19), "1800000")] {
        sim.forget_rules();
        let Value::Number(number) = number else { unreachable!() };
        sim.answer(Rule::get("/nodes").numbers(number.clone()));
        sim.answer(Rule::under("/nodes/pve1/status").numbers(number.clone()));
        sim.answer(Rule::get("/cluster/resources?type=vm").numbers(number.clone()));
        sim.answer(Rule::under("/nodes/pve1/qemu/100/status").numbers(number));
        for (tool, arguments) in [
            ("list_nodes", json!({})),
            ("get_node_status", json!({ "node": "pve1" })),
            ("list_vms", json!({})),
            ("get_vm_status", json!({ "vm": "100" })),
        ] {
            let told = answer(&sim, tool, arguments).await;
            assert!(!told.to_string().contains(shown), "{tool}: {told}");
        }
        let nodes = answer(&sim, "list_nodes", json!({})).await;
        assert!(rows(&nodes["nodes"]).iter().all(|row| row["cpu%"].is_null()), "{nodes}");
    }
}

#[tokio::test]
async fn nodes_with_some_figures_lack_no_privilege() {
    let sim = demo().await;
    let halved: fn(&mut Value) = |data| {
        for row in data.as_array_mut().into_iter().flatten() {
            row["maxmem"] = Value::Null;
            row["mem"] = Value::Null;
        }
    };
    sim.answer(Rule::get("/nodes").changed(halved));
    let nodes = answer(&sim, "list_nodes", json!({})).await;
    assert!(!notes(&nodes).contains("Sys.Audit"), "{nodes}");
}

#[tokio::test]
async fn a_history_without_points_has_no_resolution() {
    let sim = demo().await;
    sim.answer(Rule::under("/nodes/pve1/rrddata").data(&json!([])));
    let told = answer(&sim, "get_metrics", json!({ "node": "pve1" })).await;
    assert_eq!((told.get("resolution"), &told["points"]), (None, &json!(0)), "{told}");
}
