//! Tests of `get_access`, and of what `check` says of the same.

use std::sync::Arc;

use jiff::tz::TimeZone;
use mcp_proxmox::{
    catalog::{self, Catalog},
    config::{Confirm, Output},
    policy::Policy,
    server::Server,
    tier::{Access, Level},
};
use pve_client::Reader;
use pve_sim::{
    Cluster, DEMO_AUDITOR_ID, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, LAB_SECRET, Role, Rule, Sim,
};
use serde_json::{Value, json};

use crate::{
    owner,
    process::{program_for, run},
    support::{answer, call_on, demo, notes, row, rows, server, settings, structured},
};

async fn as_token(sim: &Sim, token: &str, secret: &str) -> Value {
    let reader = Reader::new(settings(sim, token, secret));
    let server = server(Access::new(Level::Read, reader));
    structured(&call_on(server, "get_access", json!({})).await)
}

fn mending(answer: &Value) -> String {
    let lines = answer["to_mend"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn root_sees_everything_and_there_is_nothing_to_mend() {
    let answer = answer(&demo().await, "get_access", json!({})).await;
    assert_eq!((&answer["user"], &answer["token"]), (&json!("root@pam"), &json!("demo")));
    assert_eq!((&answer["tier"], &answer["pve_version"]), (&json!("read"), &json!("9.2.11")));
    assert!(answer["may_change"].as_str().unwrap().starts_with("nothing: the access tier is read"));
    assert!(rows(&answer["sees"]).iter().all(|row| row["seen"] == "all"), "{answer}");
    assert_eq!(
        rows(&answer["privileges"]),
        [json!({ "path": "/", "privileges": "everything (47 privileges)" })]
    );
    assert!(answer.get("to_mend").is_none() && answer.get("notes").is_none(), "{answer}");
}

#[tokio::test]
async fn an_auditor_is_told_that_backups_are_hidden_and_how_to_see_them() {
    let answer = as_token(&demo().await, DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET).await;
    let backups = row(&answer["sees"], "what", &json!("backups"));
    assert_eq!(backups["seen"], "nothing");
    assert!(backups["tools that show less"].as_str().unwrap().contains("get_storage_status"));
    assert!(backups["missing"].as_str().unwrap().contains("VM.Backup on /vms"), "{backups}");
    assert_eq!(row(&answer["sees"], "what", &json!("storages"))["seen"], "all");
    let lines = mending(&answer);
    assert!(
        lines.contains("pveum role add MCPBackup --privs 'Datastore.AllocateSpace VM.Backup'"),
        "{lines}"
    );
    assert!(
        lines.contains(
            "pveum acl modify / --users 'monitor@pve' --tokens 'monitor@pve!demo' --roles MCPBackup"
        ),
        "{lines}"
    );
    let privileges = rows(&answer["privileges"]);
    assert!(
        privileges[0]["privileges"].as_str().unwrap().starts_with("PVEAuditor ("),
        "{privileges:?}"
    );
}

#[tokio::test]
async fn a_token_with_rights_of_its_own_on_one_guest_and_one_node_is_told_so() {
    let sim = Sim::start(Cluster::lab()).await.unwrap();
    let answer = as_token(&sim, "ops@pve!sep", LAB_SECRET).await;
    assert_eq!(row(&answer["sees"], "what", &json!("VMs and containers"))["seen"], "only /vms/100");
    assert_eq!(row(&answer["sees"], "what", &json!("storages"))["seen"], "nothing");
    let paths: Vec<_> = rows(&answer["privileges"]).iter().map(|row| row["path"].clone()).collect();
    assert_eq!(json!(paths), json!(["/nodes/pve1", "/vms/100"]));
    assert!(mending(&answer).contains("--roles PVEAuditor"), "{answer}");
    let none = as_token(&sim, "nopriv@pve!none", LAB_SECRET).await;
    assert!(notes(&none).contains("no privilege at all"), "{none}");
    assert!(
        rows(&none["sees"]).iter().all(
            |row| row["seen"] == "nothing" || row["seen"] == "the cluster as a whole is hidden"
        ),
        "{none}"
    );
}

/// What is still not seen as a whole, but for what nothing mends.
fn still_missing(answer: &Value) -> Vec<Value> {
    let sees = rows(&answer["sees"]);
    sees.into_iter()
        .filter(|row| row["what"] != "pending updates" && row["seen"] != "all")
        .collect()
}

#[tokio::test]
async fn the_lines_that_are_told_mend_what_is_missing_when_they_are_typed() {
    for (cluster, token, secret) in [
        (Cluster::demo(), DEMO_AUDITOR_ID, DEMO_TOKEN_SECRET),
        (Cluster::lab(), "nopriv@pve!none", LAB_SECRET),
        (Cluster::lab(), "ops@pve!sepnone", LAB_SECRET),
    ] {
        let sim = &Sim::start(cluster).await.unwrap();
        let before = as_token(sim, token, secret).await;
        assert!(!still_missing(&before).is_empty(), "{token}");
        assert!(!notes(&before).contains("path below /"), "{token}: {before}");
        owner::types(sim, &mending(&before));
        let after = as_token(sim, token, secret).await;
        assert_eq!(still_missing(&after), Vec::<Value>::new(), "{token}: {before}");
        assert!(after.get("to_mend").is_none(), "{token}: {after}");
    }
}

#[tokio::test]
async fn where_an_entry_on_a_deeper_path_hides_what_is_given_above_it_is_given_there_too() {
    let lab = Sim::start(Cluster::lab()).await.unwrap();
    let token = "ops@pve!sep";
    let before = as_token(&lab, token, LAB_SECRET).await;
    let lines = mending(&before);
    let told = notes(&before);
    assert!(told.contains("on /nodes/pve1, /vms/100 name every other role too"), "{told}");
    assert!(told.contains("replaces what its groups have"), "{told}");
    let above: Vec<_> = lines
        .lines()
        .filter(|line| !line.contains("/nodes/pve1") && !line.contains("/vms/100"))
        .collect();
    owner::types(&lab, &above.join("\n"));
    let half = as_token(&lab, token, LAB_SECRET).await;
    assert!(
        !still_missing(&half).is_empty(),
        "an entry on /vms/100 hides nothing any more: {half}"
    );
    let lab = Sim::start(Cluster::lab()).await.unwrap();
    owner::types(&lab, &lines);
    let after = as_token(&lab, token, LAB_SECRET).await;
    assert_eq!(still_missing(&after), Vec::<Value>::new(), "{before}");
}

#[tokio::test]
async fn the_tier_and_the_sets_of_guests_are_told() {
    let sim = demo().await;
    let reader = Reader::new(settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
    let catalog = Catalog::new(catalog::ALL, Level::Write, |_| true);
    let access = Access::new(Level::Write, reader);
    let allow = "100-199,tag:ai".parse().ok();
    let protect = "105,pool:core".parse().unwrap();
    let policy = Policy::new(allow, protect, Confirm::default(), None);
    let server = Server::new(access, catalog, Output::Both, TimeZone::UTC).under(Arc::new(policy));
    let answer = structured(&call_on(server, "get_access", json!({})).await);
    assert_eq!(answer["tier"], "write");
    assert_eq!(
        answer["may_change"],
        "only PVE_ALLOW_VMS=100-199,tag:ai, but never PVE_PROTECT_VMS=105,pool:core"
    );
}

#[tokio::test]
async fn what_it_asks_for_is_little_and_a_version_that_fails_costs_nothing_else() {
    let sim = demo().await;
    sim.answer(Rule::get("/version").status(596, "Connection timed out"));
    let answer = answer(&sim, "get_access", json!({})).await;
    assert!(answer.get("pve_version").is_none() && notes(&answer).contains("596"), "{answer}");
    assert!(sim.requests().len() <= 3, "{:?}", sim.requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn check_says_the_privileges_path_by_path_and_the_command_that_mends_them() {
    let mut cluster = Cluster::of_nodes(Some("lab"), &["pve1"]);
    cluster.guests = vec![Guest::vm(100, "pve1", "app1").running(100)];
    cluster
        .separated_token("svc@pve!tool", "secret")
        .grant("/vms/100", "svc@pve", Role::auditor())
        .grant("/vms/100", "svc@pve!tool", Role::auditor())
        .grant("/storage", "svc@pve", Role::new("Stores", &["Datastore.Audit"]))
        .grant("/storage", "svc@pve!tool", Role::new("Stores", &["Datastore.Audit"]));
    let sim = Sim::start(cluster).await.unwrap();
    let mut command = program_for(&sim, "svc@pve!tool", "secret");
    let (code, told, _) = tokio::task::block_in_place(|| run(command.arg("check")));
    assert_eq!(code, 1, "it sees no node: {told}");
    for line in [
        "            /storage: Datastore.Audit\n",
        "            /vms/100: PVEAuditor (Datastore.Audit, ",
        "sees        only /vms/100 of VMs and containers: get_cluster_health, list_vms, ",
        "will show less than everything; needs VM.Audit on /vms\n",
        "sees        nothing of nodes, quorum and the tasks of others: get_cluster_health, list_nodes, ",
        "sees        all of storages\n",
        "      pveum acl modify / --users 'svc@pve' --tokens 'svc@pve!tool' --roles PVEAuditor\n",
        "      pveum acl modify /vms/100 --users 'svc@pve' --tokens 'svc@pve!tool' --roles PVEAuditor,MCPConsole,MCPBackup\n",
        "      what is given on a path below / takes the place there of what is given above it: on /storage, /vms/100 name every other",
    ] {
        assert!(told.contains(line), "`{line}` is missing: {told}");
    }
}
