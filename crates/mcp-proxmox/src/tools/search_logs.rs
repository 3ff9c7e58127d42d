//! `search_logs`: one search over journals, tasks and the cluster's log.
//!
//! Every source is read side by side and bounded; what could not be read is named, and what was found is
//! merged by time, with lines that repeat folded into one.

mod sources;

use futures_util::{StreamExt as _, join, stream};
use pve_client::Reader;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::sources::{Hits, Search};
use crate::{
    answer::{
        Cell, Table,
        log_text::{self, Fold, Folded, Severity},
    },
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    logs::{
        nodes,
        pattern::{Pattern, Traces},
        rights::Rights,
    },
    lookup,
    tier::Reads,
    when,
};

/// How many lines are shown, where nobody says how many.
const SHOWN: usize = 40;
/// How many characters of messages are shown.
const CHARACTERS: usize = 30_000;
/// How far back the search goes, where nobody says how far.
const DAY: i64 = 86_400;
/// How long all sources may take, in seconds.
const PART_SECONDS: u64 = 36;
/// How many nodes are asked at once, for their journals and for their tasks.
const AT_ONCE: usize = 2;
/// How many are shown at most.
const MOST: usize = 200;

/// See the module's documentation.
#[derive(Debug)]
pub struct SearchLogs;

/// What to look for, where and when.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Text; `a|b`: either.
    pattern: Option<String>,
    /// Vmid or name.
    vm: Option<String>,
    /// And worse.
    severity: Option<Severity>,
    /// systemd unit.
    unit: Option<String>,
    /// Default: 24h.
    since: Option<String>,
    /// Likewise.
    until: Option<String>,
    /// Default: all.
    nodes: Option<Vec<String>>,
    /// Default: all.
    sources: Option<Vec<Source>>,
    /// Lines.
    limit: Option<u32>,
}

// Where to look. What is written here would be read by every model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Source {
    Journal,
    Tasks,
    Cluster,
}

/// What was found, the newest last.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// Lines that were found, each repetition counted.
    found: u64,
    shown: usize,
    lines: Table,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_available: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for SearchLogs {
    const NAME: &'static str = "search_logs";
    const TITLE: &'static str = "Search all logs";
    const DESCRIPTION: &'static str = "Search journals, failed tasks with their logs, and the cluster log of all nodes at once, by text, guest, \
        severity, time. For one journal use get_system_log.";
    const TOOLSET: Toolset = Toolset::Logs;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Reader, call: &Call, input: Input) -> Result<Output, Failure> {
        let (since, until) = when::range(call, input.since.as_deref(), input.until.as_deref())?;
        let end = until.unwrap_or_else(|| call.now.as_second());
        let limit = input
            .limit
            .map_or(SHOWN, |limit| usize::try_from(limit).unwrap_or(MOST).clamp(1, MOST));
        let traces = match &input.vm {
            Some(vm) => Some(traces(&pve, vm).await?),
            None => None,
        };
        let wanted = input.nodes.unwrap_or_default();
        let sources = input.sources.unwrap_or_default();
        let chosen = nodes::choose(&pve, &wanted).await?;
        let part = pve.until(call.part(PART_SECONDS));
        let search = Search {
            pve: &part,
            call,
            since: since.unwrap_or(end - DAY),
            until,
            severity: input.severity,
            unit: input
                .unit
                .as_deref()
                .map(str::trim)
                .filter(|unit| !unit.is_empty())
                .map(str::to_owned),
            pattern: input.pattern.as_deref().and_then(Pattern::new),
            traces,
            enough: limit * 5,
        };
        let wants = |source| sources.is_empty() || sources.contains(&source);
        let of_journals = async {
            let nodes = chosen.nodes.iter().filter(|_| wants(Source::Journal));
            let hits: Vec<_> = nodes.map(|node| search.journal(node)).collect();
            // In no order, or one node that hangs would keep all the later ones waiting.
            stream::iter(hits).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await
        };
        let of_tasks = async {
            // A unit is a matter of journals.
            let nodes =
                chosen.nodes.iter().filter(|_| wants(Source::Tasks) && search.unit.is_none());
            let hits: Vec<_> = nodes.map(|node| search.tasks(node)).collect();
            stream::iter(hits).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await
        };
        let of_cluster = async {
            if wants(Source::Cluster) && search.unit.is_none() {
                Some(join!(search.cluster_log(&chosen.nodes, &wanted), Rights::ask(&part)))
            } else {
                None
            }
        };
        let (journals, tasks, cluster) = join!(of_journals, of_tasks, of_cluster);
        let mut all = Hits { missing: chosen.missing, ..Hits::default() };
        journals.into_iter().chain(tasks).for_each(|hits| all.extend(hits));
        all.missing.sort_unstable();
        if let Some((hits, rights)) = cluster {
            all.extend(hits);
            if rights.lacks("Sys.Syslog", "/") {
                all.notes.push("the cluster log is restricted: without Sys.Syslog on / this token sees only its own entries".to_owned());
            }
        }
        Ok(Output::of(call, all, limit, search.since))
    }
}

/// The traces of a guest, which need not exist any more when it is given by number.
async fn traces(pve: &Reader, vm: &str) -> Result<Traces, Failure> {
    match lookup::guest::find(pve, vm).await {
        Ok(found) => {
            let name = lookup::guest::real_name(&found.listed);
            Ok(Traces::new(found.guest.vmid.get(), name))
        }
        Err(failure) => match vm.trim().parse::<pve_client::VmId>() {
            Ok(vmid) => Ok(Traces::new(vmid.get(), None)),
            Err(_) => Err(failure),
        },
    }
}

impl Output {
    fn of(call: &Call, all: Hits, limit: usize, since: i64) -> Self {
        let mut notes = all.notes;
        let found = u64::try_from(all.found.len()).unwrap_or(u64::MAX);
        let mut fold = Fold::default();
        for hit in all.found {
            let key = format!("{} {}", hit.source, hit.name);
            let message = hit.message.clone();
            fold.add(hit.time, &key, &message, hit);
        }
        let folded = fold.finish();
        let mut lines = Table::new(&["last", "first", "count", "source", "severity", "message"]);
        let mut characters = 0;
        let mut first = folded.len();
        for line in folded.iter().rev().take(limit) {
            characters += line.line.message.chars().count() + 60;
            if characters > CHARACTERS {
                break;
            }
            first -= 1;
        }
        for line in folded.iter().skip(first) {
            lines.push(row(call, line));
        }
        if first > 0 {
            let time = folded.get(first).and_then(|line| call.time(line.last)).unwrap_or_default();
            notes.push(format!("{first} older lines are not shown: `until` {time}, a larger limit or narrower filters show them"));
        }
        if lines.is_empty() {
            let since = call.time(since).unwrap_or_default();
            notes.push(format!("nothing was found since {since}"));
        } else {
            notes.insert(0, log_text::MARK.to_owned());
        }
        if folded.iter().any(|line| line.line.is_guessed) {
            notes.push("severity marked `~` is approximate, guessed from the words: this PVE gives its journal as text without levels".to_owned());
        }
        Self { found, shown: lines.len(), lines, not_available: all.missing, notes }
    }
}

fn row(call: &Call, folded: &Folded<sources::Hit>) -> [Cell; 6] {
    let hit = &folded.line;
    [
        call.time(folded.last).into(),
        (folded.count > 1).then(|| call.time(folded.first)).flatten().into(),
        folded.count.into(),
        hit.source.clone().into(),
        log_text::shown(hit.level, hit.is_guessed).into(),
        hit.message.clone().into(),
    ]
}
