//! Many calls at once: all are answered, PVE is not pressed, nothing grows, and nodes that hang keep neither the
//! workers of PVE nor our own places.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    tier::{Access, Level},
};
use pve_sim::{
    Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Rule,
    Sim,
};
use rmcp::model::CallToolRequestParams;
use serde_json::{Value, json};

use crate::{
    process::{Program, program_for},
    support::{access, connect, server, settings, structured},
};

/// Calls of the kinds that an agent makes.
pub fn mixed() -> [(&'static str, Value); 8] {
    [
        ("list_vms", json!({})),
        ("get_vm_status", json!({ "vm": "100" })),
        ("list_nodes", json!({})),
        ("get_node_status", json!({ "node": "pve1" })),
        ("list_tasks", json!({})),
        ("get_vm_details", json!({ "vm": "pihole" })),
        ("list_storage", json!({})),
        ("get_vm_status", json!({ "vm": "nobody" })),
    ]
}

/// Memory in KiB that is resident now, and open files. Other systems than Linux do not say.
pub fn figures(pid: u32) -> Option<(u64, usize)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes = resident.split_whitespace().next()?.parse().ok()?;
    Some((kibibytes, std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count()))
}

/// Makes these calls at once, and waits for all answers. Says how many failed.
fn at_once(program: &mut Program, first_id: usize, n_calls: usize) -> usize {
    let calls = mixed();
    for id in first_id..first_id + n_calls {
        let (tool, arguments) = &calls[id % calls.len()];
        let params = json!({ "name": tool, "arguments": arguments });
        program
            .send(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
    }
    let mut open: BTreeSet<_> = (first_id..first_id + n_calls).collect();
    let mut failed = 0;
    while !open.is_empty() {
        let answer = program.receive();
        let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
        assert!(open.remove(&id), "{id} was not asked, or answered twice");
        let result = &answer["result"];
        let is_error = result["isError"] == true;
        let expects_error = calls[id % calls.len()].1["vm"] == "nobody";
        assert_eq!(is_error, expects_error, "{answer}");
        failed += usize::from(is_error);
    }
    failed
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_calls_at_once_are_all_answered_and_pve_sees_four_at_a_time() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    tokio::task::block_in_place(|| {
        let mut program = Program::start(&mut program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
        program.initialize("2025-11-25");
        assert_eq!(at_once(&mut program, 1000, 16), 2);
        let before = figures(program.id());
        let began = Instant::now();
        assert_eq!(at_once(&mut program, 2000, 504), 63);
        println!("504 calls at once in {:?}", began.elapsed());
        assert!(sim.peak_in_flight() <= 4, "{} requests at once", sim.peak_in_flight());
        // Those in use, those that are kept, and those that the other side has not yet seen ending.
        assert!(sim.peak_connections() <= 12, "{} connections at once", sim.peak_connections());
        if let (Some((memory, files)), Some((now, open))) = (before, figures(program.id())) {
            println!("{memory} KiB and {files} files before, {now} KiB and {open} files after");
            assert!(now < memory + (24 << 10), "{memory} KiB grew to {now} KiB");
            assert!(open <= files + 4, "{files} open files grew to {open}");
        }
        assert!(program.end().status.success());
    });
}

/// Lets calls that hang go on until so many requests of theirs are there. None of them may end.
async fn press<F: Future>(
    hanging: &mut FuturesUnordered<F>,
    held: impl Fn() -> usize,
    most: usize,
) {
    let pressing = async {
        while held() < most {
            beside(hanging, tokio::task::yield_now()).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), pressing).await.unwrap();
}

/// Does something beside calls that hang.
async fn beside<F: Future, T>(
    hanging: &mut FuturesUnordered<F>,
    work: impl Future<Output = T>,
) -> T {
    tokio::select! {
        done = work => done,
        _ = hanging.next() => panic!("a call ended although what it asks hangs"),
    }
}

#[tokio::test]
async fn a_node_that_hangs_keeps_two_of_its_workers_and_nobody_else_waits() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    sim.answer(Rule::under("/nodes/pve1/").hang());
    let client = connect(server(access(&sim))).await;
    let call = |tool: &'static str, arguments: Value| {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = arguments.as_object().cloned();
        client.call_tool(request)
    };
    // Far more than there are workers, and all of one node.
    let mut hanging: FuturesUnordered<_> = (0..30)
        .map(|nth| match nth % 3 {
            0 => call("get_node_status", json!({ "node": "pve1" })),
            1 => call("get_vm_status", json!({ "vm": "100" })),
            _ => call("list_networks", json!({ "node": "pve1" })),
        })
        .collect();
    let at_pve1 = || {
        let seen = sim.requests();
        seen.iter().filter(|seen| seen.path.starts_with("/nodes/pve1/")).count()
    };
    press(&mut hanging, at_pve1, 2).await;
    // What is asked of others is answered while all of those wait.
    for (tool, arguments) in [
        ("list_vms", json!({})),
        ("list_tasks", json!({ "nodes": ["pve2"] })),
        ("get_node_status", json!({ "node": "pve3" })),
    ] {
        let answer = beside(&mut hanging, call(tool, arguments)).await.unwrap();
        structured(&answer);
    }
    assert_eq!(at_pve1(), 2, "one of the three workers of the node is left for people");
}

