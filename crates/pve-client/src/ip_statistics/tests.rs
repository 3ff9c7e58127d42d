//! Captures of the real command, the layout of an older one, and text that was mangled.
//!
//! `plain.txt`, `bridge-veth.txt` and `tap.txt` were printed by iproute2 6.1 in a network namespace, and
//! `bridge-veth-tap-5.9.txt` by that of Debian 11. Both printed the same interfaces of a virtual machine
//! with Debian 12's kernel, which has bonds, VLANs and Open vSwitch: `bond-vlan-ovs.txt` and
//! `bond-vlan-ovs-5.9.txt`. What is before 5.9 and has `overrun` is written by hand in its layout.

use proptest::prelude::*;

use super::*;

const PLAIN: &str = include_str!("plain.txt");
const BRIDGE_VETH: &str = include_str!("bridge-veth.txt");
const TAP: &str = include_str!("tap.txt");
const BRIDGE_VETH_TAP_OLD: &str = include_str!("bridge-veth-tap-5.9.txt");
const BOND_VLAN_OVS: &str = include_str!("bond-vlan-ovs.txt");
const BOND_VLAN_OVS_OLD: &str = include_str!("bond-vlan-ovs-5.9.txt");

/// iproute2 before 5.9: `overrun`, and other tables of errors in between. **Written by hand** in that layout, not
/// captured.
const OLD: &str = "\
1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00 promiscuity 0 minmtu 0 maxmtu 0 numtxqueues 1 numrxqueues 1 gso_max_size 65536 gso_max_segs 65535 
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
    RX: bytes  packets  errors  dropped overrun mcast   
    1234567    4321     0       0       0       0       
    TX: bytes  packets  errors  dropped carrier collsns 
    1234567    4321     0       0       0       0       
2: eno1: <BROADCAST,MULTICAST,SLAVE,UP,LOWER_UP> mtu 9000 qdisc mq master bond0 state UP group default qlen 1000
    link/ether 3c:ec:ef:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 68 maxmtu 9216 
    bond_slave state ACTIVE mii_status UP link_failure_count 2 perm_hwaddr 3c:ec:ef:00:00:01 queue_id 0 numtxqueues 8 numrxqueues 8 gso_max_size 65536 gso_max_segs 65535 
    RX: bytes  packets  errors  dropped overrun mcast   
    987654321012 812345678 17      903     4       12345   
    RX errors: length   crc     frame   fifo    missed
               0        17      0       0       4       
    TX: bytes  packets  errors  dropped carrier collsns 
    123456789012 712345678 3       1       2       5       
    TX errors: aborted  fifo   window heartbeat transns
               0        0       0       0       6       
5: bond0: <BROADCAST,MULTICAST,MASTER,UP,LOWER_UP> mtu 9000 qdisc noqueue master vmbr0 state UP group default qlen 1000
    link/ether 3c:ec:ef:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 68 maxmtu 65535 
    bond mode 802.3ad miimon 100 updelay 200 downdelay 200 peer_notify_delay 0 use_carrier 1 arp_interval 0 
    bridge_slave state forwarding priority 32 cost 100 hairpin off guard off 
    RX: bytes  packets  errors  dropped overrun mcast   
    1          2        3       4       5       6       
    TX: bytes  packets  errors  dropped carrier collsns 
    7          8        9       10      11      12      
6: vmbr0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc noqueue state UP group default qlen 1000
    link/ether 3c:ec:ef:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 65535 
    bridge forward_delay 0 hello_time 200 max_age 2000 ageing_time 30000 stp_state 0 priority 32768 vlan_filtering 1 vlan_protocol 802.1Q bridge_id 8000.3c:ec:ef:0:0:1 
    RX: bytes  packets  errors  dropped overrun mcast   
    11         12       13      14      15      16      
    TX: bytes  packets  errors  dropped carrier collsns 
    17         18       19      20      21      22      
7: bond0.20@bond0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master vmbr0v20 state UP group default qlen 1000
    link/ether 3c:ec:ef:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 0 maxmtu 65535 
    vlan protocol 802.1Q id 20 <REORDER_HDR> 
    RX: bytes  packets  errors  dropped overrun mcast   
    31         32       33      34      35      36      
    TX: bytes  packets  errors  dropped carrier collsns 
    37         38       39      40      41      42      
