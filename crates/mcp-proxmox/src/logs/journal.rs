//! Reads a node's journal from its end backwards, until there is enough.
//!
//! New versions filter by severity and unit themselves; what they do not filter, and everything on older
//! versions, is filtered here. **Never more than a batch is in memory**, and never the oldest entries
//! are taken for the newest.

use jiff::Timestamp;
use pve_client::{
    Error, NodeName, Reader, RefusalKind, UnreadableWhy,
    journal::{self, Ask, Cursor, End, Entry, Filter, Journal},
};

use super::{
    pattern::{Pattern, Traces},
    place::Place,
    stamp::{Clock, Stamp},
};
use crate::answer::log_text::{self, Severity};

/// How many entries one request asks for, where they are filtered here: few at first.
const BATCHES: [u32; 3] = [1000, 3000, 5000];

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
    /// How many characters are enough.
    pub characters: usize,
    /// How many entries are looked at, at most.
    pub most: u32,
    /// Where an earlier answer ended.
    pub before: Option<(Cursor, u32)>,
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

/// What was found.
#[derive(Debug, Default)]
pub struct Read {
    /// The entries, the oldest first.
    pub found: Vec<Found>,
    /// Where what is older begins, if there is more.
    pub older: Option<Place>,
    /// The time of the newest entry of all that were looked at, in microseconds since 1970.
    pub newest: Option<i64>,
    /// How many entries were looked at.
    pub looked_at: u32,
    /// Whether the search was given up before it was done.
    pub gave_up: bool,
    /// Whether this version gave its journal as text.
    pub is_text: bool,
    /// Whether an entry was too large to be read.
    pub is_too_large: bool,
}

/// An entry as it came.
struct Raw {
    time: Option<i64>,
    identifier: String,
    from: String,
    level: Option<u8>,
    text: String,
    length: usize,
    is_boot: bool,
}

/// How the node gives its journal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Structured,
    Text,
}

/// Reads what is looked for.
pub async fn read(pve: &Reader, node: &NodeName, query: &Query) -> Result<Read, Error> {
    let mut reading = Reading { pve, node, query, form: Form::Structured, read: Read::default() };
    reading.run().await?;
    reading.read.found.reverse();
    Ok(reading.read)
}

struct Reading<'a> {
    pve: &'a Reader,
    node: &'a NodeName,
    query: &'a Query,
    form: Form,
    read: Read,
}

impl Reading<'_> {
    async fn run(&mut self) -> Result<(), Error> {
        let query = self.query;
        let (mut end, mut skip) = match (&query.before, query.until) {
            (Some((cursor, skip)), _) => (End::Before(cursor.clone()), *skip),
            (None, Some(until)) => (End::Until(until), 0),
            (None, None) => (End::Now, 0),
        };
        let mut characters = 0;
        for nth in 0.. {
            let wanted = self.batch(nth).saturating_add(skip);
            let Some((journal, wanted)) = self.ask(wanted, &end).await? else { return Ok(()) };
            let anchor = anchor(&journal, &end);
            let first = journal.first.clone();
            let n_entries = journal.entries.iter().filter(|entry| **entry != Entry::Reboot).count();
            let rows = raw(journal, &anchor);
            self.read.newest = self.read.newest.or_else(|| rows.last().and_then(|row| row.time));
            // How many entries, from the newest on, need not be looked at again.
            let mut done = 0u32;
            for row in rows.into_iter().rev() {
                done += u32::from(!row.is_boot);
                if done <= skip {
                    continue;
                }
                if row.time.zip(query.since).is_some_and(|(time, since)| time < since) {
                    return Ok(());
                }
                let Some(found) = self.fitting(row) else { continue };
                characters += found.message.chars().count() + 60;
                self.read.found.push(found);
                let is_enough =
                    self.read.found.len() >= query.limit || characters >= query.characters;
                if is_enough {
                    self.read.older = match (&anchor.end, usize::try_from(done)) {
                        (_, Ok(done)) if done >= n_entries => first
                            .filter(|_| n_entries >= usize::try_from(wanted).unwrap_or(0))
                            .map(|first| Place::Before(first, 0)),
                        (Some(end), _) => Some(Place::Before(end.clone(), done - anchor.included)),
                        (None, _) => None,
                    };
                    return Ok(());
                }
            }
            self.read.looked_at = self.read.looked_at.saturating_add(done.saturating_sub(skip));
            let is_beginning = n_entries < usize::try_from(wanted).unwrap_or(0);
            let Some(first) = first.filter(|_| !is_beginning) else { return Ok(()) };
            if self.read.looked_at >= query.most {
                self.read.older = Some(Place::Before(first, 0));
                self.read.gave_up = true;
                return Ok(());
            }
            (end, skip) = (End::Before(first), 0);
        }
        Ok(())
    }

    /// How many entries to ask for.
    fn batch(&self, nth: usize) -> u32 {
        let query = self.query;
        let needs_more = query.pattern.is_some()
            || query.traces.is_some()
            || (self.form == Form::Text && (query.severity.is_some() || query.unit.is_some()));
        if needs_more {
            BATCHES.get(nth).copied().unwrap_or(5000).min(query.most.max(1))
        } else {
            u32::try_from(query.limit).unwrap_or(1000).clamp(1, 5000)
        }
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
                    return Ok(Some((journal, last)));
                }
                Err(error) if self.form == Form::Structured && is_not_known(&error) => {
                    self.form = Form::Text;
                    // What was to be filtered there is filtered here, so there has to be more of it.
                    last = last.max(self.batch(0));
                }
                Err(Error::TooLarge { .. }) if last > 1 => last = (last / 8).max(1),
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

