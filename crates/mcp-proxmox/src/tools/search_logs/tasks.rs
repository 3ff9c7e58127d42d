//! Tasks as a source: each is a line, at the time at which it ended, with what the log of a failed one says.

use futures_util::{StreamExt as _, stream};
use pve_client::{
    Error, NodeName, Upid,
    task::{Filter, Listed},
};

use super::{
    hits::{Hit, Hits},
    sources::Search,
};
use crate::{
    answer::log_text,
    logs::{
        backup::{Backups, Guest},
        pattern::Traces,
        task_log,
        tasks::{self, List, Outcome, is_console},
    },
};

/// How many tasks of a node one request asks for, and how many requests there are.
const TASKS: u32 = 300;
const PAGES: usize = 4;
/// How many logs of failed tasks of a node are read, and how many of backups of several guests.
const LOGS: usize = 5;
/// How many lines at the end of such a log are looked through.
const ENDING: u32 = 200;
const BACKUP: u32 = 3000;
/// How many are read at once.
const AT_ONCE: usize = 2;

/// What is kept of a log.
struct Log {
    upid: Upid,
    /// Its last lines, as they are shown. None of a backup of several guests: the others' say nothing.
    lines: Vec<String>,
    /// What it says of the guest that is looked for, where it is a backup of several.
    guest: Option<Guest>,
    is_cut: bool,
    is_missing: bool,
}

