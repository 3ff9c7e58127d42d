//! Every method beside `tools/call`, on the wire, in every revision of the protocol.

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Sim};
use serde_json::{Value, json};

use crate::process::Program;

pub const REVISIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
pub const MODERN: &str = "2026-07-28";

/// A conversation in one revision.
struct Talk {
    program: Program,
    revision: &'static str,
    /// What the server said of itself.
    opened: Value,
}

impl Talk {
    fn in_revision(revision: &'static str) -> Self {
        Self::with(revision, Program::demo())
    }

    fn with(revision: &'static str, program: Program) -> Self {
        let mut talk = Self { program, revision, opened: Value::Null };
        talk.opened = if revision == MODERN {
            talk.ask("server/discover", json!({}))["result"].clone()
        } else {
            talk.program.initialize(revision)
        };
        talk
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.program.request(method, params)
    }

    /// The result of a method, which has what this revision wants of every result and nothing that is newer.
    fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params);
        let result = answer["result"].clone();
        assert!(result.is_object(), "{} {method}: {answer}", self.revision);
        let is_modern = self.revision == MODERN;
        assert_eq!(result.get("resultType").is_some(), is_modern, "{} {method}", self.revision);
        let is_kept = method.ends_with("/list") || method == "resources/read";
        for field in ["ttlMs", "cacheScope"] {
            assert_eq!(
                result.get(field).is_some(),
                is_modern && is_kept,
                "{} {method}: {field}",
                self.revision
            );
        }
        let named = &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
        assert_eq!(named == "mcp-proxmox", is_modern, "{} {method}", self.revision);
        result
    }

    /// The code of an answer that must be an error.
    fn error(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.ask(method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }
}

#[test]
fn capabilities_say_what_is_there_and_nothing_that_the_revision_does_not_know() {
    for revision in REVISIONS {
        let talk = Talk::in_revision(revision);
        let capabilities = talk.opened["capabilities"].as_object().unwrap();
        let mut names: Vec<_> = capabilities.keys().map(String::as_str).collect();
        names.sort_unstable();
        let all = ["completions", "prompts", "resources", "tools"];
        let wanted = if revision == "2024-11-05" { &all[1..] } else { &all[..] };
        assert_eq!(names, wanted, "{revision}");
        // Nothing changes, and nobody can subscribe.
        assert!(capabilities.values().all(|value| *value == json!({})), "{capabilities:?}");
    }
}

#[test]
fn the_server_introduces_itself_once_with_a_small_icon() {
    for revision in REVISIONS {
        let talk = Talk::in_revision(revision);
        let info = match revision {
            MODERN => &talk.opened["_meta"]["io.modelcontextprotocol/serverInfo"],
            _ => &talk.opened["serverInfo"],
        };
        assert_eq!((&info["name"], &info["title"]), (&json!("mcp-proxmox"), &json!("Proxmox VE")));
        let icon = info["icons"][0]["src"].as_str().unwrap();
        assert!(icon.starts_with("data:image/png;base64,") && icon.len() < 400, "{icon}");
    }
    let mut talk = Talk::in_revision(MODERN);
    let list = talk.result("tools/list", json!({}));
    assert!(list["_meta"]["io.modelcontextprotocol/serverInfo"].get("icons").is_none());
}

