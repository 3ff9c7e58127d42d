//! What of a task's log is read, and what of that is shown.

use pve_client::{Error, Reader, Upid};

use super::percent;
use crate::{
    answer::{
        Table,
        cost::{self, Room},
    },
    failure::Failure,
    logs::{
        backup::Backups,
        pattern::Pattern,
        task_log::{self, Line, Part},
    },
};

/// How many lines one request asks for.
const PAGE: u32 = 5000;
/// How many lines are searched in one call.
const SEARCHED: u64 = 100_000;
/// How many lines at the end are read in any case.
const ENDING: u32 = 1000;
/// How many lines before those are looked through for what tells why.
const WHY: u64 = 20_000;
/// How many lines that tell why are shown.
const TELLING: usize = 12;
/// What the task itself costs.
const BESIDE: usize = 800;
/// How many tokens the lines that tell why may cost, and the guests of a backup as many.
const TOLD_TOKENS: usize = 2_300;

/// What is asked for.
pub(super) struct Excerpt<'a> {
    pub(super) upid: &'a Upid,
    pub(super) lines: u32,
    /// How many lines are enough where others tell why, and nobody says how many.
    pub(super) enough: Option<u32>,
    pub(super) from: Option<u64>,
    pub(super) pattern: Option<&'a Pattern>,
    pub(super) context: u64,
}

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) total: u64,
    pub(super) is_missing: bool,
    pub(super) shown: Table,
    pub(super) telling: Table,
    pub(super) backups: Table,
    pub(super) percent: Option<f64>,
    pub(super) notes: Vec<String>,
}

/// Reads the end of the log first, then what else was asked for.
pub(super) async fn read(
    pve: &Reader,
    excerpt: &Excerpt<'_>,
    is_running: bool,
    wants_why: bool,
    wants_backups: bool,
) -> Result<Read, Error> {
    let ending = task_log::tail(pve, excerpt.upid, ENDING.max(excerpt.lines)).await?;
    let mut read = Read {
        total: ending.total,
        is_missing: ending.is_missing,
        shown: table(),
        telling: table(),
        backups: Table::default(),
        percent: None,
        notes: Vec::new(),
    };
    if ending.is_missing {
        return Ok(read);
    }
    if is_running {
        let last = ending.lines.len().saturating_sub(50);
        read.percent =
            percent::latest(ending.lines.iter().skip(last).map(|line| line.text.as_str()));
    }
    if wants_why || wants_backups {
        let mut said = Said { wants_why, wants_backups, ..Said::default() };
        said.look_through(pve, excerpt.upid, &ending, &mut read.notes).await;
        read.telling = said.telling(&mut read.notes);
        let (backups, unlisted) = said.backups.table(is_running, TOLD_TOKENS);
        read.backups = backups;
        read.notes.extend(unlisted);
        if read.percent.is_some() && read.backups.len() > 1 {
            read.notes.push("progress_percent is that of the guest whose backup runs".to_owned());
        }
    }
    if let Some(pattern) = excerpt.pattern {
        search(pve, excerpt, pattern, &ending, &mut read).await?;
    } else {
        range(pve, excerpt, &ending, &mut read).await?;
    }
    Ok(read)
}

impl Excerpt<'_> {
    /// What is left for the log beside what else is told.
    fn room(&self, read: &Read) -> Room {
        let told = usize::from(!read.telling.is_empty()) + usize::from(!read.backups.is_empty());
        let all = cost::room(self.enough.is_none());
        Room::of(all.saturating_sub(BESIDE + told * TOLD_TOKENS))
    }
}

/// What a line costs, as a row.
fn cost_of(text: &str) -> usize {
    cost::of_text(text) + 8
}

fn table() -> Table {
    Table::new(&["line", "text"])
}

fn push(table: &mut Table, line: &Line, room: &mut Room) -> bool {
    let text = line.shown();
    if !room.takes(cost_of(&text)) {
        return false;
    }
    table.push([line.n.into(), text.into()]);
    true
}

