//! The networks of the demo cluster: a bond with a VLAN-aware bridge, a VLAN for storage, a bridge for
//! the laboratory, and one card that gets worse.

use crate::cluster::{Cluster, Interface, Zone};

const GIB: u64 = 1 << 30;

pub(super) fn add(demo: &mut Cluster) {
    for node in &mut demo.nodes {
        let id = node.id;
        let traffic = u64::from(id) * 700 * GIB;
        // A cable of the third node is damaged.
        let errors = if id == 3 { 18_204 } else { 0 };
        let storage = format!("10.50.0.1{id}/24");
        let address = format!("192.168.10.1{id}/24");
        node.interfaces = vec![
            Interface::new("enp1s0f0", "eth").counted(traffic, errors, errors / 3, traffic / 2),
            Interface::new("enp1s0f1", "eth").counted(traffic, 0, 0, traffic / 3),
            Interface::new("bond0", "bond")
                .key("slaves", "enp1s0f0 enp1s0f1")
                .key("bond_mode", "802.3ad")
                .key("bond_xmit_hash_policy", "layer3+4")
                .key("bond_miimon", "100")
                .key("mtu", "9000")
                .counted(2 * traffic, errors, errors / 3, traffic),
            Interface::new("bond0.50", "vlan")
                .key("vlan-id", "50")
                .key("vlan-raw-device", "bond0")
                .address(&storage, None)
                .comment("storage\n")
                .counted(traffic, 0, 0, traffic / 2),
            Interface::new("vmbr0", "bridge")
                .key("bridge_ports", "bond0")
                .key("bridge_stp", "off")
                .key("bridge_fd", "0")
                .key("bridge_vlan_aware", "1")
                .key("bridge_vids", "2-4094")
                .address(&address, Some("192.168.10.1"))
                .comment("LAN and VLANs\n")
                .counted(traffic, 0, 40, traffic / 2),
            Interface::new("vmbr1", "bridge")
                // PVE lists what waits to be applied as if it were so: see below.
                .key("bridge_ports", if node.name == "pve2" { "enp2s0" } else { "" })
                .key("bridge_stp", "off")
                .key("bridge_fd", "0")
                .comment("lab, without a way out\n"),
        ];
    }
    if let Some(node) = demo.node_mut("pve2") {
        node.network_changes = Some(
            "--- /etc/network/interfaces\t2026-11-01\n+++ /etc/network/interfaces.new\t2026-11-29\n@@ -20,3 +20,3 @@\n iface vmbr1 inet manual\n-\tbridge-ports none\n+\tbridge-ports enp2s0\n"
                .to_owned(),
        );
    }
    demo.zones = vec![Zone {
        name: "dmz".to_owned(),
        kind: "vlan".to_owned(),
        bridge: Some("vmbr0".to_owned()),
        broken_on: vec!["pve3".to_owned()],
        vnets: vec![("dmzweb".to_owned(), 40, Some("web servers".to_owned()))],
        ..Zone::default()
    }];
}