8: ovs-system: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN group default qlen 1000
    link/ether 0a:1b:2c:3d:4e:5f brd ff:ff:ff:ff:ff:ff promiscuity 1 minmtu 68 maxmtu 65535 
    openvswitch numtxqueues 1 numrxqueues 1 gso_max_size 65536 gso_max_segs 65535 
    RX: bytes  packets  errors  dropped overrun mcast   
    0          0        0       0       0       0       
    TX: bytes  packets  errors  dropped carrier collsns 
    0          0        0       0       0       0       
";

fn find<'a>(links: &'a [Link], name: &str) -> &'a Link {
    links.iter().find(|link| link.name == name).unwrap()
}

#[test]
fn a_loopback_alone() {
    let links = links(PLAIN);
    assert_eq!(links.len(), 1);
    let lo = find(&links, "lo");
    assert!(lo.loopback && lo.kind.is_none());
    assert_eq!((lo.mtu, lo.received.bytes, lo.sent.collisions), (Some(65536), Some(0), Some(0)));
}

#[test]
fn a_bridge_and_a_veth_pair() {
    let links = links(BRIDGE_VETH);
    let bridge = find(&links, "vmbr0");
    assert_eq!((bridge.kind.as_deref(), bridge.vlan_filtering), (Some("bridge"), Some(false)));
    assert_eq!(
        (bridge.received.bytes, bridge.received.packets, bridge.received.multicast),
        (Some(76), Some(1), Some(1))
    );
    assert_eq!((bridge.sent.bytes, bridge.sent.packets), (Some(164), Some(2)));
    let veth = find(&links, "veth200i0");
    assert_eq!(veth.of.as_deref(), Some("eth0p"));
    assert_eq!((veth.kind.as_deref(), veth.master.as_deref()), (Some("veth"), Some("vmbr0")));
    assert_eq!((veth.received.bytes, veth.sent.bytes), (Some(90), Some(90)));
    let links = super::links(BRIDGE_VETH_TAP_OLD);
    let veth = find(&links, "veth200i0");
    assert_eq!((veth.received.bytes, veth.sent.bytes), (Some(90), Some(286)));
    assert_eq!((veth.sent.packets, find(&links, "vmbr0").sent.bytes), (Some(3), Some(414)));
}

#[test]
fn a_tap_without_anybody_behind_it() {
    let links = links(TAP);
    let tap = find(&links, "tap100i0");
    assert_eq!((tap.kind.as_deref(), tap.state.as_deref()), (Some("tun"), Some("DOWN")));
    assert!(tap.no_carrier);
    assert_eq!(tap.sent.dropped, Some(0));
}

#[test]
fn cards_bonds_vlans_and_open_vswitch_in_the_old_layout() {
    let links = links(OLD);
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["lo", "eno1", "bond0", "vmbr0", "bond0.20", "ovs-system"]);
    let card = find(&links, "eno1");
    assert_eq!((card.kind.as_deref(), card.master.as_deref()), (None, Some("bond0")));
    assert_eq!(
        card.received,
        Received {
            bytes: Some(987_654_321_012),
            packets: Some(812_345_678),
            errors: Some(17),
            dropped: Some(903),
            overruns: Some(4),
            multicast: Some(12_345),
        }
    );
    assert_eq!((card.sent.carrier, card.sent.collisions), (Some(2), Some(5)));
    assert_eq!(find(&links, "bond0").bond_mode.as_deref(), Some("802.3ad"));
    assert_eq!(find(&links, "vmbr0").vlan_filtering, Some(true));
    for (name, [bytes, packets, errors, dropped, carrier, collisions]) in [
        ("eno1", [123_456_789_012, 712_345_678, 3, 1, 2, 5]),
        ("bond0", [7, 8, 9, 10, 11, 12]),
        ("vmbr0", [17, 18, 19, 20, 21, 22]),
    ] {
        let sent = Sent {
            bytes: Some(bytes),
            packets: Some(packets),
            errors: Some(errors),
            dropped: Some(dropped),
            carrier: Some(carrier),
            collisions: Some(collisions),
        };
        assert_eq!(find(&links, name).sent, sent, "{name}");
    }
    let vlan = find(&links, "bond0.20");
    assert_eq!((vlan.kind.as_deref(), vlan.vlan), (Some("vlan"), Some(20)));
    assert_eq!((vlan.of.as_deref(), vlan.sent.collisions), (Some("bond0"), Some(42)));
    assert_eq!(find(&links, "ovs-system").kind.as_deref(), Some("openvswitch"));
}

