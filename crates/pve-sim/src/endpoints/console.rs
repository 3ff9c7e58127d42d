//! `POST …/termproxy`, `POST …/vncproxy` and `GET …/vncwebsocket` of VMs and containers.
//!
//! **Invariant:** a guest that does not run, or has no serial port, gets a ticket all the same, and
//! the task behind it fails (recorded). The ticket is looked at before anything else is said about a
//! WebSocket.

use crate::{
    answer::Answer,
    cluster::Kind,
    console::What,
    endpoints::{
        Call, Needs, Route, Run, Wanted, guest_current,
        parameters::{Kind as Is, Parameter},
    },
    json::Json,
    shared::World,
};

const ON_GUEST: Needs = Needs::Privilege("/vms/{vmid}", "VM.Console");

const WEBSOCKET: &[Parameter] =
    &[Parameter::new("port", Is::Integer(5900)), Parameter::new("vncticket", Is::Text)];

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "POST",
        path: "/nodes/{node}/qemu/{vmid}/termproxy",
        needs: ON_GUEST,
        parameters: &[Parameter::new(
            "serial",
            Is::OneOf(&["serial0", "serial1", "serial2", "serial3"]),
        )],
        by_daemon: true,
        run: Run::Write(|world, wanted| open(world, wanted, Kind::Qemu, What::Terminal)),
    },
    Route {
        method: "POST",
        path: "/nodes/{node}/lxc/{vmid}/termproxy",
        needs: ON_GUEST,
        parameters: &[],
        by_daemon: true,
        run: Run::Write(|world, wanted| open(world, wanted, Kind::Lxc, What::Terminal)),
    },
    Route {
        method: "POST",
        path: "/nodes/{node}/qemu/{vmid}/vncproxy",
        needs: ON_GUEST,
        parameters: &[
            Parameter::new("generate-password", Is::Boolean),
            Parameter::new("websocket", Is::Boolean),
        ],
        by_daemon: true,
        run: Run::Write(|world, wanted| open(world, wanted, Kind::Qemu, What::Screen)),
    },
    Route {
        method: "POST",
        path: "/nodes/{node}/lxc/{vmid}/vncproxy",
        needs: ON_GUEST,
        parameters: &[
            Parameter::new("height", Is::Integer(16)),
            Parameter::new("websocket", Is::Boolean),
            Parameter::new("width", Is::Integer(16)),
        ],
        by_daemon: true,
        run: Run::Write(|world, wanted| open(world, wanted, Kind::Lxc, What::Screen)),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/qemu/{vmid}/vncwebsocket",
        needs: ON_GUEST,
        parameters: WEBSOCKET,
        by_daemon: false,
        run: Run::Read(connect),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/lxc/{vmid}/vncwebsocket",
        needs: ON_GUEST,
        parameters: WEBSOCKET,
        by_daemon: false,
        run: Run::Read(connect),
    },
];

fn open(world: &mut World, wanted: &Wanted<'_>, kind: Kind, what: What) -> Answer {
    let node = world.real_name(wanted.values.get("node").unwrap_or_default()).to_owned();
    let vmid = wanted.values.get("vmid").unwrap_or_default();
    let guest = match guest_current::find(world, &node, kind, vmid) {
        Ok(guest) => guest,
        Err(missing) => return missing,
    };
    let word = if kind == Kind::Qemu { "VM" } else { "CT" };
    let fails = match (kind, what) {
        _ if !guest.is_up() => Some(format!("{word} {vmid} not running")),
        (Kind::Qemu, What::Terminal) if !guest.serial => {
            Some("unable to find a serial interface".to_owned())
        }
        _ => None,
    };
    let vmid = guest.vmid;
    let serial = wanted.values.get("serial").unwrap_or("serial0");
    let ticket = world.give_ticket(&node, vmid, what, (wanted.token, serial), fails);
    let splits = world.cluster.version.at_least(9, 0);
    let certificate = world.certificates.first().map(|first| first.pem.clone());
    Answer::json(Json::data_object(|data| {
        data.text("port", &ticket.port.to_string());
        data.text("ticket", &ticket.text);
        data.text("upid", &ticket.upid);
        data.text("user", &ticket.token);
        if what == What::Screen {
            data.text("cert", &certificate.unwrap_or_default());
            if splits {
                data.text("password", &ticket.password);
            }
        }
    }))
}

/// 101 for a ticket of this guest. The connection itself looks the ticket up again, and uses it.
fn connect(call: &Call<'_>) -> Answer {
    let (vmid, token) = (call.value("vmid"), call.wanted.token);
    if call.world.is_ticket(vmid, token, call.value("vncticket")) {
        Answer::bare(101, "Switching Protocols")
    } else {
        Answer::error(401, "permission denied - invalid PVEVNC ticket")
    }
}
