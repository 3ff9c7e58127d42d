//! A text terminal through `termproxy`.
//!
//! What is sent: `USER:TICKET\n` once, `1:COLUMNS:ROWS:` once, and `2` while it stays open. What comes
//! is `OK` and then the bare output of the terminal.

use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::time::{Instant, sleep_until, timeout_at};
use zeroize::Zeroizing;

use super::{ConsoleProblem, Opening, Secret, frame::Socket};

/// How often the other side wants to hear that somebody is there.
const PING: Duration = Duration::from_secs(30);

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// How many characters fit into a row.
    pub columns: u16,
    /// How many rows there are.
    pub rows: u16,
}

/// A terminal that is watched. It cannot type.
///
/// ```compile_fail,E0599
/// async fn type_into(terminal: &mut pve_client::console::WatchedTerminal) {
///     terminal.send(b"reboot\n").await;
/// }
/// ```
pub struct WatchedTerminal {
    socket: Socket,
    /// What came right behind the `OK`.
    first: Bytes,
    next_ping: Instant,
}

impl WatchedTerminal {
    pub(super) async fn begin(
        mut socket: Socket,
        opening: &Opening,
        size: Size,
        deadline: Instant,
    ) -> Result<Self, ConsoleProblem> {
        let began = Instant::now();
        let user = opening.user.as_deref().unwrap_or_default();
        let ticket = opening.ticket.as_ref().map(Secret::expose).unwrap_or_default();
        let login = Zeroizing::new(format!("{user}:{ticket}\n"));
        let beginning = async {
            socket.send_text(&login).await?;
            let first = accepted(&mut socket).await?;
            socket.send_text(&format!("1:{}:{}:", size.columns, size.rows)).await?;
            Ok(first)
        };
        let first = timeout_at(deadline, beginning)
            .await
            .unwrap_or_else(|_| Err(ConsoleProblem::TimedOut(began.elapsed())))?;
        Ok(Self { socket, first, next_ping: Instant::now() + PING })
    }

    /// The next bytes of the terminal. `None` when it has ended.
    ///
    /// Nothing is lost when the future is dropped before it is done.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ConsoleProblem> {
        if !self.first.is_empty() {
            return Ok(Some(std::mem::take(&mut self.first)));
        }
        loop {
            tokio::select! {
                biased;
                received = self.socket.receive() => return received,
                () = sleep_until(self.next_ping) => {
                    self.next_ping += PING;
                    self.socket.send_text("2").await?;
                }
            }
        }
    }

    /// Sends a message as it is. For what can be typed into; see `typing`.
    pub(super) async fn send_message(&mut self, message: &str) -> Result<(), ConsoleProblem> {
        self.socket.send_text(message).await
    }

    /// Ends it in order, which frees a serial port for the next reader.
    pub async fn close(self) {
        self.socket.close().await;
    }
}

impl std::fmt::Debug for WatchedTerminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WatchedTerminal")
    }
}

/// Waits for the `OK`, and gives what came behind it.
async fn accepted(socket: &mut Socket) -> Result<Bytes, ConsoleProblem> {
    let mut came = BytesMut::new();
    while came.len() < 2 {
        let Some(bytes) = socket.receive().await? else {
            return Err(ConsoleProblem::LoginFailed);
        };
        came.extend_from_slice(&bytes);
    }
    if !came.starts_with(b"OK") {
        return Err(ConsoleProblem::LoginFailed);
    }
    came.advance(2);
    Ok(came.freeze())
}
