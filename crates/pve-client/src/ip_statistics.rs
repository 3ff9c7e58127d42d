//! Reads what `ip -details -statistics address` prints, from the report of a node.
//!
//! It is the only place where Proxmox VE tells the errors of an interface. The text differs with the
//! version of iproute2 (the header of the counters, their columns and the width of all that) and with the
//! interface (a line or more on what it is), so that **the columns are found by their names** and what is
//! not understood is passed over. A counter that was not there is `None`, never zero.

use std::collections::BTreeMap;

/// An interface with its counters since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its name, without what follows an `@`.
    pub name: String,
    /// What follows the `@`: the interface below a VLAN, the other end of a veth pair.
    pub of: Option<String>,
    /// `bridge`, `bond`, `vlan`, `veth`, `tun`, `openvswitch`, …; absent for what has no kind, such as a
    /// network card or the loopback.
    pub kind: Option<String>,
    /// The bridge or bond that it is a member of.
    pub master: Option<String>,
    /// `UP`, `DOWN`, `UNKNOWN`, …
    pub state: Option<String>,
    /// The largest packet.
    pub mtu: Option<u64>,
    /// Whether it is switched on but has no link.
    pub no_carrier: bool,
    /// Of a VLAN: its number.
    pub vlan: Option<u64>,
    /// Of a bridge: whether it keeps VLANs apart.
    pub vlan_filtering: Option<bool>,
    /// Of a bond: how its members are used.
    pub bond_mode: Option<String>,
    /// Whether it is the loopback.
    pub loopback: bool,
    /// What came in.
    pub received: Received,
    /// What went out.
    pub sent: Sent,
}

/// What came in through an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Bytes.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: Option<u64>,
    /// Packets that were damaged.
    pub errors: Option<u64>,
    /// Packets that nobody took.
    pub dropped: Option<u64>,
    /// Packets that came too fast: `overrun` of older versions, `missed` of newer ones.
    pub overruns: Option<u64>,
    /// Packets to many.
    pub multicast: Option<u64>,
}

/// What went out through an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes.
    pub bytes: Option<u64>,
    /// Packets.
    pub packets: Option<u64>,
    /// Packets that could not be sent.
    pub errors: Option<u64>,
    /// Packets that were thrown away.
    pub dropped: Option<u64>,
    /// Packets for which there was no link.
    pub carrier: Option<u64>,
    /// Collisions.
    pub collisions: Option<u64>,
}

/// The command, as it stands above its output in a report.
const COMMAND: &str = "ip -details -statistics address";

/// The part of a node's report that [`links`] reads. `None` where the report has none.
pub fn section(report: &str) -> Option<&str> {
    let begins = report
        .match_indices(COMMAND)
        .map(|(at, _)| at)
        // A line of its own: `# ip -details -statistics address`.
        .find(|at| report.get(..*at).is_some_and(|before| before.ends_with("# ")))?;
    let rest = report.get(begins..)?;
    let rest = rest.get(rest.find('\n')? + 1..)?;
    // The next command or the next chapter begins a line.
    let ends = ["\n# ", "\n===="].iter().filter_map(|mark| rest.find(mark)).min();
    rest.get(..ends.unwrap_or(rest.len()))
}

/// The interfaces in the output of the command, in its order.
pub fn links(text: &str) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut columns: Option<Columns> = None;
    for line in text.lines() {
        if let Some(link) = heading(line) {
            links.push(link);
            columns = None;
            continue;
        }
        let Some(link) = links.last_mut() else { continue };
        let mut words = line.split_whitespace();
        match (words.next(), columns.take()) {
            (Some(first), _) if is_direction(first) => columns = Columns::read(first, words),
            (Some(_), Some(columns)) => columns.fill(link, line),
            (Some(_), None) => describe(link, line),
            (None, _) => {}
        }
    }
    links
}

/// `RX:` or `TX:`, and the longer headers of errors by kind, which are no direction.
fn is_direction(word: &str) -> bool {
    matches!(word, "RX:" | "TX:" | "RX" | "TX")
}

