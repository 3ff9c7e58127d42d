//! `pve://tasks/{upid}/log`: the log of a task, as much of it as clients take at once.

use pve_client::Upid;
use serde_json::{Map, Value};

use super::{Body, Content, Reading, Resource};
use crate::{
    answer::{
        Table,
        cost::{self, MANY_LINES, Room},
        log_text, text,
    },
    completion::Completes,
    failure::Failure,
    logs::task_log,
    tools::get_task,
};

/// How many lines are read.
const LINES: u32 = 5000;
/// A log that is complete stays as it is.
const FRESH_MS: u64 = 3_600_000;

/// See the module's documentation.
#[derive(Debug)]
pub struct TaskLog;

impl Resource for TaskLog {
    const URI: &'static str = "pve://tasks/{upid}/log";
    const NAME: &'static str = "task_log";
    const TITLE: &'static str = "Log of a task";
    const DESCRIPTION: &'static str = "The log of one task, up to its last 5,000 lines.";
    const TOOL: &'static str = "get_task";
    const COMPLETES: Completes = Completes::Upid;

    fn accepts(value: &str) -> bool {
        value.parse::<Upid>().is_ok()
    }

    async fn read(reading: &Reading<'_>, value: &str) -> Result<Content, Failure> {
        let upid = get_task::parse(value)?;
        let pve = reading.access.reader().until(reading.call.deadline);
        // Asked first, since the log of a task that does not exist is told like a log that is gone.
        let status = get_task::status(&pve, &upid).await?;
        let part = task_log::tail(&pve, &upid, LINES)
            .await
            .map_err(|error| Failure::from_pve("read the log", &error))?;
        if part.is_missing {
            return Err(Failure::new("the log of this task is gone")
                .missing()
                .hint("PVE keeps the logs of some hundred tasks: get_task tells how it ended"));
        }
        let fresh_ms = if status.is_running() { 0 } else { FRESH_MS };
        let shown = shown(&upid, &part);
        Ok(Content { body: Body::Text(text::draw(&shown)), fresh_ms })
    }

    /// The answer shows fewer lines than there are.
    fn more_than(answer: &Map<String, Value>) -> Option<String> {
        let total = answer.get("log_lines")?.as_u64()?;
        let rows = answer.get("log").and_then(|log| log.get("rows")?.as_array());
        let shown = rows.map_or(0, Vec::len) as u64;
        (shown < total).then(|| answer.get("upid")?.as_str().map(str::to_owned)).flatten()
    }
}

/// The last lines, as many as there is room for.
fn shown(upid: &Upid, part: &task_log::Part) -> Map<String, Value> {
    // Whoever attaches a log asks for much of it, and some clients refuse more than that.
    let mut room = Room::of(MANY_LINES);
    let fits = |line: &&task_log::Line| room.takes(cost::of_text(&line.shown()) + 8);
    let n_lines = part.lines.iter().rev().take_while(fits).count();
    let lines = part.lines.iter().skip(part.lines.len() - n_lines);
    let first = lines.clone().next().map_or(1, |line| line.n);
    let mut table = Table::new(&["line", "text"]);
    for line in lines {
        table.push([line.n.into(), line.shown().into()]);
    }
    let mut object = Map::new();
    object.insert("upid".into(), upid.to_string().into());
    object.insert("log_lines".into(), part.total.into());
    object.insert("log".into(), serde_json::to_value(table).unwrap_or_default());
    let mut notes = vec![log_text::MARK.to_owned()];
    if first > 1 {
        notes.push(format!(
            "lines 1 to {} of {} are not here: get_task with `from_line` or `pattern` reads them",
            first - 1,
            part.total
        ));
    }
    object.insert("notes".into(), notes.into());
    object
}
