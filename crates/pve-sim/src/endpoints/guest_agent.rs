//! `/nodes/{node}/qemu/{vmid}/agent/*` and `/nodes/{node}/lxc/{vmid}/interfaces`: what is inside a guest.
//!
//! The time that PVE waits for a silent agent is not simulated; a rule can.

use crate::{
    answer::Answer,
    cluster::{Guest, Inside, Kind},
    endpoints::{Call, Needs, Route, Run, guest_current::find},
    figures::{self, GuestFigures},
    json::{Json, List, Object},
};

pub(super) const ROUTES: &[Route] = &[
    route("/nodes/{node}/qemu/{vmid}/agent/info", |call| agent(call, put_info)),
    route("/nodes/{node}/qemu/{vmid}/agent/get-osinfo", |call| agent(call, put_os)),
    route("/nodes/{node}/qemu/{vmid}/agent/get-host-name", |call| agent(call, put_host_name)),
    route("/nodes/{node}/qemu/{vmid}/agent/get-fsinfo", |call| agent(call, put_file_systems)),
    route("/nodes/{node}/qemu/{vmid}/agent/network-get-interfaces", |call| {
        agent(call, put_interfaces)
    }),
    Route {
        method: "GET",
        path: "/nodes/{node}/lxc/{vmid}/interfaces",
        needs: Needs::Privilege("/vms/{vmid}", "VM.Audit"),
        parameters: &[],
        by_daemon: true,
        run: Run::Read(of_container),
    },
];

const fn route(path: &'static str, run: fn(&Call<'_>) -> Answer) -> Route {
    let needs = Needs::Privilege("/vms/{vmid}", "VM.GuestAgent.Audit|VM.GuestAgent.Unrestricted");
    Route { method: "GET", path, needs, parameters: &[], by_daemon: true, run: Run::Read(run) }
}

/// The commands of the recorded agent, and whether each answers when it succeeds.
const COMMANDS: [(&str, bool); 43] = [
    ("guest-network-get-route", true),
    ("guest-get-load", true),
    ("guest-get-cpustats", true),
    ("guest-get-diskstats", true),
    ("guest-ssh-remove-authorized-keys", true),
    ("guest-ssh-add-authorized-keys", true),
    ("guest-ssh-get-authorized-keys", true),
    ("guest-get-osinfo", true),
    ("guest-get-timezone", true),
    ("guest-get-users", true),
    ("guest-get-host-name", true),
    ("guest-exec", true),
    ("guest-exec-status", true),
    ("guest-get-memory-block-info", true),
    ("guest-set-memory-blocks", true),
    ("guest-get-memory-blocks", true),
    ("guest-set-user-password", true),
    ("guest-get-fsinfo", true),
    ("guest-get-disks", true),
    ("guest-set-vcpus", true),
    ("guest-get-vcpus", true),
    ("guest-network-get-interfaces", true),
    ("guest-suspend-hybrid", false),
    ("guest-suspend-ram", false),
    ("guest-suspend-disk", false),
    ("guest-fstrim", true),
    ("guest-fsfreeze-thaw", true),
    ("guest-fsfreeze-freeze-list", true),
    ("guest-fsfreeze-freeze", true),
    ("guest-fsfreeze-status", true),
    ("guest-file-flush", true),
    ("guest-file-seek", true),
    ("guest-file-write", true),
    ("guest-file-read", true),
    ("guest-file-close", true),
    ("guest-file-open", true),
    ("guest-shutdown", false),
    ("guest-info", true),
    ("guest-set-time", true),
    ("guest-get-time", true),
    ("guest-ping", true),
    ("guest-sync", true),
    ("guest-sync-delimited", true),
];

