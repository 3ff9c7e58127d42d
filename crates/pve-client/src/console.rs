//! Consoles: the text terminal and the graphical screen of a guest, for watching and for typing.
//!
//! Both begin with a POST that changes nothing (`termproxy`, `vncproxy`) and answers with a port and
//! a ticket, which are good for one connection within ten seconds; what is seen comes through a
//! WebSocket. Proxmox VE counts an open console as a task of the type `vncproxy`.
//!
//! **Invariant:** what a [`Reader`] opens cannot type: [`WatchedTerminal`] and [`WatchedScreen`] have
//! no method that sends a key, a click or an answer to a question of the guest. A terminal is told
//! its size, and both are asked to stay and to end; nothing else goes out. Only what an
//! [`Operator`](crate::Operator) opens can type.
//!
//! **Invariant:** a ticket is used once and at once, and neither it nor a password is shown by
//! anything: both are a [`Secret`], and they stand only in a query, which no error and no trace has.

mod des;
mod error;
mod frame;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzed;
mod pixels;
mod screen;
mod stream;
mod terminal;
mod tight;
mod typing;
mod zrle;

use serde::Deserialize;

pub use error::{ConsoleError, ConsoleProblem};
pub use screen::{Screenshot, WatchedScreen};
pub use terminal::{Size, WatchedTerminal};
pub use typing::{KeySym, OpenScreen, OpenTerminal};

use frame::Socket;

use crate::{
    Error, GuestRef, Kind, Post, Reader, Secret, Upid,
    error::TICKET,
    form::Form,
    perl::{self, FromPerl},
};

/// A serial port of a VM: 0 to 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SerialPort(u8);

/// What Proxmox VE gives for opening one console once. It has no `Debug`, because of what is in it.
#[derive(Deserialize)]
pub(crate) struct Opening {
    #[serde(default, deserialize_with = "perl::field")]
    user: Option<String>,
    #[serde(default, deserialize_with = "perl::field")]
    ticket: Option<Secret>,
    /// Since Proxmox VE 9 the password inside is apart; before, it is the ticket.
    #[serde(default, deserialize_with = "perl::field")]
    password: Option<Secret>,
    /// A text in PVE 9.2.11.
    #[serde(default, deserialize_with = "perl::field")]
    port: Option<u64>,
    #[serde(default, deserialize_with = "perl::field")]
    upid: Option<String>,
}

impl Reader {
    /// Opens a guest's text terminal for watching: a serial port of a VM (the first one, where none
    /// is named), a tty of a container. Needs `VM.Console`.
    ///
    /// A token can do so since about PVE 9.1 (its access control 9.0.5); before, the login inside
    /// fails with [`ConsoleProblem::LoginFailed`]. Nothing is replayed: only what comes from now on is
    /// seen. A VM without serial port, and a guest that does not run, get a ticket all the same, and
    /// the task behind it fails (recorded from PVE 9.2.11).
    pub async fn watch_terminal(
        &self,
        guest: &GuestRef,
        serial: Option<SerialPort>,
        size: Size,
    ) -> Result<WatchedTerminal, ConsoleError> {
        let (socket, opening, task) = self.open(guest, termproxy(guest, serial)).await?;
        let deadline = self.deadline_of_opening();
        let opened = WatchedTerminal::begin(socket, &opening, size, deadline).await;
        opened.map_err(|problem| ConsoleError { problem, task })
    }

    /// Opens a guest's screen for watching. Nobody who looks at it is thrown out. Needs `VM.Console`.
    pub async fn watch_screen(&self, guest: &GuestRef) -> Result<WatchedScreen, ConsoleError> {
        let (socket, opening, task) = self.open(guest, vncproxy(guest)).await?;
        let password = opening.password.as_ref().or(opening.ticket.as_ref());
        let password = password.map(Secret::expose).unwrap_or_default();
        let deadline = self.deadline_of_opening();
        let opened = WatchedScreen::begin(socket, password, deadline).await;
        opened.map_err(|problem| ConsoleError { problem, task })
    }

