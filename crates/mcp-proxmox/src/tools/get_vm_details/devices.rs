//! The disks and the network interfaces of a configuration, a row each.

use std::collections::{BTreeMap, BTreeSet};

use pve_client::Kind;

use super::properties::{Properties, size};
use crate::{
    answer::{Bytes, Cell, Share, Table, clean::label},
    in_order::InOrder as _,
};

/// The models that a VM's interface may have, each of which is the key of its hardware address.
const MODELS: [&str; 14] = [
    "virtio",
    "e1000",
    "e1000e",
    "vmxnet3",
    "rtl8139",
    "ne2k_pci",
    "ne2k_isa",
    "pcnet",
    "i82551",
    "i82557b",
    "i82559er",
    "e1000-82540em",
    "e1000-82544gc",
    "e1000-82545em",
];

/// What hangs on a guest.
pub(super) struct Devices {
    pub(super) disks: Table,
    pub(super) nics: Table,
    /// The keys that are in the tables, so that they are not told again.
    pub(super) keys: BTreeSet<String>,
}

/// The devices of this configuration. `root` is the use of a running container's root file system.
pub(super) fn of(kind: Kind, config: &BTreeMap<String, String>, root: Option<Share>) -> Devices {
    let mut disks = match kind {
        Kind::Qemu => Table::new(&["disk", "storage", "volume", "size", "options"]),
        Kind::Lxc => Table::new(&["disk", "mount", "storage", "volume", "size", "used", "options"]),
    };
    let mut nics =
        Table::new(&["nic", "device", "mac", "bridge", "tag", "firewall", "address", "options"]);
    let mut keys = BTreeSet::new();
    for (key, value) in in_order(config) {
        if is_disk(kind, key) {
            match kind {
                Kind::Qemu => push_vm_disk(&mut disks, key, value),
                Kind::Lxc => push_ct_disk(&mut disks, key, value, root),
            }
        } else if numbered(key, "net") {
            let address = config.get(&key.replacen("net", "ipconfig", 1));
            push_nic(&mut nics, kind, key, value, address.map(String::as_str));
        } else if !(kind == Kind::Qemu && numbered(key, "ipconfig")) {
            continue;
        }
        keys.insert(key.to_owned());
    }
    Devices { disks, nics, keys }
}

/// `net2` before `net10`.
fn in_order(config: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    let mut all: Vec<_> =
        config.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    all.order_by_key(|(key, _)| {
        let name = key.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = key.get(name.len()..).and_then(|digits| digits.parse::<u32>().ok());
        // Unused volumes come last; the rest is in the order of the names.
        (name == "unused", name != "rootfs", name.to_owned(), number)
    });
    all
}

