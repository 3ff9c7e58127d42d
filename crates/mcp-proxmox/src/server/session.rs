//! One session: from the first line that a client sends to the end of this server.
//!
//! **The end is bounded**, whoever brings it about: calls get half a second, a client that does not read gets
//! a little more, and nobody is waited for beyond that.

use std::convert::Infallible;

use rmcp::{ServiceExt as _, service::ServerInitializeError};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::Duration,
};

use super::{Server, guard, stdio, unread};
use crate::signals::{Told, told_to_end};

/// How long the server stays after the end of its input. Calls get half a second of it; the rest is for a client
/// that does not read what it is sent.
pub(super) const LEAVING: Duration = Duration::from_secs(3);

impl Server {
    /// Serves one client on standard input and output, until it leaves or this process is told to end.
    ///
    /// # Errors
    /// What ended the session, where that was neither.
    pub async fn serve_stdio(self) -> Result<Option<Told>, String> {
        let (input, output) = stdio::standard();
        Box::pin(self.serve_until(input, output, told_to_end())).await
    }

    /// Serves one client on two streams of lines, until it leaves.
    ///
    /// # Errors
    /// What ended the session, where that was not the client.
    pub async fn serve<R, W>(self, input: R, output: W) -> Result<(), String>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Box::pin(self.serve_until(input, output, std::future::pending())).await.map(drop)
    }

    /// Serves until the client leaves, or until `told` says that this process has to end, which is treated alike.
    async fn serve_until<R, W>(
        mut self,
        input: R,
        output: W,
        told: impl Future<Output = Told>,
    ) -> Result<Option<Told>, String>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (lines, end) = stdio::Lines::new(input, output);
        let bounded = unread::Bounded::new(lines, end.clone());
        let eof = end.eof;
        self.eof = eof.clone();
        let guard = guard::Guard::new(self, eof.clone());
        let serving = async {
            match guard.serve(bounded).await {
                Ok(running) => tokio::select! {
                    ended = running.waiting() => ended.map(drop).map_err(|error| error.to_string()),
                    // The library waits for a client that does not read until that client ends.
                    () = async { eof.cancelled().await; tokio::time::sleep(LEAVING).await } => Ok(()),
                },
                // A client that leaves before it says anything did nothing wrong, and neither did we.
                Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        };
        let mut how = None;
        let ending = async {
            how = Some(told.await);
            eof.cancel();
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            ended = serving => ended?,
            never = ending => match never {},
        }
        if end.unread.is_cancelled() {
            // Its user should know, and nobody else would tell.
            return Err(format!(
                "the client sent more and more and read no answer for {} s, so it is taken for gone; the server ends",
                unread::PATIENCE.as_secs()
            ));
        }
        Ok(how)
    }
}