/// The lines of a range, or the last ones.
async fn range(
    pve: &Reader,
    excerpt: &Excerpt<'_>,
    ending: &Part,
    read: &mut Read,
) -> Result<(), Error> {
    let enough = excerpt.enough.filter(|_| !read.telling.is_empty());
    let count = usize::try_from(enough.unwrap_or(excerpt.lines)).unwrap_or(20);
    let mut room = excerpt.room(read);
    let Some(from) = excerpt.from else {
        let last = ending.lines.len().saturating_sub(count);
        let mut first = ending.lines.len();
        // The newest are kept where not all fit.
        for line in ending.lines.iter().skip(last).rev() {
            if !room.takes(cost_of(&line.shown())) {
                break;
            }
            first -= 1;
        }
        for line in ending.lines.iter().skip(first) {
            read.shown.push([line.n.into(), line.shown().into()]);
        }
        if let Some(first) = ending.lines.get(first).filter(|line| line.n > 1) {
            let before = first.n - 1;
            read.notes.push(format!(
                "lines 1 to {before} of {} are not shown: `from_line` or `pattern` reads them",
                ending.total
            ));
        }
        return Ok(());
    };
    let part = task_log::read(pve, excerpt.upid, from - 1, excerpt.lines).await?;
    if part.is_too_large {
        read.notes.push(format!(
            "line {from} is larger than 16 MiB and was left out: go on with from_line {}",
            from + 1
        ));
    } else if part.lines.is_empty() {
        read.notes.push(format!("the log ends with line {}", part.total.max(ending.total)));
    }
    let mut last = from - 1;
    for line in &part.lines {
        if !push(&mut read.shown, line, &mut room) {
            break;
        }
        last = line.n;
    }
    if last >= from && last < read.total {
        read.notes.push(format!("for more of the {} lines: from_line {}", read.total, last + 1));
    }
    Ok(())
}

/// The lines with a text, from a line on or in the last part of a long log.
async fn search(
    pve: &Reader,
    excerpt: &Excerpt<'_>,
    pattern: &Pattern,
    ending: &Part,
    read: &mut Read,
) -> Result<(), Error> {
    let total = ending.total;
    let first = excerpt.from.unwrap_or_else(|| total.saturating_sub(SEARCHED) + 1).max(1);
    let end = total.min(first.saturating_add(SEARCHED - 1));
    let wanted = usize::try_from(excerpt.lines).unwrap_or(20);
    let mut room = excerpt.room(read);
    let mut before: std::collections::VecDeque<Line> = std::collections::VecDeque::new();
    let mut after = 0;
    let mut n_matches = 0;
    let mut next = first;
    'log: while next <= end {
        let part = task_log::read(pve, excerpt.upid, next - 1, PAGE).await?;
        if part.is_too_large {
            read.notes.push(format!("line {next} is larger than 16 MiB and was not searched"));
            next += 1;
            continue;
        }
        let Some(last) = part.lines.last().map(|line| line.n) else { break };
        for line in part.lines {
            let is_match = pattern.fits(&line.text);
            // Beyond the number of matches, those that stand around the last one are shown as what they
            // are: lines around it.
            if is_match && n_matches >= wanted && after == 0 {
                read.notes.push(format!("there are more matches: go on with from_line {}", line.n));
                next = u64::MAX;
                break 'log;
            }
            if is_match && n_matches < wanted {
                n_matches += 1;
                after = excerpt.context;
                for earlier in before.drain(..) {
                    push(&mut read.shown, &earlier, &mut room);
                }
                if !push(&mut read.shown, &line, &mut room) {
                    read.notes.push(format!("the answer is full: go on with from_line {}", line.n));
                    next = u64::MAX;
                    break 'log;
                }
            } else if after > 0 {
                after -= 1;
                if !push(&mut read.shown, &line, &mut room) {
                    read.notes.push(format!("the answer is full: go on with from_line {}", line.n));
                    next = u64::MAX;
                    break 'log;
                }
            } else if excerpt.context > 0 {
                before.push_back(line);
                if before.len() as u64 > excerpt.context {
                    before.pop_front();
                }
            }
        }
        next = last.max(next) + 1;
    }
    if n_matches == 0 {
        read.notes.push(format!("no line from {first} to {end} has it"));
    }
    if first > 1 && excerpt.from.is_none() {
        read.notes.push(format!(
            "the last {SEARCHED} of {total} lines were searched: from_line 1 searches the first"
        ));
    } else if next != u64::MAX && end < total {
        read.notes
            .push(format!("searched to line {end} of {total}: go on with from_line {}", end + 1));
    }
    Ok(())
}

/// What a whole log says of the reason for its end, and of the guests of a backup.
#[derive(Default)]
struct Said {
    wants_why: bool,
    wants_backups: bool,
    /// The last line, which sums up.
    end: Option<Line>,
    errors: Vec<Line>,
    warnings: Vec<Line>,
    n_errors: usize,
    n_warnings: usize,
    backups: Backups,
}

