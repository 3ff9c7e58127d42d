//! `get_system_log`: the journal of one node, the newest entries last.
//!
//! New versions of Proxmox VE tell how severe an entry is and filter by it; of the text that older ones
//! give it is guessed, and marked as a guess.

use pve_client::Observer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{
        Cell, Table,
        clean::quoted,
        cost,
        log_text::{self, Severity},
    },
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    logs::{
        journal::{self, Found, Query, Read},
        limit,
        pattern::{self, Pattern},
        place::Place,
    },
    lookup,
    tier::Reads,
    when,
};

/// How many entries are shown, where nobody says how many.
const SHOWN: usize = 50;
/// How many entries are looked at in one call.
const LOOKED_AT: u32 = 30_000;
/// How long a search may take, in seconds.
const PART_SECONDS: u64 = 30;
/// How many are shown at most.
const MOST: usize = 300;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetSystemLog;

/// Which entries.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its name.
    node: String,
    #[serde(flatten)]
    range: when::Range,
    /// And worse.
    severity: Option<Severity>,
    /// systemd unit, or `kernel`.
    unit: Option<String>,
    /// Text; `a|b`: either.
    pattern: Option<String>,
    /// Entries.
    limit: Option<u32>,
    /// From the last answer.
    cursor: Option<String>,
}

/// The entries, the newest last.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    node: String,
    shown: usize,
    lines: Table,
    #[serde(skip_serializing_if = "Option::is_none")]
    older_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newer_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetSystemLog {
    const NAME: &'static str = "get_system_log";
    const TITLE: &'static str = "System log of a node";
    const DESCRIPTION: &'static str = "A node's system journal, newest last: by time, severity, unit, text; cursors to go back and on. For all logs at once use search_logs.";
    const TOOLSET: Toolset = Toolset::Logs;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let (since, until) = input.range.read(call)?;
        let (node, listed) = lookup::node::find(&pve, &input.node).await?;
        if listed.status.as_deref() == Some("offline") {
            return Err(Failure::new(format!("{node} is offline, and its journal with it")).hint(
                "search_logs with sources tasks and cluster tells what the other nodes know",
            ));
        }
        let place = input.cursor.as_deref().map(|text| place(text, node.as_str())).transpose()?;
        let (limit, limited) = limit::rows(input.limit, SHOWN, MOST);
        let mut query = Query {
            since: since.map(|since| since * 1_000_000),
            until,
            severity: input.severity,
            unit: input.unit.as_deref().map(unit).transpose()?,
            pattern: input.pattern.as_deref().and_then(Pattern::new),
            limit,
            tokens: cost::room(input.limit.is_some()),
            most: LOOKED_AT,
            ..Query::default()
        };
        match place {
            Some(Place::Before(before)) => {
                query.after = before.after;
                query.before = Some(before);
            }
            Some(Place::After(time)) => query.after = Some(time),
            None => {}
        }
        let part = pve.until(call.part(PART_SECONDS));
        let asked = format!("read the journal of {node}");
        let mut read = journal::read(&part, &node, &query)
            .await
            .map_err(|error| Failure::from_pve(&asked, &error))?;
        let is_newest = query.before.is_none() && until.is_none();
        if is_newest && read.newest.is_none() && query.after.is_none() {
            // Nothing fits yet. What comes next begins where the journal ends now; what came meanwhile
            // is shown.
            let newest = journal::newest(&part, &node).await;
            read = journal::read(&part, &node, &query)
                .await
                .map_err(|error| Failure::from_pve(&asked, &error))?;
            read.newest = read.newest.or(newest);
        }
        read.newest = read.newest.max(query.after).filter(|_| is_newest);
        let mut output = Output::of(call, node.to_string(), &query, read);
        output.notes.extend(limited);
        if let Some(pattern) = input.pattern.as_deref().filter(|_| output.lines.is_empty()) {
            output.notes.extend(pattern::hint(pattern));
        }
        Ok(output)
    }
}

