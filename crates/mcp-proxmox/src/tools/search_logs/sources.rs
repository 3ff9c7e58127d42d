//! The sources of a search, each bounded by itself.

use futures_util::future::join_all;
use pve_client::{
    NodeName, Reader, Upid, cluster_log,
    task::{Filter, Listed},
};

use crate::{
    answer::log_text::{self, Severity},
    call::Call,
    failure::Failure,
    logs::{
        journal::{self, Query},
        pattern::{Pattern, Traces},
        task_log,
        tasks::{self, Outcome, is_console},
    },
};

/// How many entries of a journal are looked at.
const LOOKED_AT: u32 = 10_000;
/// How many tasks of a node are looked at.
const TASKS: u32 = 300;
/// How many logs of failed tasks of a node are read.
const LOGS: usize = 5;
/// How many lines at the end of such a log are looked through.
const ENDING: u32 = 200;
/// How long one question to a node may take, in seconds.
const NODE_SECONDS: u64 = 15;
/// How many entries of the cluster's log are looked at.
const ENTRIES: u32 = 1000;

/// What is looked for.
pub(super) struct Search<'a> {
    pub(super) pve: &'a Reader,
    pub(super) call: &'a Call,
    /// In seconds since 1970.
    pub(super) since: i64,
    pub(super) until: Option<i64>,
    pub(super) severity: Option<Severity>,
    pub(super) unit: Option<String>,
    pub(super) pattern: Option<Pattern>,
    pub(super) traces: Option<Traces>,
    /// How many lines of one source are enough.
    pub(super) enough: usize,
}

/// A line that was found.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) time: i64,
    /// `journal pve1`, `task pve1`, `cluster log`.
    pub(super) source: String,
    /// What has to be the same for two lines to be the same.
    pub(super) name: String,
    pub(super) level: u8,
    pub(super) is_guessed: bool,
    pub(super) message: String,
}

/// What a source gave.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) found: Vec<Hit>,
    pub(super) missing: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Hits {
    pub(super) fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.missing.extend(other.missing);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }

    fn missing(failure: &Failure) -> Self {
        Self { missing: vec![failure.what().to_owned()], ..Self::default() }
    }
}