/// Writes an answer of the agent, which may need what the guest uses.
type Put = fn(&mut Object<'_>, &Inside, &GuestFigures);

fn agent(call: &Call<'_>, put: Put) -> Answer {
    let guest = match find(call.world, call.value("node"), Kind::Qemu, call.value("vmid")) {
        Ok(guest) => guest,
        Err(answer) => return answer,
    };
    // In this order (recorded).
    if !guest.agent {
        return Answer::error(500, "No QEMU guest agent configured");
    }
    if !guest.is_up() {
        return Answer::error(500, &format!("VM {} is not running", guest.vmid));
    }
    match &guest.details.inside {
        Some(inside) => {
            let figures = figures::of_guest(guest, call.world.elapsed());
            Answer::json(Json::data_object(|data| put(data, inside, &figures)))
        }
        None => Answer::error(500, "QEMU guest agent is not running"),
    }
}

fn put_info(data: &mut Object<'_>, inside: &Inside, _: &GuestFigures) {
    data.object("result", |result| {
        result.text("version", &inside.agent);
        result.list("supported_commands", |list| {
            for (name, answers) in COMMANDS {
                list.object(|row| {
                    row.text("name", name);
                    row.boolean("enabled", true);
                    row.boolean("success-response", answers);
                });
            }
        });
    });
}

fn put_os(data: &mut Object<'_>, inside: &Inside, _: &GuestFigures) {
    data.object("result", |result| {
        for (key, value) in &inside.os {
            result.text(key, value);
        }
    });
}

fn put_host_name(data: &mut Object<'_>, inside: &Inside, _: &GuestFigures) {
    data.object("result", |result| result.text("host-name", &inside.hostname));
}

fn put_file_systems(data: &mut Object<'_>, inside: &Inside, _: &GuestFigures) {
    data.list("result", |list| {
        for file_system in &inside.file_systems {
            list.object(|row| {
                row.text("name", &file_system.device);
                row.text("mountpoint", &file_system.mountpoint);
                row.text("type", &file_system.kind);
                row.number("used-bytes", file_system.used);
                row.number("total-bytes", file_system.total);
                row.list("disk", |_| {});
            });
        }
    });
}

fn put_interfaces(data: &mut Object<'_>, inside: &Inside, figures: &GuestFigures) {
    data.list("result", |list| {
        for (nth, (name, mac, addresses)) in interfaces(&inside.interfaces).into_iter().enumerate()
        {
            list.object(|row| {
                row.text("name", &name);
                row.text("hardware-address", &mac);
                row.list("ip-addresses", |list| {
                    for (address, prefix) in addresses {
                        list.object(|row| {
                            let kind = if address.contains(':') { "ipv6" } else { "ipv4" };
                            row.text("ip-address", &address);
                            row.text("ip-address-type", kind);
                            row.number("prefix", prefix);
                        });
                    }
                });
                row.object("statistics", |row| {
                    for (way, bytes) in [("rx", figures.received), ("tx", figures.sent)] {
                        // The first one after the loopback has all the traffic of the guest.
                        let bytes = if nth == 1 { bytes } else { 0 };
                        row.number(&format!("{way}-bytes"), bytes);
                        row.number(&format!("{way}-packets"), bytes / 900);
                        row.number(&format!("{way}-errs"), 0);
                        row.number(&format!("{way}-dropped"), 0);
                    }
                });
            });
        }
    });
}

fn of_container(call: &Call<'_>) -> Answer {
    let guest = match find(call.world, call.value("node"), Kind::Lxc, call.value("vmid")) {
        Ok(guest) => guest,
        Err(answer) => return answer,
    };
    if !guest.is_up() {
        return Answer::json(Json::object(|body| body.null("data")));
    }
    let given = guest.details.inside.as_ref().map(|inside| inside.interfaces.clone());
    let given = given.unwrap_or_else(|| usual(guest));
    Answer::json(Json::data_list(|list| {
        for (name, mac, addresses) in interfaces(&given) {
            list.object(|row| put_container_interface(row, &name, &mac, &addresses));
        }
    }))
}

fn put_container_interface(
    row: &mut Object<'_>,
    name: &str,
    mac: &str,
    addresses: &[(String, u8)],
) {
    row.text("name", name);
    row.text("hwaddr", mac);
    row.text("hardware-address", mac);
    for (key, is_six) in [("inet", false), ("inet6", true)] {
        // The last one of each kind.
        let last = addresses.iter().rev().find(|(address, _)| address.contains(':') == is_six);
        let last = last.map(|(address, prefix)| format!("{address}/{prefix}"));
        row.text_if(key, last.as_deref());
    }
    row.list("ip-addresses", |list: &mut List<'_>| {
        for (address, prefix) in addresses {
            list.object(|row| {
                row.text("ip-address", address);
                row.text("ip-address-type", if address.contains(':') { "inet6" } else { "inet" });
                row.text("prefix", &prefix.to_string());
            });
        }
    });
}

type Interface = (String, String, Vec<(String, u8)>);

/// The loopback and these.
fn interfaces(given: &[Interface]) -> Vec<Interface> {
    let lo = vec![("127.0.0.1".to_owned(), 8), ("::1".to_owned(), 128)];
    let lo = ("lo".to_owned(), "00:00:00:00:00:00".to_owned(), lo);
    [lo].into_iter().chain(given.iter().cloned()).collect()
}

/// An interface for each of the configuration, with an address made of the guest's number.
fn usual(guest: &Guest) -> Vec<Interface> {
    let [.., high, low] = guest.vmid.to_be_bytes();
    let nics = (0_u8..).zip(&guest.nics);
    nics.map(|(nth, nic)| {
        let addresses = vec![
            (format!("192.168.{}.{low}", 10 + nth + high), 24),
            (format!("fe80::{low:x}"), 64),
        ];
        (format!("eth{nth}"), nic.mac.to_lowercase(), addresses)
    })
    .collect()
}
