//! A request that is under way.
//!
//! **Invariant:** one that was sent, and that nobody waits for any more, keeps its place until its answer comes, its
//! connection ends, or Proxmox VE has given it up as well: leaving does not stop the work there.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::{
    Error, ResponseFuture,
    connect::{CaptureConnection, capture_connection},
};
use tokio::{
    runtime::Handle,
    time::{Instant, timeout_at},
};

use crate::{
    endpoint::Http,
    places::{GOES_ON, Place},
};

/// A request that is under way, and becomes its answer.
pub(crate) struct Underway {
    /// Until it has come to its end.
    answer: Option<ResponseFuture>,
    connection: CaptureConnection,
    /// When it was sent, as far as that is certain.
    sent: Option<Instant>,
    place: Arc<Place>,
}

impl Underway {
    /// Lets a request go.
    pub(crate) fn new(http: &Http, mut request: Request<Full<Bytes>>, place: &Arc<Place>) -> Self {
        let connection = capture_connection(&mut request);
        let answer = Some(http.request(request));
        Self { answer, connection, sent: None, place: Arc::clone(place) }
    }

    /// Whether it has a connection. That is known before the request is handed over to it, so while there is
    /// none, nothing was sent.
    pub(crate) fn is_connected(&self) -> bool {
        self.connection.connection_metadata().is_some()
    }
}

impl Future for Underway {
    type Output = Result<Response<Incoming>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(answer) = &mut self.answer else { return Poll::Pending };
        let polled = Pin::new(answer).poll(cx);
        if polled.is_ready() {
            self.answer = None;
        } else if self.sent.is_none() && self.is_connected() {
            self.sent = Some(Instant::now());
        }
        polled
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        let (Some(answer), Some(sent)) = (self.answer.take(), self.sent) else { return };
        let until = sent + GOES_ON;
        // Without a runtime the program is about to end, and its connections with it.
        let Ok(runtime) = Handle::try_current() else { return };
        if until <= Instant::now() {
            return;
        }
        self.place.give_up(sent);
        let place = Arc::clone(&self.place);
        runtime.spawn(async move {
            let _ = timeout_at(until, answer).await;
            drop(place);
        });
    }
}