impl Search<'_> {
    /// For one node, whose time begins when it is asked: nodes that hang leave time for the others.
    fn of_node(&self) -> Reader {
        self.pve.until(self.call.part(NODE_SECONDS))
    }

    /// A node's journal.
    pub(super) async fn journal(&self, node: &NodeName) -> Hits {
        let query = Query {
            since: Some(self.since * 1_000_000),
            until: self.until,
            severity: self.severity,
            unit: self.unit.clone(),
            pattern: self.pattern.clone(),
            traces: self.traces.clone(),
            limit: self.enough,
            characters: usize::MAX,
            most: LOOKED_AT,
            before: None,
        };
        let read = match journal::read(&self.of_node(), node, &query).await {
            Ok(read) => read,
            Err(error) => {
                let asked = format!("read the journal of {node}");
                return Hits::missing(&Failure::from_pve(&asked, &error));
            }
        };
        let mut hits = Hits::default();
        if read.gave_up {
            hits.notes.push(format!(
                "of the journal of {node} only the newest {} entries were looked at: `until` or get_system_log goes further back",
                read.looked_at
            ));
        } else if read.older.is_some() {
            hits.notes.push(format!(
                "the journal of {node} has more than {} that fit: the newest were taken",
                read.found.len()
            ));
        }
        if read.is_too_large {
            hits.notes.push(format!("an entry in the journal of {node} is larger than 16 MiB: it and what is older are left out"));
        }
        let found = read.found.into_iter().filter_map(|found| {
            let who = found.from.split('[').next().unwrap_or_default().to_owned();
            let message = if found.from.is_empty() {
                found.message
            } else {
                format!("{}: {}", found.from, found.message)
            };
            Some(Hit {
                time: found.time?.div_euclid(1_000_000),
                source: format!("journal {node}"),
                name: who,
                level: found.level,
                is_guessed: found.is_guessed,
                message,
            })
        });
        hits.found.extend(found);
        hits
    }

    /// A node's tasks, with what the logs of those say that failed.
    pub(super) async fn tasks(&self, node: &NodeName) -> Hits {
        let filter = Filter {
            since: Some(self.since),
            until: self.until,
            limit: Some(TASKS),
            ..Filter::default()
        };
        let list = match tasks::list(&self.of_node(), node, &filter, 1, |_| true).await {
            Ok(list) => list,
            Err(error) => {
                let asked = format!("list the tasks of {node}");
                return Hits::missing(&Failure::from_pve(&asked, &error));
            }
        };
        let mut hits = Hits::default();
        if list.complete_after.is_some() {
            hits.notes
                .push(format!("of the tasks of {node} only the newest {TASKS} were looked at"));
        }
        let wanted: Vec<Listed> =
            list.tasks.into_iter().filter(|task| self.has_level(task)).collect();
        let failed = wanted.iter().filter(|task| {
            matches!(Outcome::of(task), Outcome::Error | Outcome::Warning | Outcome::Unknown)
                && !is_console(task.kind.as_deref().unwrap_or_default())
        });
        let logs = failed.filter_map(|task| task.upid.as_ref()).take(LOGS);
        let logs = join_all(logs.map(|upid| self.log(upid))).await;
        for task in &wanted {
            let upid = task.upid.as_ref();
            let log =
                logs.iter().find(|(of, _)| Some(of) == upid).map(|(_, lines)| lines.as_slice());
            hits.found.extend(self.task(node, task, log.unwrap_or_default()));
        }
        hits
    }

    /// Consoles mostly end as if with an error, and are none.
    fn has_level(&self, task: &Listed) -> bool {
        let level = level_of(Outcome::of(task));
        let is_severe = self.severity.is_none_or(|severity| level <= severity.level());
        is_severe
            && (self.severity.is_none() || !is_console(task.kind.as_deref().unwrap_or_default()))
    }

    async fn log(&self, upid: &Upid) -> (Upid, Vec<String>) {
        let part = task_log::tail(&self.of_node(), upid, ENDING).await.unwrap_or_default();
        (upid.clone(), part.lines.iter().map(task_log::Line::shown).collect())
    }

    /// The task as one line, with the line of its log that tells most.
    fn task(&self, node: &NodeName, task: &Listed, log: &[String]) -> Option<Hit> {
        let kind = task.kind.as_deref().unwrap_or("task");
        let id = task.id.as_deref().unwrap_or_default();
        let outcome = Outcome::of(task);
        let who = task.who().unwrap_or_default();
        let upid = task.upid.as_ref().map(ToString::to_string).unwrap_or_default();
        let head = format!("{kind} {id} by {who}: {}", outcome.in_words(task.exit()));
        let fits = |text: &str| self.pattern.as_ref().is_none_or(|pattern| pattern.fits(text));
        let is_of_guest = |text: &str| self.traces.as_ref().is_none_or(|traces| traces.fits(text));
        let line =
            log.iter().find(|line| fits(line) && is_of_guest(line) && log_text::guessed(line) <= 4);
        let fits_head = fits(&head) && is_of_guest(&head);
        let in_log = log.iter().any(|line| fits(line) && is_of_guest(line));
        if !fits_head && !in_log {
            return None;
        }
        let said = line.filter(|line| !task.exit().is_some_and(|exit| line.contains(exit)));
        let said = said.map(|line| format!(" | {line}")).unwrap_or_default();
        let message = format!("{head}{said} ({upid})");
        Some(Hit {
            time: task.endtime.or(task.starttime)?,
            source: format!("task {node}"),
            name: upid.clone(),
            level: level_of(outcome),
            is_guessed: false,
            message: log_text::line(&message, message.len()),
        })
    }

    /// The cluster's log, of the nodes that are wanted.
    pub(super) async fn cluster_log(&self, nodes: &[NodeName], wanted: &[String]) -> Hits {
        let entries = match self.pve.get(cluster_log::entries(ENTRIES)).await {
            Ok(entries) => entries,
            Err(error) => return Hits::missing(&Failure::from_pve("read the cluster log", &error)),
        };
        let mut hits = Hits::default();
        let n_entries = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let oldest = entries.iter().filter_map(|entry| entry.time).min();
        if n_entries >= ENTRIES && oldest.is_some_and(|oldest| oldest > self.since) {
            hits.notes.push(format!(
                "of the cluster log only the newest {ENTRIES} entries were looked at"
            ));
        }
        for entry in entries {
            let Some(time) = entry.time else { continue };
            let level = entry.pri.and_then(|pri| u8::try_from(pri).ok()).unwrap_or(6);
            let message = entry.msg.unwrap_or_default();
            let of = entry.node.as_ref();
            let is_wanted = wanted.is_empty() || of.is_some_and(|node| nodes.contains(node));
            let whole = format!("{} {}", entry.user.as_deref().unwrap_or_default(), message.text);
            let fits = time >= self.since
                && self.until.is_none_or(|until| time < until)
                && is_wanted
                && self.severity.is_none_or(|severity| level <= severity.level())
                && self.pattern.as_ref().is_none_or(|pattern| pattern.fits(&whole))
                && self.traces.as_ref().is_none_or(|traces| traces.fits(&message.text));
            if fits {
                let node = of.map_or("?", NodeName::as_str);
                hits.found.push(Hit {
                    time,
                    source: format!("cluster log, {node}"),
                    name: entry.tag.unwrap_or_default(),
                    level,
                    is_guessed: false,
                    message: log_text::line(&message.text, message.length),
                });
            }
        }
        hits
    }
}

fn level_of(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Error | Outcome::Unknown => 3,
        Outcome::Warning => 4,
        Outcome::Ok | Outcome::Running => 6,
    }
}
