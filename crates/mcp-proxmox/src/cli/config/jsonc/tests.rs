//! The editor on files as people write them, and on random ones.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn set(text: &str, path: &[&str], value: &Value) -> String {
    let mut document = Document::new(text).unwrap();
    document.set(path, value).unwrap();
    document.into_text()
}

#[test]
fn an_empty_file_becomes_one_with_the_server() {
    for text in ["", "\n", "{}", "{ }\n"] {
        let after = set(text, &["mcpServers", "proxmox"], &json!({ "command": "x" }));
        let wanted =
            "{\n  \"mcpServers\": {\n    \"proxmox\": {\n      \"command\": \"x\"\n    }\n  }\n}";
        assert_eq!(after.trim_end(), wanted, "{text:?}");
    }
}

#[test]
fn comments_commas_and_indentation_stay_as_they_are() {
    let text = "// mine\n{\n\t\"theme\": \"dark\", // at night\n\t/* servers */\n\t\"mcpServers\": {\n\t\t\"other\": { \"command\": \"y\" }, // keep\n\t},\n}\n";
    let wanted = "// mine\n{\n\t\"theme\": \"dark\", // at night\n\t/* servers */\n\t\"mcpServers\": {\n\t\t\"other\": { \"command\": \"y\" }, // keep\n\t\t\"proxmox\": {\n\t\t\t\"command\": \"x\"\n\t\t}\n\t},\n}\n";
    assert_eq!(set(text, &["mcpServers", "proxmox"], &json!({ "command": "x" })), wanted);
    let without_comma = text.replace("}, // keep", "} // keep");
    assert_eq!(set(&without_comma, &["mcpServers", "proxmox"], &json!({ "command": "x" })), wanted);
}

