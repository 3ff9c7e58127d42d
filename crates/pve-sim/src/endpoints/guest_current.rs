//! `/nodes/{node}/{qemu,lxc}/{vmid}/status/current`: what a guest is doing right now.

use crate::{
    answer::Answer,
    cluster::{Guest, Kind},
    endpoints::{
        Call, Needs, Route, Run,
        guest::{self, Depth},
    },
    figures,
    json::Json,
    shared::World,
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/nodes/{node}/qemu/{vmid}/status/current",
        needs: Needs::Privilege("/vms/{vmid}", "VM.Audit"),
        parameters: &[],
        by_daemon: true,
        run: Run::Read(|call| current(call, Kind::Qemu)),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/lxc/{vmid}/status/current",
        needs: Needs::Privilege("/vms/{vmid}", "VM.Audit"),
        parameters: &[],
        by_daemon: true,
        run: Run::Read(|call| current(call, Kind::Lxc)),
    },
];

fn current(call: &Call<'_>, kind: Kind) -> Answer {
    let guest = match find(call.world, call.value("node"), kind, call.value("vmid")) {
        Ok(guest) => guest,
        Err(answer) => return answer,
    };
    let figures = figures::of_guest(guest, call.world.elapsed());
    let version = &call.world.cluster.version;
    Answer::json(Json::data_object(|data| {
        guest::put(data, guest, &figures, version, Depth::Current);
    }))
}

/// The guest of this kind on this node. One that is elsewhere, or of the other kind, is as absent
/// as one that never was: 500 for the missing configuration file (recorded).
pub(super) fn find<'a>(
    world: &'a World,
    node: &str,
    kind: Kind,
    vmid: &str,
) -> Result<&'a Guest, Answer> {
    let node = world.real_name(node);
    let guest = vmid.parse().ok().and_then(|vmid| world.cluster.guest(vmid));
    guest.filter(|guest| guest.node == node && guest.kind == kind).ok_or_else(|| {
        let folder = match kind {
            Kind::Qemu => "qemu-server",
            Kind::Lxc => "lxc",
        };
        let file = format!("nodes/{node}/{folder}/{vmid}.conf");
        Answer::error(500, &format!("Configuration file '{file}' does not exist"))
    })
}
