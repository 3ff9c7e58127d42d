//! `/nodes/{node}/syslog`: the journal as numbered lines, **the oldest first** (recorded).

use crate::{
    answer::Answer,
    endpoints::{
        Call, Needs, Route, Run, journal,
        parameters::{Kind as Is, Parameter},
    },
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/syslog",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Syslog"),
    parameters: &[
        Parameter::new("limit", Is::Integer(0)),
        Parameter::new("service", Is::Text),
        Parameter::new("since", Is::Text),
        Parameter::new("start", Is::Integer(0)),
        Parameter::new("until", Is::Text),
    ],
    by_daemon: true,
    run: Run::Read(syslog),
}];

fn syslog(call: &Call<'_>) -> Answer {
    let values = &call.wanted.values;
    let odd = ["since", "until"].into_iter().filter(|name| values.get(name).is_some_and(is_odd));
    let errors: Vec<_> = odd
        .map(|name| (name.to_owned(), "value does not match the regex pattern".to_owned()))
        .collect();
    if !errors.is_empty() {
        return Answer::bad_parameters(&errors);
    }
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let unit =
        values.get("service").map(|name| format!("{}.service", name.trim_end_matches(".service")));
    let entries = (0..node.journal.len()).filter_map(|nth| node.journal.get(nth));
    let entries = entries.filter(|entry| unit.is_none() || entry.unit == unit);
    let lines: Vec<String> = entries.map(|entry| journal::line(node, &entry)).collect();
    let number = |name| values.number(name).and_then(|n| usize::try_from(n).ok());
    // 0 is no limit of 0 lines but the usual one (recorded).
    let limit = number("limit").filter(|limit| *limit > 0).unwrap_or(50);
    let page = lines.iter().zip(1u32..).skip(number("start").unwrap_or(0)).take(limit);
    Answer::json(Json::object(|body| {
        body.list("data", |list| {
            for (text, nth) in page {
                list.object(|row| {
                    row.number("n", nth);
                    row.text("t", text);
                });
            }
        });
        body.number("total", u32::try_from(lines.len()).unwrap_or(u32::MAX));
    }))
}

/// `2026-11-30` or `2026-11-30 06:00[:00]`, and nothing else.
fn is_odd(value: &str) -> bool {
    let shape: String = value.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    !["0000-00-00", "0000-00-00 00:00", "0000-00-00 00:00:00"].contains(&shape.as_str())
}
