//! The networks of a node and of the cluster: interfaces, bridges and who hangs on them, SDN, traffic.

use crate::{Get, NodeName, VmId, ids::segment, perl};

perl::answer! {
    /// An interface as `/etc/network/interfaces` has it. Where changes wait ([`crate::Answer::changes`]),
    /// this is what will be, not what is.
    pub struct Iface known by iface {
        /// Its name.
        pub iface: Option<String>,
        /// `eth`, `bridge`, `bond`, `vlan`, `alias`, `OVSBridge`, `OVSBond`, `OVSIntPort`, …
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// Whether it is up. Absent when it is not.
        pub active: Option<bool>,
        /// Whether it comes up with the node. Absent when it does not.
        pub autostart: Option<bool>,
        /// IPv4 address and length of its prefix.
        pub cidr: Option<String>,
        /// IPv6 address and length of its prefix.
        pub cidr6: Option<String>,
        /// IPv4 address alone.
        pub address: Option<String>,
        /// IPv6 address alone.
        pub address6: Option<String>,
        /// `static`, `dhcp`, `manual`, …
        pub method: Option<String>,
        /// The same of IPv6.
        pub method6: Option<String>,
        /// IPv4 gateway.
        pub gateway: Option<String>,
        /// IPv6 gateway.
        pub gateway6: Option<String>,
        /// The largest packet, where it is not the usual one.
        pub mtu: Option<u64>,
        /// What somebody wrote on it; ends with a newline.
        pub comments: Option<String>,
        /// Of a bridge: its ports, with blanks between them.
        pub bridge_ports: Option<String>,
        /// Of a bridge: whether it keeps VLANs apart.
        pub bridge_vlan_aware: Option<bool>,
        /// Of such a bridge: the VLANs that it lets through.
        pub bridge_vids: Option<String>,
        /// Of a bond: its members, with blanks between them.
        pub slaves: Option<String>,
        /// Of a bond: how the members are used.
        pub bond_mode: Option<String>,
        /// Of a bond: the member that is used first.
        #[serde(rename = "bond-primary")]
        pub bond_primary: Option<String>,
        /// Of a bond: how packets are spread.
        pub bond_xmit_hash_policy: Option<String>,
        /// Of a VLAN: the interface below it.
        #[serde(rename = "vlan-raw-device")]
        pub vlan_raw_device: Option<String>,
        /// Of a VLAN: its number.
        #[serde(rename = "vlan-id")]
        pub vlan_id: Option<u64>,
        /// Of an Open vSwitch bridge: its ports.
        pub ovs_ports: Option<String>,
        /// Of an Open vSwitch bond: its members.
        pub ovs_bonds: Option<String>,
        /// Of an Open vSwitch port: its bridge.
        pub ovs_bridge: Option<String>,
        /// Of an Open vSwitch port: its VLAN.
        pub ovs_tag: Option<u64>,
    }
}

perl::answer! {
    /// A bridge with what is plugged into it now. Since PVE 9.1.
    pub struct Bridge known by name {
        /// Its name.
        pub name: Option<String>,
        /// Whether it keeps VLANs apart.
        pub vlan_filtering: Option<bool>,
        /// What is plugged in.
        pub ports: Vec<BridgePort>,
    }
}

perl::answer! {
    /// A port of a bridge.
    pub struct BridgePort {
        /// Its name on the node, such as `tap100i0`.
        pub name: Option<String>,
        /// The guest that it belongs to, if it is one's.
        pub vmid: Option<VmId>,
        /// The guest's key for it, such as `net0`.
        pub index: Option<String>,
        /// The VLAN of what comes without a tag, where the bridge keeps VLANs apart.
        pub primary_vlan: Option<u64>,
        /// The other VLANs that it lets through.
        pub vlans: Vec<String>,
    }
}

perl::answer! {
    /// A zone of the software-defined network, as it is configured.
    pub struct Zone {
        /// Its name.
        pub zone: Option<String>,
        /// `simple`, `vlan`, `qinq`, `vxlan`, `evpn`.
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// The bridge below it.
        pub bridge: Option<String>,
        /// The largest packet.
        pub mtu: Option<u64>,
        /// The nodes that have it; absent means all.
        pub nodes: Option<String>,
        /// `new`, `changed` or `deleted` where that is not applied yet.
        pub state: Option<String>,
    }
}

perl::answer! {
    /// A network of a zone.
    pub struct Vnet {
        /// Its name, which is that of its bridge on the nodes.
        pub vnet: Option<String>,
        /// Its zone.
        pub zone: Option<String>,
        /// Its VLAN, or the number that stands for it in other kinds of zones.
        pub tag: Option<u64>,
        /// What somebody calls it.
        pub alias: Option<String>,
        /// Whether guests may use VLANs in it.
        pub vlanaware: Option<bool>,
        /// `new`, `changed` or `deleted` where that is not applied yet.
        pub state: Option<String>,
    }
}

perl::answer! {
    /// How a zone is on a node.
    pub struct ZoneStatus {
        /// Its name.
        pub zone: Option<String>,
        /// `available`, `pending` or `error`.
        pub status: Option<String>,
    }
}

