//! Tests of `list_storage`.

use std::time::Duration;

use pve_sim::{
    Cluster, DEMO_AUDITOR_ID, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Rule, Sim, Storage,
};
use serde_json::{Value, json};

use crate::support::{
    answer, call_on, demo, failure, notes, row, rows, server, settings, structured,
};
use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;

/// The demo cluster, whose list of storages is this one.
async fn listing(storages: Value) -> Sim {
    let sim = demo().await;
    sim.answer(Rule::get("/cluster/resources?type=storage").data(&storages));
    sim.answer(Rule::get("/storage").data(&json!([])));
    sim
}

fn of(answer: &Value, storage: &str) -> Vec<Value> {
    rows(&answer["storages"]).into_iter().filter(|row| row["storage"] == storage).collect()
}

#[tokio::test]
async fn shared_storages_are_one_row_and_local_ones_a_row_for_each_node() {
    let sim = demo().await;
    let answer = answer(&sim, "list_storage", json!({})).await;
    assert_eq!(answer["total"], 5);
    let nas = row(&answer["storages"], "storage", &json!("nas"));
    assert_eq!(
        (&nas["type"], &nas["shared"], &nas["node"]),
        (&json!("nfs"), &json!("yes"), &json!("3 nodes"))
    );
    assert_eq!(nas["state"], "available on pve1, pve3; not available on pve2");
    assert_eq!(nas["content"], "backup,images,iso");
    assert_eq!(nas["used"], "11.4 of 12.0 TiB (94.9%)");
    let zfs = of(&answer, "local-zfs");
    assert_eq!(zfs.len(), 3);
    assert_eq!(
        (&zfs[2]["node"], &zfs[2]["used"]),
        (&json!("pve3"), &json!("1.7 of 1.8 TiB (93.9%)"))
    );
    assert!(answer["figures"].as_str().unwrap().contains("collected by PVE"));
    let mut seen: Vec<_> = sim.requests().into_iter().map(|seen| seen.path).collect();
    seen.sort();
    assert_eq!(seen, ["/cluster/resources?type=storage", "/nodes", "/storage"]);
}

#[tokio::test]
async fn disabled_unreached_and_on_a_node_that_is_off_are_told_apart() {
    let sim = demo().await;
    sim.change(|demo| {
        demo.node_mut("pve3").unwrap().online = false;
        demo.storages[0].total = 0;
        demo.storages[0].used = 0;
    });
    let answer = answer(&sim, "list_storage", json!({})).await;
    let old = row(&answer["storages"], "storage", &json!("old-nas"));
    assert_eq!(
        (&old["state"], &old["used"], &old["node"]),
        (&json!("disabled"), &Value::Null, &Value::Null)
    );
    let nas = row(&answer["storages"], "storage", &json!("nas"));
    assert_eq!(nas["state"], "available on pve1; not available on pve2; node offline on pve3");
    let local = of(&answer, "local");
    assert_eq!((&local[0]["state"], &local[0]["used"]), (&json!("available"), &Value::Null));
    assert_eq!((&local[2]["state"], &local[2]["used"]), (&json!("node offline"), &Value::Null));
    assert_eq!(answer["by_state"]["disabled"], 1);
    assert_eq!(answer["by_state"]["node offline"], 4);
}

#[tokio::test]
async fn every_filter_filters() {
    let sim = demo().await;
    for (filter, wanted) in [
        (json!({ "type": "NFS" }), vec!["nas", "old-nas"]),
        (json!({ "content": "backup" }), vec!["nas", "old-nas", "pbs"]),
        (json!({ "content": "rootdir", "node": "PVE1" }), vec!["local-zfs"]),
        (json!({ "node": "pve2", "type": "pbs" }), vec!["pbs"]),
    ] {
        let answer = answer(&sim, "list_storage", filter.clone()).await;
        let found: Vec<_> =
            rows(&answer["storages"]).iter().map(|row| row["storage"].clone()).collect();
        assert_eq!(json!(found), json!(wanted), "{filter}");
    }
    let told = failure(&sim, "list_storage", json!({ "node": "pve4" })).await;
    assert!(told.contains("there is no node `pve4`"), "{told}");
}

