//! Consoles: the tickets that lead to them, and what is behind a ticket.
//!
//! **Invariants:** a ticket opens one connection, on the port that it was given for, for the token
//! that asked for it, within ten seconds; the task behind one that nobody used ends by itself, and nobody listens
//! behind one whose task failed. Whatever a client sends is bounded, and frames that
//! pveproxy would not take end the connection.

mod display;
mod font;
mod program;
mod relay;
#[cfg(any(test, feature = "recordings"))]
pub(crate) mod replay;
mod screen;
mod socket;
mod terminal;

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    time::Instant,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::BytesMut;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    cluster::{Guest, Kind, Screen, Terminal},
    date,
    shared::{Shared, World, lock},
};
pub(crate) use display::Running;
use socket::Socket;

/// How the task of a console ends to which nobody connected (read).
const NOBODY: &str = "connection timed out";

/// Which of a guest's consoles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum What {
    Terminal,
    Screen,
}

/// A console that somebody may connect to.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    pub(crate) vmid: u32,
    pub(crate) port: u16,
    pub(crate) text: String,
    /// The password inside; before PVE 9 it is the ticket.
    pub(crate) password: String,
    pub(crate) token: String,
    pub(crate) upid: String,
    what: What,
    serial: String,
    ends: Instant,
    /// Whether its task waits for somebody to connect.
    is_open: bool,
}

/// A connection that was let in, with what it shows.
#[derive(Debug)]
pub(crate) enum Session {
    Terminal {
        vmid: u32,
        terminal: Terminal,
        login: String,
        /// Whether a token is let in, which is so since about PVE 9.1.
        lets_tokens_in: bool,
        greeting: Option<String>,
    },
    Screen {
        vmid: u32,
        screen: Screen,
        password: String,
        name: String,
        is_vncterm: bool,
    },
    #[cfg(any(test, feature = "recordings"))]
    Replay(&'static replay::Replay),
}

impl World {
    /// Gives a ticket for a guest's console and starts the task behind it, which fails at once where
    /// `fails` says so.
    pub(crate) fn give_ticket(
        &mut self,
        node: &str,
        vmid: u32,
        what: What,
        (token, serial): (&str, &str),
        fails: Option<String>,
    ) -> Ticket {
        let upid = match fails.clone() {
            Some(text) => self.end_task(node, "vncproxy", &vmid.to_string(), token, Err(text)),
            None => self.begin_console_task(node, vmid, token),
        };
        let taken = |port: u16| self.tickets.iter().any(|ticket| ticket.port == port);
        let port = (5900..6900).find(|port| !taken(*port)).unwrap_or(5900);
        let signed = format!("PVEVNC:{:08X}::{}", date::unix_now(), random(64));
        let guest = self.cluster.guest(vmid);
        // A real server behind it has a password of its own.
        let real = guest.and_then(|guest| guest.screen.relay.as_ref());
        let password = real.map_or_else(|| random(8), |(_, password)| password.clone());
        let (text, password) = match (what, self.cluster.version.at_least(9, 0)) {
            (What::Screen, true) => (format!("{password}:{signed}"), password),
            _ => (signed.clone(), signed),
        };
        let token = token.to_owned();
        let ends = Instant::now() + self.ticket_life;
        let serial = serial.to_owned();
        self.given.extend([text.clone(), password.clone()]);
        let is_open = fails.is_none();
        let ticket =
            Ticket { vmid, port, text, password, token, upid, what, serial, ends, is_open };
        self.tickets.push(ticket.clone());
        ticket
    }

    /// Ends the tasks of consoles to which nobody connected in time.
    pub(crate) fn expire_tickets(&mut self) {
        let now = Instant::now();
        let tickets = std::mem::take(&mut self.tickets);
        let (over, open): (Vec<_>, Vec<_>) = tickets.into_iter().partition(|one| one.ends <= now);
        self.tickets = open;
        for ticket in over {
            if ticket.is_open {
                self.end_console_task(&ticket.upid, Err(NOBODY));
            }
        }
    }

    /// Whether this is a ticket of this guest. PVE knows it by its signature, whatever became of its task.
    pub(crate) fn is_ticket(&self, vmid: &str, token: &str, ticket: &str) -> bool {
        let fits = |given: &Ticket| {
            given.text == ticket && given.token == token && given.vmid.to_string() == vmid
        };
        self.tickets.iter().any(fits)
    }

