//! Checks a call's arguments against the tool's schema.
//!
//! **Every misfit is reported at once**, with what would be right, so that a model mends a call in one
//! step. What is meant without doubt is accepted: a number for a text, digits for a number, `"true"`
//! for `true`, `"a,b"` for a list of two, `null` or an empty text for something left out.

use std::fmt;

use serde_json::{Map, Number, Value};

/// The arguments as the schema wants them, or everything that is wrong with them.
pub fn check(
    schema: &Map<String, Value>,
    arguments: Map<String, Value>,
) -> Result<Map<String, Value>, Vec<Misfit>> {
    let none = Map::new();
    let known = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut checked = Map::new();
    let mut misfits = Vec::new();
    for (name, value) in arguments {
        // Nobody mends a hundred mistakes one by one.
        if misfits.len() == MISFITS {
            let wrong = "and what follows was not looked at: these are enough to mend".to_owned();
            misfits.push(Misfit { argument: name.chars().take(40).collect(), wrong });
            return Err(misfits);
        }
        let Some(wanted) = known.get(&name).and_then(Value::as_object) else {
            misfits.push(Misfit::unknown(&name, known));
            continue;
        };
        // Models fill what they leave out with nothing, of one kind or the other.
        // But nothing for a switch may be meant as a `yes`: without `dry_run` something would be done.
        let is_switch = wanted.get("type").is_some_and(|kind| kind == "boolean");
        if value.is_null() || value.as_str() == Some("") && !is_switch {
            continue;
        }
        match fit(wanted, value) {
            Ok(value) => drop(checked.insert(name, value)),
            Err(wrong) => misfits.push(Misfit { argument: name, wrong }),
        }
    }
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    for name in required {
        if !checked.contains_key(name) && !misfits.iter().any(|misfit| misfit.argument == name) {
            let hint = known
                .get(name)
                .and_then(|schema| schema.get("description")?.as_str())
                .unwrap_or_default();
            let wrong = format!("is required: {}", lower_first(hint.trim_end_matches('.')));
            misfits.push(Misfit { argument: name.to_owned(), wrong });
        }
    }
    if misfits.is_empty() { Ok(checked) } else { Err(misfits) }
}

/// The largest number where the schema names none, which is what the tools' own numbers hold.
const LARGEST: i64 = u32::MAX as i64;
/// How many misfits are told.
const MISFITS: usize = 12;

/// One thing that is wrong with an argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Misfit {
    argument: String,
    wrong: String,
}

impl Misfit {
    fn unknown(name: &str, known: &Map<String, Value>) -> Self {
        let wrong = match nearest(name, known.keys().map(String::as_str)) {
            Some(near) => format!("is not an argument of this tool: did you mean `{near}`?"),
            None if known.is_empty() => "is not an argument of this tool: it takes none".to_owned(),
            None => {
                let names: Vec<_> = known.keys().map(|name| format!("`{name}`")).collect();
                format!("is not an argument of this tool: it takes {}", names.join(", "))
            }
        };
        Self { argument: crate::answer::clean::label(name), wrong }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", crate::answer::clean::quoted(&self.argument), self.wrong)
    }
}

/// The word that `name` was probably meant to be.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = |word: &&str| {
        let similar = word.len().min(name.len()) >= 3
            && (word.contains(name) || name.contains(*word))
            // `vmid` and `vm_id` are `vm`.
            || word.len() >= 2 && name.starts_with(*word);
        similar || distance(name, word) <= (word.len() / 3).max(1)
    };
    // Names far longer than any of ours are not compared letter by letter.
    (name.len() <= 64).then_some(())?;
    known.filter(near).min_by_key(|word| distance(name, word))
}

