//! Consoles that can be typed into. Only an [`Operator`] opens them.
//!
//! **Invariant:** what is typed goes out once, in the order of the calls; nothing here tries again. A
//! call that fails leaves open whether its key arrived.

use bytes::Bytes;
use tokio::time::Instant;

use super::{ConsoleError, ConsoleProblem, SerialPort, Size, WatchedScreen, WatchedTerminal};
use crate::{GuestRef, Operator};

/// A text terminal that can be typed into.
///
/// A [`Reader`](crate::Reader) opens none:
///
/// ```compile_fail,E0599
/// async fn open(reader: &pve_client::Reader, guest: &pve_client::GuestRef, size: pve_client::console::Size) {
///     let _ = reader.open_terminal(guest, None, size).await;
/// }
/// ```
#[derive(Debug)]
pub struct OpenTerminal(WatchedTerminal);

/// A screen that takes keys.
///
/// A [`Reader`](crate::Reader) opens none:
///
/// ```compile_fail,E0599
/// async fn open(reader: &pve_client::Reader, guest: &pve_client::GuestRef) {
///     let _ = reader.open_screen(guest).await;
/// }
/// ```
#[derive(Debug)]
pub struct OpenScreen(WatchedScreen);

/// A key, by the number that X11 and RFB have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySym(pub u32);

impl Operator {
    /// Opens a guest's text terminal for typing: see [`Reader::watch_terminal`](crate::Reader::watch_terminal).
    pub async fn open_terminal(
        &self,
        guest: &GuestRef,
        serial: Option<SerialPort>,
        size: Size,
    ) -> Result<OpenTerminal, ConsoleError> {
        self.reader().watch_terminal(guest, serial, size).await.map(OpenTerminal)
    }

    /// Opens a guest's screen for typing. Nobody who looks at it is thrown out.
    pub async fn open_screen(&self, guest: &GuestRef) -> Result<OpenScreen, ConsoleError> {
        self.reader().watch_screen(guest).await.map(OpenScreen)
    }
}

impl OpenTerminal {
    /// Types this text, as one message: a key, or the sequence that a key stands for.
    pub async fn send(&mut self, text: &str) -> Result<(), ConsoleProblem> {
        self.0.send_message(&format!("0:{}:{text}", text.len())).await
    }

    /// The next bytes of the terminal. `None` when it has ended.
    ///
    /// Nothing is lost when the future is dropped before it is done.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ConsoleProblem> {
        self.0.next().await
    }

    /// The same terminal, which is only watched from now on.
    pub fn into_watched(self) -> WatchedTerminal {
        self.0
    }
}

impl OpenScreen {
    /// Presses these keys together and lets them go in reverse.
    pub async fn press(&mut self, keys: &[KeySym]) -> Result<(), ConsoleProblem> {
        let down = keys.iter().flat_map(|key| key_event(true, *key));
        let up = keys.iter().rev().flat_map(|key| key_event(false, *key));
        let message: Vec<u8> = down.chain(up).collect();
        self.0.send_message(&message).await
    }

    /// Waits until the server has taken everything that was sent: it answers one after the other.
    pub async fn settle(&mut self, deadline: Instant) -> Result<(), ConsoleProblem> {
        self.0.settle(deadline).await
    }

    /// What the server calls itself.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Ends it in order.
    pub async fn close(self) {
        self.0.close().await;
    }
}

/// RFB's message for a key that goes down or up.
fn key_event(down: bool, KeySym(number): KeySym) -> [u8; 8] {
    let [a, b, c, d] = number.to_be_bytes();
    [4, u8::from(down), 0, 0, a, b, c, d]
}
