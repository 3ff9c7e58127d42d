//! What termproxy speaks inside a WebSocket, and a terminal behind it.

use std::sync::Mutex;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{relay, socket::Socket};
use crate::{
    cluster::{Terminal, TerminalFault},
    shared::lock,
};

/// Serves a terminal until one side ends it. Without a `login` nobody is let in.
pub(super) async fn serve<S>(
    socket: &mut Socket<S>,
    terminal: &Terminal,
    login: Option<String>,
    greeting: Option<&str>,
    typed: &Mutex<Vec<Bytes>>,
) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
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
    for piece in terminal.says.iter().filter(|_| !is_busy) {
        socket.send(piece).await?;
        // Whoever reads gets the pieces one by one, as from a real terminal.
        tokio::task::yield_now().await;
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
    while let Some(message) = socket.message().await {
        lock(typed).push(message.clone().freeze());
        // `0:LENGTH:DATA` is what is typed; `1:COLUMNS:ROWS:` and `2` only keep house.
        if relay::keys(&message).contains(&b'\r') && !is_busy {
            socket.send(&terminal.answers).await?;
        }
    }
    None
}