#[tokio::test]
async fn live_figures_come_from_the_nodes_and_a_node_that_fails_keeps_the_collected_ones() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/storage").data(&json!([
        { "storage": "local", "type": "dir", "content": "iso", "active": 1, "enabled": 1, "shared": 0, "total": 100, "used": 50, "avail": 50 },
        { "storage": "nas", "type": "nfs", "content": "backup", "active": 0, "enabled": 1, "shared": 1, "total": 0, "used": 0, "avail": 0 },
        { "storage": "pbs", "type": "pbs", "content": "backup", "active": 0, "enabled": 0, "shared": 1, "total": 0, "used": 0, "avail": 0 },
    ])));
    sim.answer(Rule::get("/nodes/pve3/storage").status(596, "Connection timed out"));
    let answer = answer(&sim, "list_storage", json!({ "live": true })).await;
    assert_eq!(answer["figures"], "live from pve1, pve2");
    assert_eq!(of(&answer, "local")[0]["used"], "50 of 100 B (50.0%)");
    let nas = row(&answer["storages"], "storage", &json!("nas"));
    assert_eq!(nas["state"], "available on pve3; not available on pve1, pve2");
    assert!(
        notes(&answer).contains("figures of pve3 are those that PVE has collected"),
        "{answer}"
    );
    assert!(row(&answer["storages"], "storage", &json!("pbs"))["state"] == "available", "{answer}");
}

#[tokio::test]
async fn many_nodes_are_added_up_and_the_fullest_are_named() {
    let cluster = Cluster::generated(64, 10, 3);
    let sim = Sim::start(cluster).await.unwrap();
    let reader = Reader::new(settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET));
    let result = call_on(server(Access::new(Level::Read, reader)), "list_storage", json!({})).await;
    let answer = structured(&result);
    assert_eq!((answer["total"].clone(), rows(&answer["storages"]).len()), (json!(4), 4));
    let thin = row(&answer["storages"], "storage", &json!("local-lvm"));
    assert_eq!((&thin["node"], &thin["state"]), (&json!("64 nodes"), &json!("available")));
    assert!(thin["used"].as_str().unwrap().contains("of 218.8 TiB"), "{thin}");
    let worth = rows(&answer["worth_a_look"]);
    assert_eq!(worth.len(), 5, "above 85%");
    assert!(worth[0]["used"].as_str().unwrap().contains("(9"), "{worth:?}");
    assert!(notes(&answer).contains("added up"), "{answer}");
    assert!(result.structured_content.unwrap().to_string().len() < 5000);
}

#[tokio::test]
async fn eight_dead_storages_and_nodes_that_hang_hold_nothing_up() {
    let mut cluster = Cluster::generated(6, 10, 3);
    for nth in 0..8 {
        let mut dead = Storage::new(&format!("dead{nth}"), "nfs", &["backup"]);
        dead.shared = true;
        dead.dead_on = cluster.nodes.iter().map(|node| node.name.clone()).collect();
        cluster.storages.push(dead);
    }
    let sim = Sim::start(cluster).await.unwrap();
    sim.answer(Rule::under("/nodes/pve0").hang());
    let reader = Reader::new(settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET));
    let began = std::time::Instant::now();
    let result = call_on(server(Access::new(Level::Read, reader)), "list_storage", json!({})).await;
    let answer = structured(&result);
    assert_eq!(answer["by_state"]["not available"], 48);
    assert_eq!(row(&answer["storages"], "storage", &json!("dead3"))["state"], "not available");
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(sim.requests().len(), 3, "no node was asked");
}

#[tokio::test]
async fn an_auditor_sees_the_same() {
    let sim = demo().await;
    let reader = Reader::new(settings(&sim, DEMO_AUDITOR_ID, pve_sim::DEMO_TOKEN_SECRET));
    let result = call_on(server(Access::new(Level::Read, reader)), "list_storage", json!({})).await;
    assert_eq!(structured(&result)["total"], 5);
}

