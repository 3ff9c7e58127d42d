//! The protocol's lines on standard input and output.
//!
//! Two things that the library leaves open: **what comes before the first request is dropped** (a client
//! that gave up its `server/discover` cancels it; the library would end the process over that), and
//! **the end of input is told** to those who are at work.

use std::{future::Future, io};

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
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

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
            Self { inner: AsyncRwTransport::new(input, output), is_open: false, eof: eof.clone() },
            eof,
        )
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
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let Some(message) = self.inner.receive().await else {
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
