//! What termproxy speaks inside a WebSocket, and a terminal behind it.

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{What, display::Running, relay, socket::Socket};
use crate::{
    cluster::{Program, Terminal, TerminalFault},
    shared::{Shared, lock},
};

/// The terminal of one guest, as one client has it.
pub(super) struct Served<'a> {
    pub(super) shared: &'a Shared,
    pub(super) vmid: u32,
    pub(super) terminal: &'a Terminal,
}

impl Served<'_> {
    /// Serves it until one side ends it. Without a `login` nobody is let in.
    pub(super) async fn serve<S>(
        self,
        socket: &mut Socket<S>,
        login: Option<String>,
        greeting: Option<String>,
    ) -> Option<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let terminal = self.terminal;
        let first = socket.message().await?;
        if login.is_none_or(|login| login.as_bytes() != &first[..]) {
            return None;
        }
        if terminal.fault == Some(TerminalFault::Mute) {
            while socket.message().await.is_some() {}
            return None;
        }
        socket.send(b"OK").await?;
        if let Some(greeting) = greeting {
            socket.send(greeting.as_bytes()).await?;
        }
        if let Some(address) = terminal.relay {
            return relay::serve(socket, address, true).await;
        }
        let is_busy = terminal.fault == Some(TerminalFault::Busy);
        let boot = terminal.boots.iter().filter(|_| terminal.is_booting);
        for piece in boot.chain(&terminal.says).filter(|_| !is_busy) {
            socket.send(piece).await?;
            // Whoever reads gets the pieces one by one, as from a real terminal.
            tokio::task::yield_now().await;
        }
        if let Some(program) = terminal.program.as_ref().filter(|_| terminal.is_booting && !is_busy)
        {
            let running = Running::new(program);
            let prompt = running.state.prompt();
            lock(&self.shared.programs).insert((self.vmid, What::Terminal), running);
            socket.send(format!("\r\n{prompt}").as_bytes()).await?;
        }
        match terminal.fault {
            Some(TerminalFault::CutInFrame) => {
                socket.send_raw(&[0x82, 100, b'x']).await?;
                return None;
            }
            Some(TerminalFault::Garbage) => {
                socket.send_raw(&[0xff; 64]).await?;
                while socket.message().await.is_some() {}
                return None;
            }
            Some(TerminalFault::Ends) => return None,
            _ => {}
        }
        let mut n_typed = 0;
        while let Some(message) = socket.message().await {
            n_typed += usize::from(message.starts_with(b"0:"));
            // `0:LENGTH:DATA` is what is typed; `1:COLUMNS:ROWS:` and `2` only keep house.
            if terminal.fault == Some(TerminalFault::EndsAfter(n_typed.saturating_sub(1)))
                && n_typed > 0
            {
                return None;
            }
            lock(&self.shared.typed).push(message.clone().freeze());
            if is_busy {
                continue;
            }
            if let Some(program) = &terminal.program {
                let answer = self.answer(program, &message);
                if !answer.is_empty() {
                    socket.send(answer.as_bytes()).await?;
                }
            } else if relay::keys(&message).contains(&b'\r') {
                socket.send(&terminal.answers).await?;
            }
        }
        None
    }

    /// What the program says to a message.
    fn answer(&self, program: &Program, message: &BytesMut) -> String {
        let mut programs = lock(&self.shared.programs);
        let place = (self.vmid, What::Terminal);
        let running = programs.entry(place).or_insert_with(|| Running::new(program));
        running.state.feed(relay::keys(message))
    }
}
