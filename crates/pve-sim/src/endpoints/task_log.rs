//! `/nodes/{node}/tasks/{upid}/status` and `/log`: one task.
//!
//! A task that is not there has a status of 400 and a log of 200, in which the error is the only line
//! (recorded). The log is on the node that ran the task, and on no other.

use crate::{
    answer::Answer,
    cluster::Task,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
    },
    json::Json,
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/nodes/{node}/tasks/{upid}/status",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: true,
        run: Run::Read(status),
    },
    Route {
        method: "GET",
        path: "/nodes/{node}/tasks/{upid}/log",
        needs: Needs::Nothing,
        parameters: &[
            Parameter::new("download", Is::Boolean),
            Parameter::new("limit", Is::Integer(0)),
            Parameter::new("start", Is::Integer(0)),
        ],
        by_daemon: true,
        run: Run::Read(log),
    },
];

/// How many lines there are where nobody says how many.
const USUAL: u64 = 50;

fn status(call: &Call<'_>) -> Answer {
    if let Some(refusal) = refuse(call) {
        return refusal;
    }
    let Some(task) = find(call) else {
        return Answer::bad_parameters(&[("upid".to_owned(), "no such task".to_owned())]);
    };
    let (user, token) = task.user_and_token();
    Answer::json(Json::data_object(|data| {
        data.text("upid", &task.upid());
        data.text("node", &task.node);
        data.text("type", &task.kind);
        data.text("id", &task.id);
        data.text("user", user);
        data.text_if("tokenid", token);
        data.number("pid", task.pid);
        data.number("pstart", task.pstart);
        data.number("starttime", task.starttime);
        if task.endtime.is_some() {
            data.text("status", "stopped");
            data.text("exitstatus", &task.status);
        } else {
            data.text("status", "running");
        }
    }))
}

fn log(call: &Call<'_>) -> Answer {
    if let Some(refusal) = refuse(call) {
        return refusal;
    }
    let lone = |text: &str| lines(&[(1, text.into())], 1);
    let Some(task) = find(call) else {
        return lone("unable to open file - No such file or directory");
    };
    let number = |name| call.wanted.values.number(name).and_then(|n| u64::try_from(n).ok());
    let total = task.n_lines();
    if total == 0 {
        return lone("no content");
    }
    let start = number("start").unwrap_or(0);
    // Here, and here alone, 0 means all.
    let limit = match number("limit").unwrap_or(USUAL) {
        0 => u64::MAX,
        limit => limit,
    };
    let wanted = start..start.saturating_add(limit).min(total);
    let page: Vec<_> = wanted.filter_map(|nth| Some((nth + 1, task.line(nth)?))).collect();
    lines(&page, total)
}

fn lines(lines: &[(u64, std::borrow::Cow<'_, str>)], total: u64) -> Answer {
    Answer::json(Json::object(|body| {
        body.list("data", |list| {
            for (nth, text) in lines {
                list.object(|row| {
                    row.number("n", *nth);
                    row.text("t", text);
                });
            }
        });
        body.number("total", total);
    }))
}

/// What is wrong with the identifier, or that it is somebody else's task.
fn refuse(call: &Call<'_>) -> Option<Answer> {
    let parts: Vec<&str> = call.value("upid").trim_end_matches(':').split(':').collect();
    let &["UPID", _, _, _, _, _, _, user] = parts.as_slice() else {
        let text = "unable to parse worker upid".to_owned();
        return Some(Answer::bad_parameters(&[("upid".to_owned(), text)]));
    };
    let path = format!("/nodes/{}", call.world.real_name(call.value("node")));
    let may = user == call.wanted.token || call.rights.has(&path, "Sys.Audit");
    (!may).then(|| Answer::forbidden(&path, "Sys.Audit"))
}

fn find<'a>(call: &Call<'a>) -> Option<&'a Task> {
    let node = call.world.real_name(call.value("node"));
    let mut tasks = call.world.cluster.tasks.iter();
    tasks.find(|task| task.node == node && task.upid() == call.value("upid"))
}
