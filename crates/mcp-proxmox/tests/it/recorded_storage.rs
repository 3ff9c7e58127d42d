//! The tools for storages, histories and access, on answers recorded from a real server.

use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{LAB_SECRET, RecordedState, Recordings, Sim};
use serde_json::{Value, json};

use crate::support::{call_on, failed, notes, row, rows, server, settings, structured, text};

const ROOT: &str = "root@pam!lab";

async fn call_in(
    state: RecordedState,
    token: &str,
    tool: &'static str,
    arguments: Value,
) -> rmcp::model::CallToolResult {
    let sim = Sim::replay(Recordings::of(state)).await.unwrap();
    let reader = Reader::new(settings(&sim, token, LAB_SECRET));
    call_on(server(Access::new(Level::Read, reader)), tool, arguments).await
}

async fn answer_as(token: &str, tool: &'static str, arguments: Value) -> Value {
    structured(&call_in(RecordedState::Normal, token, tool, arguments).await)
}

#[tokio::test]
async fn storages_are_listed_with_those_that_are_off_dead_or_elsewhere() {
    for token in [ROOT, "monitor@pve!ro", "ops@pve!rw"] {
        let answer = answer_as(token, "list_storage", json!({})).await;
        assert_eq!(answer["total"], 5, "{token}");
        let nas = row(&answer["storages"], "storage", &json!("nas"));
        assert_eq!(nas["state"], "not available on pve1; node offline on pve2");
        assert_eq!((&nas["used"], &nas["content"]), (&Value::Null, &json!("backup,images")));
        let old = row(&answer["storages"], "storage", &json!("olddisk"));
        assert_eq!(old["state"], "disabled");
        let elsewhere = row(&answer["storages"], "storage", &json!("pve2only"));
        assert_eq!(
            (&elsewhere["state"], &elsewhere["node"]),
            (&json!("node offline"), &json!("pve2"))
        );
        let local: Vec<Value> =
            rows(&answer["storages"]).into_iter().filter(|row| row["storage"] == "local").collect();
        assert_eq!(local.len(), 2);
        assert_eq!(local[0]["used"], "28.9 of 252.0 GiB (11.5%)");
        assert!(local[1]["used"].is_null());
    }
}

#[tokio::test]
async fn tokens_that_see_no_storage_are_told_what_is_missing() {
    for token in ["nopriv@pve!none", "ops@pve!sep", "ops@pve!sepnone", "root@pam!sep"] {
        let answer = answer_as(token, "list_storage", json!({})).await;
        assert_eq!(answer["total"], 0, "{token}");
        assert!(notes(&answer).contains("Datastore.Audit"), "{token}: {answer}");
    }
}

#[tokio::test]
async fn live_figures_of_a_node_do_not_make_a_dead_storage_empty() {
    let answer = answer_as(ROOT, "list_storage", json!({ "live": true, "node": "pve1" })).await;
    assert_eq!(answer["figures"], "live from pve1");
    let nas = row(&answer["storages"], "storage", &json!("nas"));
    assert_eq!((&nas["state"], &nas["used"]), (&json!("not available"), &Value::Null));
}

#[tokio::test]
async fn one_storage_is_read_with_its_backups_and_its_growth() {
    let ask = json!({ "storage": "local", "node": "pve1" });
    let answer = answer_as(ROOT, "get_storage_status", ask).await;
    assert_eq!((&answer["state"], &answer["source"]), (&json!("available"), &json!("/var/lib/vz")));
    assert_eq!(answer["used"], "28.9 of 252.0 GiB (11.5%)");
    assert_eq!(answer["backups"]["total"], 2);
    let newest = rows(&answer["newest_backups"]);
    assert_eq!((&newest[0]["vmid"], &newest[0]["size"]), (&json!(201), &json!("32.6 MiB")));
    assert_eq!(newest[0]["time"], "2026-11-30T06:23:37+00:00");
    assert!(answer["trend"].as_str().unwrap().contains("a day over"), "{answer}");
}