impl Search<'_> {
    /// A node's tasks, with what the logs of those say that failed.
    pub(super) async fn tasks(&self, node: &NodeName) -> Hits {
        // Proxmox VE compares when tasks started, and a task is shown when it ended.
        let filter = Filter { until: self.until, limit: Some(TASKS), ..Filter::default() };
        let is_enough = |list: &List| list.complete_after.is_some_and(|after| after < self.since);
        let list = tasks::list(&self.of_node(), node, &filter, PAGES, is_enough).await;
        let list = match list {
            Ok(list) => list,
            Err(error) => {
                let asked = format!("list the tasks of {node}");
                return Hits::missing(&asked, &error);
            }
        };
        let mut hits = Hits::default();
        if let Some(after) = list.complete_after.filter(|after| *after >= self.since) {
            hits.partial
                .push((format!("tasks of {node}"), Some(after).filter(|at| *at < i64::MAX)));
        }
        let is_in_range = |task: &Listed| {
            task.endtime.or(task.starttime).is_some_and(|time| self.is_in_range(time))
        };
        let wanted =
            list.tasks.into_iter().filter(|task| is_in_range(task) && self.has_level(task));
        let wanted: Vec<Listed> = wanted.collect();
        let logs = self.logs(node, &wanted, &mut hits).await;
        let found = wanted.iter().filter_map(|task| self.task(node, task, &logs));
        hits.add(found.collect::<Vec<_>>(), self.limit);
        hits
    }

    /// The logs that are worth reading: of the newest tasks that failed, and of the newest backups of
    /// several guests where one guest is looked for.
    async fn logs(&self, node: &NodeName, tasks: &[Listed], hits: &mut Hits) -> Vec<Log> {
        let of_failed = tasks.iter().filter(|task| !self.is_of_several(task) && has_failed(task));
        let of_several = tasks.iter().filter(|task| self.is_of_several(task));
        let (n_failed, n_several) = (of_failed.clone().count(), of_several.clone().count());
        for (n_tasks, what) in
            [(n_failed, "failed tasks"), (n_several, "backups of several guests")]
        {
            if n_tasks > LOGS {
                hits.notes.push(format!(
                    "of {n_tasks} {what} on {node} only the logs of the newest {LOGS} were searched: get_task reads the others"
                ));
            }
        }
        let upids = |task: &Listed| task.upid.clone();
        let of_failed = of_failed.filter_map(upids).take(LOGS).map(|upid| self.log(upid, false));
        let of_several = of_several.filter_map(upids).take(LOGS).map(|upid| self.log(upid, true));
        // In futures of their own, so that the memory of one is free before the next one is read.
        let of_failed = stream::iter(of_failed.collect::<Vec<_>>()).buffered(AT_ONCE);
        let of_several = stream::iter(of_several.collect::<Vec<_>>()).buffered(AT_ONCE);
        let read = of_failed.chain(of_several).collect::<Vec<_>>().await;
        let mut logs = Vec::new();
        for (upid, log) in read {
            match log {
                Ok(log) if log.is_missing => {
                    hits.missing.push(format!("the log of {upid} is gone"));
                }
                Ok(log) => logs.push(log),
                Err(error) => {
                    let asked = format!("read the log of {upid}");
                    hits.lack(&asked, &error);
                }
            }
        }
        let n_cut = logs.iter().filter(|log| log.is_cut).count();
        if n_cut > 0 && (self.pattern.is_some() || self.traces.is_some()) {
            hits.notes.push(format!(
                "of {n_cut} long task logs on {node} only the last lines ({ENDING}, of backups {BACKUP}) were searched: get_task with `pattern` searches the rest"
            ));
        }
        logs
    }

    async fn log(&self, upid: Upid, is_of_several: bool) -> (Upid, Result<Log, Error>) {
        let lines = if is_of_several { BACKUP } else { ENDING };
        let part = task_log::tail(&self.of_node(), &upid, lines).await;
        let log = part.map(|part| {
            let mut log = Log {
                upid: upid.clone(),
                lines: Vec::new(),
                guest: None,
                is_cut: part.lines.first().is_some_and(|line| line.n > 1),
                is_missing: part.is_missing,
            };
            if let Some(traces) = self.traces.as_ref().filter(|_| is_of_several) {
                let mut backups = Backups::default();
                part.lines.iter().for_each(|line| backups.add(&line.text));
                log.guest = backups.into_guest(traces.vmid);
            } else {
                log.lines = part.lines.iter().map(task_log::Line::shown).collect();
            }
            log
        });
        (upid, log)
    }

    /// Whether only the log tells what became of the guest that is looked for.
    fn is_of_several(&self, task: &Listed) -> bool {
        let id = task.id.as_deref().unwrap_or_default();
        self.traces.is_some()
            && task.kind.as_deref() == Some("vzdump")
            && id.parse::<u32>().is_err()
    }

    /// Consoles mostly end as if with an error, and are none. What a backup of several guests did with one
    /// is known later.
    fn has_level(&self, task: &Listed) -> bool {
        let Some(severity) = self.severity else { return true };
        self.is_of_several(task)
            || (level_of(Outcome::of(task)) <= severity.level()
                && !is_console(task.kind.as_deref().unwrap_or_default()))
    }

    /// The task as one line, with the line of its log that tells most.
    fn task(&self, node: &NodeName, task: &Listed, logs: &[Log]) -> Option<Hit> {
        let upid = task.upid.as_ref();
        let log = logs.iter().find(|log| Some(&log.upid) == upid);
        let kind = task.kind.as_deref().unwrap_or("task");
        let id = task.id.as_deref().unwrap_or_default();
        let who = task.who().unwrap_or_default();
        let (outcome, said) = match &self.traces {
            Some(traces) if self.is_of_several(task) => {
                let guest = log?.guest.as_ref()?;
                (
                    of_guest(guest, Outcome::of(task)),
                    in_words(guest, traces.vmid, Outcome::of(task)),
                )
            }
            _ => (Outcome::of(task), Outcome::of(task).in_words(task.exit())),
        };
        let level = level_of(outcome);
        if self.severity.is_some_and(|severity| level > severity.level()) {
            return None;
        }
        let head = format!("{kind} {id} by {who}: {said}");
        let fits = |text: &str| self.pattern.as_ref().is_none_or(|pattern| pattern.fits(text));
        let is_own_of = |traces: &Traces| self.is_of_several(task) || id == traces.vmid.to_string();
        let is_own = self.traces.as_ref().is_none_or(is_own_of);
        let is_of_guest =
            |text: &str| is_own || self.traces.as_ref().is_none_or(|traces| traces.fits(text));
        let lines = || {
            let lines = log.into_iter().flat_map(|log| &log.lines);
            lines.filter(|line| fits(line) && is_of_guest(line))
        };
        if !(fits(&head) && is_own) && lines().next().is_none() {
            return None;
        }
        let telling = lines().find(|line| log_text::guessed(line) <= 4);
        let telling = telling.filter(|line| !task.exit().is_some_and(|exit| line.contains(exit)));
        let telling = telling.map(|line| format!(" | {line}")).unwrap_or_default();
        let upid = upid.map(ToString::to_string).unwrap_or_default();
        let message = format!("{head}{telling} ({upid})");
        Some(Hit {
            time: task.endtime.or(task.starttime)?,
            source: format!("task {node}"),
            name: upid,
            level,
            is_guessed: false,
            message: log_text::line(&message, message.len()),
        })
    }
}

fn has_failed(task: &Listed) -> bool {
    matches!(Outcome::of(task), Outcome::Error | Outcome::Warning | Outcome::Unknown)
        && !is_console(task.kind.as_deref().unwrap_or_default())
}

fn of_guest(guest: &Guest, task: Outcome) -> Outcome {
    match guest.result.as_deref() {
        Some("ok") => Outcome::Ok,
        Some(_) => Outcome::Error,
        None if task == Outcome::Running => Outcome::Running,
        None => Outcome::Unknown,
    }
}

fn in_words(guest: &Guest, vmid: u32, task: Outcome) -> String {
    let name = guest.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    let result = guest.result.clone();
    let result = result.unwrap_or_else(|| of_guest(guest, task).word().to_owned());
    let size = guest.size.as_ref().map(|size| format!(", {size}")).unwrap_or_default();
    format!("backup of {vmid}{name} {result}{size}")
}

fn level_of(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Error | Outcome::Unknown => 3,
        Outcome::Warning => 4,
        Outcome::Ok | Outcome::Running => 6,
    }
}
