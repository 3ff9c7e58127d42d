//! `/nodes/{node}/tasks/{upid}/status` and `…/log`: one task.
//!
//! **Invariant:** whoever started a task may read it; everybody else needs `Sys.Audit` on its node. A
//! task that nobody knows has no status but a log, of one line that says so (recorded).

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

fn status(call: &Call<'_>) -> Answer {
    let task = match find(call) {
        Ok(Some(task)) => task,
        Ok(None) => return wrong("no such task"),
        Err(answer) => return answer,
    };
    Answer::json(Json::data_object(|data| {
        let (user, token) = task.user_and_token();
        data.text("upid", &task.upid());
        data.text("node", &task.node);
        data.number("pid", task.pid);
        data.number("pstart", task.pstart);
        data.number("starttime", task.starttime);
        data.text("type", &task.kind);
        data.text("id", &task.id);
        data.text("user", user);
        data.text_if("tokenid", token);
        if task.endtime.is_some() {
            data.text("status", "stopped");
            data.text("exitstatus", &task.status);
        } else {
            data.text("status", "running");
        }
    }))
}

fn log(call: &Call<'_>) -> Answer {
    let task = match find(call) {
        Ok(task) => task,
        Err(answer) => return answer,
    };
    let gone = ["unable to open file - No such file or directory".to_owned()];
    let empty = ["no content".to_owned()];
    let lines: &[String] = match task {
        None => &gone,
        Some(task) if task.log.is_empty() => &empty,
        Some(task) => &task.log,
    };
    let number = |name: &str, usual| {
        call.wanted.values.number(name).and_then(|n| usize::try_from(n).ok()).unwrap_or(usual)
    };
    let limit = match number("limit", 50) {
        0 => usize::MAX,
        limit => limit,
    };
    let page = lines.iter().enumerate().skip(number("start", 0)).take(limit);
    Answer::json(Json::object(|body| {
        body.list("data", |list| {
            for (nth, line) in page {
                list.object(|row| {
                    row.number("n", u32::try_from(nth + 1).unwrap_or(u32::MAX));
                    row.text("t", line);
                });
            }
        });
        body.number("total", u32::try_from(lines.len()).unwrap_or(u32::MAX));
    }))
}

/// The task, if the token may see it. With or without the colon at its end.
fn find<'a>(call: &Call<'a>) -> Result<Option<&'a Task>, Answer> {
    let upid = call.value("upid").trim_end_matches(':');
    let parts: Vec<&str> = upid.split(':').collect();
    let &["UPID", node, _, _, _, _, _, user] = parts.as_slice() else {
        return Err(wrong("unable to parse worker upid"));
    };
    let asked = call.world.real_name(call.value("node"));
    if node != asked {
        return Err(wrong("no such task"));
    }
    if user != call.wanted.token && !call.rights.has(&format!("/nodes/{node}"), "Sys.Audit") {
        return Err(Answer::forbidden(&format!("/nodes/{node}"), "Sys.Audit"));
    }
    let mut tasks = call.world.cluster.tasks.iter();
    Ok(tasks.find(|task| task.node == node && task.upid().trim_end_matches(':') == upid))
}

fn wrong(text: &str) -> Answer {
    Answer::bad_parameters(&[("upid".to_owned(), text.to_owned())])
}