#[tokio::test]
async fn q087_zeros_of_a_storage_that_is_not_reached_are_not_its_use() {
    let sim = demo().await;
    sim.answer(Rule::get("/nodes/pve1/storage").data(&json!([
        { "storage": "nas", "type": "nfs", "content": "images,backup", "active": 0, "enabled": 1, "shared": 1, "total": 0, "used": 0, "avail": 0 },
        { "storage": "local", "type": "dir", "content": "iso,vztmpl", "active": 1, "enabled": 1, "shared": 0, "total": 100_000_000_000_u64, "used": 40_000_000_000_u64, "avail": 60_000_000_000_u64, "used_fraction": 0.4 },
    ])));
    let answer = answer(&sim, "list_storage", json!({ "live": true, "node": "pve1" })).await;
    let nas = row(&answer["storages"], "storage", &json!("nas"));
    assert_eq!((&nas["state"], &nas["used"]), (&json!("not available"), &Value::Null));
    let local = row(&answer["storages"], "storage", &json!("local"));
    assert_eq!(local["used"], "37.3 of 93.1 GiB (40.0%)");
}

#[tokio::test]
async fn q089_a_storage_without_figures_is_of_unknown_size() {
    let sim = listing(json!([
        { "id": "storage/pve1/nfs1", "storage": "nfs1", "node": "pve1", "type": "storage", "plugintype": "nfs", "status": "unknown", "shared": 1, "content": "backup,images" },
    ]))
    .await;
    let answer = answer(&sim, "list_storage", json!({})).await;
    let nfs = row(&answer["storages"], "storage", &json!("nfs1"));
    assert_eq!((&nfs["state"], &nfs["used"]), (&json!("not available"), &Value::Null));
}

#[tokio::test]
async fn q090_a_shared_storage_is_counted_once() {
    let on = |node: &str| json!({ "id": format!("storage/{node}/ceph"), "storage": "ceph", "node": node, "type": "storage", "plugintype": "rbd", "status": "available", "shared": 1, "content": "images", "disk": 100, "maxdisk": 1000 });
    let sim = listing(json!([on("pve1"), on("pve2")])).await;
    let answer = answer(&sim, "list_storage", json!({})).await;
    assert_eq!(answer["total"], 1);
    let found = rows(&answer["storages"]);
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["used"], &found[0]["node"]),
        (&json!("100 of 1000 B (10.0%)"), &json!("2 nodes"))
    );
}

#[tokio::test]
async fn q091_the_same_name_on_two_nodes_is_two_storages_unless_shared() {
    let on = |node: &str, disk: u64, size: u64| json!({ "id": format!("storage/{node}/data"), "storage": "data", "node": node, "type": "storage", "plugintype": "zfspool", "status": "available", "shared": 0, "content": "images,rootdir", "disk": disk, "maxdisk": size });
    let sim = listing(json!([
        on("pve1", 1 << 30, 289_000_000_000),
        on("pve2", 1 << 31, 1_760_000_000_000)
    ]))
    .await;
    let answer = answer(&sim, "list_storage", json!({})).await;
    let found = rows(&answer["storages"]);
    let used: Vec<_> = found.iter().map(|row| row["used"].as_str().unwrap()).collect();
    assert_eq!(used, ["1.0 of 269.2 GiB (0.4%)", "2.0 GiB of 1.6 TiB (0.1%)"]);
}

#[tokio::test]
async fn q149_an_empty_list_is_not_called_a_node_without_storage() {
    let sim = listing(json!([])).await;
    let answer = answer(&sim, "list_storage", json!({})).await;
    assert_eq!(answer["total"], 0);
    assert!(
        notes(&answer).contains("Datastore.Audit") && notes(&answer).contains("get_access"),
        "{answer}"
    );
    let told = failure(&sim, "get_storage_status", json!({ "storage": "local" })).await;
    assert!(told.contains("Datastore.Audit"), "{told}");
}

#[tokio::test]
async fn a_type_and_a_content_that_no_storage_has_are_said_to_be_none() {
    let sim = demo().await;
    for (filter, wanted) in [
        (json!({ "type": "nfss" }), "no storage has the type `nfss`, but dir, nfs, pbs, zfspool"),
        (json!({ "content": "foo" }), "no storage has the content `foo`, but backup, "),
    ] {
        let answer = answer(&sim, "list_storage", filter).await;
        assert!(notes(&answer).contains(wanted), "{answer}");
    }
    let nfs = answer(&sim, "list_storage", json!({ "type": "NFS" })).await;
    assert!(!notes(&nfs).contains("no storage has"), "{nfs}");
}
