//! WebSocket frames as pveproxy reads and writes them.

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The largest frame that pveproxy takes from a client.
const LIMIT: usize = 128 << 10;

pub(super) struct Socket<S> {
    stream: S,
    buffer: BytesMut,
    /// What came in frames and was not taken yet.
    plain: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(super) fn new(stream: S, first: BytesMut) -> Self {
        Self { stream, buffer: first, plain: BytesMut::new() }
    }

    /// Sends bytes in one frame. `None` when nobody is there any more.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Option<()> {
        self.send_frame(0x82, bytes).await
    }

    /// Sends something that is no whole frame.
    pub(super) async fn send_raw(&mut self, bytes: &[u8]) -> Option<()> {
        self.stream.write_all(bytes).await.ok()?;
        self.stream.flush().await.ok()
    }

    async fn send_frame(&mut self, first: u8, bytes: &[u8]) -> Option<()> {
        let mut head = vec![first];
        match (u8::try_from(bytes.len()), u16::try_from(bytes.len())) {
            (Ok(length), _) if length < 126 => head.push(length),
            (_, Ok(length)) => {
                head.push(126);
                head.extend_from_slice(&length.to_be_bytes());
            }
            _ => {
                head.push(127);
                head.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
            }
        }
        self.stream.write_all(&head).await.ok()?;
        self.stream.write_all(bytes).await.ok()?;
        self.stream.flush().await.ok()
    }

    /// The payload of the next frame. `None` when the client has gone, or sends what pveproxy does
    /// not take.
    pub(super) async fn message(&mut self) -> Option<BytesMut> {
        loop {
            let Some((first, payload)) = self.frame().await? else { continue };
            match first & 0x0f {
                1 | 2 => return Some(payload),
                9 => self.send_frame(0x8a, &payload).await?,
                10 => {}
                _ => return None,
            }
        }
    }

    /// The next bytes, from as many frames as it takes.
    pub(super) async fn take(&mut self, count: usize) -> Option<BytesMut> {
        while self.plain.len() < count {
            let message = self.message().await?;
            self.plain.extend_from_slice(&message);
        }
        Some(self.plain.split_to(count))
    }

    /// Reads until there is a whole frame, or more of one.
    async fn frame(&mut self) -> Option<Option<(u8, BytesMut)>> {
        let mut head: &[u8] = &self.buffer;
        let before = head.len();
        if before >= 2 {
            let (first, second) = (head.get_u8(), head.get_u8());
            // Whole, without extensions, masked.
            if first & 0xf0 != 0x80 || second & 0x80 == 0 {
                return None;
            }
            let more = match second & 0x7f {
                126 => 2,
                127 => 8,
                _ => 0,
            };
            if head.len() >= more + 4 {
                let length = match second & 0x7f {
                    126 => usize::from(head.get_u16()),
                    127 => usize::try_from(head.get_u64()).unwrap_or(usize::MAX),
                    short => usize::from(short),
                };
                if length > LIMIT {
                    return None;
                }
                let mask = head.get_u32().to_be_bytes();
                if head.len() >= length {
                    let start = before - head.len();
                    self.buffer.advance(start);
                    let mut payload = self.buffer.split_to(length);
                    let masks = mask.iter().cycle();
                    payload.iter_mut().zip(masks).for_each(|(byte, mask)| *byte ^= mask);
                    return Some(Some((first, payload)));
                }
            }
        }
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(read) if read > 0 => Some(None),
            _ => None,
        }
    }

    /// Ends the connection in order.
    pub(super) async fn end(&mut self) {
        // The peer may be gone already; there is nobody left to tell.
        let _ = self.send_frame(0x88, &1000u16.to_be_bytes()).await;
        let _ = self.stream.shutdown().await;
    }
}