/// How many letters have to change to make one word of the other.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, letter) in from.to_lowercase().chars().enumerate() {
        let mut previous = i;
        let mut left = i + 1;
        for (cell, other) in row.iter_mut().skip(1).zip(&to) {
            let replaced = previous + usize::from(letter != *other);
            previous = *cell;
            left = replaced.min(previous + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

fn fit(wanted: &Map<String, Value>, value: Value) -> Result<Value, String> {
    let value = match wanted.get("type").and_then(Value::as_str) {
        Some("string") => text(wanted, value),
        Some("integer") => integer(wanted, value),
        Some("number") => number(wanted, value),
        Some("boolean") => boolean(value),
        Some("array") => array(wanted, value),
        _ => Ok(value),
    }?;
    Ok(value)
}

fn text(wanted: &Map<String, Value>, value: Value) -> Result<Value, String> {
    let text = match value {
        Value::String(text) => text,
        // 104.0 is 104.
        Value::Number(number) => {
            whole(&number).map_or_else(|| number.to_string(), |n| n.to_string())
        }
        other => return Err(format!("must be a text, not {}", kind(&other))),
    };
    if let Some(Value::Array(allowed)) = wanted.get("enum") {
        let mut words = allowed.iter().filter_map(Value::as_str);
        // A model that writes `QEMU` means `qemu`.
        return match words.find(|word| word.eq_ignore_ascii_case(text.trim())) {
            Some(word) => Ok(word.into()),
            None => Err(format!("must be one of {}, not {}", listed(allowed), quoted(&text))),
        };
    }
    let limit = wanted.get("maxLength").and_then(Value::as_u64).unwrap_or(4096);
    let length = text.chars().count() as u64;
    if length > limit {
        return Err(format!("must have at most {limit} characters, not {length}"));
    }
    Ok(text.into())
}

fn integer(wanted: &Map<String, Value>, value: Value) -> Result<Value, String> {
    let whole = match &value {
        Value::Number(number) => whole(number),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let number = whole
        .ok_or_else(|| format!("must be a whole number{}, not {}", range(wanted), shown(&value)))?;
    if !wanted.contains_key("maximum") && number > LARGEST {
        return Err(format!("must be a whole number of at most {LARGEST}, not {number}"));
    }
    #[expect(clippy::cast_precision_loss, reason = "bounds are small numbers")]
    within(wanted, number as f64)
        .map_err(|()| format!("must be a whole number{}, not {number}", range(wanted)))?;
    Ok(number.into())
}

/// A whole number, however it is written.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the fraction is zero and the size was looked at"
)]
fn whole(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < 9e15).map(|n| n as i64)
    })
}

fn number(wanted: &Map<String, Value>, value: Value) -> Result<Value, String> {
    let number = match &value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok().filter(|n: &f64| n.is_finite()),
        _ => None,
    };
    let number = number
        .ok_or_else(|| format!("must be a number{}, not {}", range(wanted), shown(&value)))?;
    within(wanted, number)
        .map_err(|()| format!("must be a number{}, not {number}", range(wanted)))?;
    Ok(number.into())
}

fn boolean(value: Value) -> Result<Value, String> {
    match &value {
        Value::Bool(_) => Ok(value),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true.into()),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false.into()),
        other => Err(format!("must be true or false, not {}", shown(other))),
    }
}

fn array(wanted: &Map<String, Value>, value: Value) -> Result<Value, String> {
    let items = match value {
        Value::Array(items) => items,
        Value::String(text) if is_list(&text) => {
            text.split(',').map(|part| part.trim().into()).collect()
        }
        // One is as good as a list of one.
        other @ (Value::String(_) | Value::Number(_)) => vec![other],
        other => return Err(format!("must be a list, not {}", kind(&other))),
    };
    let limit = wanted.get("maxItems").and_then(Value::as_u64).unwrap_or(100);
    if items.len() as u64 > limit {
        return Err(format!("must have at most {limit} items, not {}", items.len()));
    }
    match wanted.get("items").and_then(Value::as_object) {
        Some(inner) => items.into_iter().map(|item| fit(inner, item)).collect(),
        None => Ok(items.into()),
    }
}

/// Whether a text is written as a list of several. A comma may also be the thing itself, such as a key.
fn is_list(text: &str) -> bool {
    text.contains(',') && text.split(',').all(|part| !part.trim().is_empty())
}

fn within(wanted: &Map<String, Value>, number: f64) -> Result<(), ()> {
    let bound = |name| wanted.get(name).and_then(Value::as_f64);
    let fits = bound("minimum").is_none_or(|min| number >= min)
        && bound("maximum").is_none_or(|max| number <= max);
    // An unsigned number's lower bound is not written in the schema.
    (fits && (number >= 0.0 || bound("minimum").is_some())).then_some(()).ok_or(())
}

fn range(wanted: &Map<String, Value>) -> String {
    match (wanted.get("minimum"), wanted.get("maximum")) {
        (Some(min), Some(max)) => format!(" from {min} to {max}"),
        (None, Some(max)) => format!(" from 0 to {max}"),
        (Some(min), None) => format!(" of at least {min}"),
        (None, None) => " of at least 0".to_owned(),
    }
}

fn listed(allowed: &[Value]) -> String {
    allowed
        .iter()
        .filter_map(Value::as_str)
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => quoted(text),
        other => kind(other).to_owned(),
    }
}

