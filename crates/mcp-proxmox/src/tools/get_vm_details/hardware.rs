//! A configuration in words: processors, memory, start, protection and what else is set.
//!
//! **Nothing that is configured is lost**: a key that no sentence covers is told as it is written. **What cannot be
//! read is not told as PVE's default**: it is `?`, or its sentence is left out, and its key is named.

use std::{borrow::Cow, collections::BTreeSet};

use pve_client::{Kind, guest};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    devices::numbered,
    properties::{self, Odd, Properties, agent, count, flag, mib},
};
use crate::{
    answer::{
        Bytes,
        clean::{label, sentence},
    },
    call::Call,
};

/// Keys that say nothing to a person, or are told elsewhere in the answer.
const SILENT: [&str; 9] =
    ["digest", "vmgenid", "name", "hostname", "description", "tags", "template", "lock", "meta"];

/// Facts in words, in an order that reads well.
#[derive(Debug, Default)]
pub(super) struct Facts(Vec<(&'static str, Value)>);

/// A configuration of which each key is told once.
struct Config<'a> {
    values: &'a guest::Config,
    told: BTreeSet<&'a str>,
    unreadable: BTreeSet<String>,
    facts: Facts,
}

/// Everything that is not in the tables, and the keys that could not be read; `shown` are the keys in the tables.
pub(super) fn facts(
    kind: Kind,
    values: &guest::Config,
    shown: &BTreeSet<String>,
    call: &Call,
) -> (Facts, BTreeSet<String>) {
    let told = shown.iter().map(String::as_str).chain(SILENT).collect();
    let unreadable = values.unreadable().map(str::to_owned).collect();
    let mut config = Config { values, told, unreadable, facts: Facts::default() };
    config.system(kind);
    config.processors(kind);
    config.memory(kind);
    config.start(kind);
    if kind == Kind::Qemu {
        config.agent();
        config.cloud_init();
    }
    config.passthrough();
    let _ = config.read("template", flag);
    if let Some(meta) = values.get("meta") {
        let created = Properties::read(meta).take("ctime").and_then(|time| time.parse().ok());
        config.say("created", created.and_then(|time| call.time(time)));
    }
    config.rest();
    (config.facts, config.unreadable)
}

impl<'a> Config<'a> {
    /// A key's value, which is then told.
    fn tell(&mut self, key: &'a str) -> Option<&'a str> {
        self.read(key, Some).ok().flatten()
    }

    /// A key's value as `read` reads it, which is then told or among those that could not be read.
    fn read<T>(
        &mut self,
        key: &'a str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<Option<T>, Odd> {
        self.told.insert(key);
        let value = properties::read(self.values, key, read);
        if value.is_err() {
            self.unreadable.insert(key.to_owned());
        }
        value
    }

    fn say(&mut self, name: &'static str, words: Option<String>) {
        self.facts.0.extend(words.map(|words| (name, Value::String(words))));
    }

    fn list(&mut self, name: &'static str, words: Vec<String>) {
        if !words.is_empty() {
            self.facts.0.push((name, words.into()));
        }
    }

    fn system(&mut self, kind: Kind) {
        let os = self.tell("ostype").map(|os| match (kind, os_name(os)) {
            (Kind::Qemu, Some(name)) => format!("{name} ({})", label(os)),
            _ => label(os),
        });
        self.say("os_type", os);
        match kind {
            Kind::Qemu => {
                let bios = match self.read("bios", Some) {
                    Ok(Some("ovmf")) => "OVMF (UEFI)".to_owned(),
                    Ok(None | Some("seabios")) => "SeaBIOS".to_owned(),
                    Ok(Some(other)) => label(other),
                    Err(Odd) => "BIOS ?".to_owned(),
                };
                let machine = match self.read("machine", Some) {
                    Ok(machine) => machine.map_or_else(|| "i440fx".to_owned(), label),
                    Err(Odd) => "?".to_owned(),
                };
                self.say("machine", Some(format!("{machine}, {bios}")));
            }
            Kind::Lxc => {
                let isolation = self.read("unprivileged", flag).ok().map(|is_on| match is_on {
                    Some(true) => "unprivileged".to_owned(),
                    _ => "privileged: root in it is root on the host".to_owned(),
                });
                self.say("isolation", isolation);
                let arch = self.tell("arch").map(label);
                self.say("arch", arch);
                let features = self.tell("features").map(label);
                self.say("features", features);
            }
        }
    }

    fn processors(&mut self, kind: Kind) {
        let (sockets, cores) = (self.read("sockets", count), self.read("cores", count));
        let mut words = Vec::new();
        words.push(match (kind, sockets, cores) {
            (_, Err(Odd), _) | (_, _, Err(Odd)) => "? cores".to_owned(),
            (Kind::Lxc, _, Ok(None)) => "all cores of the node".to_owned(),
            (_, Ok(Some(sockets @ 2..)), Ok(cores)) => {
                let cores = cores.unwrap_or(1);
                format!("{} cores ({sockets} sockets of {cores})", sockets.saturating_mul(cores))
            }
            (_, _, Ok(cores)) => match cores.unwrap_or(1) {
                1 => "1 core".to_owned(),
                cores => format!("{cores} cores"),
            },
        });
        words.extend(self.tell("vcpus").map(|n| format!("{} of them plugged in", label(n))));
        match self.read("cpu", Some) {
            Ok(Some(text)) => {
                let mut cpu = Properties::read(text);
                let kind = cpu.take_or_first("cputype");
                words.extend(kind.map(|kind| format!("type {}", label(kind))));
                words.extend(cpu.rest());
            }
            Ok(None) if kind == Kind::Qemu => words.push("type kvm64 (PVE's default)".to_owned()),
            Ok(None) | Err(Odd) => {}
        }
        let in_bounds = |text: &str| text.parse().is_ok_and(|n| (0.0..1e6).contains(&n));
        let limit = self.read("cpulimit", |text| in_bounds(text).then_some(text));
        let limit = limit.ok().flatten().filter(|limit| *limit != "0");
        words.extend(limit.map(|limit| format!("limited to {} cores' time", label(limit))));
        words.extend(self.tell("cpuunits").map(|units| format!("weight {}", label(units))));
        words.extend(
            self.tell("affinity").map(|list| format!("pinned to host CPUs {}", label(list))),
        );
        words.extend((self.read("numa", flag) == Ok(Some(true))).then(|| "NUMA".to_owned()));
        if self.read("kvm", flag) == Ok(Some(false)) {
            words.push("KVM off: emulated, slow".to_owned());
        }
        self.say("cpu", Some(words.join(", ")));
    }

    fn memory(&mut self, kind: Kind) {
        let bytes = |mib: u64| Bytes(mib.saturating_mul(1 << 20));
        let shown = |size: Option<u64>| bytes(size.unwrap_or(512)).to_string();
        let current = |text| Properties::read(text).take_or_first("current").and_then(mib);
        let size = self.read("memory", |text| current(text).filter(|size| *size > 0));
        if kind == Kind::Lxc {
            self.say("memory", size.ok().map(shown));
            let swap = self.read("swap", mib);
            self.say("swap", swap.ok().map(shown));
            return;
        }
        let mut words = vec![size.map_or_else(|_| "?".to_owned(), shown)];
        words.push(match (self.read("balloon", mib), size) {
            (Err(Odd), _) => "balloon ?".to_owned(),
            (Ok(Some(0)), _) => "no balloon device".to_owned(),
            (Ok(Some(least)), Err(Odd)) => format!("balloon at {}", bytes(least)),
            (Ok(Some(least)), Ok(size)) if least < size.unwrap_or(512) => {
                format!("balloon may shrink it to {}", bytes(least))
            }
            _ => "fixed (the balloon only reports)".to_owned(),
        });
        words.extend(self.tell("shares").map(|shares| format!("weight {}", label(shares))));
        words.extend(self.tell("hugepages").map(|pages| format!("hugepages {}", label(pages))));
        self.say("memory", Some(words.join(", ")));
    }

    fn start(&mut self, kind: Kind) {
        let at_boot = match self.read("onboot", flag) {
            Ok(Some(true)) => "yes",
            Ok(_) => "no",
            Err(Odd) => "?",
        };
        let mut words = vec![at_boot.to_owned()];
        if let Some(text) = self.tell("startup") {
            let mut startup = Properties::read(text);
            let order = startup.take_or_first("order");
            words.extend(order.map(|order| format!("order {}", label(order))));
            let seconds = |n: &str, what: &str| format!("{} s {what}", label(n));
            words.extend(startup.take("up").map(|n| seconds(n, "until the next one starts")));
            words.extend(startup.take("down").map(|n| seconds(n, "to shut down")));
        }
        self.say("start_at_boot", Some(words.join(", ")));
        if kind == Kind::Qemu {
            let order = self.tell("boot").map(|boot| {
                let order =
                    Properties::read(boot).take("order").map(|order| order.replace(';', ", "));
                match order.filter(|order| !order.is_empty()) {
                    Some(order) => label(&order),
                    None if boot.is_empty() => "from nothing".to_owned(),
                    None => label(boot),
                }
            });
            self.say("boot_order", order);
        }
        let is_protected = self.read("protection", flag) == Ok(Some(true));
        let told = is_protected.then(|| "on: it and its disks cannot be removed".to_owned());
        self.say("protection", told);
    }

    fn agent(&mut self) {
        let words = self.read("agent", agent).ok().map(|agent| {
            let (is_on, rest) = agent.unwrap_or_default();
            let rest = rest.map(|rest| format!(", {rest}")).unwrap_or_default();
            format!("{}{rest}", if is_on { "enabled" } else { "not enabled" })
        });
        self.say("guest_agent", words);
    }

    fn cloud_init(&mut self) {
        let mut words = Vec::new();
        words.extend(self.tell("ciuser").map(|user| format!("user {}", label(user))));
        words.extend(self.tell("cipassword").map(|_| "a password is set".to_owned()));
        // Keys are one a line, percent-encoded; how many there are is what matters.
        let keys = self.tell("sshkeys").map(|keys| keys.matches("ssh-").count().max(1));
        words.extend(keys.map(|n| format!("{n} SSH keys")));
        words.extend(self.tell("nameserver").map(|server| format!("DNS {}", label(server))));
        words.extend(self.tell("searchdomain").map(|domain| format!("domain {}", label(domain))));
        words.extend(self.tell("citype").map(|kind| format!("type {}", label(kind))));
        words.extend(self.read("ciupgrade", flag).ok().flatten().map(|is_on| {
            if is_on { "upgrades at the first start" } else { "no upgrade at the first start" }
                .to_owned()
        }));
        words.extend(self.tell("cicustom").map(|custom| format!("custom files {}", label(custom))));
        self.list("cloud_init", words);
    }

    /// Devices of the host that the guest has for itself.
    fn passthrough(&mut self) {
        let names = ["hostpci", "usb", "dev", "parallel"];
        let mut words = Vec::new();
        for (key, value) in self.values.iter() {
            // A serial port of a VM may be one of the host.
            let is_port = numbered(key, "serial") && value.starts_with('/');
            if is_port || names.iter().any(|name| numbered(key, name)) {
                self.told.insert(key);
                words.push(format!("{}: {}", label(key), label(value)));
            }
        }
        self.list("passthrough", words);
    }

    /// What no sentence covers.
    fn rest(&mut self) {
        let left = self.values.iter().filter(|(key, _)| !self.told.contains(key));
        let words = left.map(|(key, value)| format!("{}: {}", label(key), sentence(value)));
        self.list("other", words.collect());
    }
}

fn os_name(ostype: &str) -> Option<&'static str> {
    Some(match ostype {
        "l26" => "Linux",
        "l24" => "Linux 2.4",
        "win11" => "Windows 11, 2022 or 2025",
        "win10" => "Windows 10, 2016 or 2019",
        "win8" => "Windows 8 or 2012",
        "win7" => "Windows 7 or 2008 R2",
        "solaris" => "Solaris",
        "other" => "other",
        _ if ostype.starts_with('w') => "Windows",
        _ => return None,
    })
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl JsonSchema for Facts {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Facts".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Which facts there are depends on the guest.
        json_schema!({ "type": "object" })
    }
}