#[test]
fn prompts_are_listed_and_got_in_every_revision() {
    for revision in REVISIONS {
        let mut talk = Talk::in_revision(revision);
        let list = talk.result("prompts/list", json!({}));
        let names: Vec<_> = list["prompts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|prompt| prompt["name"].clone())
            .collect();
        assert_eq!(
            names,
            [
                "diagnose_vm",
                "cluster_report",
                "failed_backups",
                "capacity_review",
                "incident_timeline"
            ]
        );
        assert_eq!(list["prompts"][0]["arguments"][0]["required"], true);
        assert!(list["prompts"][0]["title"].is_string());
        let got = talk.result(
            "prompts/get",
            json!({ "name": "diagnose_vm", "arguments": { "vm": "101", "symptom": "it is slow" } }),
        );
        assert_eq!(got["messages"][0]["role"], "user");
        let text = got["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.contains("`101`") && text.contains("it is slow"), "{text}");
        for params in [
            json!({ "name": "diagnose" }),
            json!({ "name": "diagnose_vm" }),
            json!({ "name": "diagnose_vm", "arguments": { "vm": "101", "colour": "red" } }),
            json!({ "arguments": {} }),
        ] {
            assert_eq!(talk.error("prompts/get", params), -32602, "{revision}");
        }
    }
}

#[test]
fn resources_are_listed_and_read_in_every_revision() {
    for revision in REVISIONS {
        let mut talk = Talk::in_revision(revision);
        let fixed = talk.result("resources/list", json!({}));
        let listed = fixed["resources"].as_array().unwrap();
        let uris: Vec<_> = listed.iter().map(|resource| &resource["uri"]).collect();
        assert_eq!(uris, ["pve://cluster/health"]);
        assert!(listed[0]["title"].as_str().is_some_and(|title| !title.is_empty()), "{fixed}");
        let read = talk.result("resources/read", json!({ "uri": "pve://cluster/health" }));
        assert_eq!(read["contents"][0]["uri"], "pve://cluster/health");
        assert!(read["contents"][0]["text"].as_str().unwrap().starts_with("summary: "), "{read}");
        let list = talk.result("resources/templates/list", json!({}));
        let templates: Vec<_> = list["resourceTemplates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|template| template["uriTemplate"].clone())
            .collect();
        assert_eq!(
            templates,
            [
                "pve://nodes/{node}",
                "pve://vms/{vmid}",
                "pve://tasks/{upid}/log",
                "pve://vms/{vmid}/screenshot"
            ]
        );
        let node = talk.result("resources/read", json!({ "uri": "pve://nodes/pve1" }));
        assert_eq!(node["contents"][0]["mimeType"], "text/plain");
        assert!(node["contents"][0]["text"].as_str().unwrap().contains("node: pve1"), "{node}");
        let screen = talk.result("resources/read", json!({ "uri": "pve://vms/100/screenshot" }));
        assert_eq!(screen["contents"][0]["mimeType"], "image/png");
        assert!(screen["contents"][0]["blob"].as_str().unwrap().starts_with("iVBOR"));
    }
}

#[test]
fn how_long_an_answer_may_be_kept_fits_what_it_is() {
    let mut talk = Talk::in_revision(REVISIONS[REVISIONS.len() - 1]);
    for list in ["prompts/list", "resources/list", "resources/templates/list"] {
        assert_eq!(talk.result(list, json!({}))["ttlMs"], 3_600_000, "{list}");
    }
    for (uri, milliseconds) in [
        ("pve://cluster/health", 30_000),
        ("pve://nodes/pve1", 10_000),
        ("pve://vms/100", 10_000),
        ("pve://vms/100/screenshot", 0),
    ] {
        let read = talk.result("resources/read", json!({ "uri": uri }));
        assert_eq!(read["ttlMs"], milliseconds, "{uri}");
    }
}

#[test]
fn a_resource_that_is_not_there_has_the_code_of_the_revision() {
    for revision in REVISIONS {
        let mut talk = Talk::in_revision(revision);
        let wanted = if revision == MODERN { -32602 } else { -32002 };
        for uri in [
            "pve://vms/999",
            "pve://nodes/pve9",
            "pve://vms/web01",
            "pve://vms/100%2Fstatus",
            "pve://nodes/..",
            "pve://tasks/UPID:pve1:00000001:00000001:00000001:qmstart:100:root@pam:/log",
            "pve://tasks/UPID:pve9:00000001:00000001:00000001:qmstart:100:root@pam:/log",
            "file:///etc/passwd",
        ] {
            assert_eq!(
                talk.error("resources/read", json!({ "uri": uri })),
                wanted,
                "{revision} {uri}"
            );
        }
        assert_eq!(talk.error("resources/read", json!({ "uri": 7 })), -32602, "{revision}");
    }
}

#[test]
fn arguments_and_addresses_are_completed_in_every_revision() {
    for revision in REVISIONS {
        let mut talk = Talk::in_revision(revision);
        let prompt = json!({ "type": "ref/prompt", "name": "diagnose_vm" });
        let found = talk.result(
            "completion/complete",
            json!({ "ref": prompt, "argument": { "name": "vm", "value": "post" } }),
        );
        assert_eq!(found["completion"]["values"], json!(["postgres"]), "{found}");
        assert_eq!(found["completion"]["total"], 1);
        assert_eq!(found["completion"]["hasMore"], false);
        let template = json!({ "type": "ref/resource", "uri": "pve://nodes/{node}" });
        let found = talk.result(
            "completion/complete",
            json!({ "ref": template, "argument": { "name": "node", "value": "" } }),
        );
        assert_eq!(found["completion"]["values"][0], "pve1", "{found}");
        for (reference, argument) in [
            (json!({ "type": "ref/prompt", "name": "no_such" }), "vm"),
            (prompt, "no_such"),
            (json!({ "type": "ref/resource", "uri": "pve://no/{such}" }), "such"),
            (template, "vmid"),
        ] {
            let params = json!({ "ref": reference, "argument": { "name": argument, "value": "" } });
            assert_eq!(talk.error("completion/complete", params), -32602, "{revision}");
        }
    }
}

#[test]
fn no_list_has_a_second_page() {
    for revision in REVISIONS {
        let mut talk = Talk::in_revision(revision);
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            let list = talk.result(method, json!({}));
            assert!(list.get("nextCursor").is_none(), "{method}");
            assert_eq!(
                talk.error(method, json!({ "cursor": "abc" })),
                -32602,
                "{revision} {method}"
            );
        }
    }
}

#[test]
fn a_log_that_was_cut_is_linked_where_the_revision_knows_links() {
    for (revision, choice) in
        REVISIONS.into_iter().zip(["both", "text", "structured", "both", "text"])
    {
        let mut command = crate::process::program();
        command.args(["--demo", "--output", choice]);
        let mut talk = Talk::with(revision, Program::start(&mut command));
        let suggested = talk.result(
            "completion/complete",
            json!({
                "ref": { "type": "ref/resource", "uri": "pve://tasks/{upid}/log" },
                "argument": { "name": "upid", "value": "vzdump" },
            }),
        );
        let upid = suggested["completion"]["values"][0].as_str().expect("a backup");
        let call = |lines: u64| json!({ "name": "get_task", "arguments": { "upid": upid, "lines": lines } });
        let answer = talk.result("tools/call", call(1));
        let blocks = answer["content"].as_array().unwrap();
        assert_eq!(blocks.len(), 2, "{answer}");
        let link = &blocks[1];
        if revision < "2025-06-18" {
            assert_eq!(link["type"], "text", "{link}");
            assert!(link["text"].as_str().unwrap().contains("pve://tasks/UPID:"), "{link}");
        } else {
            assert_eq!(link["type"], "resource_link", "{link}");
            let read = talk.result("resources/read", json!({ "uri": link["uri"] }));
            let text = read["contents"][0]["text"].as_str().unwrap();
            assert!(text.starts_with(&format!("upid: {upid}\n")), "{text}");
            assert!(text.contains("\nline\ttext\n1\t"), "{text}");
        }
        // What fits into the answer needs no link.
        let answer = talk.result("tools/call", call(200));
        assert_eq!(answer["content"].as_array().unwrap().len(), 1, "{answer}");
    }
}

/// A report of which the answer shows a part leads to the whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_report_that_was_cut_is_linked_and_its_resource_is_whole() {
    let sim = Sim::start(Cluster::demo()).await.unwrap();
    // Each service is a finding of its own.
    let dead = (0..60).map(|nth| {
        json!({ "name": format!("job{nth}x"), "state": "dead", "active-state": "failed", "unit-state": "enabled" })
    });
    sim.answer(Rule::get("/nodes/pve1/services").data(&dead.collect()));
    tokio::task::block_in_place(|| {
        let mut command = crate::process::program_for(&sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
        let mut talk = Talk::with(MODERN, Program::start(&mut command));
        let call = json!({ "name": "get_cluster_health", "arguments": {} });
        let answer = talk.result("tools/call", call);
        let shown = answer["structuredContent"]["findings"]["rows"].as_array().unwrap().len();
        assert_eq!(shown, 40, "{answer}");
        let link = &answer["content"][1];
        assert_eq!(
            (&link["type"], &link["uri"]),
            (&json!("resource_link"), &json!("pve://cluster/health"))
        );
        let read = talk.result("resources/read", json!({ "uri": link["uri"] }));
        let whole = read["contents"][0]["text"].as_str().unwrap();
        for nth in 0..60 {
            assert!(whole.contains(&format!("job{nth}x")), "{nth} is not in: {whole}");
        }
        assert!(!whole.contains("more are not shown"), "{whole}");
    });
}

#[test]
fn what_the_user_left_out_is_neither_offered_nor_named() {
    for revision in REVISIONS {
        let mut command = crate::process::program();
        command.args(["--demo", "--tools", "list_networks"]);
        let mut talk = Talk::with(revision, Program::start(&mut command));
        assert_eq!(talk.opened["capabilities"], json!({ "tools": {} }), "{revision}");
        assert!(!talk.opened["instructions"].as_str().unwrap().contains("list_vms"));
        let prompt = json!({ "ref": { "type": "ref/prompt", "name": "diagnose_vm" }, "argument": { "name": "vm", "value": "" } });
        assert_eq!(talk.error("completion/complete", prompt), -32601, "{revision}");
        for method in ["prompts/list", "resources/list", "resources/templates/list"] {
            assert_eq!(talk.error(method, json!({})), -32601, "{revision} {method}");
        }
    }
}

#[test]
fn reading_a_resource_can_be_cancelled_and_the_server_lives_on() {
    let mut talk = Talk::in_revision("2025-11-25");
    let program = &mut talk.program;
    program.send(&json!({ "jsonrpc": "2.0", "id": 90, "method": "resources/read", "params": { "uri": "pve://vms/100/screenshot" } }));
    program.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 90 } }));
    program.send(&json!({ "jsonrpc": "2.0", "id": 91, "method": "ping" }));
    assert_eq!(program.receive()["id"], 91);
    assert!(
        talk.result("resources/read", json!({ "uri": "pve://vms/100" }))["contents"].is_array()
    );
}
