//! The disks and the network interfaces of a configuration, a row each.

use std::collections::BTreeSet;

use pve_client::{Kind, guest::Config};

use super::properties::{Odd, Properties, size};
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
    /// What of those could not be read, wholly or in part.
    pub(super) unreadable: BTreeSet<String>,
}

/// The devices of this configuration. `root` is the use of a running container's root file system.
pub(super) fn of(kind: Kind, config: &Config, root: Option<Share>) -> Devices {
    let mut disks = match kind {
        Kind::Qemu => Table::new(&["disk", "storage", "volume", "size", "options"]),
        Kind::Lxc => Table::new(&["disk", "mount", "storage", "volume", "size", "used", "options"]),
    };
    let mut nics =
        Table::new(&["nic", "device", "mac", "bridge", "tag", "firewall", "address", "options"]);
    let (mut keys, mut unreadable) = (BTreeSet::new(), BTreeSet::new());
    for (key, value) in in_order(config) {
        if is_disk(kind, key) {
            let is_read = match (kind, value) {
                (_, None) => {
                    // It hangs there, whatever it is.
                    disks.push_unknown(label(key));
                    false
                }
                (Kind::Qemu, Some(value)) => push_vm_disk(&mut disks, key, value),
                (Kind::Lxc, Some(value)) => push_ct_disk(&mut disks, key, value, root),
            };
            unreadable.extend((!is_read).then(|| key.to_owned()));
        } else if numbered(key, "net") {
            let address = config.get(&key.replacen("net", "ipconfig", 1));
            let is_read = match value {
                None => {
                    nics.push_unknown(label(key));
                    false
                }
                Some(value) => push_nic(&mut nics, kind, key, value, address),
            };
            unreadable.extend((!is_read).then(|| key.to_owned()));
        } else if !(kind == Kind::Qemu && numbered(key, "ipconfig")) {
            continue;
        }
        keys.insert(key.to_owned());
    }
    Devices { disks, nics, keys, unreadable }
}

/// `net2` before `net10`, also those that have no readable value.
fn in_order(config: &Config) -> Vec<(&str, Option<&str>)> {
    let mut all: Vec<_> = config.keys().map(|key| (key, config.get(key))).collect();
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

/// The size of a disk, which may have none, and whether it could be read.
fn size_of(parts: &mut Properties<'_>) -> (Option<Bytes>, bool) {
    let text = parts.take("size");
    let bytes = text.and_then(size);
    (bytes, bytes.is_some() || text.is_none_or(|text| text.starts_with('0')))
}

/// Whether all of it could be read.
fn push_vm_disk(table: &mut Table, key: &str, value: &str) -> bool {
    let mut parts = Properties::read(value);
    let (storage, volume) = volume(parts.take_or_first("file").unwrap_or_default());
    let (bytes, is_read) = size_of(&mut parts);
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
    is_read
}

/// Whether all of it could be read.
fn push_ct_disk(table: &mut Table, key: &str, value: &str, root: Option<Share>) -> bool {
    let mut parts = Properties::read(value);
    let (storage, volume) = volume(parts.take_or_first("volume").unwrap_or_default());
    let (bytes, is_read) = size_of(&mut parts);
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
    is_read
}

/// Whether all of it could be read.
fn push_nic(
    table: &mut Table,
    kind: Kind,
    key: &str,
    value: &str,
    cloud_init: Option<&str>,
) -> bool {
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
    let written = parts.take("tag");
    let tag = written.and_then(|tag| tag.parse::<u64>().ok()).filter(|tag| *tag < 4096);
    let firewall = parts.take_flag("firewall");
    let address = match kind {
        Kind::Lxc => addresses(&mut parts),
        Kind::Qemu => cloud_init.and_then(|text| addresses(&mut Properties::read(text))),
    };
    let is_down = parts.take_flag("link_down");
    let down = match is_down {
        Ok(is_down) => is_down.then(|| "link down".to_owned()),
        Err(Odd) => Some("link ?".to_owned()),
    };
    table.push([
        label(key).into(),
        text(device),
        text(mac),
        text(bridge),
        tag.into(),
        firewall.ok().map(|is_on| if is_on { "on" } else { "off" }).into(),
        address.into(),
        joined([down, parts.rest()]),
    ]);
    tag.is_some() == written.is_some() && firewall.is_ok() && is_down.is_ok()
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
            let config = Config::from_iter(config);
            let kind = if is_vm { Kind::Qemu } else { Kind::Lxc };
            let devices = of(kind, &config, None);
            let n_rows = devices.disks.len() + devices.nics.len();
            prop_assert!(n_rows <= devices.keys.len());
            prop_assert!(devices.keys.iter().all(|key| config.get(key).is_some()));
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
            let config = Config::from_iter([
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
