//! Every tool that starts or stops guests on a guest in every state: sent, there already, or refused and why. One
//! table for all of them, so that a state without an answer is seen.

use mcp_proxmox::{config::Confirm, policy::Policy};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Guest, Rule, Sim, State, Task};
use rmcp::model::CallToolResult;
use serde_json::json;

use crate::{
    faults::world::call,
    power::{posts, write_server_with},
    support::{connect, failed, structured},
};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    /// It is sent.
    Sent,
    /// Nothing is sent, since it is so already.
    Already,
    /// Nothing is sent, for this reason.
    Refused(&'static str),
}

use Is::{Already, Refused, Sent};

/// The columns of the table: the tool, what is sent, and what with it.
const COLUMNS: [(&str, &str, &str); 8] = [
    ("start_vm", "start", ""),
    ("shutdown_vm", "shutdown", "timeout=60"),
    ("reboot_vm", "reboot", "timeout=60"),
    ("stop_vm", "stop", ""),
    ("reset_vm", "reset", ""),
    ("suspend_vm", "suspend", ""),
    ("suspend_vm", "suspend", "todisk=1"),
    ("resume_vm", "resume", ""),
];

type Row = (&'static str, fn(&mut Cluster), [Is; 8]);

const STOPPED: Is = Refused("is stopped");
const HIBERNATED: Is = Refused("is hibernated");
const PAUSED: Is = Refused("is paused, so it cannot");
const BACKUP: Is = Refused("that PVE started to back it up");
const FROZEN: Is = Refused("waits at its beginning (prelaunch)");
const IO_ERROR: Is = Refused("stopped by QEMU on an I/O error");
const INTERNAL: Is = Refused("is in the state `internal-error`");
const TEMPLATE: Is = Refused("is a template");
const OFFLINE: Is = Refused("offline");
const BY_MIGRATION: Is = Refused("is locked (migrate) by qmigrate of root@pam since 20");
const BY_BACKUP: Is = Refused("is locked (backup) by vzdump of root@pam since 20");
const BY_SNAPSHOT: Is = Refused("is locked (snapshot) by qmsnapshot of root@pam since 20");
const OF_CT: Is = Refused("is locked (snapshot) by vzsnapshot of root@pam since 20");
const HA_ERROR: Is = Refused("in HA state `error`");
const NO_QUORUM: Is = Refused("the cluster has no quorum");
const NO_RESET: Is = Refused("containers have no reset");
const NO_CRIU: Is = Refused("PVE cannot suspend containers");

/// VM 100, in each of its states.
#[rustfmt::skip]
const VM: &[Row] = &[
    // state                         start      shutdown  reboot      stop      reset       pause       hibernate   resume
    ("running", |_| {},             [Already,   Sent,     Sent,       Sent,     Sent,       Sent,       Sent,       Already]),
    ("stopped", |lab| put(lab, State::Stopped, None),
                                    [Sent,      Already,  STOPPED,    Already,  STOPPED,    STOPPED,    STOPPED,    STOPPED]),
    ("paused", |lab| put(lab, State::Paused, None),
                                    [Refused("is paused, not stopped"), PAUSED, PAUSED, Sent, Sent, Already, PAUSED, Sent]),
    ("hibernated", |lab| put(lab, State::Stopped, Some("suspended")),
                                    [Sent,      Already,  HIBERNATED, Already,  HIBERNATED, HIBERNATED, Already,    Sent]),
    ("stopped, under backup", |lab| put(lab, State::Prelaunch, Some("backup")),
                                    [BACKUP,    BACKUP,   BACKUP,     BACKUP,   BACKUP,     BACKUP,     BACKUP,     BACKUP]),
    ("reset while paused", |lab| put(lab, State::Prelaunch, None),
                                    [FROZEN,    FROZEN,   FROZEN,     Sent,     Sent,       FROZEN,     FROZEN,     Sent]),
    ("io-error", |lab| put(lab, State::IoError, None),
                                    [IO_ERROR,  IO_ERROR, IO_ERROR,   Sent,     Sent,       IO_ERROR,   IO_ERROR,   Sent]),
    ("internal-error", |_| {},      [INTERNAL,  INTERNAL, INTERNAL,   Sent,     Sent,       INTERNAL,   INTERNAL,   INTERNAL]),
    ("template", |lab| { put(lab, State::Stopped, None); guest(lab).template = true; },
                                    [TEMPLATE,  TEMPLATE, TEMPLATE,   TEMPLATE, TEMPLATE,   TEMPLATE,   TEMPLATE,   TEMPLATE]),
    ("locked by a migration", |lab| locked(lab, State::Running, "migrate", "qmigrate"),
                                    [Already,   BY_MIGRATION, BY_MIGRATION, BY_MIGRATION, BY_MIGRATION, BY_MIGRATION, BY_MIGRATION, Already]),
    ("locked by a backup", |lab| locked(lab, State::Running, "backup", "vzdump"),
                                    [Already,   BY_BACKUP, BY_BACKUP, BY_BACKUP, BY_BACKUP, BY_BACKUP,  BY_BACKUP,  Already]),
    ("locked by a snapshot", |lab| locked(lab, State::Running, "snapshot", "qmsnapshot"),
                                    [Already,   BY_SNAPSHOT, BY_SNAPSHOT, BY_SNAPSHOT, BY_SNAPSHOT, BY_SNAPSHOT, BY_SNAPSHOT, Already]),
    ("stopped, locked by a migration", |lab| locked(lab, State::Stopped, "migrate", "qmigrate"),
                                    [BY_MIGRATION, Already, STOPPED,  Already,  STOPPED,    STOPPED,    STOPPED,    STOPPED]),
    ("paused, locked by a snapshot", |lab| locked(lab, State::Paused, "snapshot", "qmsnapshot"),
                                    [Refused("is paused, not stopped"), PAUSED, PAUSED, BY_SNAPSHOT, BY_SNAPSHOT, Already, PAUSED, BY_SNAPSHOT]),
    ("on a node that is off", |lab| lab.node_mut("pve1").unwrap().online = false,
                                    [OFFLINE,   OFFLINE,  OFFLINE,    OFFLINE,  OFFLINE,    OFFLINE,    OFFLINE,    OFFLINE]),
    ("given up by the HA manager", |lab| guest(lab).ha = Some("error".to_owned()),
                                    [Already,   HA_ERROR, Sent,       HA_ERROR, Sent,       Sent,       Sent,       Already]),
    ("running, without quorum", |lab| lab.quorate = false,
                                    [Already,   Sent,     NO_QUORUM,  Sent,     Sent,       Sent,       NO_QUORUM,  Already]),
    ("stopped, without quorum", |lab| { put(lab, State::Stopped, None); lab.quorate = false; },
                                    [NO_QUORUM, Already,  STOPPED,    Already,  STOPPED,    STOPPED,    STOPPED,    STOPPED]),
    ("hibernated, without quorum", |lab| { put(lab, State::Stopped, Some("suspended")); lab.quorate = false; },
                                    [NO_QUORUM, Already,  HIBERNATED, Already,  HIBERNATED, HIBERNATED, Already,    NO_QUORUM]),
    ("kept by the HA manager, without quorum", |lab| { guest(lab).ha = Some("started".to_owned()); lab.quorate = false; },
                                    [Already,   NO_QUORUM, NO_QUORUM, NO_QUORUM, Sent,      Sent,       NO_QUORUM,  Already]),
];

/// Container 100, where it differs: nothing suspends it, and it has no reset.
#[rustfmt::skip]
const CT: &[Row] = &[
    ("running", |_| {},             [Already,   Sent,     Sent,       Sent,     NO_RESET,   NO_CRIU,    NO_CRIU,    NO_CRIU]),
    ("stopped", |lab| put(lab, State::Stopped, None),
                                    [Sent,      Already,  STOPPED,    Already,  NO_RESET,   NO_CRIU,    NO_CRIU,    NO_CRIU]),
    ("template", |lab| { put(lab, State::Stopped, None); guest(lab).template = true; },
                                    [TEMPLATE,  TEMPLATE, TEMPLATE,   TEMPLATE, TEMPLATE,   TEMPLATE,   TEMPLATE,   TEMPLATE]),
    ("locked by a snapshot", |lab| locked(lab, State::Running, "snapshot", "vzsnapshot"),
                                    [Already,   OF_CT,    OF_CT,      OF_CT,    NO_RESET,   NO_CRIU,    NO_CRIU,    NO_CRIU]),
    ("on a node that is off", |lab| lab.node_mut("pve1").unwrap().online = false,
                                    [OFFLINE,   OFFLINE,  OFFLINE,    OFFLINE,  OFFLINE,    OFFLINE,    OFFLINE,    OFFLINE]),
];

fn guest(lab: &mut Cluster) -> &mut Guest {
    lab.guest_mut(100).unwrap()
}

fn put(lab: &mut Cluster, state: State, lock: Option<&str>) {
    (guest(lab).state, guest(lab).lock) = (state, lock.map(ToOwned::to_owned));
}

/// Locked by a task that still runs.
fn locked(lab: &mut Cluster, state: State, lock: &str, kind: &str) {
    put(lab, state, Some(lock));
    let task = Task::ended("pve1", kind, "100", "root@pam", (1_796_020_000, 0), "");
    lab.tasks.push(task.still_running());
}

fn lab(guest: &Guest) -> Cluster {
    let mut lab = Cluster::of_nodes(Some("lab"), &["pve1", "pve2"]);
    lab.guests = vec![guest.clone()];
    lab.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    lab
}

/// What became of a call: what its answer says, which has to fit what was sent.
fn became(sim: &Sim, result: &CallToolResult, expected: Is, which: &str) {
    let posts = posts(sim);
    if let Refused(reason) = expected {
        assert_eq!(result.is_error, Some(true), "{which} was not refused: {result:?}");
        let told = failed(result);
        assert!(told.contains(reason), "{which}: `{reason}` is not in: {told}");
        assert!(told.contains("nothing was sent") && posts.is_empty(), "{which}: {posts:?} {told}");
        assert!(told.contains("hint: "), "{which}: it says nothing of the next step: {told}");
        return;
    }
    assert_ne!(result.is_error, Some(true), "{which}: {result:?}");
    let answer = structured(result);
    if expected == Already {
        assert_eq!(answer["outcome"], "already", "{which}: {answer}");
        assert!(posts.is_empty(), "{which}: {posts:?}");
    } else {
        assert_ne!(answer["outcome"], "already", "{which}: {answer}");
        assert_eq!(posts.len(), 1, "{which}: {answer}");
    }
}

async fn is_as_in(table: &[Row], new: &Guest) {
    let sim = Sim::start(lab(new)).await.unwrap();
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    let client = connect(write_server_with(&sim, policy)).await;
    let path = format!("/nodes/pve1/{}/100/status", new.kind.name());
    for (state, change, cells) in table {
        for ((tool, action, form), expected) in COLUMNS.into_iter().zip(cells) {
            // Under HA a guest gets more time.
            let by_ha = state.contains("HA manager") && !form.is_empty() && form != "todisk=1";
            let form = if by_ha { "timeout=180" } else { form };
            for dry_run in [true, false] {
                sim.change(|world| {
                    *world = lab(new);
                    change(world);
                });
                sim.forget_rules();
                sim.forget_requests();
                if *state == "internal-error" {
                    let word =
                        json!({ "vmid": 100, "status": "running", "qmpstatus": "internal-error" });
                    sim.answer(Rule::get(&format!("{path}/current")).data(&word));
                }
                let mut arguments = json!({ "vm": "100", "wait_seconds": 0, "dry_run": dry_run });
                if form == "todisk=1" {
                    arguments["to_disk"] = json!(true);
                }
                let result = call(&client, tool, &arguments).await;
                let which = format!("{state}, {tool} {form}, dry run: {dry_run}");
                if *expected == Sent && dry_run {
                    let answer = structured(&result);
                    let would = format!("POST {path}/{action} {form}");
                    assert_eq!(answer["would_send"], would.trim_end(), "{which}");
                    assert!(posts(&sim).is_empty(), "{which}");
                    continue;
                }
                became(&sim, &result, *expected, &which);
                if *expected == Sent {
                    let sent = format!("{path}/{action} {form}");
                    assert_eq!(posts(&sim), [sent.trim_end()], "{which}");
                }
            }
        }
    }
}

#[tokio::test]
async fn every_tool_answers_to_every_state_of_a_vm_as_the_table_says() {
    is_as_in(VM, &Guest::vm(100, "pve1", "app1").running(3600)).await;
}

#[tokio::test]
async fn every_tool_answers_to_every_state_of_a_container_as_the_table_says() {
    is_as_in(CT, &Guest::ct(100, "pve1", "app1").running(3600)).await;
}
