//! How a guest is configured, what of it is not in force yet, and its snapshots.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::GuestRef;
use crate::{
    Get, UnreadableWhy,
    envelope::{Many, Parsed, read_lenient},
    form::Form,
    perl::{self, FromPerl, Lenient},
};

/// A key of containers whose value is a list of pairs: their raw lines for LXC.
const RAW_LINES: &str = "lxc";

/// A configuration, key by key, as text.
///
/// A key that is there with a value that is no text is known as [unreadable](Self::is_unreadable), so that nobody
/// takes it for one that is not set. `null` and the empty text mean that it is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    values: BTreeMap<String, String>,
    unreadable: BTreeSet<String>,
}

impl Config {
    /// The value of a key. `None` where it is not set, and where it is unreadable.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// Whether a key is set to something that is no text.
    pub fn is_unreadable(&self, key: &str) -> bool {
        self.unreadable.contains(key)
    }

    /// The keys that can be read, with their values, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The keys that cannot be read.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.unreadable.iter().map(String::as_str)
    }

    /// All keys, whether they can be read or not.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str).chain(self.unreadable())
    }
}

impl FromIterator<(String, String)> for Config {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(pairs: I) -> Self {
        Self { values: pairs.into_iter().collect(), unreadable: BTreeSet::new() }
    }
}

impl FromPerl for Config {
    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut config = Self::default();
        while let Some((key, Lenient(value))) = map.next_entry::<String, _>()? {
            match value {
                Some(Value::Text(text)) => drop(config.values.insert(key, text)),
                Some(Value::Odd) if key != RAW_LINES => drop(config.unreadable.insert(key)),
                Some(Value::Odd) | None => {}
            }
        }
        Ok(Some(config))
    }
}

impl Many for Config {
    fn read(body: &[u8]) -> Result<Parsed<Self>, UnreadableWhy> {
        read_lenient(body)
    }
}

/// A value of a configuration.
enum Value {
    Text(String),
    /// A list or an object.
    Odd,
}

impl FromPerl for Value {
    fn from_text(text: &str) -> Option<Self> {
        String::from_text(text).map(Self::Text)
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Some(Self::Odd))
    }

    fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Some(Self::Odd))
    }
}

perl::answer! {
    /// One key of a configuration, as it is and as it will be.
    pub struct Pending known by key {
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
    pub struct Snapshot known by name {
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
/// Without `current=1` Proxmox VE answers with the pending changes merged in. A container's raw `lxc` lines are left
/// out.
pub fn config(guest: &GuestRef) -> Get<Config> {
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
        assert_eq!((config.get("memory"), config.get("cpulimit")), (Some("256"), Some("0.5")));
        assert!(config.keys().all(|key| key != "lxc"));
    }

    #[test]
    fn a_key_that_is_no_text_is_not_one_that_is_not_set() {
        let body =
            br#"{"data":{"cores":null,"memory":[512],"onboot":{},"name":"","net0":7,"lxc":[]}}"#;
        let config = config(&guest()).read(body).ok().unwrap().data;
        assert_eq!(config.unreadable().collect::<Vec<_>>(), ["memory", "onboot"]);
        assert_eq!(config.iter().collect::<Vec<_>>(), [("net0", "7")]);
        assert!(config.is_unreadable("onboot") && !config.is_unreadable("cores"));
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