/// The place that a cursor names, which begins with its node: elsewhere it would mean nothing.
fn place(text: &str, node: &str) -> Result<Place, Failure> {
    let (of, text) = text.trim().split_once('/').unwrap_or((node, text));
    if of != node {
        let what = format!("the `cursor` is of node {}, not of {node}", quoted(of));
        return Err(Failure::new(what)
            .hint("give it back with the node that it came from, or leave it out"));
    }
    text.parse().map_err(|()| {
        Failure::new("the `cursor` is not one of this tool's")
            .hint("give back `older_cursor` or `newer_cursor` as it was, or leave it out")
    })
}

/// The name of a unit as Proxmox VE takes it.
pub(super) fn unit(text: &str) -> Result<String, Failure> {
    let text = text.trim();
    let is_unit = !text.is_empty()
        && text.len() <= 256
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.@:-".contains(&b));
    if is_unit {
        return Ok(text.to_owned());
    }
    Err(Failure::new(format!("`unit`: {} is not the name of a systemd unit", quoted(text)))
        .hint("such as pveproxy, pvedaemon, corosync, ssh, or kernel; `pattern` looks for a text"))
}

impl Output {
    fn of(call: &Call, node: String, query: &Query, read: Read) -> Self {
        let mut notes = Vec::new();
        let mut lines = Table::new(&["time", "severity", "from", "message"]);
        for found in &read.found {
            lines.push(row(call, found));
        }
        if !read.found.is_empty() {
            notes.push(log_text::MARK.to_owned());
        }
        let is_full = read.found.len() < query.limit && read.older.is_some();
        if is_full && !read.gave_up && read.broken.is_none() && !read.is_too_large {
            notes.push(
                "no more of these long lines fit into one answer: older_cursor goes on".to_owned(),
            );
        }
        if read.is_text {
            notes.push("severity marked `~` is approximate: this PVE gives its journal as text without levels, so it is guessed from the words".to_owned());
            if query.unit.is_some() {
                notes.push(
                    "for the same reason `unit` is compared with the name before the colon"
                        .to_owned(),
                );
            }
        }
        if read.gave_up {
            notes.push(format!(
                "{} entries were looked at, then the search stopped: older_cursor goes on, or use since and until",
                read.looked_at
            ));
        }
        if read.is_too_large {
            let before = read.oldest.and_then(|time| call.time(time.div_euclid(1_000_000)));
            let before = before.map(|time| format!(", {time} or earlier")).unwrap_or_default();
            notes.push(format!("one entry is larger than 16 MiB: it and what is older are left out; `until` before it{before} shows what is older"));
        }
        if read.is_text && query.after.is_some() {
            notes.push("this PVE gives whole seconds: entries of the second at which you were are shown again".to_owned());
        }
        if let Some(time) = read.clock_set_after {
            let time = call.time(time.div_euclid(1_000_000)).unwrap_or_default();
            notes.push(format!("the node's clock was wrong when it wrote an entry of {time}: entries before that one may be newer than `since`, older_cursor without `since` shows them"));
        }
        if let Some(error) = &read.broken {
            let failure = Failure::from_pve("read on", error);
            notes.push(format!(
                "what is older is left out, older_cursor goes on: {}",
                failure.what()
            ));
        }
        let is_whole = !read.gave_up && !read.is_too_large && read.broken.is_none();
        if read.found.is_empty() && is_whole {
            let since = query.since.and_then(|since| call.time(since.div_euclid(1_000_000)));
            let since = since.map(|since| format!(" since {since}")).unwrap_or_default();
            notes.push(format!("no entry fits{since}"));
            if let Some(unit) = &query.unit {
                notes.push(format!(
                    "if there is a unit {}, it wrote nothing that fits: get_node_status names services, `pattern` looks for a text",
                    quoted(unit)
                ));
            }
        }
        Self {
            shown: lines.len(),
            older_cursor: read.older.as_ref().map(|place| format!("{node}/{place}")),
            newer_cursor: read.newest.map(|time| format!("{node}/{}", Place::After(time))),
            lines,
            node,
            notes,
        }
    }
}

fn row(call: &Call, found: &Found) -> [Cell; 4] {
    [
        found.time.and_then(|time| call.time(time.div_euclid(1_000_000))).into(),
        log_text::shown(found.level, found.is_guessed).into(),
        Some(found.from.clone()).filter(|from| !from.is_empty()).into(),
        found.message.clone().into(),
    ]
}
