//! WebSocket frames as pveproxy wants them (RFC 6455 without what it does not speak).
//!
//! **Invariant:** every frame that is sent is whole, masked and smaller than 128 KiB, without
//! extensions: pveproxy ends a connection for anything else (read in its source). What comes is a
//! stream of bytes in frames of any cut; their borders mean nothing.
//!
//! **Invariant:** no frame makes us take more memory than [`LIMIT`], whatever it announces.

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::ConsoleProblem;

/// The largest frame that is taken. pveproxy's are at most some 64 KiB.
const LIMIT: u64 = 4 << 20;

/// The largest piece that is sent in one frame.
const PIECE: usize = 64 << 10;

/// How long a farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Says that a frame is masked.
const MASKED: u8 = 0x80;
/// In place of a length: two bytes with it follow.
const TWO_MORE: u8 = 126;
/// In place of a length: eight bytes with it follow.
const EIGHT_MORE: u8 = 127;

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CONTINUATION: u8 = 0;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// One WebSocket.
pub(crate) struct Socket<S = TokioIo<Upgraded>> {
    io: S,
    buffer: BytesMut,
    random: SystemRandom,
    ended: bool,
}

impl Socket {
    pub(super) fn new(upgraded: Upgraded) -> Self {
        Self::over(TokioIo::new(upgraded))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(super) fn over(io: S) -> Self {
        Self { io, buffer: BytesMut::new(), random: SystemRandom::new(), ended: false }
    }

    /// Sends a short text in a frame of that kind, as the web interface does into a terminal.
    pub(super) async fn send_text(&mut self, text: &str) -> Result<(), ConsoleProblem> {
        self.send_frame(TEXT, text.as_bytes()).await
    }

    /// Sends bytes, each piece in a frame of its own.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), ConsoleProblem> {
        for piece in bytes.chunks(PIECE) {
            self.send_frame(BINARY, piece).await?;
        }
        Ok(())
    }

    /// The next bytes. `None` when the other side has ended the connection.
    ///
    /// Nothing is lost when the future is dropped before it is done.
    pub(super) async fn receive(&mut self) -> Result<Option<Bytes>, ConsoleProblem> {
        loop {
            if self.ended {
                return Ok(None);
            }
            match take_frame(&mut self.buffer)? {
                None => match self.io.read_buf(&mut self.buffer).await {
                    Ok(read) if read > 0 => {}
                    // An end without a farewell is an end all the same.
                    _ => self.ended = true,
                },
                Some((CLOSE, _)) => self.ended = true,
                Some((PING, payload)) => self.send_frame(PONG, &payload).await?,
                Some((TEXT | BINARY | CONTINUATION, payload)) if !payload.is_empty() => {
                    return Ok(Some(payload));
                }
                Some(_) => {}
            }
        }
    }

    /// Says farewell and ends the connection.
    pub(super) async fn close(mut self) {
        let farewell = async {
            // 1000: everything is as it should be.
            let _ = self.send_frame(CLOSE, &1000u16.to_be_bytes()).await;
            let _ = self.io.shutdown().await;
        };
        // Whoever does not listen is not waited for; the connection ends with this value anyway.
        let _ = tokio::time::timeout(FAREWELL, farewell).await;
    }

    async fn send_frame(&mut self, opcode: u8, payload: &[u8]) -> Result<(), ConsoleProblem> {
        let mut mask = [0; 4];
        self.random.fill(&mut mask).map_err(|_| ConsoleProblem::Garbage("no randomness"))?;
        let frame = frame(opcode, payload, mask);
        let sending = async {
            self.io.write_all(&frame).await?;
            self.io.flush().await
        };
        sending.await.map_err(|_| ConsoleProblem::Ended)
    }
}