    async fn open(
        &self,
        guest: &GuestRef,
        request: Post<Opening>,
    ) -> Result<(Socket, Opening, Option<Upid>), ConsoleError> {
        let opening = self.ask_for_console(&request).await?;
        let task: Option<Upid> = opening.upid.as_deref().and_then(|upid| upid.parse().ok());
        let failed = |problem| ConsoleError { problem, task: task.clone() };
        let Some((ticket, port)) = opening.ticket.as_ref().zip(opening.port) else {
            return Err(failed(ConsoleProblem::NoTicket));
        };
        let port = i64::try_from(port).unwrap_or_default();
        let form = Form::default().number("port", port).text(TICKET, ticket.expose());
        let path = form.after(&format!("{}/vncwebsocket", guest.path()));
        let password = opening.password.as_ref().map(Secret::expose).unwrap_or_default();
        let upgraded = self.upgrade(&path, &[ticket.expose(), password]).await;
        let upgraded = upgraded.map_err(|error| failed(ConsoleProblem::NotOpened(error)))?;
        Ok((Socket::new(upgraded), opening, task))
    }
}

fn termproxy(guest: &GuestRef, serial: Option<SerialPort>) -> Post<Opening> {
    let form = match (guest.kind, serial) {
        (Kind::Qemu, Some(SerialPort(number))) => {
            Form::default().text("serial", &format!("serial{number}"))
        }
        _ => Form::default(),
    };
    Post::new(format!("{}/termproxy", guest.path()), form)
}

fn vncproxy(guest: &GuestRef) -> Post<Opening> {
    Post::new(format!("{}/vncproxy", guest.path()), Form::default().flag("websocket", true))
}

impl SerialPort {
    /// The port of this number. Proxmox VE has 0 to 3.
    pub fn new(number: u8) -> Option<Self> {
        (number <= 3).then_some(Self(number))
    }
}

impl FromPerl for Secret {
    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::new(text.to_owned()))
    }
}

impl From<Error> for ConsoleError {
    fn from(error: Error) -> Self {
        Self { problem: ConsoleProblem::NotOpened(error), task: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VmId;

    fn guest(kind: Kind) -> GuestRef {
        GuestRef { node: "pve1".parse().unwrap(), kind, vmid: VmId::try_from(101u32).unwrap() }
    }

    #[test]
    fn a_serial_port_is_named_only_for_a_vm() {
        let request = termproxy(&guest(Kind::Qemu), SerialPort::new(1));
        assert_eq!(request.path(), "/nodes/pve1/qemu/101/termproxy");
        assert_eq!(request.form(), "serial=serial1");
        assert_eq!(termproxy(&guest(Kind::Qemu), None).form(), "");
        assert_eq!(termproxy(&guest(Kind::Lxc), SerialPort::new(1)).form(), "");
        assert_eq!(SerialPort::new(4), None);
        assert_eq!(vncproxy(&guest(Kind::Lxc)).form(), "websocket=1");
    }

    #[test]
    fn a_recorded_opening_is_read_and_its_secrets_are_not_shown() {
        let body = br#"{"data":{"port":"5902","password":"54MNM.@%","user":"ops@pve!rw",
            "upid":"UPID:pve1:00001CF8:000BFA5E:6B0D1770:vncproxy:100:ops@pve!rw:",
            "ticket":"54MNM.@%:PVEVNC:6B0D1770::qLCP=="}}"#;
        let opening = (vncproxy(&guest(Kind::Qemu)).reading())(body).ok().unwrap().data;
        assert_eq!(opening.port, Some(5902));
        assert_eq!(opening.password.as_ref().unwrap().expose(), "54MNM.@%");
        assert_eq!(opening.upid.unwrap().parse::<Upid>().unwrap().kind, "vncproxy");
        assert!(!format!("{:?} {:?}", opening.ticket, opening.password).contains("54MNM"));
    }
}