/// Which counters the next line has.
struct Columns {
    is_received: bool,
    names: Vec<String>,
}

impl Columns {
    /// Reads a header: `RX: bytes packets errors dropped missed mcast`. `RX errors: length crc frame …`
    /// is another table, that is passed over.
    fn read<'a>(direction: &str, words: impl Iterator<Item = &'a str>) -> Option<Self> {
        let names: Vec<String> =
            words.map(|word| word.trim_end_matches(':').to_ascii_lowercase()).collect();
        let is_counters = names.first().is_some_and(|name| name == "bytes");
        is_counters.then(|| Self { is_received: direction.starts_with('R'), names })
    }

    fn fill(&self, link: &mut Link, line: &str) {
        let values = line.split_whitespace();
        let found: BTreeMap<&str, u64> = self
            .names
            .iter()
            .map(String::as_str)
            .zip(values)
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect();
        let get = |names: &[&str]| names.iter().find_map(|name| found.get(name).copied());
        if self.is_received {
            link.received = Received {
                bytes: get(&["bytes"]),
                packets: get(&["packets"]),
                errors: get(&["errors"]),
                dropped: get(&["dropped"]),
                overruns: get(&["missed", "overrun", "overruns"]),
                multicast: get(&["mcast"]),
            };
        } else {
            link.sent = Sent {
                bytes: get(&["bytes"]),
                packets: get(&["packets"]),
                errors: get(&["errors"]),
                dropped: get(&["dropped"]),
                carrier: get(&["carrier"]),
                collisions: get(&["collsns", "collisions"]),
            };
        }
    }
}

/// `3: eth0p@veth200i0: <BROADCAST,UP> mtu 1500 qdisc noqueue master vmbr0 state UP group default`.
fn heading(line: &str) -> Option<Link> {
    let (number, rest) = line.split_once(": ")?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (name, rest) = rest.split_once(": ")?;
    let (name, of) = match name.split_once('@') {
        Some((name, of)) => (name, Some(of.to_owned())),
        None => (name, None),
    };
    let flags = rest.strip_prefix('<').and_then(|rest| rest.split('>').next());
    let flags: Vec<&str> = flags.unwrap_or_default().split(',').collect();
    if name.is_empty() {
        return None;
    }
    Some(Link {
        name: name.to_owned(),
        of,
        master: after(rest, "master").map(str::to_owned),
        state: after(rest, "state").map(str::to_owned),
        mtu: after(rest, "mtu").and_then(|mtu| mtu.parse().ok()),
        no_carrier: flags.contains(&"NO-CARRIER"),
        loopback: flags.contains(&"LOOPBACK"),
        ..Link::default()
    })
}

/// A line on what an interface is, if it is one.
fn describe(link: &mut Link, line: &str) {
    const KINDS: [&str; 22] = [
        "bridge",
        "bond",
        "vlan",
        "veth",
        "tun",
        "openvswitch",
        "vxlan",
        "dummy",
        "macvlan",
        "macvtap",
        "ipvlan",
        "gre",
        "gretap",
        "ip6gre",
        "sit",
        "ipip",
        "wireguard",
        "ifb",
        "vrf",
        "team",
        "nlmon",
        "geneve",
    ];
    let line = line.trim_start();
    let first = line.split_whitespace().next().unwrap_or_default();
    if first.starts_with("link/") || first.starts_with("inet") || link.kind.is_some() {
        return;
    }
    let Some(kind) = KINDS.iter().find(|kind| **kind == first) else { return };
    // `openvswitch_slave` and `bridge_slave` are what it is a member of, and are no kinds.
    link.kind = Some((*kind).to_owned());
    match first {
        "vlan" => link.vlan = after(line, "id").and_then(|id| id.parse().ok()),
        "bridge" => {
            link.vlan_filtering = after(line, "vlan_filtering").map(|on| on != "0");
        }
        "bond" => link.bond_mode = after(line, "mode").map(str::to_owned),
        _ => {}
    }
}

/// The word after this one.
fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let mut words = line.split_whitespace();
    words.find(|word| *word == key)?;
    words.next()
}

#[cfg(test)]
mod tests;
