//! What of a task's log is read, and what of that is shown.

use pve_client::{Error, Reader, Upid};

use super::backup::Backups;
use crate::{
    answer::Table,
    logs::{
        pattern::Pattern,
        task_log::{self, Line, Part},
    },
};

/// How many lines one request asks for.
const PAGE: u32 = 5000;
/// How many lines are searched in one call.
const SEARCHED: u64 = 100_000;
/// How many lines at the end are looked through for what tells why.
const ENDING: u32 = 1000;
/// How many lines that tell why are shown.
const TELLING: usize = 12;
/// How many characters of the log are shown.
const CHARACTERS: usize = 24_000;

/// What is asked for.
pub(super) struct Excerpt<'a> {
    pub(super) upid: &'a Upid,
    pub(super) lines: u32,
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
        percent: ending.lines.iter().rev().take(20).find_map(|line| percent(&line.text)),
        notes: Vec::new(),
    };
    if ending.is_missing {
        return Ok(read);
    }
    if wants_why {
        read.telling = telling(&ending.lines);
    }
    if wants_backups {
        read.backups = backups(pve, excerpt.upid, &ending, &mut read.notes).await?;
    }
    if let Some(pattern) = excerpt.pattern {
        search(pve, excerpt, pattern, &ending, &mut read).await?;
    } else {
        range(pve, excerpt, &ending, &mut read).await?;
    }
    Ok(read)
}

fn table() -> Table {
    Table::new(&["line", "text"])
}

fn push(table: &mut Table, line: &Line, characters: &mut usize) -> bool {
    let text = line.shown();
    *characters += text.chars().count();
    if *characters > CHARACTERS {
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
    let count = usize::try_from(excerpt.lines).unwrap_or(20);
    let mut characters = 0;
    let Some(from) = excerpt.from else {
        let last = ending.lines.len().saturating_sub(count);
        let mut first = ending.lines.len();
        // The newest are kept where not all fit.
        for line in ending.lines.iter().skip(last).rev() {
            characters += line.shown().chars().count();
            if characters > CHARACTERS {
                break;
            }
            first -= 1;
        }
        let mut fitting = 0;
        for line in ending.lines.iter().skip(first) {
            push(&mut read.shown, line, &mut fitting);
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
        if !push(&mut read.shown, line, &mut characters) {
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
    let mut characters = 0;
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
            if is_match && n_matches >= wanted {
                read.notes.push(format!("there are more matches: go on with from_line {}", line.n));
                next = u64::MAX;
                break 'log;
            }
            if is_match {
                n_matches += 1;
                after = excerpt.context;
                for earlier in before.drain(..) {
                    push(&mut read.shown, &earlier, &mut characters);
                }
                if !push(&mut read.shown, &line, &mut characters) {
                    read.notes.push(format!("the answer is full: go on with from_line {}", line.n));
                    next = u64::MAX;
                    break 'log;
                }
            } else if after > 0 {
                after -= 1;
                push(&mut read.shown, &line, &mut characters);
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

/// Errors first, then warnings.
fn telling(lines: &[Line]) -> Table {
    let starts = |line: &&Line, words: &[&str]| {
        let text = line.text.trim_start();
        words.iter().any(|word| text.starts_with(word))
    };
    let errors =
        lines.iter().filter(|line| starts(line, &["ERROR", "TASK ERROR", "Error", "error"]));
    let warnings = lines.iter().filter(|line| starts(line, &["WARN", "Warn", "warn"]));
    let mut table = table();
    let mut characters = 0;
    for line in errors.chain(warnings).take(TELLING) {
        push(&mut table, line, &mut characters);
    }
    table
}

/// Each guest of a backup, from the whole log where it is not too long.
async fn backups(
    pve: &Reader,
    upid: &Upid,
    ending: &Part,
    notes: &mut Vec<String>,
) -> Result<Table, Error> {
    let mut backups = Backups::default();
    let seen = ending.lines.first().map_or(1, |line| line.n);
    let mut next = seen.saturating_sub(SEARCHED).max(1);
    if next > 1 {
        notes.push("guests at the beginning of this long log are not in `backups`".to_owned());
    }
    while next < seen {
        let limit = u32::try_from(seen - next).unwrap_or(PAGE).min(PAGE);
        let part = task_log::read(pve, upid, next - 1, limit).await?;
        part.lines.iter().for_each(|line| backups.add(line));
        next = part.lines.last().map_or(next + 1, |line| line.n + 1);
        if part.lines.is_empty() && !part.is_too_large {
            break;
        }
    }
    ending.lines.iter().for_each(|line| backups.add(line));
    let is_over = ending.lines.iter().rev().take(1).any(|line| line.text.starts_with("TASK "));
    Ok(backups.table(!is_over))
}

/// The last percentage of a line: `INFO:  45% (…`, `transferred 1.2 GiB of 32.0 GiB (3.75%)`.
pub(super) fn percent(line: &str) -> Option<f64> {
    let (before, _) = line.rsplit_once('%')?;
    let start = before.rfind(|c: char| !c.is_ascii_digit() && c != '.').map_or(0, |at| at + 1);
    let number: f64 = before.get(start..)?.parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_from_the_line() {
        assert_eq!(percent("INFO:  45% (1.0 GiB of 2.0 GiB) in 3s"), Some(45.0));
        assert_eq!(percent("transferred 1.2 GiB of 32.0 GiB (3.75%) in 10s"), Some(3.75));
        for line in ["INFO: done", "%", "100.5.1%", "250%", "é%"] {
            assert_eq!(percent(line), None, "{line}");
        }
    }
}
