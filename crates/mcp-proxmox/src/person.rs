//! Asking the person at the client before something is changed.
//!
//! How a person is asked is the protocol's business, and differs between its eras: either the answer comes
//! while the call waits, or the call ends and is made again with the answer. A tool sees neither.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

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
