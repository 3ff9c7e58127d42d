//! Sessions recorded from a real server: what it sent, in the same frames, whenever the client has
//! sent as many messages as the recorded client had by then.
//!
//! The times between are left out, so that nothing waits.

use std::{
    io::Read as _,
    sync::{LazyLock, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use flate2::read::ZlibDecoder;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite};

use super::socket::Socket;
use crate::shared::lock;

/// Everything that was recorded.
const FILE: &str = include_str!("../../recorded/sessions.json");

static ALL: LazyLock<Vec<Replay>> = LazyLock::new(|| {
    // A file that cannot be read is empty here; a test says so loudly.
    serde_json::from_str(FILE).unwrap_or_default()
});

/// One recorded session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Replay {
    pub(crate) name: String,
    /// The path of the guest: `/nodes/pve1/qemu/101`.
    pub(crate) guest: String,
    frames: Vec<Frame>,
}

/// What one side sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum Frame {
    /// The client sent something.
    Client,
    /// What the server sent, in base64.
    Server(String),
    /// The same, packed with zlib before.
    Packed(String),
}

impl Replay {
    /// The session of this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|replay| replay.name == name)
    }
}

impl Frame {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Client => Vec::new(),
            Self::Server(text) => STANDARD.decode(text).unwrap_or_default(),
            Self::Packed(text) => {
                let mut bytes = Vec::new();
                let packed = STANDARD.decode(text).unwrap_or_default();
                // A torn stream gives what it has; a test compares the length.
                let _ = ZlibDecoder::new(&*packed).read_to_end(&mut bytes);
                bytes
            }
        }
    }
}

/// Serves a session, and then waits for the client to go.
pub(super) async fn serve<S>(
    socket: &mut Socket<S>,
    replay: &Replay,
    typed: &Mutex<Vec<Bytes>>,
) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for (nth, frame) in replay.frames.iter().enumerate() {
        if matches!(frame, Frame::Client) {
            let message = socket.message().await?.freeze();
            // The first is the login, with its ticket.
            if nth > 0 {
                lock(typed).push(message);
            }
        } else {
            for piece in frame.bytes().chunks(128 << 10) {
                socket.send(piece).await?;
            }
        }
    }
    while let Some(message) = socket.message().await {
        lock(typed).push(message.freeze());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_session_can_be_read() {
        let sessions: Vec<Replay> = serde_json::from_str(FILE).unwrap();
        assert!(sessions.len() >= 8, "{}", sessions.len());
        for session in sessions {
            let bytes: usize = session.frames.iter().map(|frame| frame.bytes().len()).sum();
            let expected = match session.name.as_str() {
                // A whole screen of 720 x 400 pixels of four bytes, and what goes before it.
                "vnc-vm-raw" => 1_152_000..1_153_000,
                "vnc-ct" | "vnc-vm-serial-display" => 297_600..298_500,
                _ => 8..4000,
            };
            assert!(expected.contains(&bytes), "{}: {bytes}", session.name);
        }
    }
}
