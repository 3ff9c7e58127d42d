//! `search_logs`: one search over journals, tasks and the cluster's log.
//!
//! Every source is read side by side and bounded; what could not be read is named, and what was found is
//! merged by time, with lines that repeat folded into one.

mod hits;
mod sources;
mod tasks;

use futures_util::{StreamExt as _, join, stream};
use pve_client::{Observer, Reader};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    hits::{Hit, Hits},
    sources::Search,
};
use crate::{
    answer::{
        Cell, Table,
        cost::{self, Room},
        log_text::{self, Folded, Severity},
    },
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    in_order::InOrder as _,
    logs::{
        limit, nodes,
        pattern::{self, Pattern, Traces},
        rights::Rights,
    },
    lookup,
    rights::grant,
    tier::Reads,
    tools::get_system_log,
    when,
};

/// How many lines are shown, where nobody says how many.
const SHOWN: usize = 40;
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
    /// What is older was not looked at in every source.
    #[serde(skip_serializing_if = "Option::is_none")]
    complete_since: Option<String>,
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
        severity, time. For tasks that went well use list_tasks, for one journal get_system_log.";
    const TOOLSET: Toolset = Toolset::Logs;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let (since, until) = when::range(call, input.since.as_deref(), input.until.as_deref())?;
        let end = until.unwrap_or_else(|| call.now.as_second());
        let (limit, limited) = limit::rows(input.limit, SHOWN, MOST);
        let sources = input.sources.unwrap_or_default();
        let is_named = |source| sources.is_empty() || sources.contains(&source);
        let unit = input.unit.as_deref().map(str::trim).filter(|unit| !unit.is_empty());
        let unit = unit.map(get_system_log::unit).transpose()?;
        if unit.is_some() && !is_named(Source::Journal) {
            return Err(Failure::new("`unit` narrows journals, and `sources` leaves them out")
                .hint("add journal to sources, or leave out `unit`"));
        }
        // A unit is a matter of journals.
        let wants = |source| is_named(source) && (unit.is_none() || source == Source::Journal);
        let (traces, gone) = match &input.vm {
            Some(vm) => traces(&pve, vm).await.map(|(traces, gone)| (Some(traces), gone))?,
            None => (None, None),
        };
        let wanted = input.nodes.unwrap_or_default();
        let chosen = nodes::choose(&pve, &wanted).await?;
        let part = pve.until(call.part(PART_SECONDS));
        let search = Search {
            pve: &part,
            call,
            since: since.unwrap_or(end - DAY),
            until,
            severity: input.severity,
            unit: unit.clone(),
            pattern: input.pattern.as_deref().and_then(Pattern::new),
            traces,
            limit,
        };
        let of_journals = async {
            let nodes = chosen.nodes.iter().filter(|_| wants(Source::Journal));
            let hits: Vec<_> = nodes.map(|node| search.journal(node)).collect();
            // In no order, or one node that hangs would keep all the later ones waiting.
            stream::iter(hits).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await
        };
        let of_tasks = async {
            let nodes = chosen.nodes.iter().filter(|_| wants(Source::Tasks));
            let hits: Vec<_> = nodes.map(|node| search.tasks(node)).collect();
            stream::iter(hits).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await
        };
        let of_cluster = async {
            if wants(Source::Cluster) {
                Some(search.cluster_log(&chosen.nodes, &wanted).await)
            } else {
                None
            }
        };
        let rights = async {
            if wants(Source::Cluster) || wants(Source::Tasks) {
                Some(Rights::ask(&part).await)
            } else {
                None
            }
        };
        let (journals, tasks, cluster, rights) = join!(of_journals, of_tasks, of_cluster, rights);
        let n_asked = journals.len() + tasks.len() + usize::from(cluster.is_some());
        let mut all = Hits { missing: chosen.missing, ..Hits::default() };
        journals.into_iter().chain(tasks).for_each(|hits| all.extend(hits));
        all.missing.sort_unstable();
        all.partial.sort_unstable();
        if let Some(hits) = cluster {
            all.extend(hits);
        }
        // Logs that nobody gave are no logs without lines.
        if all.n_silent == n_asked && n_asked > 0 {
            let why = all.missing.iter().take(3).cloned().collect::<Vec<_>>().join("; ");
            let hint = "list_nodes tells how the nodes are, get_access what the token may read";
            let hint = all.way_in().unwrap_or_else(|| hint.to_owned());
            return Err(
                Failure::new(format!("none of {n_asked} logs could be read: {why}")).hint(hint)
            );
        }
        let way_in = all.way_in().map(|advice| grant::for_token(&advice, pve.token_id()));
        all.notes.extend(way_in);
        all.notes.extend(limited);
        all.notes.extend(gone);
        if unit.is_some() && (is_named(Source::Tasks) || is_named(Source::Cluster)) {
            all.notes.push("with `unit` journals alone are searched".to_owned());
        }
        if let Some(rights) = rights {
            let nodes = chosen.nodes.iter().filter(|_| wants(Source::Tasks));
            let hidden = nodes.filter(|node| rights.lacks("Sys.Audit", &format!("/nodes/{node}")));
            let hidden: Vec<_> = hidden.map(pve_client::NodeName::as_str).collect();
            all.say_what_is_hidden(&rights, &hidden, wants(Source::Cluster));
        }
        if all.is_text && unit.is_some() {
            all.notes.push("this PVE gives its journal as text: `unit` is compared with the name before the colon".to_owned());
        }
        let hint = input.pattern.as_deref().filter(|_| all.found.is_empty());
        all.notes.extend(hint.and_then(pattern::hint));
        let tokens = cost::room(input.limit.is_some());
        Ok(Output::of(call, all, (limit, tokens), (search.since, until)))
    }
}

