//! How a guest is configured, what of it is not in force yet, and its snapshots.

use std::collections::BTreeMap;

use super::GuestRef;
use crate::{Get, form::Form, perl};

perl::answer! {
    /// One key of a configuration, as it is and as it will be.
    pub struct Pending {
        /// The key.
        pub key: Option<String>,
        /// What is in force. Absent where the key is new.
        pub value: Option<String>,
        /// What will be in force after the next start. Absent where nothing changes.
        pub pending: Option<String>,
        /// Whether the key goes away with the next start. 2 means that it is forced.
        pub delete: Option<u64>,
    }
}

perl::answer! {
    /// A snapshot, or the guest as it is now, whose name is then `current`.
    pub struct Snapshot {
        /// Its name.
        pub name: Option<String>,
        /// The snapshot that it was made after. Absent for the first.
        pub parent: Option<String>,
        /// When it was made, in seconds since 1970.
        pub snaptime: Option<i64>,
        /// Whether it has the memory of the guest as well.
        pub vmstate: Option<bool>,
        /// What somebody wrote on it.
        pub description: Option<String>,
        /// `prepare` or `delete` while something is done with it, or was when that broke off.
        pub snapstate: Option<String>,
    }
}

/// The configuration that is in force, key by key, as text. Needs `VM.Audit`.
///
/// Without `current=1` Proxmox VE answers with the pending changes merged in. Values that are no
/// plain text, such as a container's raw `lxc` lines, are left out.
pub fn config(guest: &GuestRef) -> Get<BTreeMap<String, String>> {
    Get::many(Form::default().flag("current", true).after(&format!("{}/config", guest.path())))
}

/// All keys of the configuration, with what changes at the next start. Needs `VM.Audit`.
pub fn pending(guest: &GuestRef) -> Get<Vec<Pending>> {
    Get::many(format!("{}/pending", guest.path()))
}

/// The snapshots, in no order, with the present state as `current`. Needs `VM.Audit`.
pub fn snapshots(guest: &GuestRef) -> Get<Vec<Snapshot>> {
    Get::many(format!("{}/snapshot", guest.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, VmId};

    fn guest() -> GuestRef {
        GuestRef {
            node: "pve1".parse().unwrap(),
            kind: Kind::Lxc,
            vmid: VmId::try_from(200u32).unwrap(),
        }
    }

    #[test]
    fn each_request_goes_to_the_guest() {
        assert_eq!(config(&guest()).path(), "/nodes/pve1/lxc/200/config?current=1");
        assert_eq!(pending(&guest()).path(), "/nodes/pve1/lxc/200/pending");
        assert_eq!(snapshots(&guest()).path(), "/nodes/pve1/lxc/200/snapshot");
    }

    #[test]
    fn every_value_is_text_whatever_it_was() {
        let body = br#"{"data":{"memory":256,"hostname":"ct-web","unprivileged":1,
            "lxc":[["lxc.apparmor.profile","unconfined"]],"cpulimit":0.5,"rootfs":"local:x,size=0T"}}"#;
        let config = config(&guest()).read(body).ok().unwrap().data;
        assert_eq!(config["memory"], "256");
        assert_eq!(config["cpulimit"], "0.5");
        assert!(!config.contains_key("lxc"));
    }

    #[test]
    fn what_changes_and_what_goes_are_told_apart() {
        let body = br#"{"data":[{"key":"memory","value":"256","pending":512},{"key":"net1","delete":1,"value":"x"},
            {"value":"web01","key":"name"}]}"#;
        let rows = pending(&guest()).read(body).ok().unwrap().data;
        assert_eq!(rows[0].pending.as_deref(), Some("512"));
        assert_eq!((rows[1].delete, rows[2].delete), (Some(1), None));
    }
}
