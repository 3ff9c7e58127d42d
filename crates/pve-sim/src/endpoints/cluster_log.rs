//! `/cluster/log`: what the daemons of all nodes wrote down, the newest first.
//!
//! Without `Sys.Syslog` on `/` a token sees only its own entries (recorded), and nobody is told so.

use crate::{
    answer::Answer,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
    },
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[Route {
    method: "GET",
    path: "/cluster/log",
    needs: Needs::Nothing,
    parameters: &[Parameter::new("max", Is::Integer(1))],
    by_daemon: false,
    run: Run::Read(log),
}];

fn log(call: &Call<'_>) -> Answer {
    let all = call.rights.has("/", "Sys.Syslog");
    let max = call.wanted.values.number("max").and_then(|max| usize::try_from(max).ok());
    let entries = call.world.cluster.log.iter().enumerate().rev();
    let entries = entries.filter(|(_, entry)| all || entry.user == call.wanted.token);
    Answer::json(Json::data_list(|list| {
        for (nth, entry) in entries.take(max.unwrap_or(50)) {
            list.object(|row| {
                row.text("uid", &nth.to_string());
                row.text("id", &format!("{nth}:{}", entry.node));
                row.number("time", entry.time);
                row.number("pri", entry.priority);
                row.text("tag", &entry.tag);
                row.number("pid", 231);
                row.text("node", &entry.node);
                row.text("user", &entry.user);
                row.text("msg", &entry.message);
            });
        }
    }))
}
