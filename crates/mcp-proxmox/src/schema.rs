//! JSON schemas as every client accepts them.
//!
//! Clients differ in what they swallow: some refuse `$schema`, `$ref` or type lists, some warn about
//! formats that they do not know. So schemas are cleaned once: no `$schema`, no `title`, no `$ref`, no
//! `["string", "null"]`, no Rust formats. What is left says the same in fewer tokens.

//!
//! What the types give is the same in each process, so that it is kept in `schemas.tsv`, a line for each tool, and the
//! program has no code that makes it. `tests/it/catalog.rs` holds the file to the types, and writes it.

use schemars::{JsonSchema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::{Map, Value};

const KEPT: &str = include_str!("schemas.tsv");

/// The schema of the arguments of a tool in the catalog. A tool without one is new, and the test over the catalog says
/// how it gets one.
pub fn kept_input(tool: &str) -> Map<String, Value> {
    kept(tool, 1).unwrap_or_default()
}

/// The schema of the answer of a tool in the catalog, where that is no picture.
pub fn kept_output(tool: &str) -> Option<Map<String, Value>> {
    kept(tool, 2)
}

fn kept(tool: &str, column: usize) -> Option<Map<String, Value>> {
    let mut lines = KEPT.lines().map(|line| line.split('\t'));
    let mut columns = lines.find(|columns| columns.clone().next() == Some(tool))?;
    serde_json::from_str(columns.nth(column)?).ok()
}

/// The schema of a tool's arguments.
pub fn of_input<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12().for_deserialize();
    settings.inline_subschemas = true;
    cleaned::<T>(settings)
}

/// The schema of a tool's answer. Descriptions are left out: the names of the fields have to do.
pub fn of_output<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    let mut schema = cleaned::<T>(settings);
    without_descriptions(&mut schema);
    // A tool may say less than everything, and what is required is said nowhere else.
    schema.remove("additionalProperties");
    schema
}

fn cleaned<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with_transform(RecursiveTransform(|schema: &mut schemars::Schema| {
        if let Some(object) = schema.as_object_mut() {
            clean(object);
        }
    }));
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .as_object()
        .cloned()
        .unwrap_or_default();
    // The Rust type's own documentation says nothing to a model.
    schema.remove("description");
    schema.remove("$schema");
    schema.remove("$defs");
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Map::new().into());
    schema
}

fn clean(schema: &mut Map<String, Value>) {
    schema.remove("title");
    schema.remove("format");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if types.len() == 1 {
            let only = types.remove(0);
            schema.insert("type".into(), only);
        }
    }
    // `Option<Enum>` is written as a choice between the enumeration and null.
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        if let [Value::Object(only)] = choices.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (key, value) in only {
                schema.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    one_enumeration(schema);
    // That an option is off unless it is turned on goes without saying.
    if schema
        .get("default")
        .is_some_and(|default| default.is_null() || default == false || default == 0)
    {
        schema.remove("default");
    }
    // `u32` has a lower bound of its own that nobody needs to read.
    if schema.get("minimum").and_then(Value::as_f64) == Some(0.0) {
        schema.remove("minimum");
    }
}

/// Variants with documentation are written as a choice of constants, which few clients read.
fn one_enumeration(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let values: Option<Vec<Value>> = choices
        .iter()
        .map(|choice| choice.get("const").cloned().or_else(|| choice.get("enum")?.get(0).cloned()))
        .collect();
    if let Some(values) = values {
        schema.remove("oneOf");
        schema.insert("type".into(), "string".into());
        schema.insert("enum".into(), values.into());
    }
}

fn without_descriptions(schema: &mut Map<String, Value>) {
    // Below `properties` a key named `description` is a field of the answer.
    schema.remove("description");
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                for field in fields.values_mut().filter_map(Value::as_object_mut) {
                    without_descriptions(field);
                }
            }
            ("items" | "additionalProperties", Value::Object(inner)) => without_descriptions(inner),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        /// A virtual machine.
        Qemu,
        /// A container.
        Lxc,
    }

    #[derive(Deserialize, Serialize, JsonSchema)]
    struct Inner {
        /// Its size.
        size: u64,
    }

    /// Not for models.
    #[derive(Deserialize, Serialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Everything {
        /// How many.
        #[schemars(range(min = 1, max = 500))]
        limit: Option<u32>,
        /// Which kind.
        kind: Option<Kind>,
        /// A name.
        name: String,
        /// A part.
        inner: Option<Inner>,
    }

    #[test]
    fn nothing_is_left_that_a_client_trips_over() {
        for schema in [of_input::<Everything>(), of_output::<Everything>()] {
            let text = Value::Object(schema).to_string();
            for trap in [
                "$schema",
                "$ref",
                "$defs",
                "title",
                "format",
                "null",
                "anyOf",
                "oneOf",
                "Not for models",
            ] {
                assert!(!text.contains(trap), "{trap} in {text}");
            }
        }
    }

    #[test]
    fn what_a_model_needs_is_kept() {
        let schema = Value::Object(of_input::<Everything>());
        assert_eq!(schema["properties"]["limit"]["maximum"], 500);
        assert_eq!(schema["properties"]["kind"]["enum"], serde_json::json!(["qemu", "lxc"]));
        assert_eq!(schema["properties"]["kind"]["description"], "Which kind.");
        assert_eq!(schema["required"], serde_json::json!(["name"]));
        assert_eq!(schema["additionalProperties"], false);
    }
}
