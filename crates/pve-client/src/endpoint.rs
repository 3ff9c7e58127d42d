//! One host: its connections, and the one way in which a request reaches it.
//!
//! **Invariant:** a request that changes something goes out on a fresh connection, once. One that
//! only reads may be repeated once, when its connection died before anything of an answer came; an
//! idle connection that the server closed in the same moment looks like that.
//!
//! **Invariant:** only so many requests are at one host at once as [`Places`] has, and one that was given up is one of
//! them for as long as [`Underway`] has to take it for that.

use std::{
    error::Error as StdError,
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{Response, StatusCode, header::DATE};
use http_body_util::Full;
use hyper::{body::Incoming, upgrade::Upgraded};
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::{Instant, timeout_at};

use crate::{
    Error, Fingerprint, Host, LostWhy, Method, Tls, TlsProblem, Trust, UnreadableWhy, Unsent,
    UnsentKind,
    answer::{self, Question},
    body,
    connector::{Connector, NotConnected},
    date,
    hosts::{Health, Turn},
    outgoing::{self, Call, without_query},
    places::{self, Full as FullUp, Place, Places},
    underway::Underway,
    verifier::Trusted,
    websocket,
};

/// How long an idle connection is kept. Proxmox VE closes it after 5 s.
const IDLE: Duration = Duration::from_secs(4);

/// How long a connection may take where another host could be asked instead.
const CONNECT: Duration = Duration::from_secs(3);
/// The same for a host that was down, and is only tried again.
const CONNECT_AGAIN: Duration = Duration::from_millis(1500);

pub(crate) type Http = Client<Connector, Full<Bytes>>;

/// One host.
pub(crate) struct Endpoint {
    pub(crate) health: Health,
    host: Host,
    shown: Arc<str>,
    tls: Tls,
    places: Arc<Places>,
    clients: OnceLock<Result<Clients, TlsProblem>>,
}

/// A whole answer that is a success.
pub(crate) struct Whole {
    /// Who answered.
    pub(crate) host: Arc<str>,
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    pub(crate) date: Option<SystemTime>,
}

struct Clients {
    pooled: Http,
    fresh: Http,
    trusted: Trusted,
}

/// Why a request had no answer.
enum Failure {
    /// The connection died and nothing of an answer had come.
    Died(Error),
    Final(Error),
}

/// The time that a request has at one host. **Waiting for a place is apart from asking**, so that the one
/// is not told as the other.
#[derive(Clone, Copy)]
struct Span {
    /// How long it waited for its place.
    queued: Duration,
    /// When it got it.
    began: Instant,
    /// When it has to be on its way.
    connect_by: Instant,
    until: Instant,
}

impl Endpoint {
    /// Does nothing yet: TLS is set up when the first request needs it.
    pub(crate) fn new(host: Host, mut tls: Tls) -> Self {
        if host.server_name.is_some() {
            tls.server_name.clone_from(&host.server_name);
        }
        if !host.pins.is_empty() {
            tls.trust = Trust::Pinned(host.pins.clone());
        }
        let shown = host.to_string().into();
        let (places, clients) = (Places::new(), OnceLock::new());
        Self { health: Health::default(), host, shown, tls, places, clients }
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Which certificate was trusted last.
    pub(crate) fn certificate(&self) -> Option<Fingerprint> {
        self.clients.get()?.as_ref().ok()?.trusted.get()
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn exchange(&self, call: &Call<'_>, turn: Turn) -> Result<Whole, Error> {
        // The place is kept until the whole answer is here.
        let (place, span) = self.place(call, turn).await?;
        let response = self.answer(call, span, &place).await?;
        let question = self.question(call);
        let reading = async {
            let response = answer::judge(&question, response).await?;
            self.read(call, &question, response).await
        };
        match timeout_at(span.until, reading).await {
            Ok(result) => result,
            Err(_) => Err(self.lost(call, LostWhy::TimedOut(span.began.elapsed()))),
        }
    }

    /// Opens a WebSocket: once, since a ticket is good for one connection. It takes no place once it
    /// is open, because no worker of Proxmox VE is busy with it.
    pub(crate) async fn upgrade(&self, call: &Call<'_>, turn: Turn) -> Result<Upgraded, Error> {
        let (place, span) = self.place(call, turn).await?;
        let key = websocket::key();
        let Some(mut request) = outgoing::request(&self.host, call) else {
            return Err(self.unsent(UnsentKind::InvalidAddress));
        };
        websocket::ask(request.headers_mut(), &key);
        let sent = Underway::new(&self.clients()?.fresh, request, &place);
        let response = self.deliver(call, span, sent).await;
        let response = response.map_err(|(Failure::Died(error) | Failure::Final(error))| error)?;
        let question = self.question(call);
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let judged = timeout_at(span.until, answer::judge(&question, response)).await;
            let response = judged.map_err(|_| self.lost(call, LostWhy::Cut))??;
            return Err(answer::foreign(&question, &response));
        }
        if !websocket::is_agreed(response.headers(), &key) {
            return Err(answer::foreign(&question, &response));
        }
        hyper::upgrade::on(response).await.map_err(|_| self.lost(call, LostWhy::Cut))
    }

    /// Waits for a free place, and shares out the time that is left then.
    async fn place(&self, call: &Call<'_>, turn: Turn) -> Result<(Arc<Place>, Span), Error> {
        let asked = Instant::now();
        let latest = call.deadline.unwrap_or(asked + call.timeout);
        if latest <= asked {
            return Err(self.unsent(UnsentKind::DeadlineOver));
        }
        let place = match self.places.take(call.method, call.path, latest).await {
            Ok(place) => Arc::new(place),
            Err(FullUp::Busy) => return Err(self.unsent(UnsentKind::NoPlace(asked.elapsed()))),
            Err(FullUp::Silent(silence)) => return Err(self.unsent(UnsentKind::Silent(silence))),
        };
        // Those that were before it in the queue have found out what it would find out.
        if turn.others > 0
            && let Some(kind) = self.health.failed_since(turn.began)
        {
            return Err(self.unsent(kind));
        }
        let began = Instant::now();
        let until = began + call.timeout;
        let until = call.deadline.map_or(until, |deadline| deadline.min(until));
        let shares = u32::try_from(turn.others).unwrap_or(u32::MAX).saturating_add(1);
        let share = (until - began) / shares;
        let connect_by = match (turn.others, turn.is_again) {
            (0, _) => until,
            (_, true) => began + share.min(CONNECT_AGAIN),
            (_, false) => began + share.min(CONNECT),
        };
        Ok((place, Span { queued: began - asked, began, connect_by, until }))
    }

    fn clients(&self) -> Result<&Clients, Error> {
        let clients = self.clients.get_or_init(|| Clients::new(&self.tls));
        clients.as_ref().map_err(|problem| self.unsent(problem.clone().into()))
    }

    /// Sends the request, repeats it where that is allowed, and hands back the head of the answer.
    async fn answer(
        &self,
        call: &Call<'_>,
        span: Span,
        place: &Arc<Place>,
    ) -> Result<Response<Incoming>, Error> {
        let clients = self.clients()?;
        let result = match call.method {
            Method::Post => self.once(&clients.fresh, call, span, place).await,
            Method::Get => match self.once(&clients.pooled, call, span, place).await {
                // Another idle connection may be as dead as this one was.
                Err(Failure::Died(_)) => self.once(&clients.fresh, call, span, place).await,
                result => result,
            },
        };
        result.map_err(|(Failure::Died(error) | Failure::Final(error))| error)
    }

    async fn once(
        &self,
        http: &Http,
        call: &Call<'_>,
        span: Span,
        place: &Arc<Place>,
    ) -> Result<Response<Incoming>, Failure> {
        let Some(request) = outgoing::request(&self.host, call) else {
            return Err(Failure::Final(self.unsent(UnsentKind::InvalidAddress)));
        };
        self.deliver(call, span, Underway::new(http, request, place)).await
    }

    async fn deliver(
        &self,
        call: &Call<'_>,
        span: Span,
        mut sent: Underway,
    ) -> Result<Response<Incoming>, Failure> {
        let mut result = timeout_at(span.connect_by, &mut sent).await;
        if result.is_err() && sent.is_connected() {
            result = timeout_at(span.until, &mut sent).await;
        }
        match result {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.failure(call, &error)),
            Err(_) if sent.is_connected() => {
                Err(Failure::Final(self.lost(call, LostWhy::TimedOut(span.began.elapsed()))))
            }
            Err(_) => Err(Failure::Final(self.unsent(span.without_connection()))),
        }
    }

    fn failure(&self, call: &Call<'_>, error: &hyper_util::client::legacy::Error) -> Failure {
        if let Some(NotConnected(kind)) = cause(error) {
            return Failure::Final(self.unsent(kind.clone()));
        }
        let hyper = cause::<hyper::Error>(error);
        if error.is_connect() || hyper.is_some_and(hyper::Error::is_canceled) {
            // A connection that closed before it took the request.
            return Failure::Died(self.unsent(UnsentKind::Closed));
        }
        if hyper.is_some_and(hyper::Error::is_parse) {
            return Failure::Final(self.lost(call, LostWhy::NotHttp));
        }
        Failure::Died(self.lost(call, LostWhy::Cut))
    }

    async fn read(
        &self,
        call: &Call<'_>,
        question: &Question<'_>,
        response: Response<Incoming>,
    ) -> Result<Whole, Error> {
        let status = response.status().as_u16();
        let date = response.headers().get(DATE).and_then(|date| date::parse(date.to_str().ok()?));
        let (whole, limit) = (body::collect(response.into_body(), call.limit).await, call.limit);
        let plain = match whole {
            // An answer becomes ten to twenty times as large, and one that is made for it a thousand times.
            Ok(body) if body::is_compressed(&body) => {
                body::apart(body.len() * 100, move || body::decompress(body, limit)).await
            }
            other => other,
        };
        match plain {
            Ok(body) => {
                let body = call.token.hidden_in(body);
                Ok(Whole { host: Arc::clone(&self.shown), status, body, date })
            }
            Err(body::Failure::Cut) => Err(self.lost(call, LostWhy::Cut)),
            Err(body::Failure::TooLarge) => {
                Err(Error::TooLarge { path: question.path.to_owned(), limit: call.limit })
            }
            Err(body::Failure::Compression) => Err(Error::Unreadable {
                method: call.method,
                path: question.path.to_owned(),
                why: UnreadableWhy::Compression,
            }),
        }
    }

    fn question<'a>(&'a self, call: &Call<'a>) -> Question<'a> {
        Question {
            host: &self.shown,
            method: call.method,
            path: without_query(call.path),
            token: call.token,
        }
    }

    fn unsent(&self, kind: UnsentKind) -> Error {
        Unsent { host: self.shown.to_string(), kind, others: Vec::new() }.into()
    }

    fn lost(&self, call: &Call<'_>, why: LostWhy) -> Error {
        Error::Lost {
            host: self.shown.to_string(),
            method: call.method,
            path: without_query(call.path).to_owned(),
            why,
            others: Vec::new(),
        }
    }
}

impl Span {
    /// Why there was no connection in time.
    fn without_connection(self) -> UnsentKind {
        let waited = self.began.elapsed();
        // Where the queue took nearly all of the time, nothing is known of the host.
        if waited < Duration::from_secs(1) && waited < self.queued {
            UnsentKind::NoPlace(self.queued)
        } else {
            UnsentKind::ConnectTimedOut(waited)
        }
    }
}

impl Clients {
    fn new(tls: &Tls) -> Result<Self, TlsProblem> {
        let trusted = Trusted::default();
        let connector = Connector::new(tls, &trusted)?;
        // Repetition is decided here and not by hyper, which does not know what a request does.
        let pooled = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(places::ALL)
            .retry_canceled_requests(false)
            .build(connector.clone());
        let fresh = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .retry_canceled_requests(false)
            .build(connector);
        Ok(Self { pooled, fresh, trusted })
    }
}

/// The first cause of the given type.
fn cause<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
