//! `/nodes/{node}/{qemu,lxc}/{vmid}/config`, `…/pending` and `…/snapshot`.
//!
//! The keys follow from the guest: what it is made of, and what its details add. Which values are
//! numbers and which are text is as recorded: a VM's `memory` is text, a container's a number.

use crate::{
    answer::Answer,
    cluster::{Guest, Kind},
    endpoints::{
        Call, Needs, Route, Run, guest,
        guest_current::find,
        parameters::{self, Parameter},
    },
    json::{Json, Object},
};

const CURRENT: &[Parameter] = &[Parameter::new("current", parameters::Kind::Boolean)];

pub(super) const ROUTES: &[Route] = &[
    route("/nodes/{node}/qemu/{vmid}/config", CURRENT, false, |call| config(call, Kind::Qemu)),
    route("/nodes/{node}/lxc/{vmid}/config", CURRENT, false, |call| config(call, Kind::Lxc)),
    route("/nodes/{node}/qemu/{vmid}/pending", &[], false, |call| pending(call, Kind::Qemu)),
    route("/nodes/{node}/lxc/{vmid}/pending", &[], false, |call| pending(call, Kind::Lxc)),
    route("/nodes/{node}/qemu/{vmid}/snapshot", &[], true, |call| snapshots(call, Kind::Qemu)),
    route("/nodes/{node}/lxc/{vmid}/snapshot", &[], true, |call| snapshots(call, Kind::Lxc)),
];

