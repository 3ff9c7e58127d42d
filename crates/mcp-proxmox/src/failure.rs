//! What a tool says when it could not do its work.
//!
//! **A failure is an answer**, not a protocol error: clients hide protocol errors from the model, which
//! then cannot correct itself. It says what was asked, what happened, and what to do next, in under a
//! hundred words, and never a type name, a secret, a body or a bare code.

mod pve;

pub use pve::{SILENT, is_silence};

use std::fmt;

/// A failure as people and models read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    what: String,
    hint: Option<String>,
    is_missing: bool,
}

impl Failure {
    /// A failure with nothing to suggest yet.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, is_missing: false }
    }

    /// A failure of ours.
    pub fn bug(tool: &str) -> Self {
        Self::new(format!("`{tool}` hit a bug in this server; nothing is known about its effect"))
            .hint("read the state before you try again, and report the bug with the server's messages on stderr")
    }

    /// Adds what can be done about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds something else that went wrong.
    #[must_use]
    pub fn besides(mut self, what: &str) -> Self {
        self.what.push_str("; ");
        self.what.push_str(what);
        self
    }

    /// The reason alone of a failure that begins `could not …: `.
    pub fn reason_of(&self, asked: &str) -> &str {
        let rest = self.what.strip_prefix("could not ");
        let rest = rest.and_then(|rest| rest.strip_prefix(asked)?.strip_prefix(": "));
        rest.unwrap_or(&self.what)
    }

    /// Says that what was asked for does not exist, which some callers tell apart.
    #[must_use]
    pub fn missing(self) -> Self {
        Self { is_missing: true, ..self }
    }

    /// Whether what was asked for does not exist.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }

    /// The same for whoever reads it from `check`: hints end with a word on that command, where they have one,
    /// and it would send them where they are.
    #[must_use]
    pub fn within_check(mut self) -> Self {
        let before = self.hint.as_deref().and_then(|hint| hint.split_once("`mcp-proxmox check`"));
        if let Some((before, _)) = before {
            self.hint = Some(before.trim_end_matches([' ', ';', ':']).to_owned());
        }
        self
    }

    /// What happened, without the advice.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "\n\nhint: {hint}"),
            None => Ok(()),
        }
    }
}