#[test]
fn an_object_on_one_line_stays_on_one() {
    assert_eq!(set(r#"{"a": {"b": 1}}"#, &["a", "c"], &json!(2)), r#"{"a": {"b": 1, "c": 2}}"#);
    assert_eq!(set(r#"{"a": [/* none */]}"#, &["b"], &json!(2)), r#"{"a": [/* none */], "b": 2}"#);
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_stay() {
    let text = "\u{feff}{\r\n    \"a\": 1\r\n}\r\n";
    let wanted = "\u{feff}{\r\n    \"a\": 1,\r\n    \"b\": {\r\n        \"c\": 2\r\n    }\r\n}\r\n";
    assert_eq!(set(text, &["b", "c"], &json!(2)), wanted);
}

#[test]
fn what_is_there_is_replaced_alone() {
    let text = "{\n  \"a\": { \"old\": true }, // first\n  \"b\": 2\n}";
    assert_eq!(set(text, &["a"], &json!(1)), "{\n  \"a\": 1, // first\n  \"b\": 2\n}");
}

#[test]
fn what_is_taken_out_takes_its_comma_its_line_and_the_comment_on_it() {
    for (text, wanted) in [
        ("{\n  \"a\": 1, // a\n  \"b\": 2 // b\n}", "{\n  \"a\": 1 // a\n}"),
        ("{\n  \"b\": 2, // b\n  // of a\n  \"a\": 1,\n}", "{\n  // of a\n  \"a\": 1,\n}"),
        ("{\r\n\t\"a\": 1,\r\n\t\"b\": { \"c\": [] },\r\n}", "{\r\n\t\"a\": 1,\r\n}"),
        ("{ \"a\": 1, \"b\": 2 }", "{ \"a\": 1 }"),
        ("{ \"b\": 2, /* of a */ \"a\": 1 }", "{ /* of a */ \"a\": 1 }"),
        ("{ \"b\": 2 }", "{ }"),
        ("{ // mine\n \"b\": 2 }", "{ // mine\n }"),
        ("{ \"a\": 1 }", "{ \"a\": 1 }"),
    ] {
        let mut document = Document::new(text).unwrap();
        document.remove(&["b"]).unwrap();
        assert_eq!(document.into_text(), wanted, "{text}");
    }
    let mut document = Document::new("{ \"a\": [1, 2, 3] }").unwrap();
    document.remove(&["a", "1"]).unwrap();
    document.remove(&["a", "7"]).unwrap();
    assert_eq!(document.into_text(), "{ \"a\": [1, 3] }");
}

#[test]
fn a_list_grows_at_its_end() {
    let mut document = Document::new("{\"inputs\": [{\"id\": \"x\"}]}").unwrap();
    document.push(&["inputs"], &json!({ "id": "y" })).unwrap();
    document.push(&["more"], &json!(1)).unwrap();
    let after: Value = serde_json::from_str(&document.into_text()).unwrap();
    assert_eq!(after, json!({ "inputs": [{ "id": "x" }, { "id": "y" }], "more": [1] }));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_line() {
    for (text, told) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3: a comma or the end is missing"),
        ("{ 'a': 1 }", "line 1: a name in quotes is missing"),
        ("{\n\"a\" 1}", "line 2: a colon is missing"),
        ("{\"a\": }", "a value is missing"),
        ("{\"a\": \"x}", "a text has no end"),
        ("{} {}", "more text after the end"),
        ("{ /* }", "a comment has no end"),
        ("[]", "it does not hold a JSON object"),
        ("{\"a\": tru}", "a value is missing"),
    ] {
        let wrong = Document::new(text).unwrap_err();
        assert!(wrong.contains(told), "{text}: {wrong}");
    }
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(5000), "]".repeat(5000));
    assert!(Document::new(&deep).unwrap_err().contains("nested too deeply"));
}

#[test]
fn a_place_that_is_something_else_is_refused() {
    let refused =
        |text: &str| Document::new(text).unwrap().set(&["a", "b"], &json!(1)).unwrap_err();
    assert!(refused("{\"a\": []}").contains("`a` in it is not an object"));
    assert!(refused("{\"a\": null}").contains("`a` in it is not an object"));
    assert!(refused("{\"a\": {}, \"a\": {}}").contains("it holds `a` twice"));
}

/// A document, as text with comments and odd blanks, and what it means.
#[derive(Clone, Debug)]
struct Written {
    text: String,
    value: Value,
}

fn gap() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(String::new()),
        3 => Just(" ".to_owned()),
        2 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => "[a-z{}\\[\\]\",:]{0,8}".prop_map(|text| format!("// {text}\n")),
        1 => "[a-z{}\\[\\]\",: ]{0,8}".prop_map(|text| format!("/*{text}*/")),
    ];
    proptest::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn scalar() -> impl Strategy<Value = Written> {
    let value = prop_oneof![
        any::<i32>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        "[ -~é\u{1f600}]{0,8}".prop_map(Value::from),
    ];
    value.prop_map(|value| Written { text: value.to_string(), value })
}

fn container(item: impl Strategy<Value = Written> + Clone) -> impl Strategy<Value = Written> {
    let key =
        prop_oneof![Just("mcpServers".to_owned()), Just("proxmox".to_owned()), "[a-z\"\\\\]{0,4}"];
    let member = (key, item.clone(), gap(), gap(), gap(), gap());
    let object = (proptest::collection::vec(member, 0..4), gap(), any::<bool>()).prop_map(
        |(members, inner, is_trailing)| {
            let mut value = serde_json::Map::new();
            let mut shown = Vec::new();
            for (key, item, a, b, c, d) in members {
                if value.contains_key(&key) {
                    continue;
                }
                shown.push(format!("{a}{}{b}:{c}{}{d}", Value::from(key.as_str()), item.text));
                value.insert(key, item.value);
            }
            let comma = if is_trailing && !shown.is_empty() { "," } else { "" };
            let text = format!("{{{}{comma}{inner}}}", shown.join(","));
            Written { text, value: Value::Object(value) }
        },
    );
    let array = proptest::collection::vec((item, gap(), gap()), 0..4).prop_map(|items| Written {
        text: format!(
            "[{}]",
            items
                .iter()
                .map(|(item, a, b)| format!("{a}{}{b}", item.text))
                .collect::<Vec<_>>()
                .join(",")
        ),
        value: items.iter().map(|(item, ..)| item.value.clone()).collect(),
    });
    prop_oneof![3 => object, 1 => array]
}

fn document() -> impl Strategy<Value = Written> {
    let value = scalar().boxed().prop_recursive(3, 24, 4, |item| container(item).boxed());
    (container(value), gap(), gap())
        .prop_filter("a file holds an object", |(body, ..)| body.value.is_object())
        .prop_map(|(body, before, after)| Written {
            text: format!("{before}{}{after}", body.text),
            value: body.value,
        })
}

/// Whether all of `part` stands in `whole`, in order, blanks aside.
fn is_within(part: &str, whole: &str) -> bool {
    let mut letters = whole.chars();
    part.chars()
        .filter(|letter| !letter.is_whitespace())
        .all(|wanted| letters.any(|letter| letter == wanted))
}

proptest! {
    #[test]
    fn what_is_taken_out_of_any_file_is_all_that_is_gone(written in document(), deep in any::<bool>()) {
        let path: &[&str] = if deep { &["mcpServers", "proxmox"] } else { &["mcpServers"] };
        let (name, parent) = path.split_last().unwrap();
        let mut wanted = written.value.clone();
        let mut place = Some(&mut wanted);
        for key in parent {
            place = place.and_then(|value| value.get_mut(*key));
        }
        if let Some(Value::Object(members)) = place {
            members.shift_remove(*name);
        }
        let mut document = Document::new(&written.text).unwrap();
        // A file in which something else stands on the way is left as it is.
        let _ = document.remove(path);
        prop_assert_eq!(document.get(&[]).unwrap().unwrap(), wanted, "{} became {}", written.text, document.into_text());
    }

    #[test]
    fn a_server_is_added_to_any_file_and_nothing_is_lost(written in document()) {
        let path = ["mcpServers", "proxmox"];
        let server = json!({ "command": "mcp-proxmox", "env": { "PVE_HOST": "pve" } });
        let mut document = Document::new(&written.text).unwrap();
        prop_assert_eq!(document.get(&[]).unwrap().unwrap(), written.value.clone());
        let servers = written.value.get("mcpServers");
        if servers.is_some_and(|servers| !servers.is_object()) {
            prop_assert!(document.set(&path, &server).is_err());
            prop_assert_eq!(document.into_text(), written.text);
            return Ok(());
        }
        let was_there = servers.is_some_and(|servers| servers.get("proxmox").is_some());
        document.set(&path, &server).unwrap();
        let mut wanted = written.value.clone();
        wanted.as_object_mut().unwrap().entry("mcpServers").or_insert_with(|| json!({}))["proxmox"] = server;
        prop_assert_eq!(document.get(&[]).unwrap().unwrap(), wanted, "{}", document.into_text());
        let after = document.into_text();
        if !was_there {
            prop_assert!(is_within(&written.text, &after), "{} became {}", written.text, after);
        }
    }
}
