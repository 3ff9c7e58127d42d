//! Consoles that are gone when they are opened: the guest stopped after it was looked at, or the ticket is no longer
//! taken. Neither is blamed on the API token, and nothing is typed.

use pve_sim::{Rule, Sim, State};
use serde_json::{Value, json};

use crate::{
    power,
    support::{demo, failure},
};

/// A demo whose VM 110 stops as soon as its state was read.
async fn stopping() -> Sim {
    let sim = demo().await;
    sim.change(|cluster| cluster.guest_mut(110).unwrap().state = State::Stopped);
    let running = json!({ "vmid": 110, "name": "mail", "status": "running",
        "qmpstatus": "running", "serial": 1 });
    sim.answer(Rule::get("/nodes/pve2/qemu/110/status/current").data(&running));
    sim
}

/// A demo in which the way to a console takes longer than a ticket is good for.
async fn too_late() -> Sim {
    let sim = demo().await;
    let refused = "permission denied - invalid PVEVNC ticket";
    sim.answer(Rule::under("/nodes/pve2/qemu/110/vncwebsocket").status(401, refused));
    sim
}

/// What every tool that opens a console says of this.
async fn told(sim: &Sim) -> Vec<String> {
    let keys = |arguments: Value| power::failure(sim, "send_vm_keys", arguments);
    let told = vec![
        failure(sim, "get_vm_screenshot", json!({ "vm": 110 })).await,
        failure(sim, "get_vm_console", json!({ "vm": 110 })).await,
        keys(json!({ "vm": 110, "text": "x" })).await,
        keys(json!({ "vm": 110, "text": "x", "serial": 0 })).await,
    ];
    assert!(sim.terminal_messages().is_empty() && sim.pressed_keys().is_empty());
    told
}

#[tokio::test]
async fn a_guest_that_just_stopped_is_told_as_what_it_is() {
    for told in told(&stopping().await).await {
        assert!(told.contains("its task ended with: VM 110 not running"), "{told}");
        assert!(told.contains("get_vm_status tells how the guest is"), "{told}");
    }
}

#[tokio::test]
async fn a_ticket_that_grew_old_is_not_a_token_that_is_wrong() {
    for told in told(&too_late().await).await {
        assert!(told.contains("no longer took the ticket"), "{told}");
        assert!(!told.contains("API token") && !told.contains("PVE_TOKEN"), "{told}");
    }
}
