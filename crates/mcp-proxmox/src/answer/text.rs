//! Draws a structured answer as short text.
//!
//! **The text says what the structure says**, since some clients show the model only the one and some
//! only the other. Keys keep their names and their order; tables are tab-separated, which costs a model
//! least and lets a terminal align them. A table inside of something else stands below its path
//! (`inside.filesystems:`), so that it is a table there too.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// The text for an answer.
pub fn draw(answer: &Map<String, Value>) -> String {
    let mut text = String::new();
    for (key, value) in answer {
        field(&mut text, key, value);
    }
    text.truncate(text.trim_end().len());
    text
}

fn field(text: &mut String, path: &str, value: &Value) {
    match value {
        Value::Object(object) if is_table(object) => {
            // Columns of nothing tell nothing.
            if object.get("rows").and_then(Value::as_array).is_some_and(Vec::is_empty) {
                let _ = writeln!(text, "{path}: none");
            } else {
                let _ = writeln!(text, "{path}:");
                table(text, object);
            }
        }
        // What has a table in it is taken apart, down to the table.
        Value::Object(object) if holds_table(value) => {
            for (key, value) in object {
                field(text, &format!("{path}.{key}"), value);
            }
        }
        Value::Array(items) if holds_table(value) => {
            for (nth, item) in items.iter().enumerate() {
                field(text, &format!("{path}[{nth}]"), item);
            }
        }
        Value::Array(items) if items.iter().any(is_composite) => {
            let _ = writeln!(text, "{path}:");
            for item in items {
                let _ = writeln!(text, "- {}", inline(item));
            }
        }
        // Sentences under one key are easier to read below each other.
        Value::Array(items) if items.iter().any(|item| inline(item).contains(' ')) => {
            let _ = writeln!(text, "{path}:");
            for item in items {
                let _ = writeln!(text, "- {}", inline(item));
            }
        }
        _ => {
            let _ = writeln!(text, "{path}: {}", inline(value));
        }
    }
}

