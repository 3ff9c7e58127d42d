//! What the guest agent inside a VM says, and what a node sees of a container from outside.
//!
//! Needs `VM.GuestAgent.Audit` since PVE 9 and `VM.Monitor` before. Each request waits some three
//! seconds for an agent that is silent.
//!
//! **Invariant:** an error that comes inside a success is an error here too: see [`Said`].

use serde::{Deserialize, Deserializer};

use super::GuestRef;
use crate::{
    Get,
    perl::{self, Expected, FromPerl},
};

/// What the agent answered to one command.
#[derive(Clone, Debug, PartialEq)]
pub enum Said<T> {
    /// What was asked for.
    Answer(T),
    /// That it cannot, in its own words. PVE passes this on with status 200.
    Error(String),
}

perl::answer! {
    /// The agent itself.
    pub struct Info {
        /// Its version.
        pub version: Option<String>,
    }
}

perl::answer! {
    /// The operating system. A small one says only what its kernel is.
    pub struct OsInfo {
        /// `Debian GNU/Linux 13 (trixie)`.
        #[serde(rename = "pretty-name")]
        pub pretty_name: Option<String>,
        /// `Debian GNU/Linux`.
        pub name: Option<String>,
        /// `13 (trixie)`.
        pub version: Option<String>,
        /// The kernel that runs.
        #[serde(rename = "kernel-release")]
        pub kernel_release: Option<String>,
        /// `x86_64`.
        pub machine: Option<String>,
    }
}

perl::answer! {
    /// The name that the guest has for itself.
    pub struct HostName {
        /// The name.
        #[serde(rename = "host-name")]
        pub host_name: Option<String>,
    }
}

perl::answer! {
    /// A network interface inside a guest. Agents and nodes name the same things differently, and
    /// older nodes give only the last address of each kind, with its prefix.
    pub struct Interface {
        /// Its name inside.
        pub name: Option<String>,
        /// Its hardware address.
        #[serde(rename = "hardware-address")]
        pub hardware_address: Option<String>,
        /// The same of a container, in all versions.
        pub hwaddr: Option<String>,
        /// Its addresses. Empty on some versions although it has some.
        #[serde(rename = "ip-addresses")]
        pub ip_addresses: Vec<Address>,
        /// Of a container: the last IPv4 address, with its prefix.
        pub inet: Option<String>,
        /// Of a container: the last IPv6 address, with its prefix.
        pub inet6: Option<String>,
        /// Of a VM: what the interface counted since the guest started.
        pub statistics: Option<Statistics>,
    }
}

perl::answer! {
    /// The counters of an interface, seen from the guest.
    pub struct Statistics {
        /// Bytes that came in.
        #[serde(rename = "rx-bytes")]
        pub rx_bytes: Option<u64>,
        /// Damaged packets that came in.
        #[serde(rename = "rx-errs")]
        pub rx_errs: Option<u64>,
        /// Packets that came in and were thrown away.
        #[serde(rename = "rx-dropped")]
        pub rx_dropped: Option<u64>,
        /// Bytes that went out.
        #[serde(rename = "tx-bytes")]
        pub tx_bytes: Option<u64>,
        /// Packets that could not be sent.
        #[serde(rename = "tx-errs")]
        pub tx_errs: Option<u64>,
        /// Packets that were thrown away instead of being sent.
        #[serde(rename = "tx-dropped")]
        pub tx_dropped: Option<u64>,
    }
}

perl::answer! {
    /// An address.
    pub struct Address {
        /// The address.
        #[serde(rename = "ip-address")]
        pub ip_address: Option<String>,
        /// The length of its network's prefix.
        pub prefix: Option<u64>,
    }
}

perl::answer! {
    /// A file system that is mounted in a guest.
    pub struct FileSystem {
        /// Where it is mounted.
        pub mountpoint: Option<String>,
        /// Its device.
        pub name: Option<String>,
        /// `ext4`, `NTFS`, …
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// Bytes in use.
        #[serde(rename = "used-bytes")]
        pub used_bytes: Option<u64>,
        /// Bytes in all. Absent for what has no size, such as a CD that is not there.
        #[serde(rename = "total-bytes")]
        pub total_bytes: Option<u64>,
    }
}

/// The agent's version.
pub fn info(guest: &GuestRef) -> Get<Said<Info>> {
    command(guest, "info")
}

/// The operating system.
pub fn os_info(guest: &GuestRef) -> Get<Said<OsInfo>> {
    command(guest, "get-osinfo")
}

/// The name that the guest has for itself.
pub fn host_name(guest: &GuestRef) -> Get<Said<HostName>> {
    command(guest, "get-host-name")
}

