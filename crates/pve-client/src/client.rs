//! Sending requests.
//!
//! **Invariant:** a [`Reader`] has no method that changes anything; an [`Operator`] is made in one
//! place, where the user's choice is read. An [`Observer`] is a reader that shares the list of guests with
//! others like it; an operator has no way to one.

use std::{fmt, ops::Deref, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use hyper::upgrade::Upgraded;
use tokio::time::{Instant, timeout_at};

use crate::{
    Answer, Error, Fingerprint, Get, LostWhy, Method, Post, Settings, Token, UnreadableWhy,
    body::apart,
    console::Opening,
    endpoint::Whole,
    envelope::Parsed,
    guest::{self, Listed},
    hosts::Hosts,
    left_out::LeftOut,
    outgoing::{Call, without_query},
    recent::{Recent, Sharing},
    request::{LIMIT, Read},
};

/// How long a console may take until something comes of it.
const OPENING: Duration = Duration::from_secs(12);

/// A client that can only read. A clone is cheap, and shares the connections.
///
/// It takes no request that changes something:
///
/// ```compile_fail,E0308
/// async fn start(reader: &pve_client::Reader, guest: &pve_client::GuestRef) {
///     let _ = reader.get(pve_client::lifecycle::start(guest)).await;
/// }
/// ```
#[derive(Clone)]
pub struct Reader {
    shared: Arc<Shared>,
    deadline: Option<Instant>,
    left_out: LeftOut,
}

/// A client that can also change things. A clone is cheap, and shares the connections.
#[derive(Clone)]
pub struct Operator(Reader);

/// A reader that may be handed a list of guests which another of its kind has just read, or is reading.
///
/// Who changes something looks for itself: neither a [`Reader`] nor an [`Operator`] has this list.
///
/// ```compile_fail,E0599
/// async fn look(operator: &pve_client::Operator) {
///     let _ = operator.reader().guests().await;
/// }
/// ```
#[derive(Clone)]
pub struct Observer(Reader);

struct Shared {
    guests: Sharing<Answer<Vec<Listed>>>,
    hosts: Hosts,
    token: Token,
    request_timeout: Duration,
    user_agent: String,
}

impl Reader {
    /// Makes a client. Nothing is sent, resolved or set up before the first request.
    pub fn new(settings: Settings) -> Self {
        let Settings { hosts, token, tls, request_timeout, user_agent } = settings;
        let hosts = Hosts::new(hosts, &tls);
        Self {
            shared: Arc::new(Shared {
                guests: Sharing::new(),
                hosts,
                token,
                request_timeout,
                user_agent,
            }),
            deadline: None,
            left_out: LeftOut::default(),
        }
    }

    /// The same client, which counts there what it could not read.
    #[must_use]
    pub fn counting(self, left_out: &LeftOut) -> Self {
        Self { left_out: left_out.clone(), ..self }
    }

    /// The same client, whose [`Observer`]s hand a list of guests to each other for so long: two seconds where
    /// nothing is said, and not at all where it is zero.
    #[must_use]
    pub fn sharing_for(self, kept_for: Duration) -> Self {
        self.shared.guests.keep_for(kept_for);
        self
    }

    /// The same client, all of whose requests end by then. An earlier deadline stays in force.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        let deadline = self.deadline.map_or(deadline, |earlier| earlier.min(deadline));
        Self { deadline: Some(deadline), ..self.clone() }
    }

    /// The host that is asked: of several, the one that works as far as is known.
    pub fn host(&self) -> String {
        let current = self.shared.hosts.current();
        current.map(|endpoint| endpoint.host().to_string()).unwrap_or_default()
    }

    /// The certificate that this host showed, and that was trusted. `None` before the first connection.
    pub fn certificate(&self) -> Option<Fingerprint> {
        self.shared.hosts.current()?.certificate()
    }

    /// `root@pam!monitor`: who asks.
    pub fn token_id(&self) -> &str {
        self.shared.token.id()
    }

    /// Sends a request that changes nothing, and gives what was asked for.
    pub async fn get<T: Send + 'static>(&self, request: Get<T>) -> Result<T, Error> {
        self.fetch(request).await.map(|answer| answer.data)
    }

    /// Sends a request that changes nothing, and gives the answer with what stands around it.
    pub async fn fetch<T: Send + 'static>(&self, request: Get<T>) -> Result<Answer<T>, Error> {
        let (path, limit) = (request.path(), request.limit());
        let whole = self.send(Method::Get, path, "", limit).await?;
        let date = whole.date;
        let parsed = read(Method::Get, path, whole, request.reading()).await?;
        let Parsed { data, total, changes, n_unreadable } = parsed;
        self.left_out.add(without_query(path), n_unreadable);
        Ok(Answer { data, total, changes, unreadable: n_unreadable, date })
    }

    /// Asks for a console: the one POST that a reader sends. It changes nothing, and what is opened
    /// with its answer cannot type.
    pub(crate) async fn ask_for_console(&self, request: &Post<Opening>) -> Result<Opening, Error> {
        let path = request.path();
        let whole = self.send(Method::Post, path, request.form(), LIMIT).await?;
        Ok(read(Method::Post, path, whole, request.reading()).await?.data)
    }

    /// Opens a WebSocket, once. Who refuses may repeat the request: an error holds none of these secrets.
    pub(crate) async fn upgrade(&self, path: &str, secrets: &[&str]) -> Result<Upgraded, Error> {
        let call = self.call(Method::Get, path, "", LIMIT);
        let result = self.shared.hosts.upgrade(&call).await;
        let result = result.map_err(|error| error.without(secrets));
        let path = without_query(path);
        match &result {
            Ok(_) => tracing::info!(path, "upgraded"),
            Err(error) => tracing::info!(path, %error, "not upgraded"),
        }
        result
    }

    /// When a console that is being opened has to be open.
    pub(crate) fn deadline_of_opening(&self) -> Instant {
        let latest = Instant::now() + OPENING;
        self.deadline.map_or(latest, |deadline| deadline.min(latest))
    }

    fn call<'a>(&'a self, method: Method, path: &'a str, form: &'a str, limit: usize) -> Call<'a> {
        Call {
            method,
            path,
            form,
            token: &self.shared.token,
            user_agent: &self.shared.user_agent,
            deadline: self.deadline,
            timeout: self.shared.request_timeout,
            limit,
        }
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        form: &str,
        limit: usize,
    ) -> Result<Whole, Error> {
        let began = Instant::now();
        let call = self.call(method, path, form, limit);
        let result = self.shared.hosts.exchange(&call).await;
        trace(method, path, &result, began);
        result
    }
}

