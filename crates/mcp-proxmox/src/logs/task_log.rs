//! Reads parts of a task's log, however long it is.

use pve_client::{Error, Reader, Upid, task_log};

use crate::answer::log_text;

/// The largest part that is read at once, in bytes.
const LIMIT: usize = 16 << 20;

/// A line with its number, from 1 on, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number.
    pub n: u64,
    /// Its text, or the beginning of it.
    pub text: String,
    /// The length of the whole.
    pub length: usize,
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The lines.
    pub lines: Vec<Line>,
    /// How many lines the log has.
    pub total: u64,
    /// Whether there is no log: it was removed, or is on another node.
    pub is_missing: bool,
    /// Whether a line was left out, since it is too large to be read.
    pub is_too_large: bool,
}

impl Line {
    /// The line, fit to be shown.
    pub fn shown(&self) -> String {
        log_text::line(&self.text, self.length)
    }
}

/// At most `limit` lines after the first `start`.
pub async fn read(pve: &Reader, upid: &Upid, start: u64, limit: u32) -> Result<Part, Error> {
    let mut limit = limit.max(1);
    loop {
        match pve.fetch(task_log::log(upid, start, limit).at_most(LIMIT)).await {
            Ok(answer) => return Ok(part(answer.data, answer.total, start)),
            Err(Error::TooLarge { .. }) if limit > 1 => limit = (limit / 8).max(1),
            Err(Error::TooLarge { .. }) => {
                return Ok(Part { total: start + 1, is_too_large: true, ..Part::default() });
            }
            Err(error) => return Err(error),
        }
    }
}

/// The last lines, at most `limit`. Costs one request for a log that is not longer, else two.
pub async fn tail(pve: &Reader, upid: &Upid, limit: u32) -> Result<Part, Error> {
    let head = read(pve, upid, 0, limit).await?;
    if !head.is_too_large && head.lines.last().is_none_or(|line| line.n >= head.total) {
        return Ok(head);
    }
    // Where the first line is too large, the second one tells how many there are.
    let first = u64::from(head.is_too_large);
    let total = if first == 0 { head.total } else { read(pve, upid, 1, 1).await?.total.max(1) };
    let mut limit = limit.max(1);
    loop {
        let start = total.saturating_sub(limit.into()).max(first);
        let mut part = read(pve, upid, start, limit).await?;
        // Fewer than asked for, because they are large: the last ones are wanted.
        let is_end = part.lines.last().is_some_and(|line| line.n >= total);
        if is_end || limit == 1 {
            part.total = part.total.max(total);
            return Ok(part);
        }
        limit = (limit / 8).max(1);
    }
}

fn part(lines: Vec<task_log::Line>, total: Option<u64>, start: u64) -> Part {
    let mut lines: Vec<Line> = (start + 1..)
        .zip(lines)
        .filter_map(|(nth, line)| {
            let text = line.t?;
            Some(Line { n: line.n.unwrap_or(nth), length: text.length, text: text.text })
        })
        .collect();
    log_text::hide_keys(&mut lines, |line| &mut line.text);
    let counted = lines.last().map_or(0, |line| line.n);
    let total = total.unwrap_or(counted).max(counted);
    if let ([only], 1) = (lines.as_slice(), total) {
        // What Proxmox VE writes in place of nothing, and in place of a file that is not there.
        if only.text.trim() == "no content" {
            return Part::default();
        }
        if only.text.starts_with("unable to open file - ") {
            return Part { is_missing: true, ..Part::default() };
        }
    }
    Part { lines, total, is_missing: false, is_too_large: false }
}
