//! What can be known from inside a running guest: from the agent of a VM, from the node of a container.
//!
//! All of it is optional, and each part that is missing says why: not enabled, not answering, not
//! allowed, not known to this agent.

use futures_util::join;
use pve_client::{
    Error, Reader,
    guest::{
        GuestRef,
        agent::{self, FileSystem, Interface, Said},
    },
};

use crate::{
    answer::{
        Bytes, Percent, Share, Table,
        clean::{label, sentence},
    },
    call::Call,
    failure::Failure,
    in_order::InOrder as _,
};

/// How long the first question to the agent may take, in seconds. A silent one takes PVE three.
const FIRST_SECONDS: u64 = 8;
/// How long all the others may take, in seconds.
const OTHER_SECONDS: u64 = 12;
/// How many interfaces and file systems are shown.
const SHOWN: usize = 40;

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct Inside {
    pub(super) hostname: Option<String>,
    pub(super) os: Option<String>,
    pub(super) agent_version: Option<String>,
    pub(super) addresses: Option<Table>,
    pub(super) filesystems: Option<Table>,
    pub(super) not_available: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Asks the agent of a running VM. A silent one costs one question.
pub(super) async fn of_vm(pve: &Reader, call: &Call, guest: &GuestRef) -> Inside {
    let mut inside = Inside::default();
    let first = pve.until(call.part(FIRST_SECONDS)).get(agent::interfaces(guest)).await;
    match first {
        Ok(said) => {
            if let Some(interfaces) = inside.part("addresses from inside", Ok(said)) {
                inside.set_addresses(&interfaces);
            }
        }
        Err(error) => {
            inside.not_available.push(format!(
                "addresses, system and file systems from inside: {}",
                why_silent(&error)
            ));
            return inside;
        }
    }
    let pve = pve.until(call.part(OTHER_SECONDS));
    let (info, os, name, file_systems) = join!(
        pve.get(agent::info(guest)),
        pve.get(agent::os_info(guest)),
        pve.get(agent::host_name(guest)),
        pve.get(agent::file_systems(guest)),
    );
    let info = inside.part("guest agent's version", info);
    inside.agent_version = info.and_then(|info| info.version).map(|version| label(&version));
    inside.os = inside.part("operating system", os).and_then(|os| {
        let both = os.name.as_deref().zip(os.version.as_deref());
        let named = both.map(|(name, version)| format!("{name} {version}"));
        let pretty = os.pretty_name.or(named).or(os.name);
        let kernel = os.kernel_release.map(|kernel| format!("kernel {kernel}"));
        let words: Vec<_> = [pretty, kernel].into_iter().flatten().collect();
        (!words.is_empty()).then(|| label(&words.join(", ")))
    });
    let name = inside.part("hostname", name);
    inside.hostname = name.and_then(|name| name.host_name).map(|name| label(&name));
    let file_systems = inside.part("file systems", file_systems);
    if let Some(file_systems) = file_systems {
        inside.set_file_systems(&file_systems);
    }
    inside
}

/// Asks the node for the addresses of a running container.
pub(super) async fn of_container(pve: &Reader, call: &Call, guest: &GuestRef) -> Inside {
    let mut inside = Inside::default();
    let pve = pve.until(call.part(FIRST_SECONDS));
    match pve.get(agent::container_interfaces(guest)).await {
        // One that runs has its loopback at the least.
        Ok(interfaces) if interfaces.is_empty() => inside.not_available.push(
            "the container's addresses: its node sees no interface of it, as of one that does not run"
                .to_owned(),
        ),
        Ok(interfaces) => inside.set_addresses(&interfaces),
        Err(error) => {
            let why = Failure::from_pve("read the container's addresses", &error);
            inside.not_available.push(why.what().to_owned());
        }
    }
    inside
}

/// Why an agent that is enabled did not answer.
fn why_silent(error: &Error) -> String {
    match error.refusal() {
        Some(refusal) if refusal.message.contains("guest agent is not running") => {
            "the guest agent is enabled but does not answer: it is not installed or not running in the VM"
                .to_owned()
        }
        Some(refusal) if refusal.message.contains("No QEMU guest agent") => {
            "the guest agent is not enabled in the configuration that the VM was started with"
                .to_owned()
        }
        _ => Failure::from_pve("ask the guest agent", error).what().to_owned(),
    }
}

impl Inside {
    fn missing(&mut self, what: &str, why: &str) {
        self.not_available.push(format!("{what}: the guest agent said `{why}`"));
    }

    fn part<T>(&mut self, what: &str, answer: Result<Said<T>, Error>) -> Option<T> {
        match answer {
            Ok(Said::Answer(part)) => Some(part),
            Ok(Said::Error(text)) => {
                self.missing(what, &sentence(&text));
                None
            }
            Err(error) => {
                let why = Failure::from_pve(&format!("read the {what}"), &error);
                self.not_available.push(why.what().to_owned());
                None
            }
        }
    }

    fn set_addresses(&mut self, interfaces: &[Interface]) {
        let mut table = Table::new(&["interface", "mac", "addresses"]);
        let mut n_others = 0;
        for interface in interfaces {
            let addresses = addresses(interface);
            // Bridges and pairs of containers inside the guest may be many, and say little.
            let is_loopback = interface.name.as_deref() == Some("lo")
                || (!addresses.is_empty() && addresses.iter().all(|text| is_loopback(text)));
            if is_loopback || (addresses.is_empty() && table.len() >= SHOWN / 2) {
                continue;
            }
            if table.len() >= SHOWN {
                n_others += 1;
                continue;
            }
            let mac = interface.hardware_address.as_deref().or(interface.hwaddr.as_deref());
            table.push([
                interface.name.as_deref().map(label).into(),
                mac.map(label).into(),
                Some(sentence(&addresses.join(", "))).filter(|text| !text.is_empty()).into(),
            ]);
        }
        if n_others > 0 {
            self.notes.push(format!("{n_others} more interfaces inside are not shown"));
        }
        self.addresses = Some(table);
    }

    fn set_file_systems(&mut self, file_systems: &[FileSystem]) {
        let mut table = Table::new(&["mountpoint", "type", "used", "device"]);
        let mut fullest_first: Vec<&FileSystem> = file_systems.iter().collect();
        let share = |of: &FileSystem| Share::new(of.used_bytes, of.total_bytes);
        let percent = |of: &FileSystem| share(of).and_then(Share::percent).map(Percent::value);
        fullest_first.order_by(|a, b| {
            percent(b).partial_cmp(&percent(a)).unwrap_or(std::cmp::Ordering::Equal)
        });
        for file_system in fullest_first.iter().take(SHOWN) {
            let size = file_system.total_bytes.map(|total| format!("? of {}", Bytes(total)));
            table.push([
                file_system.mountpoint.as_deref().map(label).into(),
                file_system.kind.as_deref().map(label).into(),
                share(file_system).map(|share| share.to_string()).or(size).into(),
                file_system.name.as_deref().map(label).into(),
            ]);
        }
        if file_systems.len() > SHOWN {
            let n_others = file_systems.len() - SHOWN;
            self.notes.push(format!("{n_others} more file systems, less full, are not shown"));
        }
        self.filesystems = Some(table);
    }
}

/// Every address once, with the length of its network's prefix where that is known; link-local ones, which every
/// interface has, only where there is no other.
fn addresses(interface: &Interface) -> Vec<String> {
    let listed = interface.ip_addresses.iter().filter_map(|address| {
        let text = address.ip_address.as_deref()?;
        Some(match address.prefix.filter(|prefix| *prefix <= 128) {
            Some(prefix) => format!("{}/{prefix}", bare(text)),
            None => bare(text).to_owned(),
        })
    });
    let old = [interface.inet.as_deref(), interface.inet6.as_deref()];
    let old = old.into_iter().flatten().map(|text| text.trim().to_owned());
    let mut all: Vec<String> = Vec::new();
    for address in listed.chain(old) {
        match all.iter_mut().find(|known| bare(known) == bare(&address)) {
            // The form that knows more.
            Some(known) if known.len() < address.len() => *known = address,
            Some(_) => {}
            None if bare(&address).is_empty() => {}
            None => all.push(address),
        }
    }
    let (local, mut global): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|address| is_link_local(address));
    if global.is_empty() {
        global = local;
    }
    global
}

