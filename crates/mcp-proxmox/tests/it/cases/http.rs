//! Answers that are errors, in all the places where PVE, or something in front of it, puts their text.

use std::time::Duration;

use pve_client::Reader;
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::json;

use super::{CURRENT, Said, Session, asked, check, every_tool, lab, n_asked, refusing};
use crate::{
    faults::world::still,
    support::{answer, call_on, failed, failure, notes, row, rows, server, settings, structured},
};
use mcp_proxmox::tier::{Access, Level};

#[tokio::test]
async fn q019_the_text_of_an_error_is_found_wherever_it_is() {
    let sim = lab().await;
    let arguments = json!({ "vm": "100" });
    let disabled = "storage 'nfs1' is disabled";
    let both = json!({ "data": null, "message": "first line\nand a second\n" }).to_string();
    for (reason, body, wanted) in [
        (disabled, r#"{"data":null}"#, disabled),
        (disabled, "", disabled),
        ("first line", both.as_str(), "first line and a second"),
        ("", r#"{"data":null}"#, "500"),
    ] {
        sim.answer(Rule::get(CURRENT).status(500, reason).body(body.to_owned()));
        let told = failure(&sim, "get_vm_status", arguments.clone()).await;
        assert!(told.contains(wanted) && told.contains("500"), "{reason:?} {body}: {told}");
    }
}

#[tokio::test]
async fn q021_every_wrong_parameter_is_told_with_its_reason() {
    let sim = lab().await;
    let text = "Parameter verification failed.";
    let unknown =
        "property is not defined in schema and the schema does not allow additional properties";
    let refusing = |path: &str, errors| {
        let body = json!({ "data": null, "message": format!("{text}\n"), "errors": errors });
        Rule::get(path).status(400, text).body(body.to_string())
    };
    let number = "type check ('integer') failed - got 'ten'";
    let errors = json!({ "limit": number, "sinse": unknown });
    sim.answer(refusing("/nodes/pve1/tasks", errors));
    let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(status["status"], "running", "the rest of the answer is not lost");
    let told = notes(&status);
    for part in [format!("`limit`: {number}"), format!("`sinse`: {unknown}")] {
        assert!(told.contains(&part), "{part} is missing in: {told}");
    }
    // A parameter that only makes the answer better, on a version that lacks it.
    sim.answer(refusing("/nodes/pve1/qemu", json!({ "full": unknown })));
    let list = answer(&sim, "list_vms", json!({ "exact": true })).await;
    assert_eq!(list["total"], 3);
    assert!(notes(&list).contains(&format!("`full`: {unknown}")), "{list}");
    // One that is only a filter, or a form: the question is asked again without it.
    for lacking in ["structured", "priority"] {
        let sim = Sim::start(still()).await.unwrap();
        sim.answer(refusing("/nodes/pve3/journal", json!({ lacking: unknown })).times(1));
        let arguments = json!({ "node": "pve3", "severity": "warning", "limit": 5 });
        let log = answer(&sim, "get_system_log", arguments).await;
        assert!(!rows(&log["lines"]).is_empty(), "{lacking}: {log}");
        let journals: Vec<_> =
            sim.requests().into_iter().filter(|seen| seen.path.contains("/journal?")).collect();
        let has = |nth: usize| journals[nth].path.contains(&format!("{lacking}="));
        assert!(has(0) && !has(1), "{lacking}: {journals:?}");
    }
}

#[tokio::test]
async fn q023_the_thirty_seconds_of_pve_itself_are_told_and_not_tried_again() {
    let sim = lab().await;
    sim.answer(Rule::get(CURRENT).status(596, "Connection timed out"));
    let told = failure(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert!(told.contains("PVE waited 30 s") && told.contains("596"), "{told}");
    assert!(told.contains("ask for less"), "{told}");
    assert!(n_asked(&sim, CURRENT) <= 2, "{:?}", asked(&sim));
    sim.answer(Rule::get("/nodes/pve1/qemu").status(596, "Connection timed out"));
    let list = answer(&sim, "list_vms", json!({ "exact": true })).await;
    assert!(notes(&list).contains("PVE waited 30 s"), "{list}");
    assert!(n_asked(&sim, "/nodes/pve1/qemu") <= 2, "{:?}", asked(&sim));
}

#[tokio::test]
async fn q025_a_call_that_this_version_lacks_is_quoted() {
    let sim = lab().await;
    let text = format!("Method 'GET {CURRENT}' not implemented");
    let body = json!({ "data": null, "message": text }).to_string();
    sim.answer(Rule::get(CURRENT).status(501, &text).body(body));
    let told = failure(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert!(told.contains(&format!("GET {CURRENT} (501)")), "{told}");
    for vm in ["", "343", "/343", "qemu//343"] {
        failure(&sim, "get_vm_status", json!({ "vm": vm })).await;
    }
    for node in ["", "/", "pve1/"] {
        failure(&sim, "get_node_status", json!({ "node": node })).await;
    }
    for path in asked(&sim) {
        assert!(!path.contains("//") && !path.ends_with('/'), "{path} has an empty part");
        assert!(!path.contains("343"), "{path} was asked without a guest that is there");
    }
}

#[tokio::test]
async fn q026_a_list_of_something_else_is_not_a_list_of_guests() {
    let sim = lab().await;
    for node in ["", " "] {
        failure(&sim, "get_node_status", json!({ "node": node })).await;
        // For a filter, nothing is no filter: models fill in what they leave open.
        assert_eq!(answer(&sim, "list_vms", json!({ "node": node })).await["total"], 3);
    }
    let seen = asked(&sim);
    assert!(seen.iter().all(|path| path == "/nodes" || path == "/cluster/resources"), "{seen:?}");

    let names = ["aplinfo", "apt", "qemu", "status", "tasks"];
    let index = json!(names.map(|name| json!({ "name": name })));
    sim.answer(Rule::get("/cluster/resources?type=vm").data(&index).times(1));
    let told = failure(&sim, "list_vms", json!({})).await;
    assert!(told.contains("it has 5 entries, and none is as expected"), "{told}");
    assert!(!told.contains("VM.Audit"), "this is no lack of rights: {told}");

    sim.answer(Rule::get("/nodes/pve1/qemu").data(&index));
    let list = answer(&sim, "list_vms", json!({ "exact": true })).await;
    assert_eq!(list["total"], 3);
    let told = notes(&list);
    assert!(told.contains("pve1"), "the states of pve1 are not known, and nothing says so: {list}");
}

#[tokio::test(flavor = "multi_thread")]
async fn q035_a_page_of_a_proxy_is_not_an_answer() {
    let sim = lab().await;
    let page = "<!doctype html><title>Login</title>";
    let html = "text/html; charset=utf-8";
    let answers = [(200, "OK"), (502, "Bad Gateway"), (504, "Gateway Timeout"), (403, "Forbidden")];
    for (status, reason) in answers {
        let rule = Rule::everything().status(status, reason).body(page);
        let rule = rule.header("Content-Type", html).header("Server", "nginx");
        sim.answer(rule.clone());
        let mut all = vec![check(&sim, &[]).1];
        for Said { tool, told, is_error, seen } in every_tool(Some(&rule)).await {
            assert!(is_error && seen.len() == 1, "{tool} asked on: {told} {seen:?}");
            all.push(told);
        }
        for told in all {
            assert!(told.contains("something other than the Proxmox VE API answered"), "{told}");
            let kind = format!("status {status} with content of type `text/html`");
            assert!(told.contains(&kind), "{told}");
            assert!(!told.contains("Login") && !told.contains("doctype"), "{told}");
        }
    }
    sim.answer(Rule::everything().status(200, "OK").body(r#"{"success":true}"#));
    let told = failure(&sim, "list_nodes", json!({})).await;
    assert!(told.contains("something other than the Proxmox VE API answered"), "{told}");

    let elsewhere = lab().await;
    let location = format!("https://127.0.0.1:{}/login?session=4711", elsewhere.port());
    sim.answer(Rule::everything().status(302, "Found").header("Location", &location));
    let told = failure(&sim, "list_nodes", json!({})).await;
    assert!(told.contains(&format!("a redirection to `127.0.0.1:{}`", elsewhere.port())), "{told}");
    assert!(!told.contains("4711"), "{told}");
    assert_eq!(elsewhere.handshakes(), 0, "the token must not follow a redirection");
}

#[tokio::test]
async fn a_part_that_hangs_costs_only_itself() {
    let sim = lab().await;
    sim.answer(Rule::get("/nodes/pve1/services").hang());
    sim.answer(Rule::get("/nodes/pve1/rrddata").data(&json!([])));
    let mut settings = settings(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    settings.request_timeout = Duration::from_millis(1500);
    let server = server(Access::new(Level::Read, Reader::new(settings)));
    let node = structured(&call_on(server, "get_node_status", json!({ "node": "pve1" })).await);
    assert_eq!((&node["status"], &node["pve_version"]), (&json!("online"), &json!("9.2.11")));
    assert!(node.get("services_not_running").is_none(), "{node}");
    let missing = node["not_available"].as_array().unwrap();
    assert_eq!(missing.len(), 1, "{missing:?}");
    let told = missing[0].as_str().unwrap();
    assert!(told.contains("services") && told.contains("no answer came within 1.5 s"), "{told}");
}

#[tokio::test]
async fn q040_an_error_of_one_guest_is_not_one_of_the_host() {
    let sim = lab().await;
    let path = "/nodes/pve1/qemu/101/status/current";
    let gone = "Configuration file 'nodes/pve1/qemu-server/101.conf' does not exist";
    sim.answer(refusing(path, 500, gone));
    let session = Session::open(&sim).await;
    for _ in 0..3 {
        let told = failed(&session.call("get_vm_status", json!({ "vm": "101" })).await);
        assert!(told.contains("could not read the state of 101"), "{told}");
        assert!(told.contains("migrated or removed"), "{told}");
        let other = structured(&session.call("get_vm_status", json!({ "vm": "100" })).await);
        assert_eq!(other["status"], "running");
        let nodes = structured(&session.call("list_nodes", json!({})).await);
        assert_eq!(row(&nodes["nodes"], "node", &json!("pve1"))["status"], "online");
    }
}

#[tokio::test]
async fn q041_null_is_an_empty_answer() {
    let sim = lab().await;
    for part in ["tasks", "services", "apt/update", "certificates/info", "rrddata"] {
        sim.answer(Rule::get(&format!("/nodes/pve1/{part}")).data(&json!(null)));
    }
    let status = answer(&sim, "get_vm_status", json!({ "vm": "100" })).await;
    assert_eq!(status["status"], "running");
    assert!(status.get("running_tasks").is_none(), "{status}");
    assert!(!notes(&status).contains("tasks"), "there are none, which is no failure: {status}");
    let node = answer(&sim, "get_node_status", json!({ "node": "pve1" })).await;
    // Each node has services and certificates, so that of these nothing is known.
    let missing = node["not_available"].to_string();
    assert!(missing.contains("services: ") && missing.contains("certificates: "), "{node}");
    assert_eq!(node["not_available"].as_array().unwrap().len(), 2, "{node}");
    assert_eq!(node["pending_updates"], 0);
    for nothing in [json!(null), json!([])] {
        sim.answer(Rule::get("/nodes/pve1/lxc/120/interfaces").data(&nothing));
        let details = answer(&sim, "get_vm_details", json!({ "vm": "120" })).await;
        assert!(details.get("addresses").is_none(), "{details}");
        let missing = details["not_available"].to_string();
        assert!(missing.contains("no interface of it, as of one that does not run"), "{missing}");
    }
    sim.answer(Rule::get("/cluster/resources?type=vm").data(&json!(null)));
    let list = answer(&sim, "list_vms", json!({})).await;
    assert_eq!(list["total"], 0);
    assert!(notes(&list).contains("no VM or container"), "{list}");
}
