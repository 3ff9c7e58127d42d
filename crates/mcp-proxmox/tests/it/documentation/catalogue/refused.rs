//! What is refused by ourselves, as it is told: by the tools that write, in real calls on a simulated cluster, and
//! by `check`.

use std::path::PathBuf;

use mcp_proxmox::{config::Confirm, person, policy::Policy};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule};
use serde_json::json;

use super::Entry;
use crate::{
    power::{refusal, start, start_with, write_server_with},
    process::{program_for, run},
    support::{answer, call_on, failed},
};

/// What `check` says of another product that answers on Proxmox VE's paths.
pub(super) async fn by_another_product() -> String {
    let sim = start().await;
    let version = json!({ "version": "3.4", "release": "2", "repoid": "b7cb4d5b5ba9d1a5" });
    sim.answer(Rule::get("/version").data(&version));
    let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    let (_, said, _) = tokio::task::block_in_place(|| run(command.arg("check")));
    said.split_once("FAILED\n\n").unwrap().1.trim().to_owned()
}

/// What is said of a node that does not accept the token while others do.
pub(super) async fn by_one_node() -> String {
    let sim = start().await;
    let denied = "permission denied - invalid PVE ticket";
    sim.answer(Rule::get("/nodes/pve2/services").status(401, denied));
    let node = answer(&sim, "get_node_status", json!({ "node": "pve2" })).await;
    node["not_available"][0].as_str().unwrap().to_owned()
}

/// What keeps a write from being sent.
pub(super) async fn by_tools_that_write() -> Vec<Entry> {
    // VM 100 of this cluster has no tags and no pool.
    let policy = |allow: Option<&str>, protect: &str, audit: Option<&str>| {
        let allow = allow.map(|text| text.parse().unwrap());
        Policy::new(allow, protect.parse().unwrap(), Confirm::Destructive, audit.map(PathBuf::from))
    };
    let declined = person::Refusal::Declined("the user declined".to_owned());
    let locked = start_with(105, |guest| guest.name = Some("web05".to_owned())).await;
    let paused = start_with(103, |guest| guest.name = Some("web03".to_owned())).await;
    vec![
        Entry::told(
            "A person has to agree, and the client cannot ask",
            "`PVE_CONFIRM` wants a person to be asked before this, and [not every client can](clients.md#who-can-be-asked).",
            refused("stop_vm", policy(None, "", None)).await,
        )
        .mended_by(
            "Say to the agent that you agree: it calls again with `confirm: true`. On the command line it is `--yes`. \
             Who does not want to be asked sets `PVE_CONFIRM=never`.",
        ),
        Entry::told(
            "The person did not agree",
            "Somebody was asked and said no, or closed the question. That is an answer (`outcome: declined` or `unanswered`), \
             not a failure.",
            declined.told("nothing was sent"),
        )
        .mended_by("If it was a slip, ask the agent once more: you are asked again."),
        Entry::told(
            "The guest is protected",
            "It is in `PVE_PROTECT_VMS`, by its vmid, a tag or its pool.",
            refused("shutdown_vm", policy(None, "100", None)).await,
        )
        .mended_by(
            "If it is meant to be operated, take it out of that list where the client starts the server, and start the \
             client anew. `mcp-proxmox check` counts what each member of the list matches.",
        ),
        Entry::told(
            "The guest is not among the allowed ones",
            "`PVE_ALLOW_VMS` is set, and it is not in it. A misspelt tag or pool matches nothing.",
            refused("shutdown_vm", policy(Some("pool:dev"), "", None)).await,
        )
        .mended_by(
            "If it is meant to be operated, add it to that list, or the tag or pool to the guest. `mcp-proxmox check` \
             counts what each member of the list matches.",
        ),
        Entry::told(
            "The guest is locked",
            "A backup, a snapshot, a migration or the like works on it, or ended badly and left its lock behind. Where no task \
             holds it any more, the message has the command with which an administrator can take the lock away; this server \
             never does.",
            refusal(&locked, "shutdown_vm", json!({ "vm": "105" })).await,
        ),
        Entry::told(
            "The guest is in another state",
            "What was asked for makes no sense for a guest that is as it is now.",
            refusal(&paused, "start_vm", json!({ "vm": "103" })).await,
        ),
        Entry::told(
            "The audit log cannot be written",
            "`PVE_AUDIT_LOG` names a file on a disk that is full, or one that belongs to somebody else since the start. What \
             is not recorded is not done.",
            without_the_systems_words(
                &refused("shutdown_vm", policy(None, "", Some("/nowhere/at/all/audit.jsonl"))).await,
            ),
        ),
    ]
}

/// What a tool says of VM 100 under this policy.
async fn refused(tool: &'static str, policy: Policy) -> String {
    let sim = start().await;
    failed(&call_on(write_server_with(&sim, policy), tool, json!({ "vm": "100" })).await)
}

/// Each system has its own words for a file that is not there.
fn without_the_systems_words(told: &str) -> String {
    let (before, rest) = told.split_once("cannot be written: ").unwrap();
    let (_, hint) = rest.split_once("\n\n").unwrap();
    format!("{before}cannot be written: …\n\n{hint}")
}
