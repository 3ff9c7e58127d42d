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
    time::{Duration, timeout},
};
use tokio_util::sync::CancellationToken;

use super::traffic::{answered, given_up};

/// How many messages may wait to be read by the client.
const UNREAD: usize = 64;
/// How many requests may be worked on.
const AT_WORK: usize = 128;
/// How many of the client's messages are held meanwhile.
const HELD: usize = 1000;
/// A client that sends more than that, and reads nothing for so long, is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// A transport whose client is not served faster than it reads.
pub(super) struct Bounded<T> {
    inner: T,
    unread: Arc<Unread>,
    held: VecDeque<RxJsonRpcMessage<RoleServer>>,
    eof: CancellationToken,
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
    /// `inner`, whose end of input is told by `eof`.
    pub(super) fn new(inner: T, eof: CancellationToken) -> Self {
        Self { inner, unread: Arc::default(), held: VecDeque::new(), eof }
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
                let next = match self.held.pop_front() {
                    Some(message) => message,
                    None => self.inner.receive().await?,
                };
                self.unread.hand_on(&next);
                return Some(next);
            }
            tokio::select! {
                message = self.inner.receive(), if self.held.len() < HELD => {
                    let message = message?;
                    if matches!(message, JsonRpcMessage::Request(_)) {
                        self.held.push_back(message);
                        continue;
                    }
                    // What is given up before it was taken up never is.
                    let given_up = given_up(&message);
                    self.held.retain(|held| {
                        !matches!(held, JsonRpcMessage::Request(held) if Some(&held.id) == given_up)
                    });
                    self.unread.hand_on(&message);
                    return Some(message);
                }
                // A message that was read since the count was looked at has left its mark, and is not missed.
                fewer = timeout(PATIENCE, self.unread.fewer.notified()) => {
                    if fewer.is_err() && self.held.len() >= HELD {
                        self.eof.cancel();
                        return None;
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{EmptyResult, JsonRpcMessage, NumberOrString, ServerResult};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    use super::{super::stdio::Lines, *};

    const REQUEST: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";

    /// Lets everything that can go on go on. There is no clock and no network in these tests.
    async fn settle() {
        for _ in 0..2000 {
            tokio::task::yield_now().await;
        }
    }

    fn answer() -> TxJsonRpcMessage<RoleServer> {
        let result = ServerResult::EmptyResult(EmptyResult {});
        JsonRpcMessage::response(result, NumberOrString::Number(1))
    }

    /// A transport with as many unread answers as may be, and the two ends of its client.
    async fn full() -> (impl Transport<RoleServer>, DuplexStream, DuplexStream, CancellationToken) {
        let (requests, input) = duplex(1 << 20);
        let (answers, output) = duplex(16);
        let (lines, eof) = Lines::new(input, output);
        let mut bounded = Bounded::new(lines, eof.clone());
        for _ in 0..=UNREAD {
            tokio::spawn(bounded.send(answer()));
        }
        settle().await;
        (bounded, requests, answers, eof)
    }

    #[tokio::test]
    async fn requests_of_a_client_that_does_not_read_wait_until_it_reads() {
        let (mut transport, mut requests, mut answers, eof) = full().await;
        requests.write_all(REQUEST).await.unwrap();
        {
            let next = transport.receive();
            tokio::pin!(next);
            for _ in 0..100 {
                settle().await;
                let taken = futures_util::poll!(&mut next);
                assert!(taken.is_pending(), "taken up although nothing is read");
            }
        }
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while answers.read(&mut bytes).await.is_ok_and(|n| n > 0) {}
        });
        assert!(transport.receive().await.is_some());
        assert!(!eof.is_cancelled());
    }

    #[tokio::test]
    async fn the_end_of_input_is_seen_though_nothing_is_read() {
        let (mut transport, mut requests, _answers, eof) = full().await;
        for id in 0..HELD / 2 {
            let request =
                format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n");
            requests.write_all(request.as_bytes()).await.unwrap();
        }
        drop(requests);
        let last = timeout(PATIENCE / 2, transport.receive()).await;
        assert!(last.expect("the end is seen").is_none());
        assert!(eof.is_cancelled());
    }

    fn request(id: usize) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n")
    }

    /// How many messages come without waiting.
    async fn taken(transport: &mut impl Transport<RoleServer>) -> usize {
        let mut n_taken = 0;
        loop {
            let next = transport.receive();
            tokio::pin!(next);
            let mut has_come = false;
            for _ in 0..20 {
                settle().await;
                has_come = futures_util::poll!(&mut next).is_ready();
                if has_come {
                    break;
                }
            }
            if !has_come {
                return n_taken;
            }
            n_taken += 1;
        }
    }

    #[tokio::test]
    async fn no_more_requests_are_taken_up_than_can_be_worked_on() {
        let (mut requests, input) = duplex(1 << 20);
        let (_answers, output) = duplex(1 << 20);
        let (lines, eof) = Lines::new(input, output);
        let mut transport = Bounded::new(lines, eof);
        for id in 0..2 * AT_WORK {
            requests.write_all(request(id).as_bytes()).await.unwrap();
        }
        assert_eq!(taken(&mut transport).await, AT_WORK);
        // An answer makes room for one more, and so does giving up; what was given up while it waited is not taken up.
        let result = ServerResult::EmptyResult(EmptyResult {});
        let done = JsonRpcMessage::response(result, NumberOrString::Number(0));
        transport.send(done).await.unwrap();
        for id in [AT_WORK + 1, 1] {
            let gone = format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id}}}}}\n"
            );
            requests.write_all(gone.as_bytes()).await.unwrap();
        }
        // Two requests and the two notifications.
        assert_eq!(taken(&mut transport).await, 4);
        let waits = |held: &RxJsonRpcMessage<RoleServer>| matches!(held, JsonRpcMessage::Request(held) if held.id == NumberOrString::Number(i64::try_from(AT_WORK).unwrap() + 1));
        assert!(!transport.held.iter().any(waits));
    }

    /// Each of these is refused, since its id is in use, and nobody reads that.
    #[tokio::test]
    async fn the_end_of_input_is_seen_though_no_complaint_is_read() {
        let (mut transport, mut requests, _answers, eof) = full().await;
        requests.write_all(&REQUEST.repeat(HELD / 2)).await.unwrap();
        drop(requests);
        let last = timeout(PATIENCE / 2, transport.receive()).await;
        assert!(last.expect("the end is seen").is_none());
        assert!(eof.is_cancelled());
    }
}