/// Whether a key is this name with a number after it.
pub(super) fn numbered(key: &str, name: &str) -> bool {
    key.strip_prefix(name)
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

fn is_disk(kind: Kind, key: &str) -> bool {
    let names: &[&str] = match kind {
        Kind::Qemu => &["scsi", "virtio", "sata", "ide", "efidisk", "tpmstate", "unused"],
        Kind::Lxc => &["mp", "unused"],
    };
    names.iter().any(|name| numbered(key, name)) || (kind == Kind::Lxc && key == "rootfs")
}

/// `local:100/disk.raw` as storage and volume. A path of the host is on no storage.
fn volume(text: &str) -> (Option<&str>, Option<&str>) {
    match text.split_once(':') {
        Some((storage, volume)) if !text.starts_with('/') => (Some(storage), Some(volume)),
        _ if text == "none" => (None, None),
        _ => (None, Some(text)),
    }
}

fn push_vm_disk(table: &mut Table, key: &str, value: &str) {
    let mut parts = Properties::read(value);
    let (storage, volume) = volume(parts.take_or_first("file").unwrap_or_default());
    let bytes = parts.take("size").and_then(size);
    let is_cdrom = parts.take("media") == Some("cdrom");
    let what = match volume {
        Some(volume) if volume.contains("cloudinit") => Some("cloud-init drive"),
        None if is_cdrom => Some("empty CD drive"),
        _ if is_cdrom => Some("CD drive"),
        _ if key.starts_with("unused") => Some("not attached"),
        _ => None,
    };
    let options = [what.map(str::to_owned), parts.rest()];
    table.push([label(key).into(), text(storage), text(volume), bytes.into(), joined(options)]);
}

fn push_ct_disk(table: &mut Table, key: &str, value: &str, root: Option<Share>) {
    let mut parts = Properties::read(value);
    let (storage, volume) = volume(parts.take_or_first("volume").unwrap_or_default());
    let bytes = parts.take("size").and_then(size);
    let mount = match key {
        "rootfs" => Some("/"),
        _ => parts.take("mp"),
    };
    let what = match storage {
        _ if key.starts_with("unused") => Some("not attached"),
        None => Some("bind mount of the host"),
        Some(_) => None,
    };
    // Only the root file system's use is known from outside.
    let used = root.filter(|_| key == "rootfs");
    let options = [what.map(str::to_owned), parts.rest()];
    table.push([
        label(key).into(),
        text(mount),
        text(storage),
        text(volume),
        bytes.into(),
        used.map(|share| match (bytes, share.percent()) {
            (Some(_), Some(percent)) => format!("{} ({percent})", Bytes(share.used)),
            // Without a size of its own it fills what it lies on.
            _ => share.to_string(),
        })
        .into(),
        joined(options),
    ]);
}

fn push_nic(table: &mut Table, kind: Kind, key: &str, value: &str, cloud_init: Option<&str>) {
    let mut parts = Properties::read(value);
    let (device, mac) = match kind {
        Kind::Lxc => (parts.take("name"), parts.take("hwaddr")),
        Kind::Qemu => match parts.take_any(&MODELS) {
            Some((model, mac)) => (Some(model), Some(mac)),
            None => (parts.take_or_first("model"), parts.take("macaddr")),
        },
    };
    if kind == Kind::Lxc {
        // It has no other.
        let _ = parts.take("type");
    }
    let bridge = parts.take("bridge");
    let tag = parts.take("tag");
    let firewall = parts.take_flag("firewall").unwrap_or(false);
    let address = match kind {
        Kind::Lxc => addresses(&mut parts),
        Kind::Qemu => cloud_init.and_then(|text| addresses(&mut Properties::read(text))),
    };
    let down = parts.take_flag("link_down").unwrap_or(false).then(|| "link down".to_owned());
    table.push([
        label(key).into(),
        text(device),
        text(mac),
        text(bridge),
        tag.and_then(|tag| tag.parse::<u64>().ok()).into(),
        if firewall { "on" } else { "off" }.into(),
        address.into(),
        joined([down, parts.rest()]),
    ]);
}

/// What is configured: `192.0.2.5/24 via 192.0.2.1, ip6 auto`.
fn addresses(parts: &mut Properties<'_>) -> Option<String> {
    let mut shown = Vec::new();
    for (address, gateway, prefix) in [("ip", "gw", ""), ("ip6", "gw6", "ip6 ")] {
        let (address, gateway) = (parts.take(address), parts.take(gateway));
        if let Some(address) = address {
            let via = gateway.map(|gateway| format!(" via {gateway}")).unwrap_or_default();
            let prefix = if address.contains(':') { "" } else { prefix };
            shown.push(format!("{prefix}{address}{via}"));
        }
    }
    (!shown.is_empty()).then(|| label(&shown.join(", ")))
}

fn text(value: Option<&str>) -> Cell {
    value.map(label).into()
}

fn joined(parts: [Option<String>; 2]) -> Cell {
    let shown = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
    Some(shown).filter(|shown| !shown.is_empty()).into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn rows(table: &Table) -> Vec<Value> {
        let table = serde_json::to_value(table).unwrap();
        table["rows"].as_array().unwrap().clone()
    }

    /// Property strings, and what is near them.
    fn value() -> impl Strategy<Value = String> {
        let part = "(file=|volume=|mp=|size=|media=cdrom|cloudinit|virtio=|bridge=|tag=|ip=|gw=|ip6=|firewall=)?([a-z0-9:/.=-]|\\PC|[\\x00\\x1b]){0,12}";
        proptest::collection::vec(part, 0..6).prop_map(|parts| parts.join(","))
    }

    fn key() -> impl Strategy<Value = String> {
        "(scsi|virtio|sata|ide|efidisk|tpmstate|unused|mp|net|ipconfig|rootfs|memory)([0-9]{0,12}|\\PC)"
    }

    proptest! {
        #[test]
        fn any_configuration_is_shown_in_rows_that_are_short_and_plain(
            config in proptest::collection::btree_map(key(), value(), 0..12),
            is_vm in any::<bool>(),
        ) {
            let kind = if is_vm { Kind::Qemu } else { Kind::Lxc };
            let devices = of(kind, &config, None);
            let n_rows = devices.disks.len() + devices.nics.len();
            prop_assert!(n_rows <= devices.keys.len() && devices.keys.len() <= config.len());
            prop_assert!(devices.keys.iter().all(|key| config.contains_key(key)));
            for row in rows(&devices.disks).iter().chain(&rows(&devices.nics)) {
                for text in row.as_array().unwrap().iter().filter_map(Value::as_str) {
                    prop_assert!(text.chars().count() < 200 && !text.contains(char::is_control), "{text:?}");
                }
            }
        }

        #[test]
        fn what_a_disk_and_an_interface_say_of_themselves_is_in_their_rows(
            nth in 0_u32..31, storage in "[a-z][a-z0-9-]{1,8}", gib in 1_u64..1000, tag in 1_u64..4095, bridge in 0_u32..99,
        ) {
            let (disk, nic) = (format!("scsi{nth}"), format!("net{nth}"));
            let (mac, bridge) = ("BC:24:11:00:00:01", format!("vmbr{bridge}"));
            let config = BTreeMap::from([
                (disk.clone(), format!("{storage}:vm-100-disk-0,ssd=1,size={gib}G")),
                (nic.clone(), format!("virtio={mac},bridge={bridge},firewall=1,tag={tag}")),
            ]);
            let devices = of(Kind::Qemu, &config, None);
            let size = Bytes(gib << 30).to_string();
            prop_assert_eq!(rows(&devices.disks), [json!([disk, storage, "vm-100-disk-0", size, "ssd=1"])]);
            let shown = json!([nic, "virtio", mac, bridge, tag, "on", null, null]);
            prop_assert_eq!(rows(&devices.nics), [shown]);
        }

        #[test]
        fn devices_stand_in_the_order_of_their_numbers(numbers in proptest::collection::btree_set(0_u32..1000, 1..9)) {
            let config = numbers.iter().map(|nth| (format!("net{nth}"), "virtio".to_owned())).collect();
            let shown: Vec<_> = rows(&of(Kind::Qemu, &config, None).nics);
            let names: Vec<_> = shown.iter().map(|row| row[0].as_str().unwrap().to_owned()).collect();
            prop_assert_eq!(names, numbers.iter().map(|nth| format!("net{nth}")).collect::<Vec<_>>());
        }
    }
}
