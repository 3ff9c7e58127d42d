//! Reads a node's journal from its end backwards, until there is enough.
//!
//! New versions filter by severity and unit themselves; what they do not filter, and everything on older
//! versions, is filtered here. **Never more than a batch is in memory**, and never the oldest entries
//! are taken for the newest.

mod batch;

use pve_client::{
    Error, NodeName, Reader, UnreadableWhy,
    journal::{self, Ask, End, Entry, Filter, Journal},
};

use self::batch::{Batch, Raw};
use super::{
    pattern::{Pattern, Traces},
    place::{Before, Place},
};
use crate::answer::{
    cost,
    log_text::{self, Severity},
};

/// How many entries one request asks for, where they are filtered here: few at first.
const BATCHES: [u32; 3] = [1000, 3000, 5000];
/// How many bytes of messages are asked for at once, as far as that can be foreseen.
const BURDEN: usize = 2 << 20;
/// How far the time of an entry may lie before that of the next one of the same run of the machine, in
/// microseconds. Beyond that the clock was set in between.
const FAR: i64 = 86_400_000_000;

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The earliest time, in microseconds since 1970.
    pub since: Option<i64>,
    /// The time before which entries were written, in seconds since 1970.
    pub until: Option<i64>,
    /// The least severe that counts.
    pub severity: Option<Severity>,
    /// A systemd unit, or the name under which something logs; `kernel` is the kernel.
    pub unit: Option<String>,
    /// A text.
    pub pattern: Option<Pattern>,
    /// A guest.
    pub traces: Option<Traces>,
    /// How many entries are enough.
    pub limit: usize,
    /// How many tokens are enough.
    pub tokens: usize,
    /// How many entries are looked at, at most.
    pub most: u32,
    /// Where an earlier answer ended.
    pub before: Option<Before>,
    /// The time of the newest entry that was seen before, in microseconds since 1970.
    pub after: Option<i64>,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// When, in microseconds since 1970.
    pub time: Option<i64>,
    /// Who: `pvestatd[224]`.
    pub from: String,
    /// How severe.
    pub level: u8,
    /// Whether that is a guess.
    pub is_guessed: bool,
    /// What, fit to be shown.
    pub message: String,
}

impl Found {
    /// What it costs as a row, with its time.
    fn cost(&self) -> usize {
        cost::of_text(&self.from) + cost::of_text(&self.message) + 34
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Read {
    /// The entries, the oldest first.
    pub found: Vec<Found>,
    /// Where what is older begins, if there is more.
    pub older: Option<Place>,
    /// The time of the newest entry of all that were looked at, in microseconds since 1970.
    pub newest: Option<i64>,
    /// The time of the oldest of them.
    pub oldest: Option<i64>,
    /// How many entries were looked at.
    pub looked_at: u32,
    /// Whether the search was given up before it was done.
    pub gave_up: bool,
    /// Whether this version gave its journal as text.
    pub is_text: bool,
    /// Whether an entry was too large to be read, and what is older was not looked at.
    pub is_too_large: bool,
    /// The time of an entry before which the clock was wrong, so that what is older than it may be newer
    /// than `since`; in microseconds since 1970.
    pub clock_set_after: Option<i64>,
    /// Why what is older could not be read.
    pub broken: Option<Error>,
}

/// How the node gives its journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Structured,
    Text,
}

/// Reads what is looked for.
pub async fn read(pve: &Reader, node: &NodeName, query: &Query) -> Result<Read, Error> {
    let read = Read::default();
    let mut reading = Reading { pve, node, query, form: Form::Structured, at_most: 5000, read };
    reading.run().await?;
    reading.read.found.reverse();
    Ok(reading.read)
}

/// The time of the newest entry of all, in microseconds since 1970, where it can be read.
pub async fn newest(pve: &Reader, node: &NodeName) -> Option<i64> {
    let query = Query { limit: 1, tokens: usize::MAX, most: 1, ..Query::default() };
    read(pve, node, &query).await.ok()?.newest
}

struct Reading<'a> {
    pve: &'a Reader,
    node: &'a NodeName,
    query: &'a Query,
    form: Form,
    /// How many entries are asked for at once, where they are so large that fewer are.
    at_most: u32,
    read: Read,
}

