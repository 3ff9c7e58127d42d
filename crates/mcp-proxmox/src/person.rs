//! Asking the person at the client before something is changed.
//!
//! How a person is asked is the protocol's business, and differs between its eras: either the answer comes
//! while the call waits, or the call ends and is made again with the answer. A tool sees neither.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

use crate::failure::Failure;

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// What the answer holds for, such as `stop qemu/104`. An answer to another subject is none.
    pub subject: String,
    /// The question in words.
    pub text: String,
}

/// Who agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// The person at the client, who was asked.
    Person,
    /// The caller, with `confirm: true`, where nobody can be asked.
    Confirm,
    /// The person at the command line, with `--yes`.
    Flag,
    /// Nobody: the user does not want to be asked.
    NotAsked,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The person agreed.
    Yes(Agreed),
    /// The person did not agree, in words: `the user declined`.
    No(String),
    /// The person did not answer, in words: `the user did not answer within 25 s`.
    Unanswered(String),
    /// The question was put; the call is made again when it is answered.
    Later,
    /// The question could not be put, in words: `this client cannot ask`.
    CannotAsk(String),
}

/// Whether somebody agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The person agreed, or the caller vouches for one who cannot be asked from here.
    Given(Agreed),
    /// Nobody agreed. An orderly answer, not a failure.
    Refused(Refusal),
}

/// Why nobody agreed, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The person said no.
    Declined(String),
    /// The person said nothing.
    Unanswered(String),
}

impl Agreed {
    /// What the audit log says.
    pub fn word(self) -> &'static str {
        match self {
            Self::Person => "asked and accepted",
            Self::Confirm => "confirm: true",
            Self::Flag => "--yes",
            Self::NotAsked => "not required",
        }
    }
}

impl Refusal {
    /// The outcome of a call that ended so.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Declined(_) => "declined",
            Self::Unanswered(_) => "unanswered",
        }
    }

    /// What the caller has to know. `undone` says that nothing was done.
    pub fn told(&self, undone: &str) -> String {
        match self {
            Self::Declined(why) => {
                format!("{why}; {undone}{DECLINED}")
            }
            Self::Unanswered(why) => {
                format!("{why}; {undone}{UNANSWERED}")
            }
        }
    }

    /// Why nobody agreed, of what was told of it.
    pub fn why(told: &str) -> Option<&str> {
        let told = [DECLINED, UNANSWERED].iter().find_map(|end| told.strip_suffix(end))?;
        told.rsplit_once("; ").map(|(why, _)| why)
    }
}

/// How it ends that a person said no.
const DECLINED: &str = ". Do not ask again unless the user wants to";
/// How it ends that a person said nothing.
const UNANSWERED: &str = ". That is no refusal: the call may be made again";

type Ask = dyn Fn(Question) -> BoxFuture<'static, Reply> + Send + Sync;

/// The person at the client, if there is one who can be asked.
#[derive(Clone, Default)]
pub struct Person(Option<Arc<Ask>>);

impl Person {
    /// A person who is asked through `ask`.
    pub fn new(
        ask: impl Fn(Question) -> BoxFuture<'static, Reply> + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// A person who cannot be asked, and why not.
    pub fn who_cannot_be_asked(why: String) -> Self {
        Self::new(move |_| Box::pin(std::future::ready(Reply::CannotAsk(why.clone()))))
    }

    /// A person who has agreed to whatever is asked, as with `--yes`.
    pub fn who_agreed() -> Self {
        Self::new(|_| Box::pin(std::future::ready(Reply::Yes(Agreed::Flag))))
    }

    /// Puts a question.
    pub async fn ask(&self, question: Question) -> Reply {
        match &self.0 {
            Some(ask) => ask(question).await,
            None => Reply::CannotAsk("this client cannot ask".to_owned()),
        }
    }

    /// Puts a question on which a write depends. `what` begins a sentence, such as `to stop web01`;
    /// `confirm` is the caller's word that the user agreed, which counts only where nobody can be asked.
    ///
    /// # Errors
    /// When the answer is not there yet, or has to be got by the caller.
    pub async fn consents(
        &self,
        question: Question,
        what: &str,
        confirm: bool,
    ) -> Result<Consent, Failure> {
        let asked = question.text.clone();
        match self.ask(question).await {
            Reply::Yes(agreed) => Ok(Consent::Given(agreed)),
            Reply::CannotAsk(_) if confirm => Ok(Consent::Given(Agreed::Confirm)),
            Reply::No(why) => Ok(Consent::Refused(Refusal::Declined(why))),
            Reply::Unanswered(why) => Ok(Consent::Refused(Refusal::Unanswered(why))),
            Reply::Later => {
                Err(Failure::new("the user has not answered yet; nothing was sent"))
            }
            Reply::CannotAsk(why) => Err(Failure::new(format!(
                "{what} needs the user's consent, and {why}; nothing was sent"
            ))
            .hint(format!(
                "ask the user: \u{201c}{asked}\u{201d} If they agree, call again with `confirm: true`"
            ))
            .refused()),
        }
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Person(can be asked)"
        } else {
            "Person(cannot be asked)"
        })
    }
}