    /// Takes the ticket for this port away, and says what it opens.
    fn take(&mut self, port: u16, ticket: &str) -> Option<(Session, String)> {
        self.expire_tickets();
        let fits = |given: &Ticket| given.is_open && given.port == port && given.text == ticket;
        let nth = self.tickets.iter().position(fits)?;
        let Ticket { vmid, text, password, token, upid, what, serial, .. } =
            self.tickets.remove(nth);
        let guest = self.cluster.guest_mut(vmid)?;
        let terminal = guest.terminal.clone();
        if what == What::Terminal {
            guest.terminal.is_booting = false;
        }
        let guest = self.cluster.guest(vmid)?;
        let session = match what {
            What::Terminal => Session::Terminal {
                vmid,
                terminal,
                login: format!("{token}:{text}\n"),
                lets_tokens_in: self.cluster.version.at_least(9, 1),
                greeting: (guest.kind == Kind::Qemu)
                    .then(|| format!("starting serial terminal on interface {serial}\r\n")),
            },
            What::Screen => screen_of(guest, password),
        };
        Some((session, upid))
    }

    fn begin_console_task(&mut self, node: &str, vmid: u32, token: &str) -> String {
        let now = date::unix_now();
        self.last_pid += 1;
        let vmid = vmid.to_string();
        let task = crate::cluster::Task::ended(node, "vncproxy", &vmid, token, (now, now), "");
        let mut task = task.still_running();
        task.pid = self.last_pid;
        let upid = task.upid();
        self.cluster.tasks.push(task);
        upid
    }

    fn end_console_task(&mut self, upid: &str, outcome: Result<(), &str>) {
        let task = self.cluster.tasks.iter_mut().find(|task| task.upid() == upid);
        if let Some(task) = task {
            task.endtime = Some(date::unix_now());
            outcome.err().unwrap_or("OK").clone_into(&mut task.status);
            let line = match outcome {
                Ok(()) => "TASK OK".to_owned(),
                Err(text) => format!("TASK ERROR: {text}"),
            };
            task.log.push(line);
        }
    }
}

fn screen_of(guest: &Guest, password: String) -> Session {
    let name = match (&guest.name, guest.kind) {
        (_, Kind::Lxc) => "VNC Command Terminal".to_owned(),
        (Some(name), Kind::Qemu) => format!("QEMU ({name})"),
        (None, Kind::Qemu) => "QEMU".to_owned(),
    };
    let is_vncterm = guest.kind == Kind::Lxc;
    Session::Screen { vmid: guest.vmid, screen: guest.screen.clone(), password, name, is_vncterm }
}

/// The head of the answer that turns a connection into a WebSocket, and what it then shows. `None`
/// where nobody listens at that port any more.
pub(crate) fn accept(shared: &Shared, path: &str, key: &str) -> Option<(String, Session, String)> {
    let mut port = None;
    let mut ticket = String::new();
    for (name, value) in crate::endpoints::query(path) {
        match name.as_str() {
            "port" => port = value.parse().ok(),
            "vncticket" => ticket = value,
            _ => {}
        }
    }
    let (session, upid) = lock(&shared.world).take(port?, &ticket)?;
    Some((head(key), session, upid))
}

pub(crate) fn head(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let accept = STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: binary\r\n\r\n"
    )
}

/// Serves a console until one side ends it.
pub(crate) async fn serve<S>(
    stream: S,
    first: BytesMut,
    session: Session,
    upid: &str,
    shared: &Shared,
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut socket = Socket::new(stream, first);
    match session {
        Session::Terminal { vmid, terminal, login, lets_tokens_in, greeting } => {
            let login = lets_tokens_in.then_some(login);
            let terminal = terminal::Served { shared, vmid, terminal: &terminal };
            // However it ended, it has ended.
            let _ = terminal.serve(&mut socket, login, greeting).await;
        }
        Session::Screen { vmid, screen, password, name, is_vncterm } => {
            let _ = if let Some((address, _)) = screen.relay {
                relay::serve(&mut socket, address, false).await
            } else {
                let display = display::Display { shared, vmid, ends: screen.ends_after_keys };
                screen::serve(&mut socket, screen, &password, &name, is_vncterm, display).await
            };
        }
        #[cfg(any(test, feature = "recordings"))]
        Session::Replay(replay) => {
            let _ = replay::serve(&mut socket, replay, &shared.typed).await;
        }
    }
    socket.end().await;
    lock(&shared.world).end_console_task(upid, Ok(()));
}

/// Characters as they are in tickets and passwords, of which some have to be encoded in a query.
fn random(length: usize) -> String {
    const CHARACTERS: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01234567+/=%";
    let mut text = String::with_capacity(length);
    while text.len() < length {
        // The standard library's hasher is the one source of randomness that needs no dependency.
        let bytes = RandomState::new().build_hasher().finish().to_be_bytes();
        let characters = bytes.iter().filter_map(|byte| CHARACTERS.get(usize::from(byte % 64)));
        text.extend(characters.map(|character| char::from(*character)));
    }
    text.truncate(length);
    text
}
