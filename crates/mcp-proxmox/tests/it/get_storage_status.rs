//! Tests of `get_storage_status`.

use pve_client::Reader;
use pve_sim::{DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::support::{
    answer, call_on, demo, failure, notes, row, rows, server, settings, structured,
};
use mcp_proxmox::tier::{Access, Level};

async fn as_auditor(sim: &Sim, arguments: Value) -> Value {
    let reader = Reader::new(settings(sim, DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET));
    let server = server(Access::new(Level::Read, reader));
    structured(&call_on(server, "get_storage_status", arguments).await)
}

fn refusing(path: &str, status: u16, text: &str) -> Rule {
    let body = json!({ "data": null, "message": format!("{text}\n") });
    Rule::get(path).status(status, text).body(body.to_string())
}

#[tokio::test]
async fn a_backup_server_is_shown_with_its_newest_unverified_and_broken_backups() {
    let answer =
        answer(&demo().await, "get_storage_status", json!({ "storage": "pbs", "limit": 3 })).await;
    assert_eq!((&answer["type"], &answer["shared"]), (&json!("pbs"), &json!(true)));
    assert_eq!(answer["state"], "available");
    assert_eq!(answer["used"], "6.0 of 16.0 TiB (37.5%)");
    let backups = &answer["backups"];
    assert_eq!((&backups["total"], &backups["guests"]), (&json!(20 * 14), &json!(20)));
    assert_eq!((&backups["verified"], &backups["not_verified"]), (&json!(20 * 13 - 1), &json!(20)));
    let failed = backups["verification_failed"].as_array().unwrap();
    assert_eq!(failed.len(), 1);
    assert!(failed[0].as_str().unwrap().starts_with("120 of 20"), "{failed:?}");
    let newest = rows(&answer["newest_backups"]);
    assert_eq!(newest.len(), 3);
    assert!(newest[0]["time"].as_str() >= newest[1]["time"].as_str());
    assert!(newest.iter().all(|row| row["verified"].is_null()), "last night's are not checked yet");
    let volumes = row(&answer["volumes"], "kind", &json!("backup"));
    assert_eq!(volumes["count"], 280);
    assert!(answer.get("hidden").is_none(), "{answer}");
}

#[tokio::test]
async fn the_guests_whose_disks_are_on_it_are_named_the_largest_first() {
    let sim = demo().await;
    let arguments = json!({ "storage": "local-zfs", "node": "pve1", "limit": 2 });
    let answer = answer(&sim, "get_storage_status", arguments).await;
    let guests = rows(&answer["guests"]);
    assert_eq!(guests.len(), 2, "{answer}");
    let listed = row(&answer["volumes"], "kind", &json!("images"));
    assert!(listed["count"].as_u64() > Some(0), "{answer}");
    let (vmid, name) = (&guests[0]["vmid"], &guests[0]["name"]);
    let known = sim.change(|cluster| {
        let vmid = u32::try_from(vmid.as_u64().unwrap()).unwrap();
        cluster.guest_mut(vmid).map(|guest| (guest.name.clone(), guest.node.clone()))
    });
    assert_eq!(known, Some((name.as_str().map(str::to_owned), "pve1".to_owned())), "{answer}");
    let gib = |row: &Value| -> f64 {
        row["size"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    assert!(gib(&guests[0]) >= gib(&guests[1]), "{answer}");
    assert!(notes(&answer).contains("more guests have disks here"), "{answer}");
}

#[tokio::test]
async fn its_growth_and_the_day_on_which_it_will_be_full_come_from_the_history() {
    let answer = answer(&demo().await, "get_storage_status", json!({ "storage": "nas" })).await;
    let trend = answer["trend"].as_str().unwrap();
    assert!(trend.starts_with("+19.0 GiB a day over 6d 23h"), "{trend}");
    assert!(trend.ends_with("full in about 33 days at that pace"), "{trend}");
    assert_eq!(answer["state"], "available on pve1, pve3; not available on pve2");
    assert_eq!(answer["source"], "192.168.77.250:/export/pve");
    let protected = answer["backups"]["protected"].as_array().unwrap();
    assert!(protected[0].as_str().unwrap().starts_with("125 of "), "{protected:?}");
    assert!(answer["backups"].get("verified").is_none(), "an NFS server verifies nothing");
}

#[tokio::test]
async fn a_local_storage_is_shown_for_each_node_or_for_one() {
    let sim = demo().await;
    let all = answer(&sim, "get_storage_status", json!({ "storage": "local-zfs" })).await;
    assert_eq!(rows(&all["nodes"]).len(), 3);
    assert!(
        all.get("used").is_none() && all.get("trend").is_none(),
        "three disks have no one figure"
    );
    assert_eq!(row(&all["volumes"], "kind", &json!("images"))["count"], 15);
    let one =
        answer(&sim, "get_storage_status", json!({ "storage": "LOCAL-ZFS", "node": "pve3" })).await;
    assert_eq!(one["used"], "1.7 of 1.8 TiB (93.9%)");
    assert_eq!(one["trend"], "steady over 6d 23h");
    assert!(row(&one["volumes"], "kind", &json!("images"))["count"].as_u64() < Some(15));
}

#[tokio::test]
async fn the_backups_of_one_guest_can_be_asked_for_even_when_it_is_gone() {
    let sim = demo().await;
    let of = |vm: &str| json!({ "storage": "pbs", "vm": vm });
    let found = answer(&sim, "get_storage_status", of("gitlab")).await;
    assert_eq!((&found["backups"]["total"], &found["backups"]["guests"]), (&json!(14), &json!(1)));
    assert!(notes(&found).contains("only what belongs to 120"), "{found}");
    let none = answer(&sim, "get_storage_status", of("4711")).await;
    assert_eq!(none["backups"]["total"], 0);
    let unknown = "there is no VM or container 4711 that this token can see";
    assert!(notes(&none).contains(unknown), "{none}");
    assert!(!notes(&found).contains("there is no VM"), "{found}");
}

#[tokio::test]
async fn a_storage_that_is_dead_everywhere_is_not_asked_for_its_content() {
    let sim = demo().await;
    sim.change(|demo| {
        let nas = demo.storages.iter_mut().find(|storage| storage.name == "nas").unwrap();
        nas.dead_on = ["pve1", "pve2", "pve3"].map(str::to_owned).to_vec();
    });
    let answer = answer(&sim, "get_storage_status", json!({ "storage": "nas" })).await;
    assert_eq!(answer["state"], "not available");
    assert!(answer.get("used").is_none() && answer.get("backups").is_none(), "{answer}");
    assert!(notes(&answer).contains("no node could list its content"), "{answer}");
    assert!(sim.requests().iter().all(|seen| !seen.path.contains("/content")));
}

#[tokio::test]
async fn an_unknown_storage_is_told_with_those_that_exist() {
    let sim = demo().await;
    let told = failure(&sim, "get_storage_status", json!({ "storage": "pbz" })).await;
    assert!(told.contains("there is no storage `pbz`") && told.contains("`pbs`"), "{told}");
    let told = failure(&sim, "get_storage_status", json!({ "storage": "pbs/../x" })).await;
    assert!(told.contains("there is no storage"), "{told}");
}

#[tokio::test]
async fn q094_a_disabled_storage_is_a_state_and_not_a_failure() {
    let sim = demo().await;
    let disabled = answer(&sim, "get_storage_status", json!({ "storage": "old-nas" })).await;
    assert_eq!(disabled["state"], "disabled");
    assert!(sim.requests().iter().all(|seen| !seen.path.contains("/storage/old-nas")));
    // What PVE says on content costs the rest nothing.
    for text in [
        "storage 'pbs' is disabled",
        "storage 'pbs' is not available on node 'pve1'",
        "storage 'pbs' is not online",
    ] {
        sim.answer(refusing("/nodes/pve1/storage/pbs/content", 500, text));
        sim.answer(refusing("/nodes/pve2/storage/pbs/content", 500, text));
        let told = answer(&sim, "get_storage_status", json!({ "storage": "pbs" })).await;
        assert_eq!(told["used"], "6.0 of 16.0 TiB (37.5%)");
        assert!(told["not_available"].to_string().contains(text), "{told}");
    }
}

#[tokio::test]
async fn q095_no_backups_is_said_only_where_the_rights_suffice_to_know() {
    let sim = demo().await;
    let hidden = as_auditor(&sim, json!({ "storage": "pbs" })).await;
    assert!(hidden.get("backups").is_none() && hidden.get("volumes").is_none(), "{hidden}");
    let told = hidden["hidden"].to_string();
    assert!(told.contains("Datastore.AllocateSpace on /storage/pbs and VM.Backup"), "{told}");
    sim.answer(Rule::get("/nodes/pve1/storage/pbs/content").data(&json!([])));
    let empty = answer(&sim, "get_storage_status", json!({ "storage": "pbs" })).await;
    assert_eq!(empty["backups"]["total"], 0);
    assert_eq!(row(&empty["volumes"], "kind", &json!("backup"))["count"], 0);
    assert!(empty.get("hidden").is_none(), "{empty}");
}

#[tokio::test]
async fn q096_a_size_may_be_a_text() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/storage/nas/content").data(&json!([
        { "volid": "nas:iso/a.iso", "content": "iso", "format": "iso", "size": "358400", "ctime": 1_645_075_082 },
        { "volid": "nas:100/vm-100-disk-0.qcow2", "content": "images", "format": "qcow2", "size": 34_359_738_368_u64, "vmid": 100, "used": 1, "parent": null },
    ])));
    let answer = answer(&sim, "get_storage_status", json!({ "storage": "nas" })).await;
    assert_eq!(row(&answer["volumes"], "kind", &json!("iso"))["size"], "350.0 KiB");
    assert_eq!(row(&answer["volumes"], "kind", &json!("images"))["size"], "32.0 GiB");
}

#[tokio::test]
async fn what_guests_of_the_demo_have_on_a_storage_is_there() {
    let sim = demo().await;
    let crm = answer(&sim, "get_vm_details", json!({ "vm": "125" })).await;
    assert_eq!(row(&crm["disks"], "disk", &json!("scsi0"))["storage"], "nas");
    // Made before it was last started.
    let web = answer(&sim, "get_vm_details", json!({ "vm": "123" })).await;
    let ago =
        jiff::Timestamp::now().duration_since(web["created"].as_str().unwrap().parse().unwrap());
    assert!(ago.as_hours() > 24 * 12, "{web}");
    let nas = answer(&sim, "get_storage_status", json!({ "storage": "nas" })).await;
    assert_eq!(row(&nas["volumes"], "kind", &json!("images"))["count"], 2, "{nas}");
}
