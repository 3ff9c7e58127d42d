//! `get_task`: one task, how it ended and why.
//!
//! The node is in the task's identifier. Of a log of any length only the parts that are shown are read;
//! what is searched is bounded, and the answer says what was.

mod percent;
mod telling;
mod waiting;

use futures_util::join;
use pve_client::{
    Error, Observer, Reader, RefusalKind, Upid,
    task::{self, Filter},
    task_log::{self, Status},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::telling::Excerpt;
use crate::{
    answer::{Duration, Table, clean::label, log_text},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    logs::{
        limit,
        pattern::{self, Pattern},
        tasks::Outcome,
    },
    tier::Reads,
};

/// How many lines are shown, where nobody says how many.
const SHOWN: usize = 20;
/// How many are enough where other parts of the answer say why.
const TOLD: u32 = 5;
/// How many are shown at most.
const MOST: usize = 200;
/// How many lines are shown around a match, at most.
const CONTEXT: u32 = 10;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetTask;

/// Which task, and what of its log.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// From `list_tasks`.
    upid: String,
    /// Log lines.
    lines: Option<u32>,
    /// First line to show.
    from_line: Option<u64>,
    /// Text; `a|b`: either.
    pattern: Option<String>,
    /// Lines around matches.
    context: Option<u32>,
    /// Follow it while it runs.
    wait_seconds: Option<u32>,
}

/// The task.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Output {
    upid: String,
    node: String,
    r#type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    user: String,
    /// `ok`, `warning`, `error: …`, `running` or `unknown`.
    outcome: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    took: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress_percent: Option<f64>,
    /// Of backups: each guest.
    #[serde(skip_serializing_if = "Option::is_none")]
    backups: Option<Table>,
    /// The lines that tell why.
    #[serde(skip_serializing_if = "Option::is_none")]
    telling_lines: Option<Table>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<Table>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_available: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetTask {
    const NAME: &'static str = "get_task";
    const TITLE: &'static str = "One task and its log";
    const DESCRIPTION: &'static str = "One task by UPID: outcome, duration, why it failed, guests of a backup, and its log: last lines, a range, \
        a search; can follow it. To find tasks use list_tasks.";
    const TOOLSET: Toolset = Toolset::Logs;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let upid = parse(&input.upid)?;
        let mut status = status(&pve, &upid).await?;
        let mut waited = None;
        if let Some(seconds) =
            input.wait_seconds.filter(|seconds| *seconds > 0 && status.is_running())
        {
            waited = waiting::wait(&pve, call, &upid, seconds, &mut status).await;
        }
        let mut output = Output::of(call, &upid, &status);
        output.notes.extend(waited);
        let pattern = input.pattern.as_deref().and_then(Pattern::new);
        let (lines, limited) = limit::rows(input.lines, SHOWN, MOST);
        output.notes.extend(limited.map(|note| note.replace("`limit`", "`lines`")));
        if input.context.is_some_and(|context| context > CONTEXT) {
            output.notes.push(format!("`context` was taken as {CONTEXT}, which is the most"));
        }
        let excerpt = Excerpt {
            upid: &upid,
            lines: u32::try_from(lines).unwrap_or(200),
            enough: input.lines.is_none().then_some(TOLD),
            from: input.from_line.map(|line| line.max(1)),
            pattern: pattern.as_ref(),
            context: u64::from(input.context.unwrap_or(0).min(CONTEXT)),
        };
        let part = pve.until(call.part(30));
        let outcome = Outcome::of_exit(status.exitstatus.as_deref());
        let is_running = status.is_running();
        let wants_why =
            !is_running && matches!(outcome, Outcome::Error | Outcome::Warning | Outcome::Unknown);
        let wants_backups = upid.kind == "vzdump";
        let (read, end) = join!(
            telling::read(&part, &excerpt, is_running, wants_why, wants_backups),
            end_of(&part, &upid, is_running),
        );
        match end {
            Ok(end) => output.took = took(call, &status, is_running, end),
            Err(error) => output
                .not_available
                .push(Failure::from_pve("read how long it took", &error).what().to_owned()),
        }
        match read {
            Ok(read) => {
                let is_found = !read.shown.is_empty();
                output.add_log(read);
                let pattern = input.pattern.as_deref().filter(|_| !is_found);
                output.notes.extend(pattern.and_then(pattern::hint));
            }
            Err(error) => output
                .not_available
                .push(Failure::from_pve("read the log", &error).what().to_owned()),
        }
        if !is_running && outcome == Outcome::Unknown {
            output.notes.push(
                "its worker was killed, so nobody knows how it ended: read the state of what it worked on".to_owned(),
            );
        }
        Ok(output)
    }
}

