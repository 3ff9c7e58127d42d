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
    /// A program that reads what is typed and answers.
    pub program: Option<Program>,
    /// What comes while the guest boots, to whoever is connected first after that, a frame a piece.
    pub boots: Vec<Bytes>,
    /// Whether the guest has booted and nobody has seen it yet.
    pub is_booting: bool,
    /// What goes wrong with it, if anything.
    pub fault: Option<TerminalFault>,
    /// A serial port of a real QEMU that is behind it instead.
    pub relay: Option<SocketAddr>,
}

/// A small program at a terminal or a display: a login and a shell that does nothing but answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What the system calls itself.
    pub host: String,
    /// The password of every user.
    pub password: String,
    /// Who is logged in already.
    pub logged_in: Option<String>,
}

impl Program {
    /// A login.
    pub fn login(host: &str, password: &str) -> Self {
        Self { host: host.to_owned(), password: password.to_owned(), logged_in: None }
    }

    /// A shell in which this user is logged in.
    pub fn shell(host: &str, user: &str) -> Self {
        Self { logged_in: Some(user.to_owned()), ..Self::login(host, "simulated") }
    }
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
    /// The connection ends when so many messages were typed.
    EndsAfter(usize),
}

/// What can go wrong with a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenFault {
    /// It says that it has too many viewers.
    Full,
    /// No picture ever comes.
    Mute,
    /// The connection ends in the middle of a picture.
    CutInPicture,
    /// Bytes that are no message come instead of a picture.
    Garbage,
    /// A part comes that lies outside of the screen.
    Outside,
    /// It says that it is larger now than any screen is.
    Grows,
    /// Pictures without any part come for ever.
    Empty,
    /// A text is announced that would fill all memory.
    Clipboard,
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
    /// A program that reads what is typed and answers below that text.
    pub program: Option<Program>,
    /// Whether a counter in its last line runs whenever somebody asks for changes.
    pub moves: bool,
    /// A size that it claims to have instead of its own.
    pub claims: Option<(u16, u16)>,
    /// Noise instead of a background, which packs as badly as a photograph.
    pub noise: bool,
    /// What goes wrong with it, if anything.
    pub fault: Option<ScreenFault>,
    /// The connection ends when so many keys were pressed.
    pub ends_after_keys: Option<usize>,
    /// A VNC server of a real QEMU that is behind it instead, and its password.
    pub relay: Option<(SocketAddr, String)>,
}

impl Terminal {
    /// A terminal that says this at once.
    pub fn saying(text: &str) -> Self {
        Self { says: vec![Bytes::copy_from_slice(text.as_bytes())], ..Self::default() }
    }

    /// A terminal at which this program runs.
    pub fn running(program: Program) -> Self {
        Self { program: Some(program), ..Self::default() }
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
            program: None,
            moves: false,
            claims: None,
            noise: false,
            fault: None,
            ends_after_keys: None,
            relay: None,
        }
    }
}
