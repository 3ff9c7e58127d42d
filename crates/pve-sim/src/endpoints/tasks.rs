//! `/nodes/{node}/tasks` and `/cluster/tasks`: the two lists, which differ in more than their
//! place.

use crate::{
    answer::Answer,
    cluster::Task,
    endpoints::{
        Call, Needs, Route, Run,
        parameters::{Kind as Is, Parameter},
    },
    json::{Json, Object},
};

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/nodes/{node}/tasks",
        needs: Needs::Nothing,
        parameters: &[
            Parameter::new("errors", Is::Boolean),
            Parameter::new("limit", Is::Integer(0)),
            Parameter::new("since", Is::Integer(i64::MIN)),
            Parameter::new("source", Is::OneOf(&["archive", "active", "all"])),
            Parameter::new("start", Is::Integer(0)),
            Parameter::new("statusfilter", Is::Text),
            Parameter::new("typefilter", Is::Text),
            Parameter::new("until", Is::Integer(i64::MIN)),
            Parameter::new("userfilter", Is::Text),
            Parameter::new("vmid", Is::Vmid),
        ],
        by_daemon: false,
        run: Run::Read(of_node),
    },
    Route {
        method: "GET",
        path: "/cluster/tasks",
        needs: Needs::Nothing,
        parameters: &[],
        by_daemon: false,
        run: Run::Read(of_cluster),
    },
];

/// How many tasks of a node the cluster's list remembers (recorded).
const REMEMBERED: usize = 25;

fn of_node(call: &Call<'_>) -> Answer {
    let statuses: Vec<&str> =
        call.value("statusfilter").split(',').filter(|word| !word.is_empty()).collect();
    if let Some(odd) = statuses.iter().find(|word| !STATUSES.contains(word)) {
        let text = format!("invalid format - invalid status '{odd}'\n");
        return Answer::bad_parameters(&[("statusfilter".to_owned(), text)]);
    }
    let values = &call.wanted.values;
    let node = call.world.real_name(call.value("node"));
    let source = values.get("source").unwrap_or("archive");
    let all = call.rights.has(&format!("/nodes/{node}"), "Sys.Audit");
    let number = |name| values.number(name).and_then(|value| u64::try_from(value).ok());
    let wanted = |task: &&Task| {
        let vmid = values.get("vmid").is_none_or(|vmid| task.id == vmid);
        let kind = values.get("typefilter").is_none_or(|kind| task.kind == kind);
        let user = values.get("userfilter").is_none_or(|user| task.user.contains(user));
        let since = number("since").is_none_or(|since| task.starttime >= since);
        let until = number("until").is_none_or(|until| task.starttime <= until);
        let status = statuses.is_empty() || statuses.contains(&status_of(task));
        // `errors` means everything but OK, so warnings and tasks that still run as well
        // (recorded).
        let errors = !values.is_set("errors") || task.status != "OK";
        vmid && kind && user && since && until && status && errors
    };
    let mine = |task: &&Task| task.node == node && (all || task.user == call.wanted.token);
    let tasks = call.world.cluster.tasks.iter().filter(mine).filter(|task| {
        matches!((source, task.endtime), ("all", _) | ("archive", Some(_)) | ("active", None))
    });
    let mut tasks: Vec<&Task> = tasks.filter(wanted).collect();
    // Those that ended are written down when they end.
    tasks.sort_by_key(|task| {
        (task.endtime.is_some(), std::cmp::Reverse(task.endtime.unwrap_or(task.starttime)))
    });

    let at = |name, usual| {
        number(name).map_or(usual, |value| usize::try_from(value).unwrap_or(usize::MAX))
    };
    let page = tasks.iter().skip(at("start", 0)).take(at("limit", 50));
    Answer::json(Json::object(|body| {
        body.list("data", |list| page.for_each(|task| list.object(|row| put_of_node(row, task))));
        // Where nothing fits, there is no total at all (recorded).
        if !tasks.is_empty() {
            body.number("total", u32::try_from(tasks.len()).unwrap_or(u32::MAX));
        }
    }))
}

fn of_cluster(call: &Call<'_>) -> Answer {
    let cluster = &call.world.cluster;
    let all = call.rights.has("/", "Sys.Audit");
    // A task belongs to a user here and never to a token, so a token does not even see its own
    // (recorded).
    let mut tasks: Vec<&Task> = Vec::new();
    for node in cluster.nodes.iter().filter(|_| all) {
        let mut of_node: Vec<&Task> =
            cluster.tasks.iter().filter(|task| task.node == node.name).collect();
        of_node.sort_by_key(|task| (task.endtime.is_some(), std::cmp::Reverse(task.starttime)));
        of_node.truncate(REMEMBERED);
        tasks.extend(of_node);
    }
    tasks.sort_by_key(|task| std::cmp::Reverse(task.starttime));
    Answer::json(Json::data_list(|list| {
        for task in tasks {
            list.object(|row| put_of_cluster(row, task));
        }
    }))
}

const STATUSES: [&str; 4] = ["ok", "error", "warning", "unknown"];

fn status_of(task: &Task) -> &'static str {
    match task.status.as_str() {
        "OK" => "ok",
        "" | "unexpected status" => "unknown",
        text if text.starts_with("WARNINGS: ") => "warning",
        _ => "error",
    }
}

fn put(row: &mut Object<'_>, task: &Task) {
    row.text("upid", &task.upid());
    row.text("node", &task.node);
    row.text("type", &task.kind);
    row.text("id", &task.id);
    row.number("starttime", task.starttime);
}

fn put_user(row: &mut Object<'_>, task: &Task) {
    let (user, token) = task.user_and_token();
    row.text("user", user);
    row.text_if("tokenid", token);
}

/// A task that ended has its exit status in `status`; one that runs has its user and token in one.
fn put_of_node(row: &mut Object<'_>, task: &Task) {
    put(row, task);
    row.number("pid", task.pid);
    row.number("pstart", task.pstart);
    if let Some(endtime) = task.endtime {
        put_user(row, task);
        row.text("status", &task.status);
        row.number("endtime", endtime);
    } else {
        row.text("user", &task.user);
        row.text("status", "RUNNING");
        row.text("saved", "0");
    }
}

/// A task that runs has neither a status nor an end here.
fn put_of_cluster(row: &mut Object<'_>, task: &Task) {
    put(row, task);
    put_user(row, task);
    if let Some(endtime) = task.endtime {
        row.text("status", &task.status);
        row.number("endtime", endtime);
        row.text("saved", "1");
    } else {
        row.number("pid", task.pid);
    }
}
