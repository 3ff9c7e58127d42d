//! `/nodes/{node}/journal`: always compressed, and without a limit unless one is given.
//!
//! Lines of text between two cursors (recorded); from 9.2 on also objects, and filters (read). The
//! rules of the reader behind it (read): the last entries go together with an end and with nothing
//! else; an end in time and the cursor of an end are excluded; after a range the last cursor is that of
//! the entry at which the reader stopped. What it does not accept is an empty answer (recorded).

use crate::{
    answer::Answer,
    cluster::{Journal, JournalEntry, Node},
    date,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
    },
};
use serde_json::{Value, json};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/journal",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Syslog"),
    parameters: &[
        Parameter::new("endcursor", Is::Text),
        Parameter::new("identifiers", Is::Boolean),
        Parameter::new("kernel", Is::Boolean),
        Parameter::new("lastentries", Is::Integer(0)),
        Parameter::new("priority", Is::Text),
        Parameter::new("service", Is::Text),
        Parameter::new("since", Is::Integer(0)),
        Parameter::new("startcursor", Is::Text),
        Parameter::new("structured", Is::Boolean),
        Parameter::new("unit", Is::Text),
        Parameter::new("units", Is::Boolean),
        Parameter::new("until", Is::Integer(0)),
    ],
    by_daemon: true,
    run: Run::Read(journal),
}];

/// What came with 9.2, in June 2026.
const NEW: [&str; 7] =
    ["identifiers", "kernel", "priority", "service", "structured", "unit", "units"];

fn journal(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let values = &call.wanted.values;
    if !call.world.cluster.version.at_least(9, 2) {
        let unknown = NEW.iter().filter(|name| values.get(name).is_some());
        let text =
            "property is not defined in schema and the schema does not allow additional properties";
        let errors: Vec<_> = unknown.map(|name| ((*name).to_owned(), text.to_owned())).collect();
        if !errors.is_empty() {
            return Answer::bad_parameters(&errors);
        }
    }
    let Some(range) = Range::of(call, &node.journal) else { return Answer::zipped(b"") };
    let picked = pick(call, node, &range);
    Answer::zipped(written(node, &range, &picked, values.is_set("structured")).as_bytes())
}

/// Which entries, by their numbers.
struct Range {
    first: u64,
    /// The first that is left out.
    end: u64,
    last_entries: Option<usize>,
    /// The cursor at the beginning, where the range begins after one.
    after: Option<u64>,
    has_end: bool,
}

impl Range {
    fn of(call: &Call<'_>, journal: &Journal) -> Option<Self> {
        let values = &call.wanted.values;
        let time =
            |name| values.number(name).and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0);
        let cursor = |name| values.get(name).map(|text| place(text).filter(|n| *n < journal.len()));
        let last_entries = time("lastentries").and_then(|n| usize::try_from(n).ok());
        let (since, until) = (time("since"), time("until"));
        let (start, stop) = (cursor("startcursor"), cursor("endcursor"));
        let conflict = (last_entries.is_some() && (since.is_some() || start.is_some()))
            || (since.is_some() && start.is_some())
            || (until.is_some() && stop.is_some());
        // A cursor that cannot be read is refused as a conflict is.
        if conflict || start == Some(None) || stop == Some(None) {
            return None;
        }
        let after = start.flatten();
        let first = after.map(|nth| nth + 1);
        let first = first.or_else(|| since.map(|at| journal.first_at(at * 1_000_000)));
        let end = stop.flatten().or_else(|| until.map(|at| journal.first_at(at * 1_000_000)));
        Some(Self {
            first: first.unwrap_or(0),
            end: end.unwrap_or(journal.len()),
            last_entries,
            after,
            has_end: end.is_some(),
        })
    }
}

