//! Bounds what waits for a client that does not read.
//!
//! The library takes up every request at once and keeps the answers until they are written. A client that sends
//! and never reads would fill the memory; here **its further requests wait while too many are worked on, or too many
//! answers wait to be read**. What it answers, what it gives up and the end of its input are still seen, since some of
//! its requests are held meanwhile.

use std::{
    collections::{HashSet, VecDeque},
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::{
    RoleServer,
    model::{JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    sync::Notify,
    time::{Duration, Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::traffic::{answered, given_up};

/// How many messages may wait to be read by the client.
const UNREAD: usize = 64;
/// How many requests may be worked on.
const AT_WORK: usize = 128;
/// How many of the client's messages are held meanwhile.
const HELD: usize = 1000;
/// How many bytes of them, as JSON. Another one may be as large as a line can be.
const HELD_BYTES: usize = 8 << 20;
/// A client that sends more than is held, and reads nothing for so long, is gone.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A transport whose client is not served faster than it reads.
pub(super) struct Bounded<T> {
    inner: T,
    unread: Arc<Unread>,
    held: VecDeque<Held>,
    n_held_bytes: usize,
    /// Since when no more is held, with nothing read.
    full_since: Option<Instant>,
    end: End,
}

/// A message that is held, with its length.
type Held = (RxJsonRpcMessage<RoleServer>, usize);

/// How a session ends.
#[derive(Clone, Debug, Default)]
pub(super) struct End {
    /// The input has ended, or is over.
    pub(super) eof: CancellationToken,
    /// That is so because the client does not read.
    pub(super) unread: CancellationToken,
}

/// Counts the messages that wait, and the requests that are worked on.
#[derive(Debug, Default)]
struct Unread {
    count: AtomicUsize,
    at_work: Mutex<HashSet<RequestId>>,
    fewer: Notify,
}

/// One message that waits.
struct Waiting(Arc<Unread>);

impl<T> Bounded<T> {
    /// `inner`, whose end is told by `end`.
    pub(super) fn new(inner: T, end: End) -> Self {
        Self {
            inner,
            unread: Arc::default(),
            held: VecDeque::new(),
            n_held_bytes: 0,
            full_since: None,
            end,
        }
    }

    fn is_full(&self) -> bool {
        self.held.len() >= HELD || self.n_held_bytes >= HELD_BYTES
    }

    fn hold(&mut self, message: RxJsonRpcMessage<RoleServer>) {
        let length = serde_json::to_vec(&message).map_or(0, |json| json.len());
        self.n_held_bytes += length;
        self.held.push_back((message, length));
    }

    fn next_held(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let (message, length) = self.held.pop_front()?;
        self.n_held_bytes -= length;
        Some(message)
    }

    /// What is given up before it was taken up never is.
    fn let_go(&mut self, given_up: Option<&RequestId>) {
        self.held.retain(|(held, _)| {
            !matches!(held, JsonRpcMessage::Request(held) if Some(&held.id) == given_up)
        });
        self.n_held_bytes = self.held.iter().map(|(_, length)| length).sum();
    }
}

impl End {
    /// The client reads nothing of what waits for it, and is taken for gone.
    pub(super) fn never_read(&self) {
        self.unread.cancel();
        self.eof.cancel();
    }
}

impl Unread {
    fn one_more(self: &Arc<Self>) -> Waiting {
        self.count.fetch_add(1, Ordering::Relaxed);
        Waiting(Arc::clone(self))
    }

    fn are_too_many(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= UNREAD || self.at_work().len() >= AT_WORK
    }

    fn at_work(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.at_work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A message is handed on: a request is worked on from now on, and one that is given up no more.
    fn hand_on(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.at_work().insert(request.id.clone());
            }
            message => {
                if let Some(id) = given_up(message) {
                    self.at_work().remove(id);
                }
            }
        }
    }

    /// A message goes out: what it answers is done.
    fn answered(&self, message: &TxJsonRpcMessage<RoleServer>) {
        if let Some(id) = answered(message) {
            self.at_work().remove(id);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
        self.0.fewer.notify_one();
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Bounded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.unread.answered(&message);
        let waiting = self.unread.one_more();
        let send = self.inner.send(message);
        async move {
            let _waiting = waiting;
            send.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if !self.unread.are_too_many() {
                self.full_since = None;
                let next = match self.next_held() {
                    Some(message) => message,
                    None => self.inner.receive().await?,
                };
                self.unread.hand_on(&next);
                return Some(next);
            }
            // It goes on where somebody gave up waiting for this and waits anew.
            let is_full = self.is_full();
            let since = *self.full_since.get_or_insert_with(Instant::now);
            if !is_full {
                self.full_since = None;
            }
            tokio::select! {
                message = self.inner.receive(), if !is_full => {
                    let message = message?;
                    if matches!(message, JsonRpcMessage::Request(_)) {
                        self.hold(message);
                        continue;
                    }
                    self.let_go(given_up(&message));
                    self.unread.hand_on(&message);
                    return Some(message);
                }
                // A message that was read since the count was looked at has left its mark, and is not missed.
                () = self.unread.fewer.notified() => self.full_since = None,
                () = sleep_until(since + PATIENCE), if is_full => {
                    self.end.never_read();
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests;
