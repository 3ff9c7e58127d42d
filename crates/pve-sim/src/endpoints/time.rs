//! `/nodes/{node}/time`: the clock of a node.

use crate::{
    answer::Answer,
    date,
    endpoints::{Call, Needs, Route, Run},
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/nodes/{node}/time",
    needs: Needs::Privilege("/nodes/{node}", "Sys.Audit"),
    parameters: &[],
    by_daemon: false,
    run: Run::Read(time),
}];

fn time(call: &Call<'_>) -> Answer {
    let Some(node) = call.node() else { return Answer::error(500, "no such node") };
    let now = i64::try_from(date::unix_now()).unwrap_or_default() + node.clock_ahead;
    Answer::json(Json::data_object(|data| {
        data.number("time", now);
        data.number("localtime", now + i64::from(node.utc_offset) * 60);
        data.text("timezone", "Etc/UTC");
    }))
}
