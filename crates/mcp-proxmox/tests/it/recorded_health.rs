//! `get_cluster_health` on every recorded state of a real Proxmox VE 9.2.11, with tokens of different
//! rights. What was never recorded is refused with 501, and must then be named as not looked at.

use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{RecordedState, Recordings, Sim};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};

use crate::support::{call_on, failed, rows, server, settings, structured};

const ROOT: &str = "root@pam!lab";

async fn call(state: RecordedState, token: &str) -> CallToolResult {
    let sim = Sim::replay(Recordings::of(state)).await.unwrap();
    let reader = Reader::new(settings(&sim, token, "any"));
    call_on(server(Access::new(Level::Read, reader)), "get_cluster_health", json!({})).await
}

/// The answer, its findings and what was not looked at as one text each.
async fn health(state: RecordedState, token: &str) -> (Value, String, String) {
    let answer = structured(&call(state, token).await);
    let found = match &answer["findings"] {
        Value::Null => Vec::new(),
        table => rows(table),
    };
    let found = found
        .iter()
        .map(|row| format!("{} {} [{}]", row["severity"], row["finding"], row["evidence"]));
    let found = found.collect::<Vec<_>>().join("\n").replace('"', "");
    let missed = answer["not_checked"].as_array().cloned().unwrap_or_default();
    let missed = missed.iter().map(|line| line.as_str().unwrap().to_owned());
    let missed = missed.collect::<Vec<_>>().join("\n");
    (answer, found, missed)
}

#[tokio::test]
async fn with_one_node_off_that_node_its_guest_and_the_dead_nas_are_told() {
    for token in [ROOT, "monitor@pve!ro", "ops@pve!rw"] {
        let (answer, found, missed) = health(RecordedState::Normal, token).await;
        assert!(
            found.contains(
                "critical 1 node is offline: pve2 [1 guest is in an unknown state there: 110]"
            ),
            "{token}: {found}"
        );
        assert!(
            found.contains("critical storage nas is not available on any node that is online"),
            "{found}"
        );
        let locks = "2 guests are locked, and no task works there: 105 `locked-vm` (backup), 204 `ct-locked` (snapshot)";
        assert!(found.contains(locks), "{token}: {found}");
        assert!(
            !found.contains("storage pve2only") && !found.contains("storage olddisk"),
            "{found}"
        );
        assert!(
            found.contains("if one more goes")
                && found.contains("2 of 3 votes are there, 2 are needed"),
            "{found}"
        );
        let checked = answer["checked"].as_str().unwrap();
        for what in [
            "quorum",
            "2 nodes",
            "HA (manages nothing)",
            "15 guests",
            "memory",
            "services",
            "certificates",
            "versions",
        ] {
            assert!(checked.contains(what), "{token}: {what} is not in {checked}");
        }
        assert!(!checked.contains("Ceph"), "it is not installed");
        // Never recorded, so that nothing is known of it.
        assert!(missed.contains("backup jobs"), "{missed}");
    }
}

#[tokio::test]
async fn with_both_nodes_up_no_node_is_missed() {
    let (answer, found, _) = health(RecordedState::Remote, ROOT).await;
    assert!(!found.contains("offline") && !found.contains("quorum"), "{found}");
    assert!(answer["checked"].as_str().unwrap().contains("quorum (3 of 3 votes); 2 nodes"));
}

#[tokio::test]
async fn without_quorum_that_is_the_first_thing_said() {
    let (_, found, _) = health(RecordedState::NoQuorum, ROOT).await;
    let first = found.lines().next().unwrap();
    assert!(first.starts_with("critical the cluster has no quorum"), "{found}");
}

#[tokio::test]
async fn with_pvedaemon_down_it_is_told_and_what_it_would_have_said_is_missed() {
    let (answer, found, missed) = health(RecordedState::PvedaemonDown, ROOT).await;
    assert!(found.contains("critical the API daemon pvedaemon does not answer on pve1"), "{found}");
    assert!(missed.contains("services") && missed.contains("595"), "{missed}");
    assert!(!answer["checked"].as_str().unwrap().contains("services"));
    assert!(answer["summary"].as_str().unwrap().contains("some could not be checked"));
}

#[tokio::test]
async fn with_pmxcfs_down_there_is_nothing_to_judge() {
    let told = failed(&call(RecordedState::PmxcfsDown, ROOT).await);
    assert!(told.contains("cluster file system"), "{told}");
}

#[tokio::test]
async fn a_paused_vm_is_found_behind_the_list() {
    let (_, found, _) = health(RecordedState::Paused, ROOT).await;
    assert!(found.contains("notice 1 VM is paused: 107 `noguestos`"), "{found}");
}

#[tokio::test]
async fn tokens_that_see_nothing_are_never_told_that_nothing_is_wrong() {
    for state in [RecordedState::Normal, RecordedState::Remote, RecordedState::PvedaemonDown] {
        for token in ["nopriv@pve!none", "root@pam!sep", "ops@pve!sepnone"] {
            let (answer, _, missed) = health(state, token).await;
            assert!(answer["summary"].as_str().unwrap().contains("some could not"), "{answer:#}");
            for what in ["quorum", "HA", "guests beyond", "storages", "backup jobs", "memory"] {
                assert!(missed.contains(what), "{token} in {state:?}: {what} is not in\n{missed}");
            }
            for privilege in ["Sys.Audit on /", "VM.Audit on /vms", "Datastore.Audit"] {
                assert!(missed.contains(privilege), "{token}: {privilege} is not in\n{missed}");
            }
            let checked = answer["checked"].as_str().unwrap();
            assert!(!checked.contains("quorum") && !checked.contains("storage"), "{checked}");
        }
    }
}

#[tokio::test]
async fn a_token_for_one_node_judges_that_one() {
    let (answer, _, missed) = health(RecordedState::Normal, "ops@pve!sep").await;
    let checked = answer["checked"].as_str().unwrap();
    assert!(checked.contains("services") && checked.contains("memory"), "{checked}");
    assert!(missed.contains("guests beyond the 1 that are seen"), "{missed}");
    assert!(missed.contains("quorum") && missed.contains("Sys.Audit on /"), "{missed}");
}
