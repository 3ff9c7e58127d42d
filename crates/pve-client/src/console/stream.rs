//! The bytes inside a WebSocket as one stream, for RFB, whose messages know nothing of frames.
//!
//! **Invariant:** no more than a given number of bytes is ever waited for at once.

use bytes::{Bytes, BytesMut};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{ConsoleProblem, frame::Socket};

/// The most bytes of one part of a message. The largest part is a whole screen.
const LIMIT: usize = 80 << 20;

/// A stream of bytes.
pub(super) struct Stream<S = TokioIo<Upgraded>> {
    pub(super) socket: Socket<S>,
    buffer: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream<S> {
    pub(super) fn new(socket: Socket<S>) -> Self {
        Self { socket, buffer: BytesMut::new() }
    }

    /// The next `count` bytes. Nothing is lost when the future is dropped before it is done.
    pub(super) async fn take(&mut self, count: usize) -> Result<Bytes, ConsoleProblem> {
        if count > LIMIT {
            return Err(ConsoleProblem::Garbage("a part of a message that is too large"));
        }
        while self.buffer.len() < count {
            match self.socket.receive().await? {
                Some(bytes) => self.buffer.extend_from_slice(&bytes),
                None => return Err(ConsoleProblem::Ended),
            }
        }
        Ok(self.buffer.split_to(count).freeze())
    }

    pub(super) async fn u8(&mut self) -> Result<u8, ConsoleProblem> {
        Ok(u8::from_be_bytes(self.array().await?))
    }

    pub(super) async fn u16(&mut self) -> Result<u16, ConsoleProblem> {
        Ok(u16::from_be_bytes(self.array().await?))
    }

    pub(super) async fn u32(&mut self) -> Result<u32, ConsoleProblem> {
        Ok(u32::from_be_bytes(self.array().await?))
    }

    pub(super) async fn i32(&mut self) -> Result<i32, ConsoleProblem> {
        Ok(i32::from_be_bytes(self.array().await?))
    }

    async fn array<const N: usize>(&mut self) -> Result<[u8; N], ConsoleProblem> {
        let bytes = self.take(N).await?;
        bytes[..].try_into().map_err(|_| ConsoleProblem::Ended)
    }
}