#[tokio::test]
async fn ceph_that_hangs_keeps_two_workers_of_the_host_that_is_asked() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    sim.answer(Rule::under("/cluster/ceph/").hang());
    let client = connect(server(access(&sim))).await;
    let call = |tool: &'static str| client.call_tool(CallToolRequestParams::new(tool));
    let mut hanging: FuturesUnordered<_> = (0..8).map(|_| call("get_cluster_health")).collect();
    let of_ceph = || {
        let seen = sim.requests();
        seen.iter().filter(|seen| seen.path.starts_with("/cluster/ceph/")).count()
    };
    press(&mut hanging, of_ceph, 2).await;
    let answer = beside(&mut hanging, call("list_vms")).await.unwrap();
    structured(&answer);
    assert_eq!(of_ceph(), 2, "one of the three workers is left for people");
}

#[tokio::test]
async fn however_many_nodes_hang_the_lists_of_the_cluster_are_answered() {
    let sim = Sim::start(Cluster::generated(16, 200, 3)).await.unwrap();
    for nth in 1..=12 {
        sim.answer(Rule::under(&format!("/nodes/pve{nth:02}/")).hang());
    }
    let mut settings = settings(&sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
    settings.request_timeout = Duration::from_secs(30);
    let access = Access::new(Level::Read, pve_client::Reader::new(settings));
    let client = connect(server(access)).await;
    let call = |tool: &'static str, arguments: Value| {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = arguments.as_object().cloned();
        client.call_tool(request)
    };
    let mut hanging: FuturesUnordered<_> = (1..=12)
        .map(|nth| call("get_node_status", json!({ "node": format!("pve{nth:02}") })))
        .collect();
    let held = || {
        let seen = sim.requests();
        let nodes = seen.iter().filter_map(|seen| seen.path.strip_prefix("/nodes/"));
        nodes.filter(|rest| rest.contains('/')).count()
    };
    press(&mut hanging, held, 3).await;
    for _ in 0..5 {
        let answer = beside(&mut hanging, call("list_vms", json!({}))).await.unwrap();
        assert_eq!(structured(&answer)["total"], 200);
    }
    assert_eq!(held(), 3, "the fourth place is kept for what PVE answers from memory");
}

/// Goes on with what fits for as long as PVE does.
fn for_long(rule: Rule) -> Rule {
    rule.delay(Duration::from_secs(30)).status(596, "Connection timed out")
}

/// May write, and asks nobody.
fn acting(sim: &Sim) -> mcp_proxmox::server::Server {
    let reader = pve_client::Reader::new(settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET));
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    server(Access::new(Level::Write, reader)).under(Arc::new(policy))
}

#[tokio::test]
async fn commands_that_hang_keep_two_workers_of_a_node_and_the_others_are_not_sent() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    for guest in ["qemu/100", "qemu/102", "qemu/112", "qemu/130", "lxc/200", "lxc/204"] {
        sim.answer(for_long(Rule::post(&format!("/nodes/pve1/{guest}/status/stop"))));
    }
    let client = connect(acting(&sim)).await;
    let call = |vm: &str| {
        let mut request = CallToolRequestParams::new("stop_vm");
        request.arguments = json!({ "vm": vm }).as_object().cloned();
        client.call_tool(request)
    };
    let mut hanging: FuturesUnordered<_> =
        ["100", "102", "112", "130", "200", "204"].into_iter().map(call).collect();
    let sent = || sim.requests().iter().filter(|seen| seen.path.ends_with("/stop")).count();
    press(&mut hanging, sent, 2).await;
    let others = client.call_tool(CallToolRequestParams::new("list_vms"));
    structured(&beside(&mut hanging, others).await.unwrap());
    assert_eq!(sent(), 2);
    assert_eq!(sim.peak_at_node("pve1"), 2, "one of its workers is left for people");
}

#[tokio::test]
async fn consoles_that_hang_keep_two_workers_of_a_node() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    for guest in ["qemu/100", "qemu/102", "qemu/112", "qemu/130", "lxc/200", "lxc/204"] {
        for kind in ["termproxy", "vncproxy"] {
            sim.answer(for_long(Rule::post(&format!("/nodes/pve1/{guest}/{kind}"))));
        }
    }
    let client = connect(acting(&sim)).await;
    let call = |(vm, tool): (&str, &'static str)| {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = json!({ "vm": vm }).as_object().cloned();
        client.call_tool(request)
    };
    let asked = [
        ("200", "get_vm_console"),
        ("204", "get_vm_console"),
        ("100", "get_vm_screenshot"),
        ("102", "get_vm_screenshot"),
        ("112", "get_vm_screenshot"),
        ("130", "get_vm_screenshot"),
    ];
    let mut hanging: FuturesUnordered<_> = asked.into_iter().map(call).collect();
    let sent = || sim.requests().iter().filter(|seen| seen.path.ends_with("proxy")).count();
    press(&mut hanging, sent, 2).await;
    let others = client.call_tool(CallToolRequestParams::new("list_vms"));
    structured(&beside(&mut hanging, others).await.unwrap());
    assert_eq!(sent(), 2);
    assert_eq!(sim.peak_at_node("pve1"), 2);
}
