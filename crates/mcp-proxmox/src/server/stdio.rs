//! The protocol's lines on standard input and output.
//!
//! Three things that the library leaves open: **what comes before the first request is dropped** (a client
//! that gave up its `server/discover` cancels it; the library would end the process over that),
//! **the end of input is told** to those who are at work, and **what waits for a client that does not read is
//! bounded**: while it does not take its answers, its further requests are not taken up.

use std::{
    collections::VecDeque,
    future::Future,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        async_rw::AsyncRwTransport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Notify,
    time::{Duration, timeout},
};
use tokio_util::sync::CancellationToken;

/// How many messages may wait for a client that does not read.
const UNREAD: usize = 64;
/// How many of its messages are then held, so that the end of its input is still seen.
const HELD: usize = 1000;
/// A client that sends more than that, and reads nothing for so long, is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// Standard input and output.
pub(super) fn standard() -> (StdioReader, StdioWriter) {
    stdio_pipes()
}

/// The protocol's lines on two streams.
pub(super) struct Lines<R: AsyncRead, W: AsyncWrite> {
    inner: AsyncRwTransport<RoleServer, R, W>,
    /// Whether the client has chosen its protocol era.
    is_open: bool,
    eof: CancellationToken,
    unread: Arc<Unread>,
    held: VecDeque<RxJsonRpcMessage<RoleServer>>,
}

/// Counts the messages that wait for the client to read them.
#[derive(Debug, Default)]
struct Unread {
    count: AtomicUsize,
    fewer: Notify,
}

/// One message that waits.
struct Waiting(Arc<Unread>);

impl Unread {
    fn one_more(self: &Arc<Self>) -> Waiting {
        self.count.fetch_add(1, Ordering::Relaxed);
        Waiting(Arc::clone(self))
    }

    fn are_too_many(&self) -> bool {
        self.count.load(Ordering::Relaxed) >= UNREAD
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
        self.0.fewer.notify_one();
    }
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// The lines, and the token that tells that the input has ended.
    pub(super) fn new(input: R, output: W) -> (Self, CancellationToken) {
        let eof = CancellationToken::new();
        (
            Self {
                inner: AsyncRwTransport::new(input, output),
                is_open: false,
                eof: eof.clone(),
                unread: Arc::default(),
                held: VecDeque::new(),
            },
            eof,
        )
    }

    /// The next message, once the client has read enough of what it was sent.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if !self.unread.are_too_many() {
                return match self.held.pop_front() {
                    Some(message) => Some(message),
                    None => self.inner.receive().await,
                };
            }
            tokio::select! {
                message = self.inner.receive(), if self.held.len() < HELD => self.held.push_back(message?),
                // It is noticed here too that one was read since the count was looked at.
                fewer = timeout(PATIENCE, self.unread.fewer.notified()) => {
                    if fewer.is_err() && self.held.len() >= HELD {
                        return None;
                    }
                }
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let waiting = self.unread.one_more();
        let send = self.inner.send(message);
        async move {
            let _waiting = waiting;
            send.await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.next().await else {
                self.eof.cancel();
                return None;
            };
            if self.is_open {
                return Some(message);
            }
            if let JsonRpcMessage::Request(request) = &message {
                // These two leave the era open, so that what follows them is still treated with care.
                self.is_open = !matches!(
                    request.request,
                    ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_)
                );
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{EmptyResult, ServerResult};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    /// Lets everything that can go on go on. There is no clock and no network in these tests.
    async fn settle() {
        for _ in 0..2000 {
            tokio::task::yield_now().await;
        }
    }

    fn answer() -> TxJsonRpcMessage<RoleServer> {
        let result = ServerResult::EmptyResult(EmptyResult {});
        JsonRpcMessage::response(result, rmcp::model::NumberOrString::Number(1))
    }

    const PING: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";

    #[tokio::test]
    async fn requests_of_a_client_that_does_not_read_wait_until_it_reads() {
        let (mut requests, input) = duplex(1 << 20);
        let (mut answers, output) = duplex(16);
        let (mut lines, eof) = Lines::new(input, output);
        for _ in 0..=UNREAD {
            tokio::spawn(lines.send(answer()));
        }
        settle().await;
        requests.write_all(PING).await.unwrap();
        {
            let next = lines.receive();
            tokio::pin!(next);
            for _ in 0..100 {
                settle().await;
                assert!(
                    futures_util::poll!(&mut next).is_pending(),
                    "taken up although nothing is read"
                );
            }
        }
        tokio::spawn(async move {
            let mut bytes = [0; 4096];
            while answers.read(&mut bytes).await.is_ok_and(|n| n > 0) {}
        });
        assert!(lines.receive().await.is_some());
        assert!(!eof.is_cancelled());
    }

    #[tokio::test]
    async fn the_end_of_input_is_seen_though_nothing_is_read() {
        let (mut requests, input) = duplex(1 << 20);
        let (_answers, output) = duplex(16);
        let (mut lines, eof) = Lines::new(input, output);
        for _ in 0..=UNREAD {
            tokio::spawn(lines.send(answer()));
        }
        settle().await;
        requests.write_all(&PING.repeat(HELD / 2)).await.unwrap();
        drop(requests);
        assert!(lines.receive().await.is_none());
        assert!(eof.is_cancelled());
    }
}