#[test]
fn bonds_vlans_and_open_vswitch_of_a_real_kernel() {
    let links = links(BOND_VLAN_OVS);
    assert_eq!(links.len(), 18);
    let card = find(&links, "eth0");
    assert_eq!((card.kind.as_deref(), card.master.as_deref()), (None, Some("bond0")));
    assert_eq!((card.received.packets, card.sent.bytes), (Some(30), Some(3236)));
    let bond = find(&links, "bond0");
    assert_eq!((bond.bond_mode.as_deref(), bond.mtu), (Some("802.3ad"), Some(9000)));
    assert_eq!((bond.kind.as_deref(), bond.master.as_deref()), (Some("bond"), Some("vmbr0")));
    let vlan = find(&links, "eth2.20");
    assert_eq!((vlan.vlan, vlan.of.as_deref()), (Some(20), Some("eth2")));
    assert_eq!((vlan.master.as_deref(), vlan.sent.packets), (Some("vmbr1"), Some(19)));
    let filtering = |name| find(&links, name).vlan_filtering;
    assert_eq!((filtering("vmbr0"), filtering("vmbr1")), (Some(true), Some(false)));
    assert_eq!(find(&links, "vmbr0").received.multicast, Some(24));
    for name in ["ovs-system", "vmbr9", "int9"] {
        assert_eq!(find(&links, name).kind.as_deref(), Some("openvswitch"), "{name}");
    }
    // A port of Open vSwitch is a card all the same.
    let port = find(&links, "eth3");
    assert_eq!((port.kind.as_deref(), port.master.as_deref()), (None, Some("ovs-system")));
    assert!(find(&links, "tap100i0").no_carrier);
}

#[test]
fn two_versions_say_the_same_of_the_same_interfaces() {
    assert_eq!(links(BOND_VLAN_OVS), links(BOND_VLAN_OVS_OLD));
}

#[test]
fn a_counter_that_is_not_there_is_unknown() {
    let text = "2: e: <UP> mtu 1500\n    RX: bytes packets errors\n    1 2 x\n    TX: bytes\n";
    let links = links(text);
    assert_eq!((links[0].received.packets, links[0].received.errors), (Some(2), None));
    assert_eq!(links[0].sent, Sent::default());
}

#[test]
fn the_section_is_found_in_a_report() {
    let report = format!(
        "==== general system info ====\n\n# hostname\npve1\n\n==== info about network ====\n\n\
         # ip -details -statistics address\n{TAP}\n# ip -details -4 route show\ndefault via 192.0.2.1\n\n==== info about firewall ====\n"
    );
    let section = section(&report).unwrap();
    assert_eq!(links(section), links(TAP));
    assert!(!section.contains("default via"));
    assert_eq!(super::section("# hostname\nip -details -statistics address\n"), None);
    assert_eq!(super::section(""), None);
}

proptest! {
    #[test]
    fn mangled_text_breaks_nothing(
        cuts in prop::collection::vec((0usize..9000, 0usize..40), 0..6),
        junk in "[ -~\\n\u{e9}]{0,30}",
    ) {
        let mut text: Vec<char> = OLD.chars().chain(BOND_VLAN_OVS.chars()).collect();
        for (at, length) in cuts {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, junk.chars());
        }
        let text: String = text.into_iter().collect();
        for link in links(&text) {
            prop_assert!(!link.name.is_empty());
        }
        let _ = section(&text);
    }

    #[test]
    fn whatever_the_widths_and_the_order_of_columns_are(
        order in Just(vec!["bytes", "packets", "errors", "dropped", "overrun", "mcast"]).prop_shuffle(),
        values in prop::array::uniform6(any::<u64>()),
        gap in 1usize..9,
    ) {
        // The first is always `bytes`, by which the table is known.
        let mut names = order.clone();
        names.retain(|name| *name != "bytes");
        names.insert(0, "bytes");
        let gap = " ".repeat(gap);
        let header = names.join(&gap);
        let row = values.map(|value| value.to_string()).join(&gap);
        let text = format!("7: eth7: <UP> mtu 9\n{gap}RX: {header}\n{gap}{row}\n");
        let read = &links(&text)[0].received;
        let value = |name: &str| names.iter().position(|other| *other == name).map(|at| values[at]);
        prop_assert_eq!(read.bytes, value("bytes"));
        prop_assert_eq!(read.errors, value("errors"));
        prop_assert_eq!(read.overruns, value("overrun"));
        prop_assert_eq!(read.multicast, value("mcast"));
    }
}
