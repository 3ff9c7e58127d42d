//! Tasks in words: what they do, how they ended, and the lists of them on several nodes.

use std::collections::HashSet;

use pve_client::{
    Error, NodeName, Reader,
    task::{self, Filter, Listed, Source},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::log_text::brief;

/// How a task ended, or that it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Well.
    Ok,
    /// Well, with warnings in its log.
    Warning,
    /// With an error.
    Error,
    /// It has not ended.
    Running,
    /// Nobody knows: its worker was killed.
    Unknown,
}

/// The types of task that a word means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds(Vec<String>);

/// What words mean.
const WORDS: [(&str, &[&str]); 18] = [
    ("backup", &["vzdump"]),
    ("restore", &["qmrestore", "vzrestore"]),
    ("migration", &["qmigrate", "vzmigrate", "hamigrate", "migrateall"]),
    ("start", &["qmstart", "vzstart", "hastart", "startall"]),
    ("stop", &["qmstop", "vzstop", "hastop", "stopall"]),
    ("shutdown", &["qmshutdown", "vzshutdown"]),
    ("reboot", &["qmreboot", "vzreboot"]),
    ("reset", &["qmreset"]),
    ("suspend", &["qmsuspend", "qmpause", "vzsuspend", "suspendall"]),
    ("resume", &["qmresume", "vzresume"]),
    ("snapshot", &["qmsnapshot", "vzsnapshot", "qmdelsnapshot", "vzdelsnapshot"]),
    ("rollback", &["qmrollback", "vzrollback"]),
    ("clone", &["qmclone", "vzclone"]),
    ("create", &["qmcreate", "vzcreate"]),
    ("destroy", &["qmdestroy", "vzdestroy"]),
    ("move", &["qmmove", "move_volume"]),
    ("update", &["aptupdate"]),
    ("console", &CONSOLES),
];

/// Other words for the same.
const SYNONYMS: [(&str, &str); 6] = [
    ("migrate", "migration"),
    ("delete", "destroy"),
    ("remove", "destroy"),
    ("pause", "suspend"),
    ("hibernate", "suspend"),
    ("restart", "reboot"),
];

/// Calls for a console, which Proxmox VE keeps as tasks. Most of them end as if with an error.
const CONSOLES: [&str; 6] =
    ["vncproxy", "vncshell", "termproxy", "spiceproxy", "spiceshell", "vncviewer"];

impl Outcome {
    /// How a task of a list ended.
    pub fn of(task: &Listed) -> Self {
        if task.is_running() { Self::Running } else { Self::of_exit(task.exit()) }
    }

    /// What an exit status says.
    pub fn of_exit(exit: Option<&str>) -> Self {
        match exit.map(str::trim) {
            Some("OK") => Self::Ok,
            None | Some("" | "unexpected status") => Self::Unknown,
            Some(text) if text.starts_with("WARNINGS: ") => Self::Warning,
            Some(_) => Self::Error,
        }
    }

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Running => "running",
            Self::Unknown => "unknown",
        }
    }

    /// What Proxmox VE can filter by.
    pub fn filter(self) -> Option<task::Outcome> {
        match self {
            Self::Ok => Some(task::Outcome::Ok),
            Self::Warning => Some(task::Outcome::Warning),
            Self::Error => Some(task::Outcome::Error),
            Self::Unknown => Some(task::Outcome::Unknown),
            Self::Running => None,
        }
    }

    /// The outcome with what Proxmox VE says of it.
    pub fn in_words(self, exit: Option<&str>) -> String {
        match (self, exit) {
            (Self::Error, Some(exit)) => format!("error: {}", brief(exit)),
            (Self::Warning, Some(exit)) => {
                format!("warning ({})", brief(exit.trim_start_matches("WARNINGS: ")))
            }
            _ => self.word().to_owned(),
        }
    }
}

impl Kinds {
    /// The types that a word means: one of ours, or Proxmox VE's own name of a type.
    pub fn of(word: &str) -> Self {
        let word = word.trim().to_ascii_lowercase();
        let word = SYNONYMS
            .iter()
            .find(|(other, _)| *other == word)
            .map_or(word.as_str(), |(_, word)| *word);
        match WORDS.iter().find(|(name, _)| *name == word) {
            Some((_, kinds)) => Self(kinds.iter().map(|kind| (*kind).to_owned()).collect()),
            None => Self(vec![word.to_owned()]),
        }
    }

