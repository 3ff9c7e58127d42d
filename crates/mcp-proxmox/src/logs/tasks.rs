//! Tasks in words: what they do, how they ended, and the lists of them on several nodes.

use pve_client::{
    Error, NodeName, Reader,
    task::{self, Filter, Listed},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::clean::label;

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
            (Self::Error, Some(exit)) => format!("error: {}", label(exit)),
            (Self::Warning, Some(exit)) => {
                format!("warning ({})", label(exit.trim_start_matches("WARNINGS: ")))
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
#[derive(Debug)]
pub struct List {
    /// The tasks.
    pub tasks: Vec<Listed>,
    /// Where the list was cut: no task that is missing started after this time.
    pub complete_after: Option<i64>,
}

/// The newest tasks of a node. Proxmox VE sorts those that ended by their end, and lists those that run
/// first.
pub async fn list(pve: &Reader, node: &NodeName, filter: &Filter) -> Result<List, Error> {
    let limit = usize::try_from(filter.limit.unwrap_or(50)).unwrap_or(50);
    let tasks = pve.get(task::list(node, filter)).await?;
    let is_cut = tasks.len() >= limit;
    let complete_after = tasks.last().and_then(|task| task.endtime.or(task.starttime));
    Ok(List { complete_after: complete_after.filter(|_| is_cut), tasks })
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
