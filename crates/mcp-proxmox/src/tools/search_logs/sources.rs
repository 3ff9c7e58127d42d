//! The sources of a search, each bounded by itself.

use pve_client::{Error, NodeName, Reader, RefusalKind, cluster_log};

use super::hits::{Hit, Hits};

use crate::{
    answer::log_text::{self, Severity},
    call::Call,
    failure::Failure,
    logs::{
        journal::{self, Query},
        pattern::{Pattern, Traces},
    },
};

/// How many entries of a journal are looked at.
const LOOKED_AT: u32 = 10_000;
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
    /// How many lines can be shown.
    pub(super) limit: usize,
}

impl Hits {
    /// A source that gave nothing.
    pub(super) fn missing(asked: &str, error: &Error) -> Self {
        let mut hits = Self { n_silent: 1, ..Self::default() };
        hits.lack(asked, error);
        hits
    }

    /// Something of a source is missing. What mends that is kept where it is a matter of privileges: of the rest
    /// `list_nodes` tells more.
    pub(super) fn lack(&mut self, asked: &str, error: &Error) {
        let failure = Failure::from_pve(asked, error);
        self.missing.push(failure.what().to_owned());
        let is_forbidden = error
            .refusal()
            .is_some_and(|refusal| matches!(refusal.kind(), RefusalKind::Forbidden { .. }));
        self.advice.extend(failure.advice().filter(|_| is_forbidden).map(ToOwned::to_owned));
    }
}

impl Search<'_> {
    /// For one node, whose time begins when it is asked: nodes that hang leave time for the others.
    pub(super) fn of_node(&self) -> Reader {
        self.pve.until(self.call.part(NODE_SECONDS))
    }

    /// Whether something of this time is looked for, in seconds since 1970.
    pub(super) fn is_in_range(&self, time: i64) -> bool {
        time >= self.since && self.until.is_none_or(|until| time < until)
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
            // All are counted. Few are kept.
            limit: usize::MAX,
            tokens: usize::MAX,
            most: LOOKED_AT,
            ..Query::default()
        };
        let read = match journal::read(&self.of_node(), node, &query).await {
            Ok(read) => read,
            Err(error) => {
                let asked = format!("read the journal of {node}");
                return Hits::missing(&asked, &error);
            }
        };
        let mut hits = Hits { is_text: read.is_text, ..Hits::default() };
        let oldest = read.oldest.map(|time| time.div_euclid(1_000_000));
        if let Some(error) = &read.broken {
            let asked = format!("read on in the journal of {node}");
            hits.lack(&asked, error);
        }
        if read.is_too_large {
            hits.notes.push(format!("an entry in the journal of {node} is larger than 16 MiB: it and what is older are left out"));
        }
        if let Some(time) = read.clock_set_after {
            let time = self.call.time(time.div_euclid(1_000_000)).unwrap_or_default();
            hits.notes.push(format!("the clock of {node} was wrong when it wrote an entry of {time}: get_system_log without `since` shows what is before it"));
        }
        if read.gave_up || read.is_too_large || read.broken.is_some() {
            hits.partial.push((format!("journal of {node}"), oldest));
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
        hits.add(found, self.limit);
        hits
    }

    /// The cluster's log, of the nodes that are wanted.
    pub(super) async fn cluster_log(&self, nodes: &[NodeName], wanted: &[String]) -> Hits {
        let entries = match self.pve.get(cluster_log::entries(ENTRIES)).await {
            Ok(entries) => entries,
            Err(error) => return Hits::missing("read the cluster log", &error),
        };
        let mut hits = Hits::default();
        let mut found = Vec::new();
        let n_entries = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let oldest = entries.iter().filter_map(|entry| entry.time).min();
        if n_entries >= ENTRIES && oldest.is_some_and(|oldest| oldest >= self.since) {
            hits.partial.push(("cluster log".to_owned(), oldest));
        }
        for entry in entries {
            let Some(time) = entry.time else { continue };
            let level = entry.pri.and_then(|pri| u8::try_from(pri).ok()).unwrap_or(6);
            let message = entry.msg.unwrap_or_default();
            let of = entry.node.as_ref();
            let is_wanted = wanted.is_empty() || of.is_some_and(|node| nodes.contains(node));
            let whole = format!("{} {}", entry.user.as_deref().unwrap_or_default(), message.text);
            let fits = self.is_in_range(time)
                && is_wanted
                && self.severity.is_none_or(|severity| level <= severity.level())
                && self.pattern.as_ref().is_none_or(|pattern| pattern.fits(&whole))
                && self.traces.as_ref().is_none_or(|traces| traces.fits(&message.text));
            if fits {
                let node = of.map_or("?", NodeName::as_str);
                found.push(Hit {
                    time,
                    source: format!("cluster log, {node}"),
                    name: entry.tag.unwrap_or_default(),
                    level,
                    is_guessed: false,
                    message: log_text::line(&message.text, message.length),
                });
            }
        }
        hits.add(found, self.limit);
        hits
    }
}
