//! A configuration in words: processors, memory, start, protection and what else is set.
//!
//! **Nothing that is configured is lost**: a key that no sentence covers is told as it is written.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use pve_client::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    devices::numbered,
    properties::{Properties, is_on},
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
    values: &'a BTreeMap<String, String>,
    told: BTreeSet<&'a str>,
    facts: Facts,
}

/// Everything that is not in the tables; `shown` are the keys that are.
pub(super) fn facts(
    kind: Kind,
    values: &BTreeMap<String, String>,
    shown: &BTreeSet<String>,
    call: &Call,
) -> Facts {
    let told = shown.iter().map(String::as_str).chain(SILENT).collect();
    let mut config = Config { values, told, facts: Facts::default() };
    config.system(kind);
    config.processors(kind);
    config.memory(kind);
    config.start(kind);
    if kind == Kind::Qemu {
        config.agent();
        config.cloud_init();
    }
    config.passthrough();
    if let Some(meta) = values.get("meta") {
        let created = Properties::read(meta).take("ctime").and_then(|time| time.parse().ok());
        config.say("created", created.and_then(|time| call.time(time)));
    }
    config.rest();
    config.facts
}

impl<'a> Config<'a> {
    /// A key's value, which is then told.
    fn tell(&mut self, key: &'a str) -> Option<&'a str> {
        let value = self.values.get(key)?;
        self.told.insert(key);
        Some(value.trim())
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
                let bios = match self.tell("bios") {
                    Some("ovmf") => "OVMF (UEFI)".to_owned(),
                    None | Some("seabios") => "SeaBIOS".to_owned(),
                    Some(other) => label(other),
                };
                let machine = self.tell("machine").map_or_else(|| "i440fx".to_owned(), label);
                self.say("machine", Some(format!("{machine}, {bios}")));
            }
            Kind::Lxc => {
                let privileged = match self.tell("unprivileged").map(is_on) {
                    Some(true) => "unprivileged",
                    _ => "privileged: root in it is root on the host",
                };
                self.say("isolation", Some(privileged.to_owned()));
                let arch = self.tell("arch").map(label);
                self.say("arch", arch);
                let features = self.tell("features").map(label);
                self.say("features", features);
            }
        }
    }

    fn processors(&mut self, kind: Kind) {
        let number = |text: Option<&str>| text.and_then(|text| text.parse::<u64>().ok());
        let (sockets, cores) = (number(self.tell("sockets")), number(self.tell("cores")));
        let mut words = Vec::new();
        words.push(match (kind, sockets, cores) {
            (Kind::Lxc, _, None) => "all cores of the node".to_owned(),
            (_, Some(sockets @ 2..), cores) => {
                let cores = cores.unwrap_or(1);
                format!("{} cores ({sockets} sockets of {cores})", sockets.saturating_mul(cores))
            }
            (_, _, cores) => match cores.unwrap_or(1) {
                1 => "1 core".to_owned(),
                cores => format!("{cores} cores"),
            },
        });
        words.extend(self.tell("vcpus").map(|n| format!("{} of them plugged in", label(n))));
        if let Some(text) = self.tell("cpu") {
            let mut cpu = Properties::read(text);
            words.extend(cpu.take_or_first("cputype").map(|kind| format!("type {}", label(kind))));
            words.extend(cpu.rest());
        } else if kind == Kind::Qemu {
            words.push("type kvm64 (PVE's default)".to_owned());
        }
        let limit = self.tell("cpulimit").filter(|limit| *limit != "0");
        words.extend(limit.map(|limit| format!("limited to {} cores' time", label(limit))));
        words.extend(self.tell("cpuunits").map(|units| format!("weight {}", label(units))));
        words.extend(
            self.tell("affinity").map(|list| format!("pinned to host CPUs {}", label(list))),
        );
        words.extend(self.tell("numa").filter(|numa| is_on(numa)).map(|_| "NUMA".to_owned()));
        if self.tell("kvm").is_some_and(|kvm| !is_on(kvm)) {
            words.push("KVM off: emulated, slow".to_owned());
        }
        self.say("cpu", Some(words.join(", ")));
    }

    fn memory(&mut self, kind: Kind) {
        let bytes = |mib: u64| Bytes(mib.saturating_mul(1 << 20));
        let number = |text: &str| text.parse::<u64>().ok();
        let text = self.tell("memory");
        let size = text.and_then(|text| Properties::read(text).take_or_first("current"));
        let size = size.and_then(number).unwrap_or(512);
        if kind == Kind::Lxc {
            self.say("memory", Some(bytes(size).to_string()));
            let swap = self.tell("swap").and_then(number).unwrap_or(512);
            self.say("swap", Some(bytes(swap).to_string()));
            return;
        }
        let mut words = vec![bytes(size).to_string()];
        words.push(match self.tell("balloon").and_then(number) {
            Some(0) => "no balloon device".to_owned(),
            Some(least) if least < size => format!("balloon may shrink it to {}", bytes(least)),
            _ => "fixed (the balloon only reports)".to_owned(),
        });
        words.extend(self.tell("shares").map(|shares| format!("weight {}", label(shares))));
        words.extend(self.tell("hugepages").map(|pages| format!("hugepages {}", label(pages))));
        self.say("memory", Some(words.join(", ")));
    }

    fn start(&mut self, kind: Kind) {
        let at_boot = self.tell("onboot").is_some_and(is_on);
        let mut words = vec![if at_boot { "yes" } else { "no" }.to_owned()];
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
        let protected = self.tell("protection").filter(|on| is_on(on));
        let protected = protected.map(|_| "on: it and its disks cannot be removed".to_owned());
        self.say("protection", protected);
    }

    fn agent(&mut self) {
        let words = match self.tell("agent") {
            None => "not enabled".to_owned(),
            Some(text) => {
                let mut agent = Properties::read(text);
                let is_on = agent.take_or_first("enabled").is_some_and(is_on);
                let rest = agent.rest().map(|rest| format!(", {rest}")).unwrap_or_default();
                format!("{}{rest}", if is_on { "enabled" } else { "not enabled" })
            }
        };
        self.say("guest_agent", Some(words));
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
        words.extend(self.tell("ciupgrade").map(|on| {
            if is_on(on) { "upgrades at the first start" } else { "no upgrade at the first start" }
                .to_owned()
        }));
        words.extend(self.tell("cicustom").map(|custom| format!("custom files {}", label(custom))));
        self.list("cloud_init", words);
    }

    /// Devices of the host that the guest has for itself.
    fn passthrough(&mut self) {
        let names = ["hostpci", "usb", "dev", "parallel"];
        let mut words = Vec::new();
        for (key, value) in self.values {
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
        let left = self.values.iter().filter(|(key, _)| !self.told.contains(key.as_str()));
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