/// Whether the node does not know the form of objects.
fn is_not_known(error: &Error) -> bool {
    match error {
        Error::Refused(refusal) => refusal.kind() == RefusalKind::BadParameters,
        // Proxmox VE knows it, and the program behind it that reads the journal does not.
        Error::Unreadable { why: UnreadableWhy::Empty, .. } => true,
        _ => false,
    }
}

/// What the ends of a batch tell.
struct Anchor {
    /// The time of the first entry, in seconds.
    first: Option<i64>,
    /// The time of the last entry, in seconds.
    last: Option<i64>,
    /// An entry from which the batch can be asked for again.
    end: Option<Cursor>,
    /// Whether that entry is one of the batch.
    included: u32,
}

fn anchor(journal: &Journal, end: &End) -> Anchor {
    let seconds = |cursor: &Option<Cursor>| Some(cursor.as_ref()?.time()? / 1_000_000);
    let first = seconds(&journal.first);
    let stopped_at = journal.last.as_ref().and_then(Cursor::time);
    match end {
        End::Before(cursor) => Anchor { first, last: None, end: Some(cursor.clone()), included: 0 },
        // The reader stopped at the first entry that is too late, if there is one.
        End::Until(until) if stopped_at.is_some_and(|time| time / 1_000_000 >= *until) => {
            Anchor { first, last: None, end: journal.last.clone(), included: 0 }
        }
        _ => Anchor { first, last: seconds(&journal.last), end: journal.last.clone(), included: 1 },
    }
}

/// The entries with their times, the oldest first.
fn raw(journal: Journal, anchor: &Anchor) -> Vec<Raw> {
    let stamp = |entry: &Entry| match entry {
        Entry::Line(line) => Stamp::read(&line.text).map(|(stamp, _)| stamp),
        _ => None,
    };
    let first = journal.entries.first().and_then(stamp).map(|stamp| (stamp, anchor.first));
    let last = journal.entries.last().and_then(stamp).map(|stamp| (stamp, anchor.last));
    let some = journal.entries.iter().find_map(stamp).map(|stamp| (stamp, None));
    let now = Timestamp::now().as_second();
    let mut clock = some.map(|some| Clock::new(first.unwrap_or(some), last.unwrap_or(some), now));
    let rows = journal.entries.into_iter().map(|entry| match entry {
        Entry::Reboot => Raw {
            time: None,
            identifier: String::new(),
            from: String::new(),
            level: Some(6),
            text: "-- the node started again --".to_owned(),
            length: 0,
            is_boot: true,
        },
        Entry::Record(record) => {
            let identifier = record.identifier.unwrap_or_default();
            let pid = record.pid.map(|pid| format!("[{pid}]")).unwrap_or_default();
            Raw {
                time: record.time,
                from: format!("{identifier}{pid}"),
                identifier,
                level: Some(record.priority),
                length: record.message.length,
                text: record.message.text,
                is_boot: false,
            }
        }
        Entry::Line(line) => {
            let read = Stamp::read(&line.text);
            let time = read.and_then(|(stamp, _)| clock.as_mut()?.time(stamp));
            let rest = read.map_or(line.text.as_str(), |(_, rest)| rest);
            // The name of the host says nothing: one node was asked.
            let rest = rest.split_once(' ').map_or(rest, |(_, rest)| rest);
            let (from, text) = rest.split_once(": ").unwrap_or(("", rest));
            let identifier = from.split('[').next().unwrap_or_default();
            Raw {
                time: time.map(|seconds| seconds * 1_000_000),
                identifier: identifier.to_owned(),
                from: from.to_owned(),
                level: None,
                length: line.length.saturating_sub(line.text.len()) + text.len(),
                text: text.to_owned(),
                is_boot: false,
            }
        }
    });
    rows.collect()
}
