//! What is sent, how often, and where to.

use std::time::Duration;

use mcp_proxmox::failure::Failure;
use pve_client::{GuestRef, Kind, Operator, Reader, lifecycle};
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Options, Rule, Sim};
use serde_json::json;

use super::{Session, asked, check, every_tool, lab, lab_with, listing};
use crate::support::{answer, failed, failure, settings, structured};

/// Where VM 101 is started.
const START: &str = "/nodes/pve1/qemu/101/status/start";

fn operator(sim: &Sim) -> Operator {
    Operator::new(Reader::new(settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET)))
}

/// VM 101, which is stopped.
fn db1() -> GuestRef {
    GuestRef { node: "pve1".parse().unwrap(), kind: Kind::Qemu, vmid: "101".parse().unwrap() }
}

/// What every tool that writes sends with, and says.
#[tokio::test]
async fn a_write_whose_answer_is_lost_is_sent_once_and_says_that_its_outcome_is_open() {
    let gateway = Rule::post(START).status(504, "Gateway Timeout").body("<html>");
    let mut silent = Vec::new();
    for rule in [
        Rule::post(START).lost(),
        Rule::post(START).cut_after(5),
        Rule::post(START).status(596, "Connection timed out"),
        Rule::post(START).status(597, "Broken pipe"),
        Rule::post(START).status(599, "Too many redirections"),
        gateway.header("Content-Type", "text/html").header("Server", "nginx"),
        // There was no connection to the node at all.
        Rule::post(START).status(595, "Connection refused"),
    ] {
        let (status, sim) = (rule.status, lab().await);
        sim.answer(rule);
        let error = operator(&sim).post(lifecycle::start(&db1())).await.unwrap_err();
        assert_eq!(asked(&sim), [START], "{status:?}: a write was sent again");
        assert!(error.may_have_taken_effect(), "{status:?}: {error}");
        let told = Failure::from_pve("start VM 101", &error).to_string();
        let is_open = told.contains("may have been carried out") && told.contains("newest task");
        if !is_open && status != Some(595) {
            silent.push(told);
        }
    }
    let sim = lab().await;
    sim.answer(Rule::post(START).lost());
    operator(&sim).post(lifecycle::start(&db1())).await.unwrap_err();
    assert!(sim.change(|lab| lab.guest(101).unwrap().is_up()), "the lost write was carried out");
    assert!(silent.is_empty(), "these do not say that the outcome is open: {silent:#?}");
}

#[tokio::test]
async fn q027_text_from_outside_reaches_no_other_path() {
    let texts = [
        "pve1%2Fqemu%2F100%2Fstatus%2Fstop",
        "pve1/qemu/100/status/stop",
        "100%2fstatus%2fstop",
        "100/status/stop",
        "..%2F..%2Faccess",
        "100?x=stop",
        "100#stop",
        "100;stop",
    ];
    let sim = lab().await;
    for text in texts {
        failure(&sim, "get_vm_status", json!({ "vm": text })).await;
        failure(&sim, "get_node_status", json!({ "node": text })).await;
        let list = answer(&sim, "list_vms", json!({ "node": text, "exact": true })).await;
        assert_eq!(list["total"], 0);
    }
    // The list itself may be wrong, too.
    let hostile = listing(json!([
        { "id": "qemu/100", "vmid": 100, "type": "qemu", "node": texts[1], "name": "app1", "status": "running" },
        { "id": "qemu/101", "vmid": 101, "type": "qemu", "node": texts[0], "name": "db1", "status": "running" },
    ]))
    .await;
    failure(&hostile, "get_vm_status", json!({ "vm": "100" })).await;
    failure(&hostile, "get_vm_status", json!({ "vm": "db1" })).await;
    failure(&hostile, "list_vms", json!({ "exact": true })).await;
    for seen in sim.requests().into_iter().chain(hostile.requests()) {
        assert_eq!(seen.method, "GET");
        let is_list = ["/nodes", "/cluster/resources?type=vm"].contains(&seen.path.as_str());
        assert!(is_list, "asked {}", seen.path);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn q028_reading_sends_no_body() {
    let sim = lab().await;
    let mut seen = Vec::new();
    for said in every_tool(None).await {
        assert!(!said.is_error, "{}: {}", said.tool, said.told);
        seen.extend(said.seen);
    }
    let (code, told) = check(&sim, &[]);
    assert_eq!(code, 0, "{told}");
    seen.extend(sim.requests());
    assert!(seen.len() > 100);
    for seen in seen.iter().filter(|seen| seen.method != "POST") {
        assert_eq!((seen.method.as_str(), seen.body.as_str()), ("GET", ""), "{}", seen.path);
    }
}

/// The simulator refuses chunks as PVE does, with 501.
#[tokio::test]
async fn q029_writing_sends_a_body_of_known_length() {
    let sim = lab().await;
    let upid = operator(&sim).post(lifecycle::start(&db1())).await.unwrap();
    assert!(
        upid.to_string().starts_with("UPID:pve1:") && upid.to_string().contains(":qmstart:101:"),
        "{upid}"
    );
    let seen = sim.requests();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].method.as_str(), seen[0].path.as_str()), ("POST", START));
    sim.forget_requests();
    operator(&sim).post(lifecycle::shutdown(&db1(), 30)).await.ok();
    let seen = sim.requests();
    assert_eq!(seen.len(), 1, "it was refused, or sent again");
    assert_eq!(seen[0].body, "timeout=30");
}