/// The entries of the range that fit the filters, with their numbers, the oldest first.
fn pick(call: &Call<'_>, node: &Node, range: &Range) -> Vec<(u64, JournalEntry)> {
    let values = &call.wanted.values;
    let priorities = values.get("priority").map(|text| match text.split_once("..") {
        Some((low, high)) => (low.parse().unwrap_or(0), high.parse().unwrap_or(7)),
        None => (0u8, text.parse().unwrap_or(7)),
    });
    let unit = values.get("unit").map(|unit| match unit.contains('.') {
        true => unit.to_owned(),
        false => format!("{unit}.service"),
    });
    let fits = |entry: &JournalEntry| {
        priorities.is_none_or(|(low, high)| (low..=high).contains(&entry.priority))
            && (unit.is_none() || entry.unit == unit)
            && (!values.is_set("kernel") || entry.identifier == "kernel")
            && values.get("service").is_none_or(|glob| glob.trim_matches('*') == entry.identifier)
    };
    let entry = |nth: u64| node.journal.get(nth).map(|entry| (nth, entry));
    let numbers = range.first..range.end;
    match range.last_entries {
        None => numbers.filter_map(entry).filter(|(_, entry)| fits(entry)).collect(),
        Some(most) => {
            let backwards = numbers.rev().filter_map(entry).filter(|(_, entry)| fits(entry));
            let mut picked: Vec<_> = backwards.take(most).collect();
            picked.reverse();
            picked
        }
    }
}

fn written(node: &Node, range: &Range, picked: &[(u64, JournalEntry)], structured: bool) -> String {
    let cursor = |nth: u64| {
        let text = cursor(&node.journal, nth);
        if structured { json!({ "ty": "cursor", "c": text }) } else { json!(text) }
    };
    let first = range.after.or_else(|| picked.first().map(|(nth, _)| *nth));
    let mut rows: Vec<Value> = first.map(cursor).into_iter().collect();
    if structured {
        rows.push(json!({ "ty": "host", "h": node.name }));
    }
    let mut boot = picked.first().map(|(_, entry)| entry.boot);
    for (_, entry) in picked {
        if boot != Some(entry.boot) {
            boot = Some(entry.boot);
            rows.push(match structured {
                true => json!({ "ty": "reboot", "t": entry.time }),
                false => json!("-- Reboot --"),
            });
        }
        rows.push(if structured { object(entry) } else { json!(line(node, entry)) });
    }
    // Where the reader stopped: before an end, or at the last that there is.
    let stopped = if range.has_end && range.end < node.journal.len() {
        Some(range.end)
    } else {
        picked.last().map(|(nth, _)| *nth).or(range.after)
    };
    rows.extend(stopped.map(cursor));
    let rows: Vec<String> = rows.iter().map(Value::to_string).collect();
    format!("{{\"data\":[{}\n],\"success\":1}}", rows.join("\n,"))
}

fn object(entry: &JournalEntry) -> Value {
    let mut row = json!({ "t": entry.time, "id": entry.identifier, "msg": entry.message });
    if let Some(fields) = row.as_object_mut() {
        fields.extend(entry.pid.map(|pid| ("pid".to_owned(), json!(pid))));
        // The usual one goes without saying.
        let priority = Some(entry.priority).filter(|priority| *priority != 6);
        fields.extend(priority.map(|priority| ("p".to_owned(), json!(priority))));
    }
    row
}

/// An entry as text, with the node's own time.
pub(super) fn line(node: &Node, entry: &JournalEntry) -> String {
    let seconds = i64::try_from(entry.time / 1_000_000).unwrap_or(0);
    let time = date::short_local(seconds + i64::from(node.utc_offset) * 60);
    let pid = entry.pid.map(|pid| format!("[{pid}]")).unwrap_or_default();
    format!("{time} {} {}{pid}: {}", node.name, entry.identifier, entry.message)
}

/// `s=…;i=1a0b;b=…;m=…;t=661787e2d47b7;x=…`: the place is in `i`, and the time in `t`.
fn cursor(journal: &Journal, nth: u64) -> String {
    let time = journal.get(nth).map_or(0, |entry| entry.time);
    format!(
        "s=6b6bb7f2ef4443379420ec4a9e148ff9;i={nth:x};b=4bc834f39cf74cba85daae2ce53e1974;m={:x};t={time:x};x={:x}",
        time % 10_000_000_000,
        time ^ 0x7742_a02f_1c79_50db
    )
}

fn place(cursor: &str) -> Option<u64> {
    let part = cursor.split(';').find_map(|part| part.strip_prefix("i="))?;
    u64::from_str_radix(part, 16).ok()
}
