//! Draws a structured answer as short text.
//!
//! **The text says what the structure says**, since some clients show the model only the one and some
//! only the other. Keys keep their names and their order; tables are tab-separated, which costs a model
//! least and lets a terminal align them.

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

fn field(text: &mut String, key: &str, value: &Value) {
    match value {
        Value::Object(object) if is_table(object) => {
            let _ = writeln!(text, "{key}:");
            table(text, object);
        }
        Value::Array(items) if items.iter().any(is_composite) => {
            let _ = writeln!(text, "{key}:");
            for item in items {
                let _ = writeln!(text, "- {}", inline(item));
            }
        }
        // Sentences under one key are easier to read below each other.
        Value::Array(items) if items.iter().any(|item| inline(item).contains(' ')) => {
            let _ = writeln!(text, "{key}:");
            for item in items {
                let _ = writeln!(text, "- {}", inline(item));
            }
        }
        _ => {
            let _ = writeln!(text, "{key}: {}", inline(value));
        }
    }
}

fn is_composite(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn is_table(object: &Map<String, Value>) -> bool {
    object.len() == 2 && object.contains_key("columns") && object.contains_key("rows")
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
}
