//! The protocol's lines on standard input and output.
//!
//! What the library leaves open: **what comes before the first request is dropped** (a client that gave up
//! its `server/discover` cancels it; the library would end the process over that); **the end of input is
//! told** to those who are at work; **what is no message is answered** (see `lines`); and **where the
//! output cannot be written any more, the input is over too**: nobody is there to be served. Complaints that are not
//! read hold up what comes after them, but never the end, and not for ever.

use std::{collections::VecDeque, future::Future, io, sync::Arc};

use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
    task::JoinHandle,
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    lines::{Found, Line, Reading, no_batch, read_one},
    session::LEAVING,
    traffic::Traffic,
    unread::{End, PATIENCE},
};

/// How many bytes of input are held while a complaint waits to be read.
const HELD: usize = 1 << 20;

/// Standard input and output.
pub(super) fn standard() -> (StdioReader, StdioWriter) {
    stdio_pipes()
}

/// The protocol's lines on two streams.
pub(super) struct Lines<R, W> {
    input: BufReader<R>,
    reading: Reading,
    output: Output<W>,
    /// A complaint that is being written. The next line waits for it, so that they cannot pile up.
    complaining: Option<JoinHandle<()>>,
    /// What came meanwhile.
    held: VecDeque<Line>,
    n_held_bytes: usize,
    /// When the input ended, and how long complaints are waited for then.
    over: Option<Instant>,
    /// Whether the client has chosen its protocol era.
    is_open: bool,
    end: End,
    /// Since when no more is held, with no complaint read.
    full_since: Option<Instant>,
    traffic: Traffic,
    /// Messages of a batch that were not taken up yet.
    batched: VecDeque<RxJsonRpcMessage<RoleServer>>,
}

/// Where lines are written, one after the other.
struct Output<W> {
    stream: Arc<Mutex<Option<W>>>,
    /// Nobody reads what is written.
    gone: CancellationToken,
}

impl<R: AsyncRead, W> Lines<R, W> {
    /// The lines, and what tells that the input has ended.
    pub(super) fn new(input: R, output: W) -> (Self, End) {
        let end = End::default();
        let stream = Arc::new(Mutex::new(Some(output)));
        let lines = Self {
            input: BufReader::new(input),
            reading: Reading::default(),
            output: Output { stream, gone: CancellationToken::new() },
            complaining: None,
            held: VecDeque::new(),
            n_held_bytes: 0,
            over: None,
            is_open: false,
            end: end.clone(),
            full_since: None,
            traffic: Traffic::default(),
            batched: VecDeque::new(),
        };
        (lines, end)
    }
}

impl<W: AsyncWrite + Unpin> Output<W> {
    async fn write(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        let mut stream = self.stream.lock().await;
        let Some(stream) = stream.as_mut() else {
            return Err(io::Error::from(io::ErrorKind::NotConnected));
        };
        let written = match stream.write_all(&line).await {
            Ok(()) => stream.flush().await,
            Err(error) => Err(error),
        };
        if written.is_err() {
            self.gone.cancel();
        }
        written
    }
}

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Self { stream: Arc::clone(&self.stream), gone: self.gone.clone() }
    }
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// The next message; `None` when there will be no more. Whoever waits for it may give up waiting.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.batched.pop_front() {
                return Some(message);
            }
            let complaint = match self.line().await?.read() {
                Found::Message(message) => match self.traffic.take(&message, None) {
                    Ok(()) => {
                        let done = self.traffic.is_cancelled(&message);
                        self.complain(done);
                        return Some(*message);
                    }
                    Err(complaint) => Some(complaint.to_string()),
                },
                Found::Nothing => None,
                Found::Batch(items) if self.traffic.takes_batches => self.take_apart(items),
                Found::Batch(_) => Some(no_batch().to_string()),
                Found::Complaint(complaint) => Some(complaint.to_string()),
            };
            self.complain(complaint);
        }
    }

    /// The next line, as soon as no complaint waits to be read. Meanwhile lines are held, so that the end of the input
    /// is seen.
    async fn line(&mut self) -> Option<Line> {
        loop {
            let is_free = self.complaining.is_none();
            if is_free && let Some(line) = self.held.pop_front() {
                self.n_held_bytes -= line.len().min(self.n_held_bytes);
                return Some(line);
            }
            if is_free && self.over.is_some() {
                return None;
            }
            let may_read = self.over.is_none() && self.n_held_bytes < HELD;
            let given_up = self.over.unwrap_or_else(Instant::now);
            let is_full = !is_free && !may_read && self.over.is_none();
            // It goes on where somebody gave up waiting for this and waits anew.
            let since = *self.full_since.get_or_insert_with(Instant::now);
            if !is_full {
                self.full_since = None;
            }
            tokio::select! {
                () = self.output.gone.cancelled() => return None,
                // Somebody else knows that it is over.
                () = self.end.eof.cancelled() => return None,
                // It fails only where the output does, and that is noticed above.
                () = finished(&mut self.complaining), if !is_free => self.full_since = None,
                line = self.reading.next(&mut self.input), if may_read => match line {
                    Some(line) if is_free => return Some(line),
                    Some(line) => {
                        self.n_held_bytes += line.len();
                        self.held.push_back(line);
                    }
                    None => self.over = Some(Instant::now() + LEAVING),
                },
                () = sleep_until(given_up), if self.over.is_some() => return None,
                () = sleep_until(since + PATIENCE), if is_full => {
                    self.end.never_read();
                    return None;
                }
            }
        }
    }

    /// Takes up what a batch holds. Hands back what is to be said at once.
    fn take_apart(&mut self, items: Vec<Value>) -> Option<String> {
        let batch = self.traffic.begin_batch();
        for item in items {
            match read_one(item) {
                Found::Message(message) => match self.traffic.take(&message, Some(batch)) {
                    Ok(()) => {
                        let done = self.traffic.is_cancelled(&message);
                        self.complain(done);
                        self.batched.push_back(*message);
                    }
                    Err(refused) => self.traffic.answer_within(batch, refused),
                },
                Found::Complaint(complaint) => self.traffic.answer_within(batch, complaint),
                Found::Nothing | Found::Batch(_) => {}
            }
        }
        self.traffic.end_of_batch(batch)
    }

    /// Writes what the library does not know of.
    fn complain(&mut self, complaint: Option<String>) {
        let Some(line) = complaint else { return };
        let output = self.output.clone();
        let before = self.complaining.take();
        self.complaining = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            drop(output.write(line.into()).await);
        }));
    }
}

/// Waits until a complaint was written.
async fn finished(complaining: &mut Option<JoinHandle<()>>) {
    if let Some(writing) = complaining {
        let _ = writing.await;
    }
    *complaining = None;
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
        let output = self.output.clone();
        let line = self.traffic.send(&message);
        async move {
            match line {
                Some(line) => output.write(line.into()).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.next().await else {
                self.end.eof.cancel();
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
        drop(self.output.stream.lock().await.take());
        Ok(())
    }
}
