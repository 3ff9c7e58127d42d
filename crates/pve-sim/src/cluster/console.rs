//! What a guest shows to whoever opens its console.

use std::net::SocketAddr;

use bytes::Bytes;

/// A text terminal: the serial port of a VM, or a tty of a container.
#[derive(Debug, Clone, Default)]
pub struct Terminal {
    /// What comes as soon as somebody connects, a frame a piece.
    pub says: Vec<Bytes>,
    /// What comes after an Enter.
    pub answers: Bytes,
    /// What goes wrong with it, if anything.
    pub fault: Option<TerminalFault>,
    /// A serial port of a real QEMU that is behind it instead.
    pub relay: Option<SocketAddr>,
}

/// What can go wrong with a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalFault {
    /// Somebody else holds the serial port, which serves one reader at a time: nothing comes.
    Busy,
    /// The connection ends in the middle of a frame, after what it says.
    CutInFrame,
    /// The connection ends after what it says.
    Ends,
    /// Bytes that are no frames.
    Garbage,
    /// The login is never answered.
    Mute,
}

/// A graphical screen.
#[derive(Debug, Clone)]
pub struct Screen {
    /// In pixels.
    pub width: u16,
    /// In pixels.
    pub height: u16,
    /// The text on it, from the top.
    pub lines: Vec<String>,
    /// Whether a counter in its last line runs whenever somebody asks for changes.
    pub moves: bool,
    /// A size that it claims to have instead of its own.
    pub claims: Option<(u16, u16)>,
    /// Noise instead of a background, which packs as badly as a photograph.
    pub noise: bool,
    /// A VNC server of a real QEMU that is behind it instead, and its password.
    pub relay: Option<(SocketAddr, String)>,
}

impl Terminal {
    /// A terminal that says this at once.
    pub fn saying(text: &str) -> Self {
        Self { says: vec![Bytes::copy_from_slice(text.as_bytes())], ..Self::default() }
    }

    /// A terminal that says nothing until somebody presses Enter.
    pub fn waiting(answers: &str) -> Self {
        Self { answers: Bytes::copy_from_slice(answers.as_bytes()), ..Self::default() }
    }
}

impl Screen {
    /// A screen of 720 x 400 pixels with this text.
    pub fn of(lines: &[&str]) -> Self {
        Self { lines: lines.iter().map(|line| (*line).to_owned()).collect(), ..Self::default() }
    }
}

impl Default for Screen {
    fn default() -> Self {
        Self {
            width: 720,
            height: 400,
            lines: Vec::new(),
            moves: false,
            claims: None,
            noise: false,
            relay: None,
        }
    }
}
