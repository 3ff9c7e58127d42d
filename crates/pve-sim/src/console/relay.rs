//! Passes on between a WebSocket and a real program's TCP port, as pveproxy does for the ports of QEMU.

use std::net::SocketAddr;

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};

use super::socket::Socket;

/// Passes on until one side ends it. Of what goes into a terminal only the keys are for the port.
pub(super) async fn serve<S>(
    socket: &mut Socket<S>,
    address: SocketAddr,
    is_terminal: bool,
) -> Option<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut port = TcpStream::connect(address).await.ok()?;
    let mut buffer = BytesMut::with_capacity(64 << 10);
    loop {
        tokio::select! {
            read = port.read_buf(&mut buffer) => {
                if read.ok()? == 0 {
                    return None;
                }
                socket.send(&buffer.split()).await?;
            }
            message = socket.message() => {
                let message = message?;
                let bytes = if is_terminal { keys(&message) } else { &message };
                port.write_all(bytes).await.ok()?;
            }
        }
    }
}

/// What was typed: the rest of `0:LENGTH:`. Nothing for a message that only keeps house.
pub(super) fn keys(message: &[u8]) -> &[u8] {
    let typed = message.strip_prefix(b"0:").unwrap_or_default();
    typed.splitn(2, |byte| *byte == b':').nth(1).unwrap_or_default()
}
