//! Asking, and the reason in words where it failed.

use pve_client::{Error, Get, Reader, RefusalKind};

use crate::failure::{Failure, is_silence};

/// What was asked for, or why it could not be had.
pub(crate) type Known<T> = Result<T, String>;

/// Questions to one node, one after the other. Once it does not answer, no more are asked: each would
/// take a place that another node could have.
#[derive(Debug)]
pub(super) struct Asking {
    pve: Reader,
    /// Why no more are asked.
    pub(super) gone: Option<String>,
    /// Whether the node itself has answered anything.
    has_answered: bool,
    /// Whether its API daemon is dead, although the node is there.
    pub(super) is_daemon_dead: bool,
}

impl Asking {
    /// Nothing was asked yet.
    pub(super) fn new(pve: Reader) -> Self {
        Self { pve, gone: None, has_answered: false, is_daemon_dead: false }
    }

    /// Asks nothing more, for this reason.
    pub(super) fn give_up(&mut self, reason: &str) {
        self.gone = Some(reason.to_owned());
    }

    /// Asks one thing, if that makes sense.
    pub(super) async fn ask<T: Send + 'static>(&mut self, request: Get<T>) -> Known<T> {
        self.ask_by(async |pve| pve.get(request).await).await
    }

    /// The same for what takes more than one request.
    pub(super) async fn ask_by<T>(
        &mut self,
        way: impl AsyncFnOnce(&Reader) -> Result<T, Error>,
    ) -> Known<T> {
        if let Some(reason) = &self.gone {
            return Err(reason.clone());
        }
        let error = match way(&self.pve).await {
            Ok(answer) => {
                self.has_answered = true;
                return Ok(answer);
            }
            Err(error) => error,
        };
        let reason = Failure::reason(&error);
        match error.refusal().map(pve_client::Refusal::kind) {
            // Whoever answered before is there: only the daemon behind it is not.
            Some(RefusalKind::NodeUnreachable) if self.has_answered => self.is_daemon_dead = true,
            Some(RefusalKind::NodeUnreachable | RefusalKind::InternalTimeout) => {
                self.gone = Some(reason.clone());
            }
            _ if is_silence(&error) => self.gone = Some(reason.clone()),
            _ => {}
        }
        Err(reason)
    }

    /// The same within a shorter time.
    pub(super) async fn ask_until<T: Send + 'static>(
        &mut self,
        deadline: tokio::time::Instant,
        request: Get<T>,
    ) -> Known<T> {
        let part = self.pve.until(deadline);
        let whole = std::mem::replace(&mut self.pve, part);
        let answer = self.ask(request).await;
        self.pve = whole;
        answer
    }
}