impl Observer {
    /// Lets a reader share. Call this in one place: where tools that only read are handed their client.
    pub fn new(reader: Reader) -> Self {
        Self(reader)
    }

    /// All guests that the token may see, as [`guest::list`] has them, from a request that others may share.
    pub async fn guests(&self) -> Result<Recent<Answer<Vec<Listed>>>, Error> {
        let read = self.shared_guests().await?;
        let list = guest::list();
        self.0.left_out.add(without_query(list.path()), read.data().unreadable);
        Ok(read)
    }

    async fn shared_guests(&self) -> Result<Recent<Answer<Vec<Listed>>>, Error> {
        let began = Instant::now();
        let shared = &self.0.shared;
        // Others may have more time than this caller, so that the request has its own.
        let asking = shared.guests.get(|| {
            // Each of those who share it counts for itself.
            let (shared, left_out) = (Arc::clone(shared), LeftOut::default());
            let reader = Reader { shared, deadline: None, left_out };
            async move { reader.fetch(guest::list()).await.map(Arc::new) }.boxed()
        });
        let Some(deadline) = self.0.deadline else { return asking.await };
        timeout_at(deadline, asking).await.unwrap_or_else(|_| {
            let list = guest::list();
            Err(Error::Lost {
                host: self.0.host(),
                method: Method::Get,
                path: without_query(list.path()).to_owned(),
                why: LostWhy::TimedOut(began.elapsed()),
                others: Vec::new(),
            })
        })
    }
}

impl Deref for Observer {
    type Target = Reader;

    fn deref(&self) -> &Reader {
        &self.0
    }
}

impl Operator {
    /// Lets a reader write. Call this in one place: where the user's choice is read.
    pub fn new(reader: Reader) -> Self {
        Self(reader)
    }

    /// The reading half.
    pub fn reader(&self) -> &Reader {
        &self.0
    }

    /// The same client, all of whose requests end by then. An earlier deadline stays in force.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        Self(self.0.until(deadline))
    }

    /// The same client, which counts there what it could not read.
    #[must_use]
    pub fn counting(self, left_out: &LeftOut) -> Self {
        Self(self.0.counting(left_out))
    }

    /// Sends a request that changes something: once, whatever happens.
    ///
    /// [`Error::may_have_taken_effect`] tells whether it may have done so although it failed.
    pub async fn post<T: Send + 'static>(&self, request: Post<T>) -> Result<T, Error> {
        let path = request.path();
        // Also when this is cancelled: nobody who reads after it is handed what was read before it.
        let _writing = self.0.shared.guests.writing();
        let whole = self.0.send(Method::Post, path, request.form(), LIMIT).await?;
        let parsed = read(Method::Post, path, whole, request.reading()).await?;
        Ok(parsed.data)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reader({} at {})", self.token_id(), self.host())
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Observer({} at {})", self.token_id(), self.host())
    }
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({} at {})", self.0.token_id(), self.0.host())
    }
}

/// What a whole answer says.
async fn read<T: Send + 'static>(
    method: Method,
    path: &str,
    whole: Whole,
    reading: Read<T>,
) -> Result<Parsed<T>, Error> {
    let path = without_query(path);
    let body = whole.body;
    let read = apart(body.len(), move || reading(&body)).await;
    read.map_err(|why| match why {
        // Some other API that also speaks JSON.
        UnreadableWhy::NoData => Error::Foreign {
            host: whole.host.to_string(),
            method,
            path: path.to_owned(),
            status: whole.status,
            content_type: Some("application/json".to_owned()),
            redirect_to: None,
        },
        why => Error::Unreadable { method, path: path.to_owned(), why },
    })
}

/// One line for one request, without headers, bodies and queries.
fn trace(method: Method, path: &str, result: &Result<Whole, Error>, began: Instant) {
    let path = without_query(path);
    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let method = method.as_str();
    match result {
        Ok(Whole { status, body, .. }) => {
            let bytes = body.len();
            tracing::info!(method, path, status, milliseconds, bytes, "answered");
        }
        Err(Error::Refused(refusal)) => {
            tracing::info!(method, path, status = refusal.status, milliseconds, "refused");
        }
        Err(error) => tracing::info!(method, path, milliseconds, %error, "failed"),
    }
}
