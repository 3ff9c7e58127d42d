//! What a tool says when it could not do its work.
//!
//! **A failure is an answer**, not a protocol error: clients hide protocol errors from the model, which
//! then cannot correct itself. It says what was asked, what happened, and what to do next, in under a
//! hundred words, and never a type name, a secret, a body or a bare code.

mod pve;
mod spoken;
mod tls;

pub use pve::{SILENT, is_silence};
pub use spoken::to_person;

use std::fmt;

use crate::rights::grant;

/// A failure as people and models read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    what: String,
    hint: Option<String>,
    is_missing: bool,
    is_refused: bool,
}

impl Failure {
    /// A failure with nothing to suggest yet.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None, is_missing: false, is_refused: false }
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

    /// Says that a write was refused for what its user decided, or did not allow the token.
    #[must_use]
    pub fn refused(self) -> Self {
        Self { is_refused: true, ..self }
    }

    /// Whether a write was refused for that.
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// What can be done about it.
    pub fn advice(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The same with the name of the token that it speaks of, where it says how that gets a privilege.
    #[must_use]
    pub fn for_token(self, token: &str) -> Self {
        Self { hint: self.hint.map(|hint| grant::for_token(&hint, token)), ..self }
    }

    /// The same for the person at a shell, who is the user that agents are told of.
    #[must_use]
    pub fn for_person(self) -> Self {
        let what = spoken::consent_to_person(&self.what);
        Self { what, hint: self.hint.map(|hint| to_person(&hint)), ..self }
    }

    /// The same for whoever reads it from `check`: hints end with a word on that command, where they have one,
    /// and it would send them where they are.
    #[must_use]
    pub fn within_check(self) -> Self {
        let mut this = self.for_person();
        this.leave_out_check();
        this
    }

    fn leave_out_check(&mut self) {
        let before = self.hint.as_deref().and_then(|hint| hint.split_once("`mcp-proxmox check`"));
        if let Some((before, _)) = before {
            self.hint = Some(before.trim_end_matches([' ', ';', ':']).to_owned());
        }
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
