//! `/access/permissions`: what the asking token may do.

use crate::{
    answer::Answer,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
    },
    json::{Json, Object},
    permission::{OnPath, Rights},
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/access/permissions",
    needs: Needs::Nothing,
    parameters: &[Parameter::new("path", Is::Text), Parameter::new("userid", Is::Text)],
    by_daemon: false,
    run: Run::Read(permissions),
}];

fn permissions(call: &Call<'_>) -> Answer {
    let (asking, asked) = (call.wanted.token, call.value("userid"));
    let foreign = !asked.is_empty() && asked != asking;
    // A user may look at its own tokens, and everybody with this privilege at everybody.
    let owned = asked.split('!').next() == Some(asking);
    if foreign && !owned && !call.rights.has("/access", "Sys.Audit") {
        return Answer::forbidden("/access", "Sys.Audit");
    }
    let other = foreign.then(|| Rights::of(&call.world.cluster, asked));
    let rights = other.as_ref().unwrap_or(call.rights);
    let path = call.value("path");
    Answer::json(Json::data_object(|data| {
        if path.is_empty() {
            for (path, held) in rights.everything() {
                put(data, &path, held);
            }
        } else {
            put(data, path, on(call, rights, path));
        }
    }))
}

/// What is held on a path, with what a pool gives to a guest that is in it.
fn on(call: &Call<'_>, rights: &Rights, path: &str) -> OnPath {
    let vmid = path.strip_prefix("/vms/").and_then(|vmid| vmid.parse().ok());
    match vmid.and_then(|vmid| call.world.cluster.guest(vmid)) {
        Some(guest) => rights.on_guest(guest.vmid, guest.pool.as_deref()),
        None => rights.on(path),
    }
}

fn put(data: &mut Object<'_>, path: &str, held: OnPath) {
    data.object(path, |privileges| {
        for name in held.privileges.names() {
            privileges.flag(name, held.propagating.contains(name));
        }
    });
}