impl Said {
    /// The log up to its end, or the last part of a long one.
    async fn look_through(
        &mut self,
        pve: &Reader,
        upid: &Upid,
        ending: &Part,
        notes: &mut Vec<String>,
    ) {
        let seen = ending.lines.first().map_or(1, |line| line.n);
        let most = if self.wants_backups { SEARCHED } else { WHY };
        let first = seen.saturating_sub(most).max(1);
        let mut next = first;
        while next < seen {
            let limit = u32::try_from(seen - next).unwrap_or(PAGE).min(PAGE);
            let part = match task_log::read(pve, upid, next - 1, limit).await {
                Ok(part) => part,
                Err(error) => {
                    let failure = Failure::from_pve("read them", &error);
                    notes.push(format!(
                        "lines {next} to {} were not looked through for errors and guests: {}",
                        seen - 1,
                        failure.what()
                    ));
                    break;
                }
            };
            part.lines.iter().for_each(|line| self.add(line));
            if part.is_too_large {
                notes.push(format!("line {next} is larger than 16 MiB and was not looked at"));
            } else if part.lines.is_empty() {
                break;
            }
            next = part.lines.last().map_or(next + 1, |line| line.n + 1);
        }
        ending.lines.iter().for_each(|line| self.add(line));
        if first > 1 {
            let whom = if self.wants_backups { "errors and guests" } else { "errors" };
            notes.push(format!(
                "only lines {first} to {} were looked through for {whom}",
                ending.total
            ));
        }
    }

    fn add(&mut self, line: &Line) {
        if self.wants_backups {
            self.backups.add(&line.text);
        }
        if !self.wants_why {
            return;
        }
        match weight(&line.text) {
            Weight::End => self.end = Some(line.clone()),
            Weight::Error => {
                self.n_errors += 1;
                if self.errors.len() < TELLING {
                    self.errors.push(line.clone());
                }
            }
            Weight::Warning => {
                self.n_warnings += 1;
                if self.warnings.len() < TELLING {
                    self.warnings.push(line.clone());
                }
            }
            Weight::None => {}
        }
    }

    /// Errors first, then warnings. The first errors are the cause of the others.
    fn telling(&self, notes: &mut Vec<String>) -> Table {
        let mut table = table();
        let mut room = Room::of(TOLD_TOKENS);
        let n_others = TELLING - usize::from(self.end.is_some());
        let others = self.errors.iter().chain(&self.warnings).take(n_others);
        // Where there is no other error, the sum is the error.
        let (errors, warnings): (Vec<_>, Vec<_>) =
            others.partition(|line| weight(&line.text) == Weight::Error);
        for line in errors.into_iter().chain(&self.end).chain(warnings) {
            push(&mut table, line, &mut room);
        }
        let n_all = self.n_errors + self.n_warnings + usize::from(self.end.is_some());
        if n_all > table.len() {
            notes.push(format!(
                "{} more lines tell of errors or warnings: pattern `error|warn` shows them",
                n_all - table.len()
            ));
        }
        table
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    None,
    Warning,
    Error,
    End,
}

/// What a line says of the reason. Lines of migrations begin with a time, those of programs that a task
/// runs with `INFO: `.
fn weight(line: &str) -> Weight {
    let text = percent::without_time(line.trim_start());
    let text = text.strip_prefix("INFO: ").unwrap_or(text).trim_start().to_lowercase();
    if text.starts_with("task error") {
        return Weight::End;
    }
    let starts = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if starts(&["error", "fatal", "can't ", "cannot ", "unable to "])
        || has(&[" error: ", " failed: ", " failed - ", "migration aborted"])
    {
        Weight::Error
    } else if starts(&["warn"]) {
        Weight::Warning
    } else {
        Weight::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_tell_why_are_known_whatever_stands_in_front() {
        for (line, wanted) in [
            ("TASK ERROR: migration aborted", Weight::End),
            ("2025-04-15 11:04:06 ERROR: migration aborted (duration 00:00:04)", Weight::Error),
            ("INFO: Error: unable to open", Weight::Error),
            ("command 'ssh x' failed: exit code 255", Weight::Error),
            ("2025-04-15 11:04:06 WARN: no TPM", Weight::Warning),
            ("TASK WARNINGS: 1", Weight::None),
            ("INFO: 0 errors", Weight::None),
            ("INFO: backup mode: snapshot", Weight::None),
        ] {
            assert_eq!(weight(line), wanted, "{line}");
        }
    }
}