/// The network interfaces, with their addresses.
pub fn interfaces(guest: &GuestRef) -> Get<Said<Vec<Interface>>> {
    command(guest, "network-get-interfaces")
}

/// The file systems, with their use.
pub fn file_systems(guest: &GuestRef) -> Get<Said<Vec<FileSystem>>> {
    command(guest, "get-fsinfo")
}

/// The network interfaces of a container, which needs no agent but `VM.Audit`. Empty while it is
/// stopped.
pub fn container_interfaces(guest: &GuestRef) -> Get<Vec<Interface>> {
    Get::many(format!("{}/interfaces", guest.path()))
}

fn command<T: FromPerl>(guest: &GuestRef, command: &str) -> Get<Said<T>> {
    Get::one(format!("{}/agent/{command}", guest.path()))
}

impl<'de, T: FromPerl> Deserialize<'de> for Said<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut answer = serde_json::Value::deserialize(from)?;
        let result = answer.get_mut("result").map(serde_json::Value::take).unwrap_or_default();
        if let Some(error) = result.get("error") {
            let word = |key| error.get(key).and_then(serde_json::Value::as_str);
            let text = word("desc").or_else(|| word("class")).or_else(|| error.as_str());
            return Ok(Self::Error(text.unwrap_or("an error without words").to_owned()));
        }
        Ok(match serde_json::from_value::<Expected<T>>(result) {
            Ok(Expected(answer)) => Self::Answer(answer),
            Err(_) => Self::Error("something else than what was asked for".to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Kind, VmId};

    fn guest() -> GuestRef {
        GuestRef {
            node: "pve1".parse().unwrap(),
            kind: Kind::Qemu,
            vmid: VmId::try_from(100u32).unwrap(),
        }
    }

    #[test]
    fn each_command_has_its_path() {
        assert_eq!(info(&guest()).path(), "/nodes/pve1/qemu/100/agent/info");
        assert_eq!(
            interfaces(&guest()).path(),
            "/nodes/pve1/qemu/100/agent/network-get-interfaces"
        );
        assert_eq!(container_interfaces(&guest()).path(), "/nodes/pve1/qemu/100/interfaces");
    }

    #[test]
    fn an_error_inside_a_success_is_an_error() {
        for (body, expected) in [
            (
                r#"{"data":{"result":{"error":{"class":"CommandNotFound","desc":"not found"}}}}"#,
                "not found",
            ),
            (r#"{"data":{"result":{"error":"unsupported"}}}"#, "unsupported"),
            (r#"{"data":{"result":"unsupported"}}"#, "something else than what was asked for"),
            (r#"{"data":{}}"#, "something else than what was asked for"),
        ] {
            let said = file_systems(&guest()).read(body.as_bytes()).ok().unwrap().data;
            assert_eq!(said, Said::Error(expected.to_owned()), "{body}");
        }
    }

    #[test]
    fn a_recorded_answer_is_read() {
        let body = br#"{"data":{"result":[{"ip-addresses":[{"ip-address":"fe80::1","prefix":64,"ip-address-type":"ipv6"}],
            "name":"eth0","hardware-address":"bc:24:11:07:e3:6b","statistics":{"rx-bytes":1302}}]}}"#;
        let Said::Answer(found) = interfaces(&guest()).read(body).ok().unwrap().data else {
            panic!("it is an answer")
        };
        assert_eq!(found[0].ip_addresses[0].prefix, Some(64));
    }

    proptest! {
        #[test]
        fn whatever_a_guest_answers_is_an_answer_or_its_error(text in any::<String>(), number in any::<f64>()) {
            let values = [
                serde_json::json!(text),
                serde_json::json!(number),
                serde_json::json!([text, number, null, { "name": number, "ip-addresses": text }]),
                serde_json::json!({ "error": text }),
                serde_json::json!({ "error": { "desc": number, "class": text } }),
                serde_json::json!({ text.clone(): [number] }),
            ];
            for value in values {
                let body = serde_json::json!({ "data": { "result": value } }).to_string();
                let is_error = value.get("error").is_some();
                let read = interfaces(&guest()).read(body.as_bytes()).ok().unwrap().data;
                prop_assert!(!is_error || matches!(read, Said::Error(_)), "{}", body);
                prop_assert!(info(&guest()).read(body.as_bytes()).is_ok());
                prop_assert!(os_info(&guest()).read(body.as_bytes()).is_ok());
                prop_assert!(file_systems(&guest()).read(body.as_bytes()).is_ok());
            }
        }
    }
}