#[tokio::test]
async fn a_dead_a_disabled_and_an_absent_storage_are_told_apart() {
    let nas = answer_as(ROOT, "get_storage_status", json!({ "storage": "nas" })).await;
    assert_eq!(nas["state"], "not available on pve1; node offline on pve2");
    assert!(nas.get("used").is_none() && nas.get("volumes").is_none(), "{nas}");
    let old = answer_as(ROOT, "get_storage_status", json!({ "storage": "olddisk" })).await;
    assert_eq!(old["state"], "disabled");
    let none =
        call_in(RecordedState::Normal, ROOT, "get_storage_status", json!({ "storage": "nope" }))
            .await;
    assert!(failed(&none).contains("there is no storage `nope`"));
}

#[tokio::test]
async fn histories_of_a_node_a_vm_a_container_and_a_storage_are_read() {
    for (arguments, series, of) in [
        (json!({ "node": "pve1" }), "memory", "23.5 GiB"),
        (json!({ "vm": "100" }), "memory", "256.0 MiB"),
        (json!({ "vm": "ct-web" }), "disk", "252.0 GiB"),
        (json!({ "storage": "local", "node": "pve1" }), "used", "252.0 GiB"),
    ] {
        let answer = answer_as(ROOT, "get_metrics", arguments).await;
        let found = row(&answer["series"], "series", &json!(series));
        assert_eq!(found["of"], of, "{answer}");
        assert_eq!(answer["resolution"], "1m");
    }
    let result =
        call_in(RecordedState::Normal, ROOT, "get_metrics_chart", json!({ "vm": "100" })).await;
    assert!(text(&result).starts_with("VM 100 (`web01`) on pve1, last hour"), "{}", text(&result));
    assert_eq!(result.content.len(), 2);
}

#[tokio::test]
async fn a_node_of_which_nothing_was_kept_has_gaps_and_no_zeros() {
    let answer = structured(
        &call_in(RecordedState::Remote, ROOT, "get_metrics", json!({ "node": "pve2" })).await,
    );
    assert_eq!(answer["gaps"], "nothing is known of this time");
    assert!(rows(&answer["series"]).is_empty(), "{answer}");
    for token in ["nopriv@pve!none", "ops@pve!sepnone"] {
        let told = failed(
            &call_in(RecordedState::Normal, token, "get_metrics", json!({ "node": "pve1" })).await,
        );
        assert!(told.contains("Sys.Audit on /nodes/pve1"), "{told}");
    }
}

#[tokio::test]
async fn access_is_told_as_it_was_recorded() {
    for (token, guests, storages) in [
        (ROOT, "all", "all"),
        ("monitor@pve!ro", "all", "all"),
        ("ops@pve!rw", "all", "all"),
        ("ops@pve!sep", "only /vms/100", "nothing"),
        ("nopriv@pve!none", "nothing", "nothing"),
        ("root@pam!sep", "nothing", "nothing"),
    ] {
        let answer = answer_as(token, "get_access", json!({})).await;
        let seen = |what: &str| row(&answer["sees"], "what", &json!(what))["seen"].clone();
        assert_eq!(
            (seen("VMs and containers"), seen("storages")),
            (json!(guests), json!(storages)),
            "{token}"
        );
    }
    let ro = answer_as("monitor@pve!ro", "get_access", json!({})).await;
    assert!(rows(&ro["privileges"])[0]["privileges"].as_str().unwrap().starts_with("PVEAuditor ("));
}

#[tokio::test]
async fn with_pmxcfs_down_each_of_them_says_so() {
    for (tool, arguments) in [
        ("list_storage", json!({})),
        ("get_storage_status", json!({ "storage": "local" })),
        ("get_metrics", json!({ "node": "pve1" })),
        ("get_access", json!({})),
    ] {
        let told = failed(&call_in(RecordedState::PmxcfsDown, ROOT, tool, arguments).await);
        assert!(told.contains("cluster file system"), "{tool}: {told}");
    }
}