    /// The words that mean a type.
    pub fn words() -> impl Iterator<Item = &'static str> {
        WORDS.iter().map(|(word, _)| *word)
    }

    /// Whether this is a word of ours, or a type that one of them means.
    pub fn are_known(&self) -> bool {
        WORDS.iter().any(|(_, kinds)| kinds.iter().any(|kind| self.has(kind)))
    }

    /// Whether a task is of one of them.
    pub fn has(&self, kind: &str) -> bool {
        self.0.iter().any(|known| known == kind)
    }

    /// The one type, where it is one, which Proxmox VE can filter by.
    pub fn only(&self) -> Option<&str> {
        match self.0.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Whether these are consoles.
    pub fn are_consoles(&self) -> bool {
        self.0.iter().any(|kind| is_console(kind))
    }
}

/// Whether a task is a call for a console.
pub fn is_console(kind: &str) -> bool {
    CONSOLES.contains(&kind)
}

/// A part of a node's list of tasks.
#[derive(Debug, Default)]
pub struct List {
    /// The tasks.
    pub tasks: Vec<Listed>,
    /// Where the list was cut: no task that is missing started, or ended, after this time.
    pub complete_after: Option<i64>,
}

/// The newest tasks of a node, page by page until `is_enough`, or so many pages. Proxmox VE sorts those
/// that ended by their end, and lists those that run first. An error on a later page cuts the list.
pub async fn list(
    pve: &Reader,
    node: &NodeName,
    filter: &Filter,
    pages: usize,
    is_enough: impl Fn(&List) -> bool,
) -> Result<List, Error> {
    let limit = usize::try_from(filter.limit.unwrap_or(50)).unwrap_or(50);
    let mut list = List::default();
    for nth in 0..pages.max(1) {
        let start = u32::try_from(nth * limit).ok().filter(|start| *start > 0);
        let page = task::list(node, &Filter { start, ..filter.clone() });
        let page = match pve.get(page).await {
            Ok(page) => page,
            Err(error) if nth == 0 => return Err(error),
            // What is there so far is right, and says how far it goes.
            Err(_) => return Ok(list),
        };
        let is_cut = page.len() >= limit;
        let last = page.last().and_then(|task| task.endtime.or(task.starttime));
        // Where the cut is among those that run, nothing is known of those that ended.
        let hides_ended =
            filter.source == Source::All && page.last().is_some_and(Listed::is_running);
        let last = if hides_ended { Some(i64::MAX) } else { last };
        list.complete_after = last.filter(|_| is_cut);
        // A task that ended while the pages were read moves the others, so that some come twice.
        let known: HashSet<_> = list.tasks.iter().map(|task| task.upid.clone()).collect();
        let is_new = |task: &Listed| task.upid.is_none() || !known.contains(&task.upid);
        list.tasks.extend(page.into_iter().filter(is_new));
        if list.complete_after.is_none() || is_enough(&list) {
            break;
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_types_are_understood() {
        assert!(Kinds::of("Migrate").has("qmigrate") && Kinds::of("migration").has("vzmigrate"));
        assert_eq!(Kinds::of("backup").only(), Some("vzdump"));
        assert_eq!(Kinds::of("imgcopy").only(), Some("imgcopy"));
        assert!(Kinds::of("vncproxy").are_consoles() && Kinds::of("console").are_consoles());
        assert_eq!(Kinds::of("start").only(), None);
    }

    #[test]
    fn an_end_is_put_into_words() {
        for (exit, wanted, words) in [
            (Some("OK"), Outcome::Ok, "ok"),
            (Some("WARNINGS: 2"), Outcome::Warning, "warning (2)"),
            (Some("job errors"), Outcome::Error, "error: job errors"),
            (Some("unexpected status"), Outcome::Unknown, "unknown"),
            (None, Outcome::Unknown, "unknown"),
        ] {
            assert_eq!(Outcome::of_exit(exit), wanted);
            assert_eq!(wanted.in_words(exit), words);
        }
    }
}