perl::answer! {
    /// The traffic of one interface of a guest since it was plugged in. Seen from the guest.
    pub struct NicTraffic known by vmid {
        /// The guest.
        pub vmid: Option<VmId>,
        /// The guest's key for it, such as `net0`.
        pub dev: Option<String>,
        /// Bytes to the guest.
        #[serde(rename = "in")]
        pub bytes_in: Option<u64>,
        /// Bytes from the guest.
        pub out: Option<u64>,
    }
}

perl::answer! {
    /// The traffic of a whole node at one time of its history. A point that is not known has only its time.
    pub struct TrafficPoint {
        /// Seconds since 1970.
        pub time: Option<i64>,
        /// Bytes a second that came in.
        pub netin: Option<f64>,
        /// Bytes a second that went out.
        pub netout: Option<f64>,
    }
}

/// The interfaces of a node. Needs no privilege, but bridges and VLANs of them are left out without
/// `SDN.Audit` or `SDN.Use` on `/sdn/zones/localnetwork`.
///
/// [`crate::Answer::changes`] has what was changed and is not applied.
pub fn ifaces(node: &NodeName) -> Get<Vec<Iface>> {
    Get::many(path(node, "network"))
}

/// The bridges of a node that are no SDN's, with their ports. Needs `SDN.Audit` on
/// `/sdn/zones/localnetwork`.
pub fn bridges(node: &NodeName) -> Get<Vec<Bridge>> {
    Get::many(path(node, "sdn/zones/localnetwork/bridges"))
}

/// The zones of the software-defined network. Those without `SDN.Audit` are left out.
pub fn zones() -> Get<Vec<Zone>> {
    Get::many("/cluster/sdn/zones?pending=1".to_owned())
}

/// The networks of all zones. Those without `SDN.Audit` are left out.
pub fn vnets() -> Get<Vec<Vnet>> {
    Get::many("/cluster/sdn/vnets?pending=1".to_owned())
}

/// How the zones are on a node. Those without `SDN.Audit` are left out.
pub fn zone_status(node: &NodeName) -> Get<Vec<ZoneStatus>> {
    Get::many(path(node, "sdn/zones"))
}

/// The traffic of every interface of every running guest on a node. Needs `Sys.Audit` on it.
pub fn traffic(node: &NodeName) -> Get<Vec<NicTraffic>> {
    Get::many(path(node, "netstat"))
}

/// The traffic of a whole node over the last hour, as averages. Needs `Sys.Audit` on it.
pub fn node_traffic(node: &NodeName) -> Get<Vec<TrafficPoint>> {
    Get::many(path(node, "rrddata?timeframe=hour"))
}

/// Everything that a node can tell of itself, in one text, for support. Takes some ten seconds and asks
/// every storage, so that it should be read seldom. Needs `Sys.Audit` on the node.
///
/// [`crate::ip_statistics`] reads the interfaces in it.
pub fn report(node: &NodeName) -> Get<String> {
    Get::one(path(node, "report")).at_most(16 << 20)
}

fn path(node: &NodeName, below: &str) -> String {
    format!("/nodes/{}/{below}", segment(node.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_goes_to_its_node() {
        let node = "pve1".parse().unwrap();
        assert_eq!(ifaces(&node).path(), "/nodes/pve1/network");
        assert_eq!(bridges(&node).path(), "/nodes/pve1/sdn/zones/localnetwork/bridges");
        assert_eq!(zone_status(&node).path(), "/nodes/pve1/sdn/zones");
        assert_eq!(traffic(&node).path(), "/nodes/pve1/netstat");
        assert_eq!(node_traffic(&node).path(), "/nodes/pve1/rrddata?timeframe=hour");
        assert_eq!(report(&node).path(), "/nodes/pve1/report");
    }

    #[test]
    fn bytes_that_are_text_are_numbers() {
        let body = br#"{"data":[{"dev":"net0","vmid":"100","out":"586","in":"1302"},{"dev":"net1","vmid":101,"in":7}]}"#;
        let rows = traffic(&"pve1".parse().unwrap()).read(body).ok().unwrap().data;
        assert_eq!((rows[0].bytes_in, rows[0].out), (Some(1302), Some(586)));
        assert_eq!((rows[1].bytes_in, rows[1].out), (Some(7), None));
    }

    #[test]
    fn pending_changes_come_beside_the_interfaces() {
        let body = br#"{"data":[{"iface":"vmbr0","bridge_ports":"nic0","type":"bridge","comments":"LAN\n","active":1}],
            "changes":"--- /etc/network/interfaces\n+++ /etc/network/interfaces.new\n"}"#;
        let read = ifaces(&"pve1".parse().unwrap()).read(body).ok().unwrap();
        assert!(read.changes.unwrap().starts_with("---"));
        assert_eq!(read.data[0].bridge_ports.as_deref(), Some("nic0"));
    }

    #[test]
    fn the_ports_of_a_bridge_name_their_guests() {
        let body = br#"{"data":[{"name":"vmbr0","vlan_filtering":1,"ports":[{"vmid":"101","index":"net0","name":"tap101i0",
            "primary_vlan":20,"vlans":["30","40-50"]},{"name":"nic0"}]}]}"#;
        let read = bridges(&"pve1".parse().unwrap()).read(body).ok().unwrap().data;
        assert_eq!(read[0].ports[0].primary_vlan, Some(20));
        assert_eq!(read[0].ports[1].vmid, None);
    }
}