#[tokio::test]
async fn q032_connections_that_pve_closes_are_not_seen_by_anybody() {
    // It closes after some requests.
    let sim = lab_with(Options { requests_per_connection: 2, ..Options::default() }).await;
    let session = Session::alone(&sim).await;
    for _ in 0..7 {
        structured(&session.call("list_vms", json!({})).await);
    }
    assert!(sim.requests().len() < 10, "reads were repeated without need");

    // It closes what is idle.
    let idle = Some(Duration::from_millis(200));
    let sim = lab_with(Options { idle_timeout: idle, ..Options::default() }).await;
    let session = Session::alone(&sim).await;
    structured(&session.call("list_vms", json!({})).await);
    while sim.connections() > 0 {
        tokio::task::yield_now().await;
    }
    structured(&session.call("list_vms", json!({})).await);
    assert_eq!(sim.handshakes(), 2);

    // It closes in the very moment in which the connection is used again.
    let sim = lab().await;
    let session = Session::alone(&sim).await;
    structured(&session.call("list_vms", json!({})).await);
    sim.forget_requests();
    sim.answer(Rule::get("/cluster/resources").lost().times(1));
    structured(&session.call("list_vms", json!({})).await);
    assert_eq!(sim.requests().len(), 2, "once more, on a fresh connection");

    sim.forget_requests();
    sim.answer(Rule::everything().lost());
    let told = failed(&session.call("list_vms", json!({})).await);
    assert!(told.contains("the connection broke"), "{told}");
    assert_eq!(sim.requests().len(), 2, "a read is repeated once");

    sim.forget_requests();
    operator(&sim).post(lifecycle::start(&db1())).await.unwrap_err();
    assert_eq!(sim.requests().len(), 1, "a write is never repeated");
}

#[tokio::test(flavor = "multi_thread")]
async fn q036_a_host_may_be_written_in_many_ways() {
    let sim = lab().await;
    let port = sim.port().to_string();
    let place = format!("127.0.0.1:{port}");
    for (host, other_port) in [
        (place.clone(), "1"),
        (format!(" https://{place}/api2/json/ "), "1"),
        (format!("https://{place}/"), "1"),
        (format!("\"https://{place}/#v1:0:=node%2Fpve1:4:5\""), "1"),
        ("https://127.0.0.1".to_owned(), port.as_str()),
        ("127.0.0.1/api2/json".to_owned(), port.as_str()),
    ] {
        let (code, told) = check(&sim, &[("PVE_HOST", &host), ("PVE_PORT", other_port)]);
        assert_eq!(code, 0, "{host}: {told}");
        assert!(told.contains(&format!("PVE at {place} as ")), "{host}: {told}");
    }
    assert!(asked(&sim).iter().all(|path| path == "/version" || path == "/access/permissions"));

    // What is left of the path is a reverse proxy's.
    sim.forget_requests();
    let version = json!({ "version": "9.2.11", "release": "9.2", "repoid": "14a22df3" });
    sim.answer(Rule::get("/pve/api2/json/version").data(&version));
    let held = json!({ "Sys.Audit": 1, "VM.Audit": 1, "Datastore.Audit": 1 });
    // PVE names these roots wherever something is held on them (recorded).
    let rights = json!({ "/": held, "/nodes": held, "/storage": held, "/vms": held });
    sim.answer(Rule::get("/pve/api2/json/access/permissions").data(&rights));
    let host = format!("https://{place}/pve/api2/json");
    let (code, told) = check(&sim, &[("PVE_HOST", &host)]);
    assert_eq!(code, 0, "{told}");
    assert!(
        asked(&sim).iter().all(|path| path.starts_with("/pve/api2/json/")),
        "{:?}",
        asked(&sim)
    );
}
