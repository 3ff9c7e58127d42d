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

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The person agreed.
    Yes,
    /// Nobody agreed, in words: `the user declined`.
    No(String),
    /// The question was put; the call is made again when it is answered.
    Later,
    /// This client cannot ask.
    CannotAsk,
}

/// Whether somebody agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The person agreed, or the caller vouches for one who cannot be asked from here.
    Given,
    /// Nobody agreed, in words. An orderly answer, not a failure.
    Refused(String),
}

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

    /// A person who has agreed to whatever is asked, as with `--yes`.
    pub fn who_agreed() -> Self {
        Self::new(|_| Box::pin(std::future::ready(Reply::Yes)))
    }

    /// Puts a question.
    pub async fn ask(&self, question: Question) -> Reply {
        match &self.0 {
            Some(ask) => ask(question).await,
            None => Reply::CannotAsk,
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
        match self.ask(question).await {
            Reply::Yes => Ok(Consent::Given),
            Reply::CannotAsk if confirm => Ok(Consent::Given),
            Reply::No(why) => Ok(Consent::Refused(why)),
            Reply::Later => {
                Err(Failure::new("the user has not answered yet; nothing was sent"))
            }
            Reply::CannotAsk => Err(Failure::new(format!(
                "{what} needs the user's consent, and this client cannot ask; nothing was sent"
            ))
            .hint(
                "ask the user, and if they agree call again with `confirm: true` (on the command line: --yes)",
            )),
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
