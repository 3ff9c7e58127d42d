//! The networks of a node and of the cluster.

use super::{Cluster, Guest, Kind, Node};

/// A network interface of a node.
#[derive(Debug, Clone, Default)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// `eth`, `bridge`, `bond`, `vlan`, `OVSBridge`, …
    pub kind: String,
    /// Whether it is up.
    pub active: bool,
    /// Whether it comes up with the node.
    pub autostart: bool,
    /// Its address with the length of the prefix.
    pub cidr: Option<String>,
    /// The gateway behind it.
    pub gateway: Option<String>,
    /// What somebody wrote on it.
    pub comment: Option<String>,
    /// Keys that only its kind has, such as `bridge_ports`.
    pub keys: Vec<(String, String)>,
    /// What came in: bytes, packets, errors, dropped, missed, multicast.
    pub received: [u64; 6],
    /// What went out: bytes, packets, errors, dropped, carrier, collisions.
    pub sent: [u64; 6],
}

/// A zone of the software-defined network.
#[derive(Debug, Clone, Default)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// `simple`, `vlan`, `vxlan`, …
    pub kind: String,
    /// The bridge below it.
    pub bridge: Option<String>,
    /// `new`, `changed` or `deleted`, where that is not applied yet.
    pub state: Option<String>,
    /// The nodes on which it does not work.
    pub broken_on: Vec<String>,
    /// Its networks: name, tag, what somebody calls it.
    pub vnets: Vec<(String, u32, Option<String>)>,
}

/// A port of a bridge.
#[derive(Debug)]
pub(crate) struct Port<'a> {
    /// Its name on the node: `tap100i0`, `nic0`.
    pub(crate) name: String,
    /// The guest that it belongs to, and the number of its interface.
    pub(crate) guest: Option<(&'a Guest, usize)>,
    /// The VLAN of the guest's interface.
    pub(crate) tag: Option<u16>,
}

impl Interface {
    /// An interface that is up and comes up with the node.
    pub fn new(name: &str, kind: &str) -> Self {
        let (name, kind) = (name.to_owned(), kind.to_owned());
        Self { name, kind, active: true, autostart: true, ..Self::default() }
    }

    /// With an address.
    #[must_use]
    pub fn address(mut self, cidr: &str, gateway: Option<&str>) -> Self {
        self.cidr = Some(cidr.to_owned());
        self.gateway = gateway.map(str::to_owned);
        self
    }

    /// With a key that its kind has.
    #[must_use]
    pub fn key(mut self, key: &str, value: &str) -> Self {
        self.keys.push((key.to_owned(), value.to_owned()));
        self
    }

    /// With what somebody wrote on it.
    #[must_use]
    pub fn comment(mut self, text: &str) -> Self {
        self.comment = Some(text.to_owned());
        self
    }

    /// With counters: bytes, errors and dropped packets of what came in, and bytes of what went out.
    #[must_use]
    pub fn counted(mut self, received: u64, errors: u64, dropped: u64, sent: u64) -> Self {
        self.received = [received, received / 900, errors, dropped, 0, received / 90_000];
        self.sent = [sent, sent / 900, 0, 0, 0, 0];
        self
    }

    /// The value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.keys.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_vlan_aware(&self) -> bool {
        self.value("bridge_vlan_aware") == Some("1")
    }
}

impl Node {
    /// Its interfaces; where nobody said anything, two cards, one of which is used, and a bridge.
    pub(crate) fn interfaces(&self) -> Vec<Interface> {
        if !self.interfaces.is_empty() {
            return self.interfaces.clone();
        }
        let mut unused = Interface::new("nic1", "eth");
        (unused.active, unused.autostart) = (false, false);
        let mut bridge = Interface::new("vmbr0", "bridge")
            .key("bridge_ports", "nic0")
            .key("bridge_stp", "off")
            .key("bridge_fd", "0")
            .comment("LAN\n")
            .counted(4_000_000_000, 0, 12, 2_000_000_000);
        if let Some(address) = &self.address {
            let net = address.rsplit_once('.').map_or(address.as_str(), |(net, _)| net);
            bridge = bridge.address(&format!("{address}/24"), Some(&format!("{net}.1")));
        }
        let used = Interface::new("nic0", "eth").counted(5_000_000_000, 0, 0, 3_000_000_000);
        vec![used, unused, bridge]
    }
}

impl Cluster {
    /// What is plugged into this bridge of a node.
    pub(crate) fn ports<'a>(&'a self, node: &str, bridge: &Interface) -> Vec<Port<'a>> {
        let own = bridge.value("bridge_ports").unwrap_or_default().split_whitespace();
        let own = own.map(|name| Port { name: name.to_owned(), guest: None, tag: None });
        let up = self.guests.iter().filter(|guest| guest.node == node && guest.is_up());
        let theirs = up.flat_map(|guest| {
            let prefix = match guest.kind {
                Kind::Qemu => "tap",
                Kind::Lxc => "veth",
            };
            let nics = guest.nics.iter().enumerate().filter(|(_, nic)| nic.bridge == bridge.name);
            nics.map(move |(nth, nic)| Port {
                name: format!("{prefix}{}i{nth}", guest.vmid),
                guest: Some((guest, nth)),
                tag: nic.tag,
            })
        });
        own.chain(theirs).collect()
    }
}
