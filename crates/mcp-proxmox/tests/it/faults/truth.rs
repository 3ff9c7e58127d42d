//! Whether an answer that was given under faults is true: compared with the answer that is given without.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// What an answer says, place by place. A cell of a table is known by what its row is about, not by where the
/// row stands. Of moments and durations only is kept that they are there.
pub type Places = BTreeMap<String, BTreeSet<String>>;

/// Columns that say what a row is about, beside the first.
const ABOUT: &[&str] = &["name", "vmid", "nic", "node", "source", "upid"];

/// How many rows are there. That is so, whatever PVE has.
const COUNTS: &[&str] = &["shown", "found"];

/// Where it is said what is missing and why.
const SAYING: &[&str] =
    &["notes", "not_available", "not_checked", "summary", "checked", "figures", "skipped"];

pub fn places(answer: &Value) -> Places {
    let mut places = Places::new();
    walk(answer, String::new(), &mut places);
    places
}

/// The places at which two true answers differ, because time goes on.
pub fn moving(first: &Places, second: &Places) -> BTreeSet<String> {
    let all = first.keys().chain(second.keys());
    all.filter(|place| first.get(*place) != second.get(*place)).cloned().collect()
}

/// What is wrong with an answer, if anything is.
pub fn lie(truth: &Places, moving: &BTreeSet<String>, got: &Places) -> Option<String> {
    let is_still = |place: &&String| !moving.contains(*place);
    for (place, values) in got.iter().filter(|(place, _)| is_still(place)) {
        let known = truth.get(place);
        let is_new = |value: &&String| known.is_none_or(|known| !known.contains(*value));
        if !is_saying(place)
            && !COUNTS.contains(&place.as_str())
            && let Some(zero) = values.iter().filter(is_new).find(|value| is_zero(value))
        {
            return Some(format!("`{place}` is said to be {zero}, and it is {known:?}"));
        }
    }
    let all = truth.keys().chain(got.keys());
    let differs = |place: &&String| truth.get(*place) != got.get(*place);
    let differing = all.filter(is_still).filter(differs).collect::<BTreeSet<_>>();
    let is_said = differing.iter().any(|place| {
        is_saying(place)
            && got.get(*place).is_some_and(|values| {
                values.iter().any(|value| truth.get(*place).is_none_or(|k| !k.contains(value)))
            })
    });
    match differing.first() {
        Some(first) if !is_said => Some(format!(
            "{} places differ and nothing is said of it; the first is `{first}`: {:?} instead of {:?}",
            differing.len(),
            got.get(*first),
            truth.get(*first)
        )),
        _ => None,
    }
}

fn is_saying(place: &str) -> bool {
    place.split(['.', '[']).any(|part| SAYING.contains(&part))
}

fn is_time(place: &str, value: &Value) -> bool {
    let is_moment = |text: &str| text.len() == 25 && text.as_bytes().get(10) == Some(&b'T');
    place.ends_with("took") || value.as_str().is_some_and(is_moment)
}

/// The text without how long ago something was, which goes on while the faults strike.
fn ageless(text: &str) -> String {
    let is_duration = |word: &&str| {
        let word = word.trim_start_matches('(');
        let digits = word.strip_suffix(['d', 'h', 'm', 's']).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut words: Vec<&str> = Vec::new();
    for word in text.split(' ') {
        if word.starts_with("ago") {
            while words.pop_if(|last| is_duration(&&**last)).is_some() {}
        }
        words.push(word);
    }
    words.join(" ")
}

#[test]
fn of_an_age_only_that_it_is_one_is_compared() {
    assert_eq!(ageless("`a b` (1h 2m ago); c (3s ago)"), ageless("`a b` (59m ago); c (1d 3h ago)"));
    assert_ne!(ageless("`a` (1h ago)"), ageless("`b` (1h ago)"));
    assert_ne!(ageless("up 1h"), ageless("up 2h"));
}

/// Nothing at all, in any unit.
fn is_zero(value: &str) -> bool {
    let value = value.trim_matches('"');
    let digits = value.split([' ', '%']).next().unwrap_or_default();
    digits.parse::<f64>().is_ok_and(|number| number == 0.0)
}

fn walk(value: &Value, place: String, places: &mut Places) {
    match value {
        Value::Object(object) => {
            if let (Some(Value::Array(columns)), Some(Value::Array(rows))) =
                (object.get("columns"), object.get("rows"))
            {
                for row in rows.iter().filter_map(Value::as_array) {
                    let cells = || {
                        let names = columns.iter().map(|name| name.as_str().unwrap_or_default());
                        names.zip(row)
                    };
                    let about = cells()
                        .enumerate()
                        .filter(|(nth, (column, _))| *nth == 0 || ABOUT.contains(column));
                    let row_of: Vec<_> = about.map(|(_, (_, cell))| cell.to_string()).collect();
                    for (column, cell) in cells() {
                        walk(cell, format!("{place}[{}].{column}", row_of.join(" ")), places);
                    }
                }
                return;
            }
            for (key, value) in object {
                let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
                walk(value, place, places);
            }
        }
        Value::Array(values) => {
            for value in values {
                walk(value, format!("{place}[]"), places);
            }
        }
        Value::Null => {}
        value => {
            let text = if is_time(&place, value) {
                "a time".to_owned()
            } else {
                ageless(&value.to_string())
            };
            places.entry(place).or_default().insert(text);
        }
    }
}

#[test]
fn a_lie_is_seen_and_the_truth_is_not_taken_for_one() {
    use serde_json::json;
    let answer = |rows: Value, notes: Value| {
        places(
            &json!({ "vms": { "columns": ["vmid", "node", "memory"], "rows": rows }, "notes": notes }),
        )
    };
    let truth = answer(json!([[100, "a", "1 GiB"], [101, "b", "0 B"]]), json!([]));
    let still = BTreeSet::new();
    let judge = |rows, notes| lie(&truth, &still, &answer(rows, notes));
    assert_eq!(judge(json!([[100, "a", "1 GiB"], [101, "b", "0 B"]]), json!([])), None);
    assert_eq!(judge(json!([[101, "b", "0 B"], [100, "a", null]]), json!(["a is silent"])), None);
    let cut = judge(json!([[100, "a", "1 GiB"]]), json!([])).unwrap();
    assert!(cut.contains("nothing is said of it"), "{cut}");
    let zero =
        judge(json!([[100, "a", "0 B"], [101, "b", "0 B"]]), json!(["a is silent"])).unwrap();
    assert!(zero.contains("is said to be \"0 B\""), "{zero}");
}