fn is_composite(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// Whether it is what [`Table`](super::Table) serialises to: cells that are no objects and lists.
fn is_table(object: &Map<String, Value>) -> bool {
    let columns = object.get("columns").and_then(Value::as_array);
    let rows = object.get("rows").and_then(Value::as_array);
    let (Some(columns), Some(rows)) = (columns, rows) else { return false };
    let is_row = |row: &Value| {
        row.as_array()
            .is_some_and(|row| row.len() == columns.len() && !row.iter().any(is_composite))
    };
    object.len() == 2 && columns.iter().all(Value::is_string) && rows.iter().all(is_row)
}

fn holds_table(value: &Value) -> bool {
    match value {
        Value::Object(object) => is_table(object) || object.values().any(holds_table),
        Value::Array(items) => items.iter().any(holds_table),
        _ => false,
    }
}

fn table(text: &mut String, object: &Map<String, Value>) {
    let header = object.get("columns").into_iter();
    let rows = object.get("rows").and_then(Value::as_array).into_iter().flatten();
    for row in header.chain(rows) {
        let mut separator = "";
        for cell in row.as_array().into_iter().flatten() {
            let _ = write!(text, "{separator}{}", inline(cell));
            separator = "\t";
        }
        text.push('\n');
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(string) => string.clone(),
        Value::Array(items) if items.is_empty() => "none".to_owned(),
        Value::Array(items) => items.iter().map(inline).collect::<Vec<_>>().join(", "),
        Value::Object(object) => {
            let parts = object.iter().map(|(key, value)| match value {
                Value::Object(_) | Value::Array(_) => format!("{key} ({})", inline(value)),
                _ => format!("{key} {}", inline(value)),
            });
            parts.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_in_the_structure_is_in_the_text() {
        let answer = json!({
            "total": 2,
            "by_status": { "running": 1, "unknown": 1 },
            "guests": { "columns": ["vmid", "name", "cpu%"], "rows": [[100, "web01", 3.3], [110, null, null]] },
            "tags": ["a", "b"],
            "notes": ["one node did not answer"],
        });
        let text = draw(answer.as_object().unwrap());
        assert_eq!(
            text,
            "total: 2\nby_status: running 1, unknown 1\nguests:\nvmid\tname\tcpu%\n100\tweb01\t3.3\n110\t-\t-\n\
             tags: a, b\nnotes:\n- one node did not answer"
        );
    }

    #[test]
    fn a_table_inside_of_something_stands_below_its_path() {
        let table =
            json!({ "columns": ["mount", "used"], "rows": [["/", "3 GiB"], ["/srv", null]] });
        let answer = json!({
            "inside": { "hostname": "web01", "filesystems": table, "os": { "name": "Debian" } },
            "nodes": [{ "node": "pve1", "disks": { "columns": ["disk"], "rows": [] } }, { "node": "pve2" }],
        });
        assert_eq!(
            draw(answer.as_object().unwrap()),
            "inside.hostname: web01\ninside.filesystems:\nmount\tused\n/\t3 GiB\n/srv\t-\ninside.os: name Debian\n\
             nodes[0].node: pve1\nnodes[0].disks: none\nnodes[1]: node pve2"
        );
    }

    #[test]
    fn what_only_looks_like_a_table_is_none() {
        let answer = json!({ "x": { "columns": ["a"], "rows": [["1", "2"]] }, "y": { "columns": 2, "rows": 3 } });
        assert_eq!(
            draw(answer.as_object().unwrap()),
            "x: columns (a), rows (1, 2)\ny: columns 2, rows 3"
        );
    }

    /// Values as answers have them, with tables anywhere. No two words are the same.
    fn values() -> impl Strategy<Value = Value> {
        let word = "[a-z]{6,12}";
        let leaf = prop_oneof![
            word.prop_map(Value::from),
            any::<u32>().prop_map(Value::from),
            any::<bool>().prop_map(Value::from),
            Just(Value::Null),
        ];
        let table = (1_usize..4, 0_usize..4).prop_flat_map(move |(width, height)| {
            let columns = prop::collection::vec(word, width);
            let row = prop::collection::vec(word, width);
            (columns, prop::collection::vec(row, height))
        });
        let table = table.prop_map(|(columns, rows)| json!({ "columns": columns, "rows": rows }));
        prop_oneof![3 => leaf, 1 => table].prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(word, inner, 0..5)
                    .prop_map(|map| map.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    fn leaves(value: &Value, tables: &mut Vec<Value>, found: &mut Vec<String>) {
        match value {
            Value::Object(object) if is_table(object) => tables.push(value.clone()),
            Value::Object(object) => {
                for (key, value) in object {
                    found.push(key.clone());
                    leaves(value, tables, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| leaves(item, tables, found)),
            other => found.push(inline(other)),
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_every_table_is_one_however_deep_it_is(value in values()) {
            let answer = Map::from_iter([("answer".to_owned(), value.clone())]);
            let text = draw(&answer);
            let (mut tables, mut found) = (Vec::new(), Vec::new());
            leaves(&value, &mut tables, &mut found);
            for leaf in &found {
                prop_assert!(text.contains(leaf.as_str()), "{leaf} is not in\n{text}");
            }
            for table in tables {
                let row = |row: &Value| {
                    let cells = row.as_array().unwrap().iter().map(inline);
                    cells.collect::<Vec<_>>().join("\t")
                };
                let rows = table["rows"].as_array().unwrap().iter().map(row);
                // Of one without rows only its name is told.
                if rows.len() == 0 {
                    continue;
                }
                let lines: Vec<String> = std::iter::once(row(&table["columns"])).chain(rows).collect();
                let whole = format!(":\n{}", lines.join("\n"));
                prop_assert!(text.contains(&whole), "{whole}\nis not in\n{text}");
            }
        }
    }
}
