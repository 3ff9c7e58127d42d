//! `/nodes/{node}/report`: everything a node can tell of itself, as one text.
//!
//! Only the chapters on the system and on the network are simulated, in the layout of iproute2 6; that
//! the real one takes ten seconds is left to rules.

use std::fmt::Write as _;

use crate::{
    answer::Answer,
    cluster::{Cluster, Interface, Kind, Node},
    endpoints::{Call, Needs, Route, Run},
    figures,
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/report",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Audit"),
    parameters: &[],
    by_daemon: true,
    run: Run::Read(report),
}];

fn report(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let cluster = &call.world.cluster;
    let mut text = format!(
        "==== general system info ====\n\n# hostname\n{}\n\n# pveversion --verbose\npve-manager: {} (running version: {})\n\n\
         ==== info about network ====\n\n# ip -details -statistics address\n",
        node.name,
        cluster.version.full(),
        cluster.version.full()
    );
    put_loopback(&mut text);
    let mut nth = 1;
    let interfaces = node.interfaces();
    for interface in &interfaces {
        nth += 1;
        put(&mut text, nth, interface, &interfaces);
    }
    for bridge in interfaces.iter().filter(|interface| interface.kind == "bridge") {
        put_guests(&mut text, &mut nth, call, cluster, (node, bridge));
    }
    text.push_str("\n# ip -details -4 route show\n\n==== info about firewall ====\n");
    Answer::json(Json::object(|body| body.text("data", &text)))
}

fn put_loopback(text: &mut String) {
    text.push_str(
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n    \
         link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00 promiscuity 0  allmulti 0 minmtu 0 maxmtu 0 \n    \
         inet 127.0.0.1/8 scope host lo\n       valid_lft forever preferred_lft forever\n",
    );
    put_counters(text, [91_000, 900, 0, 0, 0, 0], [91_000, 900, 0, 0, 0, 0]);
}

/// Of a card only its hardware is told; of everything else a line on what it is.
fn put(text: &mut String, nth: usize, interface: &Interface, all: &[Interface]) {
    let is_in = |other: &&Interface| {
        let members = ["bridge_ports", "slaves"].iter().filter_map(|key| other.value(key));
        members.flat_map(str::split_whitespace).any(|name| name == interface.name)
    };
    let master = all.iter().find(is_in).map(|other| format!("master {} ", other.name));
    let raw = interface.value("vlan-raw-device").map(|raw| format!("@{raw}"));
    let (flags, state) =
        if interface.active { ("UP,LOWER_UP", "UP") } else { ("MULTICAST", "DOWN") };
    let mtu = interface.value("mtu").unwrap_or("1500");
    let _ = writeln!(
        text,
        "{nth}: {}{}: <BROADCAST,MULTICAST,{flags}> mtu {mtu} qdisc mq {}state {state} group default qlen 1000",
        interface.name,
        raw.unwrap_or_default(),
        master.unwrap_or_default(),
    );
    let _ = writeln!(
        text,
        "    link/ether bc:24:11:00:00:{nth:02x} brd ff:ff:ff:ff:ff:ff promiscuity 0  allmulti 0 minmtu 68 maxmtu 65535 "
    );
    let kind = match interface.kind.as_str() {
        "bridge" => Some(format!(
            "bridge forward_delay 0 hello_time 200 max_age 2000 ageing_time 30000 stp_state 0 priority 32768 vlan_filtering {} ",
            u8::from(interface.is_vlan_aware())
        )),
        "bond" => {
            Some(format!("bond mode {} miimon 100 ", interface.value("bond_mode").unwrap_or("?")))
        }
        "vlan" => Some(format!(
            "vlan protocol 802.1Q id {} <REORDER_HDR> ",
            interface.value("vlan-id").unwrap_or("1")
        )),
        _ => None,
    };
    if let Some(kind) = kind {
        let _ = writeln!(text, "    {kind}");
    }
    if let Some(cidr) = &interface.cidr {
        let _ = writeln!(text, "    inet {cidr} scope global {}", interface.name);
        text.push_str("       valid_lft forever preferred_lft forever\n");
    }
    put_counters(text, interface.received, interface.sent);
}

/// What a guest receives, its interface on the node sends.
fn put_guests(
    text: &mut String,
    nth: &mut usize,
    call: &Call<'_>,
    cluster: &Cluster,
    (node, bridge): (&Node, &Interface),
) {
    for port in cluster.ports(&node.name, bridge) {
        let Some((guest, nic)) = port.guest else { continue };
        *nth += 1;
        let figures = figures::of_guest(guest, call.world.elapsed());
        let _ = writeln!(
            text,
            "{nth}: {}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc fq_codel master {} state UNKNOWN group default qlen 1000",
            port.name, bridge.name
        );
        text.push_str("    link/ether fe:24:11:00:00:01 brd ff:ff:ff:ff:ff:ff promiscuity 1  allmulti 1 \n    ");
        text.push_str(match guest.kind {
            Kind::Qemu => "tun type tap pi off vnet_hdr on persist off \n",
            Kind::Lxc => "veth \n",
        });
        text.push_str("    bridge_slave state forwarding priority 32 cost 100 hairpin off \n");
        let (received, sent) = if nic == 0 { (figures.received, figures.sent) } else { (0, 0) };
        put_counters(text, [sent, sent / 900, 0, 0, 0, 0], [received, received / 900, 0, 0, 0, 0]);
    }
}

fn put_counters(text: &mut String, received: [u64; 6], sent: [u64; 6]) {
    text.push_str("    RX:  bytes packets errors dropped  missed   mcast           \n    ");
    put_row(text, received);
    text.push_str("    TX:  bytes packets errors dropped carrier collsns           \n    ");
    put_row(text, sent);
}

fn put_row(text: &mut String, [bytes, packets, a, b, c, d]: [u64; 6]) {
    let _ = writeln!(text, "{bytes:>10} {packets:>7} {a:>6} {b:>7} {c:>7} {d:>7} ");
}