impl Reading<'_> {
    async fn run(&mut self) -> Result<(), Error> {
        let query = self.query;
        let (mut end, mut skip) = match (&query.before, query.until) {
            (Some(before), _) => (End::Before(before.cursor.clone()), before.skip),
            (None, Some(until)) => (End::Until(until), 0),
            (None, None) => (End::Now, 0),
        };
        for nth in 0.. {
            let wanted = self.batch(nth).saturating_add(skip);
            let (journal, wanted) = match self.ask(wanted, &end).await {
                Ok(Some(answer)) => answer,
                Ok(None) => return Ok(()),
                Err(error) => {
                    let End::Before(cursor) = end else { return Err(error) };
                    if nth == 0 {
                        return Err(error);
                    }
                    // What was read so far is right, and says how to go on.
                    self.older(Before { cursor, skip, after: None });
                    self.read.broken = Some(error);
                    return Ok(());
                }
            };
            let batch = Batch::of(journal, &end);
            let is_beginning = batch.n_entries < wanted;
            let (first, n_entries) = (batch.first.clone(), batch.n_entries);
            let Some(is_past) = self.take(batch, skip, is_beginning) else { return Ok(()) };
            self.read.looked_at =
                self.read.looked_at.saturating_add(n_entries.saturating_sub(skip));
            let Some(first) = first.filter(|_| !is_beginning && n_entries > 0) else {
                return Ok(());
            };
            if is_past {
                if self.read.clock_set_after.is_some() {
                    self.older(Before::entry(first));
                }
                return Ok(());
            }
            if self.read.looked_at >= query.most {
                self.older(Before::entry(first));
                self.read.gave_up = true;
                return Ok(());
            }
            (end, skip) = (End::Before(first), skip.saturating_sub(n_entries));
        }
        Ok(())
    }

    /// Takes what fits of a batch, without the newest that were shown already. `None` where that is
    /// enough, else whether its oldest entry is older than what is looked for.
    ///
    /// The whole batch is gone through: a machine whose clock was wrong has old entries among new ones.
    fn take(&mut self, batch: Batch, skip: u32, is_beginning: bool) -> Option<bool> {
        let query = self.query;
        let Batch { mut rows, n_entries, first, end, included } = batch;
        self.read.newest = self.read.newest.or_else(|| rows.last().and_then(|row| row.time));
        let mut tokens: usize = self.read.found.iter().map(Found::cost).sum();
        // How many entries, from the newest on, need not be looked at again.
        let mut done = 0u32;
        let mut is_past = false;
        let mut newer: Option<i64> = None;
        while let Some(row) = rows.pop() {
            done += u32::from(!row.is_boot);
            if done <= skip {
                continue;
            }
            let before = std::mem::replace(&mut newer, row.time.filter(|_| !row.is_boot));
            self.read.oldest = row.time.or(self.read.oldest);
            if self.is_too_old(&row) {
                let is_set = before.zip(row.time).is_some_and(|(newer, time)| newer - time > FAR);
                if is_set && !is_past && !self.is_filtered_there() {
                    self.read.clock_set_after = row.time;
                }
                is_past = true;
                continue;
            }
            is_past = false;
            let Some(found) = self.fitting(row) else { continue };
            tokens += found.cost();
            self.read.found.push(found);
            if self.read.found.len() < query.limit && tokens < query.tokens {
                continue;
            }
            // That the machine started again is told where its first entry is.
            if let Some(boot) = rows.pop_if(|row| row.is_boot) {
                self.read.found.extend(self.fitting(boot));
            }
            self.read.looked_at = self.read.looked_at.saturating_add(done.saturating_sub(skip));
            let is_more = rows.iter().any(|row| !self.is_too_old(row));
            let older = match (end, first) {
                (Some(cursor), _) if done < n_entries && is_more => {
                    Some(Before { cursor, skip: done.saturating_sub(included), after: None })
                }
                (_, Some(first)) if done >= n_entries && !is_beginning => {
                    Some(Before::entry(first))
                }
                _ => None,
            };
            if let Some(older) = older {
                self.older(older);
            }
            return None;
        }
        Some(is_past)
    }

    /// What is older begins there, and ends where the caller was before.
    fn older(&mut self, before: Before) {
        self.read.older = Some(Place::Before(Before { after: self.query.after, ..before }));
    }

    /// Whether an entry is older than what is looked for.
    fn is_too_old(&self, row: &Raw) -> bool {
        let Some(time) = row.time else { return false };
        let was_seen = self.query.after.is_some_and(|after| match row.level {
            // Text has whole seconds, so that others of that second may be new.
            None => time < after.div_euclid(1_000_000) * 1_000_000,
            Some(_) => time <= after,
        });
        was_seen || self.query.since.is_some_and(|since| time < since)
    }

    /// Whether the node leaves entries out by itself, so that gaps between them say nothing.
    fn is_filtered_there(&self) -> bool {
        !self.read.is_text && (self.query.severity.is_some() || self.query.unit.is_some())
    }

    /// How many entries to ask for.
    fn batch(&self, nth: usize) -> u32 {
        let query = self.query;
        let needs_more = query.pattern.is_some()
            || query.traces.is_some()
            || (self.form == Form::Text && (query.severity.is_some() || query.unit.is_some()));
        let batch = if needs_more || query.limit > 1000 {
            BATCHES.get(nth).copied().unwrap_or(5000)
        } else {
            // One more, to know whether there is more, and whether the machine started again in between.
            u32::try_from(query.limit.saturating_add(1)).unwrap_or(5000).clamp(1, 5000)
        };
        let left = query.most.saturating_sub(self.read.looked_at).max(1);
        batch.min(self.at_most).min(left)
    }

    /// One batch, in the best form that the node has. A batch that is too large is made smaller; `None`
    /// where even one entry is too large.
    async fn ask(&mut self, mut last: u32, end: &End) -> Result<Option<(Journal, u32)>, Error> {
        loop {
            let unit = self.query.unit.as_deref().map(|unit| unit.trim().to_owned());
            let kernel = unit.as_deref() == Some("kernel");
            let filter = Filter {
                priority: self.query.severity.map(Severity::level),
                unit: unit.filter(|_| !kernel),
                kernel,
            };
            let ask = Ask { last, end: end.clone(), filter };
            let request = match self.form {
                Form::Structured => journal::structured(self.node, &ask),
                Form::Text => journal::text(self.node, &ask),
            };
            match self.pve.get(request).await {
                Ok(journal) => {
                    // A server that ignores what it does not know gives text all the same.
                    self.read.is_text =
                        journal.entries.iter().any(|entry| matches!(entry, Entry::Line(_)));
                    self.at_most = at_most(&journal, self.at_most);
                    return Ok(Some((journal, last)));
                }
                Err(error) if self.form == Form::Structured && is_not_known(&error) => {
                    self.form = Form::Text;
                    // What was to be filtered there is filtered here, so there has to be more of it.
                    last = last.max(self.batch(0));
                }
                Err(Error::TooLarge { .. }) if last > 1 => {
                    last = (last / 8).max(1);
                    self.at_most = last;
                }
                Err(Error::TooLarge { .. }) => {
                    self.read.is_too_large = true;
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The entry as it is shown, if it is what is looked for.
    fn fitting(&self, row: Raw) -> Option<Found> {
        let query = self.query;
        let (level, is_guessed) = match row.level {
            Some(level) => (level, false),
            None => (log_text::guessed(&row.text), true),
        };
        // What the server has filtered is not filtered again: a unit is not the name in the line.
        if is_guessed && !row.is_boot {
            let unit = query.unit.as_deref().map(|unit| unit.trim().trim_end_matches(".service"));
            let is_from = |unit: &str| row.identifier.eq_ignore_ascii_case(unit);
            if query.severity.is_some_and(|severity| level > severity.level())
                || unit.is_some_and(|unit| !is_from(unit))
            {
                return None;
            }
        }
        let is_filtered = query.pattern.is_some()
            || query.traces.is_some()
            || query.severity.is_some()
            || query.unit.is_some();
        if row.is_boot && is_filtered {
            return None;
        }
        let whole = format!("{}: {}", row.from, row.text);
        let fits = query.pattern.as_ref().is_none_or(|pattern| pattern.fits(&whole))
            && query
                .traces
                .as_ref()
                .is_none_or(|traces| traces.fits(&row.text) || traces.fits(&row.identifier));
        fits.then(|| Found {
            time: row.time,
            from: log_text::line(&row.from, row.from.len()),
            level,
            is_guessed,
            message: log_text::line(&row.text, row.length),
        })
    }
}

/// How many entries to ask for next, after this answer: so many that they are no burden.
fn at_most(journal: &Journal, before: u32) -> u32 {
    let length = |entry: &Entry| match entry {
        Entry::Line(line) => line.length,
        Entry::Record(record) => record.message.length,
        Entry::Reboot(_) => 0,
    };
    let n_bytes: usize = journal.entries.iter().map(length).sum();
    let mean = (n_bytes / journal.entries.len().max(1)).max(1);
    let most = u32::try_from(BURDEN / mean).unwrap_or(5000).clamp(50, 5000);
    most.min(before.saturating_mul(4))
}

/// Whether the node does not know the form of objects. What it knows and refuses is another matter: the
/// name of a unit, for one.
fn is_not_known(error: &Error) -> bool {
    match error {
        Error::Refused(refusal) => {
            let is_new = |name: &str| matches!(name, "structured" | "priority" | "unit" | "kernel");
            refusal.errors.iter().any(|(name, text)| {
                is_new(name) && (name == "structured" || text.contains("not defined in schema"))
            })
        }
        // Proxmox VE knows it, and the program behind it that reads the journal does not.
        Error::Unreadable { why: UnreadableWhy::Empty, .. } => true,
        _ => false,
    }
}