/// The traces of a guest, which need not exist any more when it is given by number: then that is said.
async fn traces(pve: &Reader, vm: &str) -> Result<(Traces, Option<String>), Failure> {
    match lookup::guest::find(pve, vm).await {
        Ok(found) => {
            let name = lookup::guest::real_name(&found.listed);
            Ok((Traces::new(found.guest.vmid.get(), name), None))
        }
        Err(failure) => match vm.trim().parse::<pve_client::VmId>() {
            Ok(vmid) => Ok((Traces::new(vmid.get(), None), Some(failure.what().to_owned()))),
            Err(_) => Err(failure),
        },
    }
}

impl Output {
    /// At most so many lines, and as many as cost so many tokens.
    fn of(
        call: &Call,
        all: Hits,
        (limit, tokens): (usize, usize),
        (since, until): (i64, Option<i64>),
    ) -> Self {
        let mut notes = all.notes;
        let mut folded = all.found;
        folded.order_by_key(|line| line.last);
        let mut lines = Table::new(&["last", "first", "count", "source", "severity", "message"]);
        let mut room = Room::of(tokens);
        let mut first = folded.len();
        for line in folded.iter().rev().take(limit) {
            let hit = &line.line;
            if !room.takes(cost::of_text(&hit.message) + cost::of_text(&hit.source) + 52) {
                break;
            }
            first -= 1;
        }
        for line in folded.iter().skip(first) {
            lines.push(row(call, line));
        }
        let time = |time: i64| call.time(time).unwrap_or_default();
        // `until` is not included and has whole seconds: one later than the newest that is not shown.
        let next = first.checked_sub(1).and_then(|last| folded.get(last)).map(|line| line.last + 1);
        if let Some(next) = next {
            let n_hidden = first + all.n_dropped;
            let way = if until.is_none_or(|until| next < until) {
                format!("`until` {} (lines of that second again), a larger", time(next))
            } else {
                "a larger".to_owned()
            };
            notes.push(format!(
                "{n_hidden} older lines are not shown: {way} limit or narrower filters show them"
            ));
        }
        // Before the latest of these something is missing.
        let latest = all.partial.iter().filter_map(|(_, back_to)| *back_to).max();
        let complete_since = latest.map(time);
        if !all.partial.is_empty() {
            let sources = all.partial.iter().map(|(source, back_to)| match back_to {
                Some(back_to) => format!("{source} {}", time(*back_to)),
                None => source.clone(),
            });
            let sources: Vec<_> = sources.collect();
            let way = latest.map(|latest| {
                format!(
                    "; `until` {} goes on, a severity or a unit reaches further at once",
                    time(latest + 1)
                )
            });
            notes.push(format!(
                "not everything was looked at, only back to: {}. `found`, `count` and `first` reach no further{}",
                sources.join(", "),
                way.unwrap_or_default()
            ));
        }
        if lines.is_empty() && all.partial.is_empty() && all.missing.is_empty() {
            notes.push(format!("nothing was found since {}", time(since)));
        } else if lines.is_empty() {
            notes.push("nothing was found in what was looked at".to_owned());
        } else {
            notes.insert(0, log_text::MARK.to_owned());
        }
        if all.is_text {
            notes.push("severity marked `~` is approximate, guessed from the words: this PVE gives its journal as text without levels".to_owned());
        }
        let (found, shown) = (all.total, lines.len());
        Self { found, shown, complete_since, lines, not_available: all.missing, notes }
    }
}

impl Hits {
    /// How the token gets what it lacks: of several, what is the same on all paths is said once.
    fn way_in(&mut self) -> Option<String> {
        self.advice.sort_unstable();
        self.advice.dedup();
        let n_more = self.advice.len().saturating_sub(1);
        let first = self.advice.first()?;
        Some(if n_more == 0 { first.clone() } else { format!("{first}; the others likewise") })
    }

    /// Proxmox VE leaves out what others did without a word.
    fn say_what_is_hidden(&mut self, rights: &Rights, nodes: &[&str], wants_cluster: bool) {
        if wants_cluster && rights.lacks("Sys.Syslog", "/") {
            self.notes.push("the cluster log is restricted: without Sys.Syslog on / this token sees only its own entries".to_owned());
        }
        if !nodes.is_empty() {
            self.notes.push(format!(
                "of {} only this token's own tasks are seen: it lacks Sys.Audit there",
                nodes.join(", ")
            ));
        }
        if rights.are_unknown() {
            self.notes.push(
                "the token's privileges could not be read: what others did may be missing"
                    .to_owned(),
            );
        }
    }
}

fn row(call: &Call, folded: &Folded<Hit>) -> [Cell; 6] {
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
