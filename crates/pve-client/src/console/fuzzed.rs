//! Ways in for fuzzing, to what consoles say. Behind the feature `fuzzing`; see `crate::fuzzing`.

use std::time::Duration;

use hyper::upgrade::Upgraded;
use tokio::time::Instant;

use super::{WatchedScreen, frame::Socket};
use crate::fuzzing::{MOST, asked, run};

/// Frames of a WebSocket: how many bytes were in them.
pub fn frames(bytes: &[u8]) -> Option<usize> {
    run(async {
        let mut socket = Socket::over(tokio::io::join(bytes, tokio::io::sink()));
        let mut count = 0;
        while let Ok(Some(part)) = socket.receive().await {
            count += part.len();
        }
        Some(count)
    })
}

/// What the server of a screen says, inside a WebSocket: the size of the picture that comes of it, and its bytes.
pub fn screen(bytes: &[u8]) -> Option<(u32, u32, usize)> {
    let mut answer =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
            .to_vec();
    for piece in bytes.get(..bytes.len().min(MOST / 2))?.chunks(60_000) {
        answer.extend([0x82, 126]);
        answer.extend(u16::try_from(piece.len()).ok()?.to_be_bytes());
        answer.extend(piece);
    }
    run(async {
        let upgraded: Upgraded = hyper::upgrade::on(asked(&answer).await?).await.ok()?;
        let deadline = Instant::now() + Duration::from_secs(60);
        let screen = WatchedScreen::begin(Socket::new(upgraded), "secret", deadline).await;
        let shot = screen.ok()?.look(deadline).await.ok()?;
        Some((shot.width, shot.height, shot.rgb.len()))
    })
}
