//! The protocol's lines on standard input and output.
//!
//! What the library leaves open: **what comes before the first request is dropped** (a client that gave up
//! its `server/discover` cancels it; the library would end the process over that); **the end of input is
//! told** to those who are at work; **what is no message is answered** (see `lines`); and **where the
//! output cannot be written any more, the input is over too**: nobody is there to be served.

use std::{future::Future, io, sync::Arc};

use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::{
        Transport,
        io::{StdioReader, StdioWriter, stdio_pipes},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::Mutex,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::lines::{Found, Reading};

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
    /// Whether the client has chosen its protocol era.
    is_open: bool,
    eof: CancellationToken,
}

/// Where lines are written, one after the other.
struct Output<W> {
    stream: Arc<Mutex<Option<W>>>,
    /// Nobody reads what is written.
    gone: CancellationToken,
}

impl<R: AsyncRead, W> Lines<R, W> {
    /// The lines, and the token that tells that the input has ended.
    pub(super) fn new(input: R, output: W) -> (Self, CancellationToken) {
        let eof = CancellationToken::new();
        let stream = Arc::new(Mutex::new(Some(output)));
        let lines = Self {
            input: BufReader::new(input),
            reading: Reading::default(),
            output: Output { stream, gone: CancellationToken::new() },
            complaining: None,
            is_open: false,
            eof: eof.clone(),
        };
        (lines, eof)
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
            if let Some(complaining) = &mut self.complaining {
                // It fails only where the output does, and that is noticed below.
                let _ = complaining.await;
                self.complaining = None;
            }
            let line = tokio::select! {
                () = self.output.gone.cancelled() => None,
                line = self.reading.next(&mut self.input) => line,
            };
            match line?.read() {
                Found::Message(message) => return Some(*message),
                Found::Nothing => {}
                Found::Complaint(complaint) => {
                    let (output, line) = (self.output.clone(), complaint.to_string());
                    self.complaining =
                        Some(tokio::spawn(async move { drop(output.write(line.into()).await) }));
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
        let output = self.output.clone();
        async move { output.write(serde_json::to_vec(&message)?).await }
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
        drop(self.output.stream.lock().await.take());
        Ok(())
    }
}