/// The address without prefix and zone.
fn bare(address: &str) -> &str {
    address.split(['/', '%']).next().unwrap_or(address).trim()
}

fn is_link_local(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    address.starts_with("169.254.")
        || ["fe8", "fe9", "fea", "feb"].iter().any(|start| address.starts_with(start))
}

fn is_loopback(address: &str) -> bool {
    address.starts_with("127.") || bare(address) == "::1"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(addresses: &[&str], inet: Option<&str>) -> Interface {
        let address = |text: &&str| agent::Address {
            ip_address: Some((*text).to_owned()),
            ..agent::Address::default()
        };
        Interface {
            ip_addresses: addresses.iter().map(address).collect(),
            inet: inet.map(str::to_owned),
            ..Interface::default()
        }
    }

    #[test]
    fn both_forms_are_one_list_without_link_local_addresses() {
        let both = interface(&["192.0.2.5", "fe80::1"], Some("192.0.2.5/24"));
        assert_eq!(addresses(&both), ["192.0.2.5/24"]);
        assert_eq!(addresses(&interface(&[], Some("192.0.2.6/24"))), ["192.0.2.6/24"]);
        assert_eq!(addresses(&interface(&["fe80::1%eth0"], None)), ["fe80::1"]);
    }

    #[test]
    fn a_prefix_is_shown_where_it_is_given_and_can_be_one() {
        let with = |text: &str, prefix| agent::Address {
            ip_address: Some(text.to_owned()),
            prefix: Some(prefix),
        };
        let ip_addresses = vec![with("2001:db8::5", 64), with("192.0.2.5", 900), with("::1", 128)];
        let addresses = addresses(&Interface { ip_addresses, ..Interface::default() });
        assert_eq!(addresses, ["2001:db8::5/64", "192.0.2.5", "::1/128"]);
        assert!(is_loopback(&addresses[2]) && !is_loopback(&addresses[0]));
    }
}