/// The identifier that somebody wrote.
pub(crate) fn parse(text: &str) -> Result<Upid, Failure> {
    text.trim().trim_matches(['"', '\'', '`']).parse().map_err(|error| {
        Failure::new(format!("{error}")).hint("give the whole UPID as list_tasks shows it")
    })
}

/// How a task is.
pub(crate) async fn status(pve: &Reader, upid: &Upid) -> Result<Status, Failure> {
    pve.get(task_log::status(upid)).await.map_err(|error| match &error {
        Error::Refused(refusal)
            if refusal.errors.get("upid").is_some_and(|text| text.contains("no such task")) =>
        {
            Failure::new(format!("{} knows no such task", upid.node))
                .missing()
                .hint("old tasks are forgotten, and a changed UPID is another one: list_tasks shows those that are there")
        }
        // What it says is of the names of hosts.
        Error::Refused(refusal)
            if refusal.kind() == RefusalKind::UnknownNode
                || refusal.message.contains("hostname lookup") =>
        {
            Failure::new(format!("there is no node `{}` in this cluster, and the UPID names it", upid.node))
                .missing()
                .hint("a UPID is copied as a whole from list_tasks; list_nodes shows the nodes")
        }
        _ => Failure::from_pve("read the task", &error),
    })
}

/// When it ended, which only the list of tasks tells.
async fn end_of(pve: &Reader, upid: &Upid, is_running: bool) -> Result<Option<i64>, Error> {
    let start = match i64::try_from(upid.starttime) {
        Ok(start) if !is_running => start,
        _ => return Ok(None),
    };
    let filter = Filter {
        since: Some(start),
        until: Some(start),
        kind: Some(upid.kind.clone()),
        limit: Some(200),
        ..Filter::default()
    };
    let tasks = pve.get(task::list(&upid.node, &filter)).await?;
    let it = tasks.into_iter().find(|task| task.upid.as_ref() == Some(upid));
    Ok(it.and_then(|task| task.endtime))
}

fn took(call: &Call, status: &Status, is_running: bool, end: Option<i64>) -> Option<Duration> {
    let end = if is_running { Some(call.now.as_second()) } else { end };
    u64::try_from(end?.saturating_sub(status.starttime?)).ok().map(Duration)
}

impl Output {
    fn of(call: &Call, upid: &Upid, status: &Status) -> Self {
        let exit = status.exitstatus.as_deref();
        let outcome = if status.is_running() { Outcome::Running } else { Outcome::of_exit(exit) };
        let started = status.starttime.or_else(|| i64::try_from(upid.starttime).ok());
        Self {
            upid: upid.to_string(),
            node: upid.node.to_string(),
            r#type: label(&upid.kind),
            id: (!upid.id.is_empty()).then(|| label(&upid.id)),
            user: label(&upid.user),
            outcome: match (outcome, exit) {
                (Outcome::Error, Some(exit)) => {
                    format!("error: {}", log_text::line(exit, exit.len()))
                }
                _ => outcome.in_words(exit),
            },
            started: started.and_then(|start| call.time(start)),
            ..Self::default()
        }
    }

    fn add_log(&mut self, read: telling::Read) {
        self.notes.extend(read.notes);
        if read.is_missing {
            self.not_available
                .push("the log is gone: PVE keeps the logs of some hundred tasks".to_owned());
            return;
        }
        self.log_lines = Some(read.total);
        self.progress_percent = read.percent;
        self.backups = (!read.backups.is_empty()).then_some(read.backups);
        self.telling_lines = (!read.telling.is_empty()).then_some(read.telling);
        if !read.shown.is_empty() {
            self.log = Some(read.shown);
            self.notes.push(log_text::MARK.to_owned());
        }
    }
}
