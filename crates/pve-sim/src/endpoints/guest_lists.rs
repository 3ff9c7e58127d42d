//! `/nodes/{node}/qemu` and `/nodes/{node}/lxc`: the guests of a node, as far as the token may see
//! them.

use crate::{
    answer::Answer,
    cluster::Kind,
    endpoints::{
        Call, Needs, Route, Run,
        guest::{self, Depth},
        parameters::{Kind as Is, Parameter},
    },
    figures,
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/nodes/{node}/qemu",
        needs: Needs::Nothing,
        parameters: &[Parameter::new("full", Is::Boolean)],
        by_daemon: true,
        run: Run::Read(vms),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/lxc",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: true,
        run: Run::Read(cts),
    },
];

fn vms(call: &Call<'_>) -> Answer {
    list(
        call,
        Kind::Qemu,
        if call.wanted.values.is_set("full") { Depth::Full } else { Depth::List },
    )
}

fn cts(call: &Call<'_>) -> Answer {
    list(call, Kind::Lxc, Depth::List)
}

fn list(call: &Call<'_>, kind: Kind, depth: Depth) -> Answer {
    let (world, node) = (call.world, call.world.real_name(call.value("node")));
    let elapsed = world.elapsed();
    let guests =
        world.cluster.guests.iter().filter(|guest| guest.node == node && guest.kind == kind);
    let seen = guests
        .filter(|guest| call.rights.has_on_guest(guest.vmid, guest.pool.as_deref(), "VM.Audit"));
    Answer::json(Json::data_unordered_list(|list| {
        for guest in seen {
            let figures = figures::of_guest(guest, elapsed);
            list.object(|row| guest::put(row, guest, &figures, &world.cluster.version, depth));
        }
    }))
}
