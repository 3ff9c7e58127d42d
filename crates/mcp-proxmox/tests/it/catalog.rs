//! Rules that every tool keeps. A failure names the tool and the way to mend it.

use std::collections::BTreeSet;

use mcp_proxmox::{
    catalog::{self, Catalog},
    server,
    tier::Level,
};
use serde_json::Value;

fn definitions() -> Vec<Value> {
    let catalog = Catalog::new(catalog::ALL, Level::Write, |_| true);
    server::definitions(&catalog).as_array().cloned().unwrap()
}

/// The contract with clients. A change here is a change for every user; look at it, then accept it with
/// `INSTA_UPDATE=always cargo test -p mcp-proxmox`.
#[test]
fn definitions_change_only_on_purpose() {
    for tool in definitions() {
        let name = tool["name"].as_str().unwrap().to_owned();
        insta::assert_json_snapshot!(name, tool);
    }
}

/// The program holds the schemas as text; this is where they are made.
#[test]
fn schemas_are_those_of_the_types() {
    let made: String = catalog::derived().iter().map(catalog::Entry::schemas).collect();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/schemas.tsv");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, &made).unwrap();
    }
    let is_current = std::fs::read_to_string(file).unwrap() == made;
    assert!(
        is_current,
        "the types of a tool's arguments or answer changed: `UPDATE_DOCS=1 cargo test catalog::schemas` writes src/schemas.tsv"
    );
}

#[test]
fn names_are_unique_verb_noun() {
    let verbs = [
        "list", "get", "search", "start", "stop", "shutdown", "reboot", "reset", "suspend",
        "resume", "send",
    ];
    let mut names = BTreeSet::new();
    for entry in catalog::ALL {
        let name = entry.name;
        assert!(
            name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}: lower case and `_` only"
        );
        assert!(
            name.len() <= 40,
            "{name}: clients prefix names and drop those that become too long"
        );
        assert!(
            verbs.contains(&name.split('_').next().unwrap()),
            "{name}: begin with a verb of {verbs:?}"
        );
        assert!(names.insert(name), "{name}: is in the catalog twice");
    }
}

#[test]
fn descriptions_are_short_and_say_what_for() {
    for entry in catalog::ALL {
        let n_characters = entry.description.chars().count();
        assert!(
            (60..=320).contains(&n_characters),
            "{}: its description has {n_characters} characters; 60 to 320 fit",
            entry.name
        );
        assert!(!entry.title.is_empty(), "{}: needs a title", entry.name);
    }
}

/// What is begun with, and what tells by itself which tool comes next or which other way there is.
const NAME_NO_OTHER: [&str; 4] = ["get_cluster_health", "get_access", "start_vm", "resume_vm"];

#[test]
fn descriptions_name_the_tool_to_use_instead_and_have_the_words_of_administrators() {
    for entry in catalog::ALL {
        let names_another = catalog::ALL
            .iter()
            .any(|other| other.name != entry.name && entry.description.contains(other.name));
        let is_excepted = NAME_NO_OTHER.contains(&entry.name);
        assert_ne!(names_another, is_excepted, "{}: {}", entry.name, entry.description);
    }
    let all: String = catalog::ALL.iter().map(|entry| entry.description).collect();
    for word in ["VM", "LXC", "container", "backup", "log", "node", "storage", "snapshot", "VLAN"] {
        assert!(all.contains(word), "nobody finds a tool by `{word}`");
    }
}

#[test]
fn every_argument_is_described_and_unknown_ones_are_refused() {
    for tool in definitions() {
        let name = &tool["name"];
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object", "{name}");
        assert_eq!(
            schema["additionalProperties"], false,
            "{name}: put `deny_unknown_fields` on its Input"
        );
        for (argument, schema) in schema["properties"].as_object().unwrap() {
            let description = schema["description"].as_str().unwrap_or_default();
            assert!(
                !description.is_empty(),
                "{name}: `{argument}` needs a doc comment; it becomes its description"
            );
            assert!(schema["type"].is_string(), "{name}: `{argument}` must have exactly one type");
        }
    }
}

#[test]
fn whoever_takes_a_guest_calls_it_vm_and_takes_a_text() {
    for tool in definitions() {
        let arguments = tool["inputSchema"]["properties"].as_object().unwrap();
        for other in ["vmid", "guest", "id", "vm_id"] {
            assert!(
                !arguments.contains_key(other),
                "{}: the argument for a guest is `vm`, not `{other}`",
                tool["name"]
            );
        }
        if let Some(vm) = arguments.get("vm") {
            assert_eq!(vm["type"], "string", "{}", tool["name"]);
        }
    }
}

#[test]
fn schemas_hold_nothing_that_a_client_trips_over() {
    for tool in definitions() {
        for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
            each_schema(schema, &mut |schema| {
                for keyword in ["$schema", "$ref", "$defs", "format", "anyOf", "oneOf", "allOf"] {
                    assert!(
                        schema.get(keyword).is_none(),
                        "{}: `{keyword}` in {schema}",
                        tool["name"]
                    );
                }
                assert!(
                    schema.get("type").is_none_or(Value::is_string),
                    "{}: a list of types in {schema}",
                    tool["name"]
                );
            });
        }
    }
}

#[test]
fn hints_follow_from_the_effect() {
    for (tool, entry) in definitions().iter().zip(catalog::ALL) {
        assert_eq!(tool["name"], entry.name);
        assert_eq!(tool["annotations"]["readOnlyHint"], entry.level == Level::Read);
        assert_eq!(tool["annotations"]["openWorldHint"], false);
        if entry.level == Level::Write {
            assert_eq!(tool["annotations"]["destructiveHint"], entry.destructive);
        }
    }
}

#[test]
fn what_a_model_reads_of_the_tools_stays_within_its_budget() {
    let encoder = tiktoken_rs::o200k_base().unwrap();
    let count =
        |tools: &[Value]| encoder.encode_ordinary(&serde_json::to_string(tools).unwrap()).len();
    let tools = definitions();
    let read: Vec<Value> = tools
        .iter()
        .map(|tool| serde_json::json!({ "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"] }))
        .collect();
    // The whole read tier, of 19 tools, has to stay under 3,000 and its list under 6,500: each tool gets its share.
    let (model, list) = (count(&read), count(&tools));
    println!("{} tools: {model} tokens for a model, {list} for the whole list", tools.len());
    assert!(model <= tools.len() * 3000 / 19 + 150, "the tools cost a model {model} tokens");
    assert!(list <= tools.len() * 6500 / 19 + 300, "tools/list costs {list} tokens");
}

fn each_schema(schema: &Value, visit: &mut impl FnMut(&Value)) {
    visit(schema);
    for fields in schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|fields| fields.values())
    {
        each_schema(fields, visit);
    }
    for inner in ["items", "additionalProperties"]
        .iter()
        .filter_map(|key| schema.get(key))
        .filter(|inner| inner.is_object())
    {
        each_schema(inner, visit);
    }
}