const fn route(
    path: &'static str,
    parameters: &'static [Parameter],
    by_daemon: bool,
    run: fn(&Call<'_>) -> Answer,
) -> Route {
    let needs = Needs::Privilege("/vms/{vmid}", "VM.Audit");
    Route { method: "GET", path, needs, parameters, by_daemon, run: Run::Read(run) }
}

/// Keys whose values are numbers.
const NUMBERS: [&str; 13] = [
    "balloon",
    "cores",
    "cpulimit",
    "cpuunits",
    "kvm",
    "numa",
    "onboot",
    "protection",
    "sockets",
    "swap",
    "template",
    "unprivileged",
    "vcpus",
];

fn config(call: &Call<'_>, kind: Kind) -> Answer {
    let guest = match find(call.world, call.value("node"), kind, call.value("vmid")) {
        Ok(guest) => guest,
        Err(answer) => return answer,
    };
    let mut keys = keys(guest);
    // Without `current` the pending changes are merged in.
    if !call.wanted.values.is_set("current") {
        for (key, value) in &guest.details.pending {
            put_key(&mut keys, key, value.as_deref().unwrap_or_default());
        }
    }
    Answer::json(Json::data_object(|data| {
        for (key, value) in &keys {
            put(data, kind, key, key, value);
        }
    }))
}

fn pending(call: &Call<'_>, kind: Kind) -> Answer {
    let guest = match find(call.world, call.value("node"), kind, call.value("vmid")) {
        Ok(guest) => guest,
        Err(answer) => return answer,
    };
    let keys = keys(guest);
    let changes = &guest.details.pending;
    Answer::json(Json::data_unordered_list(|list| {
        for (key, value) in &keys {
            list.object(|row| {
                row.text("key", key);
                put(row, kind, "value", key, value);
                match changes.iter().find(|(changed, _)| changed == key) {
                    Some((_, Some(new))) => put(row, kind, "pending", key, new),
                    Some((_, None)) => row.number("delete", 1),
                    None => {}
                }
            });
        }
        let is_new = |key: &String| !keys.iter().any(|(known, _)| known == key);
        for (key, value) in changes.iter().filter(|(key, _)| is_new(key)) {
            list.object(|row| {
                row.text("key", key);
                row.text("pending", value.as_deref().unwrap_or_default());
            });
        }
    }))
}

fn snapshots(call: &Call<'_>, kind: Kind) -> Answer {
    let guest = match find(call.world, call.value("node"), kind, call.value("vmid")) {
        Ok(guest) => guest,
        Err(answer) => return answer,
    };
    Answer::json(Json::data_list(|list| {
        for snapshot in &guest.details.snapshots {
            list.object(|row| {
                row.text("name", &snapshot.name);
                row.text("description", &snapshot.description);
                row.number("snaptime", snapshot.time);
                row.text_if("parent", snapshot.parent.as_deref());
                if kind == Kind::Qemu {
                    row.flag("vmstate", snapshot.memory);
                }
            });
        }
        list.object(|row| {
            row.text("name", "current");
            row.text("description", "You are here!");
            row.flag("running", guest.is_up());
            row.text("digest", &digest(guest));
            let last = guest.details.snapshots.iter().max_by_key(|snapshot| snapshot.time);
            row.text_if("parent", last.map(|snapshot| snapshot.name.as_str()));
        });
    }))
}

/// Every key of a guest's configuration that is in force.
pub(super) fn keys(guest: &Guest) -> Vec<(String, String)> {
    let mut keys = Vec::new();
    let mut add = |key: &str, value: String| keys.push((key.to_owned(), value));
    add("digest", digest(guest));
    add("memory", (guest.memory >> 20).to_string());
    add("cores", guest.cores.to_string());
    if !guest.tags.is_empty() {
        add("tags", guest.tags.join(";"));
    }
    if guest.template {
        add("template", "1".to_owned());
    }
    if let Some(lock) = &guest.lock {
        add("lock", lock.clone());
    }
    match guest.kind {
        Kind::Qemu => of_vm(guest, &mut add),
        Kind::Lxc => of_container(guest, &mut add),
    }
    for (key, value) in &guest.details.config {
        put_key(&mut keys, key, value);
    }
    keys
}

fn put_key(keys: &mut Vec<(String, String)>, key: &str, value: &str) {
    keys.retain(|(known, _)| known != key);
    if !value.is_empty() {
        keys.push((key.to_owned(), value.to_owned()));
    }
}

fn of_vm(guest: &Guest, add: &mut impl FnMut(&str, String)) {
    let vmid = guest.vmid;
    add("name", guest::name(guest));
    add("ostype", "l26".to_owned());
    add("meta", "creation-qemu=10.0.13,ctime=1796014534".to_owned());
    add("smbios1", format!("uuid=187fa89c-2869-45b3-8da9-{vmid:012}"));
    add("vmgenid", format!("05b0a0f4-12cf-494b-8a51-{vmid:012}"));
    if guest.agent {
        add("agent", "1".to_owned());
    }
    if !guest.balloon {
        add("balloon", "0".to_owned());
    }
    if guest.serial {
        add("serial0", "socket".to_owned());
    }
    if guest.display {
        add("vga", if guest.serial { "serial0" } else { "std" }.to_owned());
    }
    let storage = storage(guest);
    for (nth, disk) in guest.disks.iter().enumerate() {
        add(disk, format!("{storage}:vm-{vmid}-disk-{nth},size={}G", guest.disk >> 30));
    }
    for (nth, nic) in guest.nics.iter().enumerate() {
        let tag = nic.tag.map(|tag| format!(",tag={tag}")).unwrap_or_default();
        add(&format!("net{nth}"), format!("virtio={},bridge={}{tag}", nic.mac, nic.bridge));
    }
    let nics = (0..guest.nics.len()).map(|nth| format!("net{nth}"));
    let order: Vec<String> = guest.disks.iter().cloned().chain(nics).collect();
    let order =
        if order.is_empty() { " ".to_owned() } else { format!("order={}", order.join(";")) };
    add("boot", order);
}

fn of_container(guest: &Guest, add: &mut impl FnMut(&str, String)) {
    let vmid = guest.vmid;
    add("hostname", guest::name(guest));
    add("swap", (guest.swap >> 20).to_string());
    add("arch", "amd64".to_owned());
    add("ostype", "debian".to_owned());
    add("unprivileged", "1".to_owned());
    let storage = storage(guest);
    add("rootfs", format!("{storage}:subvol-{vmid}-disk-0,size={}G", guest.disk >> 30));
    for (nth, nic) in guest.nics.iter().enumerate() {
        let tag = nic.tag.map(|tag| format!(",tag={tag}")).unwrap_or_default();
        let value = format!(
            "name=eth{nth},bridge={},hwaddr={}{tag},ip=dhcp,type=veth",
            nic.bridge, nic.mac
        );
        add(&format!("net{nth}"), value);
    }
}

fn storage(guest: &Guest) -> &str {
    if guest.details.storage.is_empty() { "local" } else { &guest.details.storage }
}

fn digest(guest: &Guest) -> String {
    format!("f271ff1eb6b467864e1dafbbc2dc833c{:08x}", guest.vmid)
}

/// Writes a value under `place`, as `key` is written for this kind of guest.
fn put(row: &mut Object<'_>, kind: Kind, place: &str, key: &str, value: &str) {
    let is_number = NUMBERS.contains(&key) || (kind == Kind::Lxc && key == "memory");
    match value.parse::<i64>() {
        Ok(number) if is_number => row.number(place, number),
        _ => row.text(place, value),
    }
}
