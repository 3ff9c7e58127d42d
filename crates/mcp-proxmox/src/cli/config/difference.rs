//! What replacing a client's entry changes, setting by setting.
//!
//! **Nothing that may be a secret is shown**: of what was there before, only our own settings are, and of those not the
//! token's secret; of anything else, that it changes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{codex, jsonc::Document, server::Server};
use crate::{
    answer::clean::label,
    config::{GUARDS, settings},
};

/// The settings of an entry by their place in it.
type Leaves = BTreeMap<String, Value>;

/// What differs between two texts of a client's file, one line for each setting.
pub(super) fn told(before: &str, after: &str, name: &str) -> Vec<String> {
    let (before, after) = (leaves(before), leaves(after));
    let mut places: Vec<&String> = before.keys().chain(after.keys()).collect();
    places.sort_unstable();
    places.dedup();
    let differs = places.into_iter().filter(|place| before.get(*place) != after.get(*place));
    differs.map(|place| line(place, name, before.get(place), after.get(place))).collect()
}

/// What guarded an entry that may write, and does not any more.
pub(super) fn lost_guards(before: &str, after: &str, server: &Server) -> Vec<&'static str> {
    let [before, after] = [before, after].map(leaves);
    let within = format!(".{}.", server.name);
    let of_it = |leaves: &Leaves, variable: &str| {
        let is_it =
            |place: &&String| place.contains(&within) && place.rsplit('.').next() == Some(variable);
        leaves.iter().find(|(place, _)| is_it(place)).map(|(_, value)| value.clone())
    };
    let tier = of_it(&after, settings::ACCESS_TIER.variable);
    if tier.is_none_or(|tier| tier != "write") {
        return Vec::new();
    }
    let guards = GUARDS.iter().map(|guard| guard.variable);
    let is_lost = |guard: &&str| of_it(&before, guard).is_some() && of_it(&after, guard).is_none();
    guards.filter(is_lost).collect()
}

fn line(place: &str, name: &str, before: Option<&Value>, after: Option<&Value>) -> String {
    let within = format!(".{name}.");
    let shown = place.split_once(&within).map_or(place, |(_, setting)| setting);
    let last = shown.rsplit('.').next().unwrap_or_default();
    let is_own = settings::ALL.iter().any(|setting| setting.variable == last);
    let is_shown = is_own && last != settings::TOKEN_SECRET.variable;
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), label);
    let shown = label(shown);
    match (before, after) {
        (None, Some(after)) if is_shown => format!("{shown}: {} is new", value(after)),
        (None, _) => format!("{shown} is new"),
        (Some(before), None) if is_shown => format!("{shown}: {} goes", value(before)),
        (_, None) => format!("{shown} goes"),
        (Some(before), Some(after)) if is_shown => {
            format!("{shown}: {} becomes {}", value(before), value(after))
        }
        (Some(before), Some(after)) => flags(before, after)
            .map_or_else(|| format!("{shown} is another one"), |flags| format!("{shown}: {flags}")),
    }
}

/// Which of this program's flags come or go in a list of arguments. Whatever else is in it is not shown.
fn flags(before: &Value, after: &Value) -> Option<String> {
    let (before, after) = (words(before), words(after));
    let is_own = |word: &str| {
        let of = |flag: &str| word.strip_prefix("--") == Some(flag);
        of("demo") || settings::ALL.iter().filter_map(|setting| setting.flag).any(of)
    };
    let only = |these: &[&str], those: &[&str], what: &str| {
        let missing = these.iter().filter(|word| is_own(word) && !those.contains(word));
        missing.map(|word| format!("{word} {what}")).collect::<Vec<_>>()
    };
    let mut told = only(&before, &after, "goes");
    told.extend(only(&after, &before, "is new"));
    if told.is_empty() {
        return None;
    }
    let [before, after] = [&before, &after].map(|words| words.iter().filter(|word| !is_own(word)));
    if !before.eq(after) {
        told.push("the rest differs too".to_owned());
    }
    Some(told.join(", "))
}

/// The texts of a list.
fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Every value of a file that is not an object, by its path. A file is JSON, or it is TOML.
fn leaves(text: &str) -> Leaves {
    let json = Document::new(text).ok().and_then(|document| document.get(&[]).ok().flatten());
    let mut leaves = Leaves::new();
    if let Some(all) = json.or_else(|| codex::values(text)) {
        add(&mut leaves, "", all);
    }
    leaves
}

fn add(leaves: &mut Leaves, place: &str, value: Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                add(leaves, &format!("{place}.{key}"), value);
            }
        }
        value => drop(leaves.insert(place.trim_start_matches('.').to_owned(), value)),
    }
}
