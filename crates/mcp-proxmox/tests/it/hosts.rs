//! `PVE_HOST` with several nodes: one that is down, hangs, shows a wrong certificate or dies is made up for
//! by the next, and nothing is done twice.

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    server::Server,
    tier::{Access, Level},
};
use pve_client::{Host as Address, Reader, Settings, Trust};
use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use rmcp::{
    RoleClient,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::{
    door::{Door, Host},
    power::{lab, posts},
    process::{Program, program_for, run},
    support::{connect, failed, notes, server, settings, structured},
};

const START: &str = "/nodes/pve1/qemu/101/status/start";

/// Settings for these ports, trusting the certificates of these simulators.
fn settings_for(ports: &[u16], sims: &[&Sim]) -> Settings {
    let mut settings = settings(sims[0], DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    settings.hosts = ports.iter().map(|port| Address::new("127.0.0.1", *port)).collect();
    settings.tls.trust =
        Trust::Pinned(sims.iter().map(|sim| sim.fingerprint().parse().unwrap()).collect());
    settings
}

fn server_for(ports: &[u16], sims: &[&Sim]) -> Server {
    // Each call is to ask a host.
    let reader = Reader::new(settings_for(ports, sims)).sharing_for(Duration::ZERO);
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    server(Access::new(Level::Write, reader)).under(Arc::new(policy))
}

async fn sim() -> Sim {
    Sim::start(lab()).await.unwrap()
}

struct Session(RunningService<RoleClient, ()>);

impl Session {
    async fn open(ports: &[u16], sims: &[&Sim]) -> Self {
        Self(connect(server_for(ports, sims)).await)
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> CallToolResult {
        let mut request = CallToolRequestParams::new(tool);
        request.arguments = arguments.as_object().cloned();
        self.0.call_tool(request).await.unwrap()
    }

    async fn answer(&self, tool: &'static str, arguments: Value) -> Value {
        structured(&self.call(tool, arguments).await)
    }
}

/// A port where nobody listens, and nobody else can.
struct Nobody {
    _socket: TcpSocket,
    port: u16,
}

fn nobody() -> Nobody {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    Nobody { port: socket.local_addr().unwrap().port(), _socket: socket }
}

#[tokio::test]
async fn a_first_host_that_is_down_is_made_up_for_and_the_other_remembered() {
    let (first, second) = (sim().await, sim().await);
    let door = Host::of(&first).await;
    door.set(Door::Shut);
    let dead = nobody();
    let session = Session::open(&[dead.port, door.port(), second.port()], &[&first, &second]).await;
    for _ in 0..3 {
        assert_eq!(session.answer("list_vms", json!({})).await["total"], 11);
    }
    assert_eq!((first.requests().len(), second.requests().len()), (0, 3));
    // The write, too, goes where somebody is.
    assert_eq!(session.answer("start_vm", json!({ "vm": "101" })).await["outcome"], "done");
    assert_eq!((posts(&first).len(), posts(&second)), (0, vec![START.to_owned()]));
}

#[tokio::test]
async fn consoles_are_opened_at_the_second_host_where_the_first_is_down() {
    let (first, second) = (crate::support::demo().await, crate::support::demo().await);
    let door = Host::of(&first).await;
    door.set(Door::Shut);
    for (tool, arguments) in [
        ("get_vm_console", json!({ "vm": "200", "listen_seconds": 1 })),
        ("get_vm_screenshot", json!({ "vm": "100", "max_width": 320 })),
    ] {
        // Each finds out by itself.
        let session = Session::open(&[door.port(), second.port()], &[&first, &second]).await;
        second.forget_requests();
        let result = session.call(tool, arguments).await;
        assert_ne!(result.is_error, Some(true), "{tool}: {}", crate::support::text(&result));
        let opened = second.n_requests(|seen| seen.path.contains("/vncwebsocket"));
        assert_eq!((opened, first.requests().len()), (1, 0), "{tool}");
    }
}

#[tokio::test]
async fn a_first_host_that_hangs_does_not_use_up_the_call() {
    let (first, second) = (sim().await, sim().await);
    let door = Host::of(&first).await;
    door.set(Door::Hangs);
    let session = Session::open(&[door.port(), second.port()], &[&first, &second]).await;
    // Many at once, of which each would have to wait its turn at the host that hangs.
    let calls = (0..8).map(|_| session.answer("list_nodes", json!({})));
    for answer in futures_util::future::join_all(calls).await {
        assert_eq!(answer["nodes"]["rows"].as_array().unwrap().len(), 2);
    }
    assert!(first.requests().is_empty());
    assert!(second.peak_in_flight() <= 4, "{} at once", second.peak_in_flight());
}

#[tokio::test]
async fn a_host_with_a_wrong_certificate_gets_nothing() {
    let (first, second) = (sim().await, sim().await);
    let session = Session::open(&[first.port(), second.port()], &[&second]).await;
    session.answer("list_vms", json!({})).await;
    assert!(first.requests().is_empty(), "the token was sent to a host that is not trusted");
    assert_eq!(second.requests().len(), 1);
}

#[tokio::test]
async fn a_read_whose_answer_breaks_off_goes_to_the_next_host_once() {
    let (first, second, third) = (sim().await, sim().await, sim().await);
    let ports = [first.port(), second.port(), third.port()];
    let session = Session::open(&ports, &[&first, &second, &third]).await;
    first.answer(Rule::get("/cluster/resources").cut_after(30));
    assert_eq!(session.answer("list_vms", json!({})).await["total"], 11);
    assert_eq!((first.requests().len(), second.requests().len()), (1, 1));
    second.answer(Rule::get("/cluster/resources").cut_after(30));
    let told = failed(&session.call("list_vms", json!({})).await);
    assert!(told.contains(&format!("was sent to `127.0.0.1:{}`", second.port())), "{told}");
    assert!(told.contains(&format!("other hosts: `127.0.0.1:{}`", first.port())), "{told}");
    assert!(third.requests().is_empty(), "once, and not to every host");
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_sent_to_no_other_host() {
    let sim = sim().await;
    let (first, second) = (Host::of(&sim).await, Host::of(&sim).await);
    for rule in [Rule::post(START).lost(), Rule::post(START).cut_after(10)] {
        sim.forget_requests();
        sim.change(|lab| lab.guest_mut(101).unwrap().state = pve_sim::State::Stopped);
        sim.answer(rule.times(1));
        let session = Session::open(&[first.port(), second.port()], &[&sim]).await;
        let answer = session.answer("start_vm", json!({ "vm": "101" })).await;
        assert_eq!((&answer["outcome"], &answer["after"]), (&json!("done"), &json!("running")));
        assert!(
            notes(&answer).contains("its task was found, and nothing was sent again"),
            "{answer}"
        );
        assert_eq!(posts(&sim), [START]);
    }
}

#[tokio::test]
async fn a_host_that_goes_down_under_a_write_is_made_up_for_by_looking_at_another() {
    let sim = sim().await;
    let (first, second) = (Host::of(&sim).await, Host::of(&sim).await);
    let session = Session::open(&[first.port(), second.port()], &[&sim]).await;
    sim.answer(Rule::post(START).hang().times(1));
    let (answer, ()) = tokio::join!(session.answer("start_vm", json!({ "vm": "101" })), async {
        while posts(&sim).is_empty() {
            tokio::task::yield_now().await;
        }
        first.set(Door::Shut);
    });
    // The request was received and never carried out: nobody knows, and nobody tries again.
    assert_eq!((&answer["outcome"], &answer["after"]), (&json!("unknown"), &json!("stopped")));
    assert_eq!(posts(&sim), [START]);
    assert!(second.n_through() > 0, "the other host was asked how the guest is");
}

#[tokio::test]
async fn when_all_are_down_each_is_named_and_all_is_well_when_one_is_back() {
    let sim = sim().await;
    let (first, second) = (Host::of(&sim).await, Host::of(&sim).await);
    let silent = nobody();
    let dead = silent.port;
    let session = Session::open(&[dead, first.port(), second.port()], &[&sim]).await;
    first.set(Door::Shut);
    second.set(Door::Shut);
    for (tool, arguments) in [("list_vms", json!({})), ("start_vm", json!({ "vm": "101" }))] {
        let told = failed(&session.call(tool, arguments).await);
        for port in [dead, first.port(), second.port()] {
            assert!(told.contains(&format!("`127.0.0.1:{port}`: ")), "{told}");
        }
        assert!(told.contains("none of 3 hosts could be asked"), "{told}");
        assert!(
            told.contains("mcp-proxmox check") && told.contains("connection refused"),
            "{told}"
        );
    }
    assert!(sim.requests().is_empty());
    second.set(Door::Open);
    assert_eq!(session.answer("start_vm", json!({ "vm": "101" })).await["outcome"], "done");
    assert_eq!(posts(&sim), [START]);
}

#[tokio::test(flavor = "multi_thread")]
async fn check_shows_each_host() {
    let (first, second) = (Sim::start(Cluster::demo()).await.unwrap(), sim().await);
    let check = |hosts: &str| {
        let mut command = program_for(&first, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        let pins = format!("{},{}", first.fingerprint(), second.fingerprint());
        command.env("PVE_HOST", hosts).env("PVE_TLS_FINGERPRINT", pins).arg("check");
        let (code, stdout, _) = tokio::task::block_in_place(|| run(&mut command));
        (code, stdout)
    };
    let silent = nobody();
    let dead = silent.port;
    let (code, told) = check(&format!("127.0.0.1:{dead},127.0.0.1:{}", first.port()));
    assert_eq!(code, 0, "the other one works: {told}");
    assert!(told.contains(&format!("host        127.0.0.1:{dead}: FAILED, ")), "{told}");
    assert!(told.contains("the connection was refused"), "{told}");
    assert!(
        told.contains(&format!("host        127.0.0.1:{}: ok, version 9.", first.port())),
        "{told}"
    );
    assert!(!told.contains("one cluster"), "{told}");

    // Two clusters are no cluster, and fail-over between them would be a trap.
    let (_, told) = check(&format!("127.0.0.1:{},127.0.0.1:{}", first.port(), second.port()));
    assert!(told.contains(", cluster lab") && told.contains("not nodes of one cluster"), "{told}");

    let other = nobody();
    let (code, told) = check(&format!("127.0.0.1:{dead},127.0.0.1:{}", other.port));
    assert_eq!(code, 1);
    assert!(told.contains("none of 2 hosts could be asked"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_serves_through_the_second_of_two_hosts() {
    let sim = sim().await;
    let dead = nobody();
    let hosts = format!("127.0.0.1:{},127.0.0.1:{}", dead.port, sim.port());
    tokio::task::block_in_place(|| {
        let mut command = program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        let mut program = Program::start(command.env("PVE_HOST", hosts));
        program.initialize("2025-11-25");
        assert!(program.call("list_vms", json!({}))["result"]["structuredContent"].is_object());
        let told = program.end().stderr;
        assert_eq!(told.matches("this host cannot be asked").count(), 1, "{told}");
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn each_host_has_its_own_pin_and_the_other_is_none_of_its() {
    let sims = [sim().await, sim().await];
    let [first, second] = sims.each_ref().map(|sim| sim.fingerprint().to_owned());
    assert_ne!(first, second);
    let hosts = sims.each_ref().map(|sim| sim.address().to_string());
    let ask = |pins: String| {
        tokio::task::block_in_place(|| {
            let mut command = program_for(&sims[0], DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
            command.env("PVE_HOST", hosts.join(",")).env("PVE_TLS_FINGERPRINT", pins);
            run(command.args(["call", "list_nodes"]))
        })
    };
    let asked = || {
        let asked = sims.each_ref().map(|sim| !sim.requests().is_empty());
        sims.iter().for_each(Sim::forget_requests);
        asked
    };
    let (code, _, told) = ask(format!("{}={first},{}={second}", hosts[0], hosts[1]));
    assert_eq!((code, asked()), (0, [true, false]), "{told}");
    // The first one shows a certificate that is good at the second alone.
    let (code, _, told) = ask(format!("{}={second},{}={second}", hosts[0], hosts[1]));
    assert_eq!((code, asked()), (0, [false, true]), "{told}");
    let (code, _, told) = ask(format!("{}={second},{}={first}", hosts[0], hosts[1]));
    assert_eq!((code, asked()), (1, [false, false]), "{told}");
    assert!(told.contains("none of 2 hosts could be asked"), "{told}");
    // Without names each is good at both.
    let (code, _, told) = ask(format!("{second},{first}"));
    assert_eq!((code, asked()), (0, [true, false]), "{told}");
    let (code, _, told) = ask(format!("{}={first}", hosts[0]));
    assert_eq!(code, 2, "{told}");
    assert!(
        told.contains("PVE_TLS_FINGERPRINT: ") && told.contains("no fingerprint for"),
        "{told}"
    );
}