fn quoted(text: &str) -> String {
    crate::answer::clean::quoted(text)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn lower_first(text: &str) -> String {
    // `VM or container` stays as it is.
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain([second]).chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn schema() -> Map<String, Value> {
        let schema = json!({
            "type": "object",
            "properties": {
                "vm": { "type": "string", "description": "Vmid or unique name." },
                "limit": { "type": "integer", "minimum": 1, "maximum": 500 },
                "type": { "type": "string", "enum": ["qemu", "lxc"] },
                "exact": { "type": "boolean" },
                "nodes": { "type": "array", "items": { "type": "string" } },
            },
            "required": ["vm"],
        });
        schema.as_object().cloned().unwrap()
    }

    fn checked(arguments: &Value) -> Result<Value, Vec<String>> {
        check(&schema(), arguments.as_object().cloned().unwrap())
            .map(Value::Object)
            .map_err(|misfits| misfits.iter().map(Misfit::to_string).collect())
    }

    #[test]
    fn all_misfits_come_at_once_and_say_what_would_be_right() {
        let misfits =
            checked(&json!({ "limit": 0, "type": "vm", "exact": 1, "nods": ["a"] })).unwrap_err();
        assert_eq!(
            misfits,
            [
                "`limit` must be a whole number from 1 to 500, not 0",
                "`type` must be one of `qemu`, `lxc`, not `vm`",
                "`exact` must be true or false, not 1",
                "`nods` is not an argument of this tool: did you mean `nodes`?",
                "`vm` is required: vmid or unique name",
            ]
        );
    }

    #[test]
    fn a_longer_name_for_an_argument_leads_to_it() {
        for name in ["vmid", "vm_id", "vm_name"] {
            let misfits = checked(&json!({ "vm": "101", name: 1 })).unwrap_err();
            let wanted = format!("`{name}` is not an argument of this tool: did you mean `vm`?");
            assert_eq!(misfits, [wanted]);
        }
    }

    #[test]
    fn what_is_meant_without_doubt_is_accepted() {
        let fits = checked(
            &json!({ "vm": 101, "limit": "20", "type": "QEMU", "exact": "true", "nodes": "pve1" }),
        );
        let wanted =
            json!({ "vm": "101", "limit": 20, "type": "qemu", "exact": true, "nodes": ["pve1"] });
        assert_eq!(fits, Ok(wanted));
        assert_eq!(checked(&json!({ "vm": "a", "limit": null })), Ok(json!({ "vm": "a" })));
        for (written, wanted) in [
            ("pve1,pve2", json!(["pve1", "pve2"])),
            ("pve1, pve2", json!(["pve1", "pve2"])),
            (",", json!([","])),
            ("shift-,", json!(["shift-,"])),
        ] {
            let fits = checked(&json!({ "vm": "a", "nodes": written }));
            assert_eq!(fits, Ok(json!({ "vm": "a", "nodes": wanted })), "{written}");
        }
        assert_eq!(checked(&json!({ "vm": "a,b" })), Ok(json!({ "vm": "a,b" })), "that is no list");
        assert_eq!(checked(&json!({ "vm": "a", "limit": "" })), Ok(json!({ "vm": "a" })));
        assert!(checked(&json!({ "vm": "" })).unwrap_err()[0].starts_with("`vm` is required"));
    }

    #[test]
    fn a_number_without_a_bound_in_the_schema_has_one() {
        let schema = json!({ "properties": { "lines": { "type": "integer" } } });
        let schema = schema.as_object().unwrap();
        let check = |lines: Value| check(schema, Map::from_iter([("lines".to_owned(), lines)]));
        assert!(check(json!(u32::MAX)).is_ok());
        for lines in [json!(4_294_967_296_u64), json!("9007199254740993"), json!(1e12)] {
            let told = check(lines).unwrap_err()[0].to_string();
            assert!(
                told.starts_with("`lines` must be a whole number of at most 4294967295, not "),
                "{told}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_json_is_answered(text in any::<String>(), number in any::<f64>(), n in any::<i64>()) {
            for value in [json!(text), json!(number), json!(n), json!([text, n]), json!({ "a": n })] {
                for name in ["vm", "limit", "type", "exact", "nodes", text.as_str()] {
                    let arguments = Map::from_iter([(name.to_owned(), value.clone())]);
                    // Whatever comes, the answer is short.
                    if let Err(misfits) = check(&schema(), arguments) {
                        prop_assert!(misfits.iter().all(|misfit| misfit.to_string().len() < 1000));
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_for_a_switch_is_neither_yes_nor_no_and_a_number_is_a_name_however_it_is_written() {
        let schema = json!({ "properties": { "dry_run": { "type": "boolean" }, "vm": { "type": "string" } } });
        let check = |arguments: Value| {
            check(schema.as_object().unwrap(), arguments.as_object().unwrap().clone())
        };
        let told = check(json!({ "dry_run": "" })).unwrap_err();
        assert_eq!(told[0].to_string(), "`dry_run` must be true or false, not ``");
        assert!(check(json!({ "dry_run": null })).unwrap().is_empty());
        assert_eq!(check(json!({ "vm": 126.0 })).unwrap()["vm"], "126");
        assert_eq!(check(json!({ "vm": 1.5 })).unwrap()["vm"], "1.5");
    }
}