/// A whole, masked frame.
fn frame(opcode: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.push(0x80 | opcode);
    match (u8::try_from(payload.len()), u16::try_from(payload.len())) {
        (Ok(length), _) if length < 126 => frame.push(MASKED | length),
        (_, Ok(length)) => {
            frame.push(MASKED | TWO_MORE);
            frame.extend_from_slice(&length.to_be_bytes());
        }
        _ => {
            frame.push(MASKED | EIGHT_MORE);
            frame.extend_from_slice(&(payload.len() as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&mask);
    frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

/// Takes one whole frame out of what came: its kind and its payload. `None` when more has to come.
fn take_frame(buffer: &mut BytesMut) -> Result<Option<(u8, Bytes)>, ConsoleProblem> {
    let mut head: &[u8] = buffer;
    let before = head.len();
    if before < 2 {
        return Ok(None);
    }
    let (first, second) = (head.get_u8(), head.get_u8());
    if first & 0x70 != 0 {
        return Err(ConsoleProblem::Garbage("a WebSocket extension that was not agreed on"));
    }
    let needs = match second & 0x7f {
        TWO_MORE => 2,
        EIGHT_MORE => 8,
        _ => 0,
    } + if second & 0x80 == 0 { 0 } else { 4 };
    if head.len() < needs {
        return Ok(None);
    }
    let length = match second & 0x7f {
        TWO_MORE => u64::from(head.get_u16()),
        EIGHT_MORE => head.get_u64(),
        short => u64::from(short),
    };
    if length > LIMIT {
        return Err(ConsoleProblem::Garbage("a WebSocket frame that is too large"));
    }
    // A server does not mask, but who does is understood.
    let mask = (second & 0x80 != 0).then(|| head.get_u32().to_be_bytes());
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if head.len() < length {
        return Ok(None);
    }
    let start = before - head.len();
    buffer.advance(start);
    let mut payload = buffer.split_to(length);
    if let Some(mask) = mask {
        payload.iter_mut().zip(mask.iter().cycle()).for_each(|(byte, mask)| *byte ^= mask);
    }
    Ok(Some((first & 0x0f, payload.freeze())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_sent_is_whole_masked_and_small() {
        for length in [0, 1, 125, 126, 127, 65_535, PIECE] {
            let payload = vec![7; length];
            let mut sent = BytesMut::from(&frame(BINARY, &payload, [1, 2, 3, 4])[..]);
            assert_eq!((sent[0], sent[1] & 0x80), (0x82, 0x80), "{length}");
            assert!(sent.len() < 128 << 10, "{length}");
            let (opcode, read) = take_frame(&mut sent).unwrap().unwrap();
            assert_eq!((opcode, &read[..]), (BINARY, &payload[..]));
            assert!(sent.is_empty());
        }
    }

    #[test]
    fn a_frame_that_announces_too_much_is_refused_before_it_comes() {
        let mut huge = BytesMut::from(&[0x82, 127, 0xff, 0, 0, 0, 0, 0, 0, 0][..]);
        assert!(take_frame(&mut huge).is_err());
        let mut compressed = BytesMut::from(&[0xc2, 0][..]);
        assert!(take_frame(&mut compressed).is_err());
    }

    #[tokio::test]
    async fn pings_are_answered_and_an_end_is_an_end() {
        let (near, mut far) = tokio::io::duplex(1024);
        let mut socket = Socket::over(near);
        far.write_all(&[0x89, 1, b'p', 0x02, 1, b'a', 0x80, 1, b'b', 0x88, 0]).await.unwrap();
        assert_eq!(socket.receive().await.unwrap().as_deref(), Some(&b"a"[..]));
        assert_eq!(socket.receive().await.unwrap().as_deref(), Some(&b"b"[..]));
        assert_eq!(socket.receive().await, Ok(None));
        let mut pong = BytesMut::new();
        far.read_buf(&mut pong).await.unwrap();
        assert_eq!(take_frame(&mut pong).unwrap().unwrap(), (PONG, Bytes::from_static(b"p")));
        socket.close().await;
        let mut farewell = BytesMut::new();
        far.read_buf(&mut farewell).await.unwrap();
        assert_eq!(take_frame(&mut farewell).unwrap().unwrap().0, CLOSE);
    }

    proptest! {
        #[test]
        fn whatever_comes_is_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut buffer = BytesMut::from(&bytes[..]);
            while let Ok(Some((_, payload))) = take_frame(&mut buffer) {
                prop_assert!(payload.len() <= 64);
            }
        }
    }
}
