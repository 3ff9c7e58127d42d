//! One host: its connections, and the one way in which a request reaches it.
//!
//! **Invariant:** a request that changes something goes out on a fresh connection, once. One that
//! only reads may be repeated once, when its connection died before anything of an answer came; an
//! idle connection that the server closed in the same moment looks like that.
//!
//! **Invariant:** no more than four requests are at one host at once. Three workers of Proxmox VE
//! serve everybody, the web interface included.

use std::{
    error::Error as StdError,
    net::Ipv6Addr,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, StatusCode, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, DATE, USER_AGENT},
};
use http_body_util::Full;
use hyper::{body::Incoming, upgrade::Upgraded};
use hyper_util::{
    client::legacy::{Client, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use crate::{
    Error, Host, LostWhy, Method, Tls, TlsProblem, Token, UnreadableWhy, Unsent, UnsentKind,
    answer::{self, Question},
    body,
    connector::{Connector, NotConnected},
    date, websocket,
};

/// How long an idle connection is kept. Proxmox VE closes it after 5 s.
const IDLE: Duration = Duration::from_secs(4);

/// How many requests may be at one host at once.
const PLACES: usize = 4;

type Http = Client<Connector, Full<Bytes>>;

/// One host.
pub(crate) struct Endpoint {
    host: Host,
    shown: String,
    tls: Tls,
    places: Semaphore,
    clients: OnceLock<Result<Clients, TlsProblem>>,
}

/// What is sent.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// Below `/api2/json`, with the query.
    pub(crate) path: &'a str,
    pub(crate) form: &'a str,
    pub(crate) token: &'a Token,
    pub(crate) user_agent: &'a str,
    pub(crate) deadline: Instant,
    pub(crate) limit: usize,
}

/// A whole answer that is a success.
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
    pub(crate) date: Option<SystemTime>,
}

struct Clients {
    pooled: Http,
    fresh: Http,
}

/// Why a request had no answer.
enum Failure {
    /// The connection died and nothing of an answer had come.
    Died(Error),
    Final(Error),
}

impl Endpoint {
    /// Does nothing yet: TLS is set up when the first request needs it.
    pub(crate) fn new(host: Host, tls: Tls) -> Self {
        let shown = host.to_string();
        Self { host, shown, tls, places: Semaphore::new(PLACES), clients: OnceLock::new() }
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn exchange(&self, call: &Call<'_>) -> Result<Whole, Error> {
        let began = Instant::now();
        if call.deadline <= began {
            return Err(self.unsent(UnsentKind::DeadlineOver));
        }
        // The place is kept until the whole answer is here.
        let Ok(Ok(_place)) = timeout_at(call.deadline, self.places.acquire()).await else {
            return Err(self.unsent(UnsentKind::DeadlineOver));
        };
        let response = self.answer(call).await?;
        let question = self.question(call);
        let reading = async {
            let response = answer::judge(&question, response).await?;
            self.read(call, &question, response).await
        };
        match timeout_at(call.deadline, reading).await {
            Ok(result) => result,
            Err(_) => Err(self.lost(call, LostWhy::TimedOut(began.elapsed()))),
        }
    }

    /// Opens a WebSocket: once, since a ticket is good for one connection. It takes no place once it
    /// is open, because no worker of Proxmox VE is busy with it.
    pub(crate) async fn upgrade(&self, call: &Call<'_>) -> Result<Upgraded, Error> {
        let Ok(Ok(_place)) = timeout_at(call.deadline, self.places.acquire()).await else {
            return Err(self.unsent(UnsentKind::DeadlineOver));
        };
        let clients = match self.clients.get_or_init(|| Clients::new(&self.tls)) {
            Ok(clients) => clients,
            Err(problem) => return Err(self.unsent(problem.clone().into())),
        };
        let key = websocket::key();
        let Some(mut request) = self.request(call) else {
            return Err(self.unsent(UnsentKind::InvalidAddress));
        };
        websocket::ask(request.headers_mut(), &key);
        let response = self.deliver(&clients.fresh, call, request).await;
        let response = response.map_err(|(Failure::Died(error) | Failure::Final(error))| error)?;
        let question = self.question(call);
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            let judged = timeout_at(call.deadline, answer::judge(&question, response)).await;
            let response = judged.map_err(|_| self.lost(call, LostWhy::Cut))??;
            return Err(answer::foreign(&question, &response));
        }
        if !websocket::is_agreed(response.headers(), &key) {
            return Err(answer::foreign(&question, &response));
        }
        hyper::upgrade::on(response).await.map_err(|_| self.lost(call, LostWhy::Cut))
    }

    /// Sends the request, repeats it where that is allowed, and hands back the head of the answer.
    async fn answer(&self, call: &Call<'_>) -> Result<Response<Incoming>, Error> {
        let clients = match self.clients.get_or_init(|| Clients::new(&self.tls)) {
            Ok(clients) => clients,
            Err(problem) => return Err(self.unsent(problem.clone().into())),
        };
        let result = match call.method {
            Method::Post => self.once(&clients.fresh, call).await,
            Method::Get => match self.once(&clients.pooled, call).await {
                // Another idle connection may be as dead as this one was.
                Err(Failure::Died(_)) => self.once(&clients.fresh, call).await,
                result => result,
            },
        };
        result.map_err(|(Failure::Died(error) | Failure::Final(error))| error)
    }

    async fn once(&self, http: &Http, call: &Call<'_>) -> Result<Response<Incoming>, Failure> {
        let Some(request) = self.request(call) else {
            return Err(Failure::Final(self.unsent(UnsentKind::InvalidAddress)));
        };
        self.deliver(http, call, request).await
    }

    async fn deliver(
        &self,
        http: &Http,
        call: &Call<'_>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let began = Instant::now();
        let connection = capture_connection(&mut request);
        match timeout_at(call.deadline, http.request(request)).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(self.failure(call, &error)),
            Err(_) if connection.connection_metadata().is_some() => {
                Err(Failure::Final(self.lost(call, LostWhy::TimedOut(began.elapsed()))))
            }
            // It was still waiting for a connection.
            Err(_) => {
                let waited = began.elapsed();
                // Where hardly any time was left, its own queue took it, and no firewall.
                let kind = if waited < Duration::from_secs(1) {
                    UnsentKind::DeadlineOver
                } else {
                    UnsentKind::ConnectTimedOut(waited)
                };
                Err(Failure::Final(self.unsent(kind)))
            }
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
        let whole = body::collect(response.into_body(), call.limit).await;
        match whole.and_then(|body| body::decompress(body, call.limit)) {
            Ok(body) => Ok(Whole { status, body, date }),
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

    /// `None` when the address is none.
    fn request(&self, call: &Call<'_>) -> Option<Request<Full<Bytes>>> {
        let uri: Uri = format!("{}{}", self.host.base(), call.path).parse().ok()?;
        // A name such as `pve/x` or `user@pve` would mean another host than the one that is shown.
        let name = self.host.name.trim_matches(['[', ']']);
        let is_meant = uri.host()?.trim_matches(['[', ']']) == name;
        let is_address = !name.contains(':') || name.parse::<Ipv6Addr>().is_ok();
        if !is_meant || !is_address || name.is_empty() || self.host.prefix.contains('?') {
            return None;
        }
        let mut authorization =
            HeaderValue::from_bytes(call.token.authorization().as_bytes()).ok()?;
        authorization.set_sensitive(true);
        // No compression is asked for: it would cost the worker more time than it saves in a LAN.
        let request = Request::builder()
            .method(call.method.as_str())
            .uri(uri)
            .header(AUTHORIZATION, authorization)
            .header(USER_AGENT, call.user_agent)
            .header(ACCEPT, "application/json");
        match call.method {
            Method::Get => request.body(Full::default()),
            // Proxmox VE takes neither chunks nor a body without its length.
            Method::Post => request
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(CONTENT_LENGTH, call.form.len())
                .body(Full::from(call.form.to_owned())),
        }
        .ok()
    }

    fn question<'a>(&'a self, call: &Call<'a>) -> Question<'a> {
        Question { host: &self.shown, method: call.method, path: without_query(call.path) }
    }

    fn unsent(&self, kind: UnsentKind) -> Error {
        Unsent { host: self.shown.clone(), kind }.into()
    }

    fn lost(&self, call: &Call<'_>, why: LostWhy) -> Error {
        Error::Lost {
            host: self.shown.clone(),
            method: call.method,
            path: without_query(call.path).to_owned(),
            why,
        }
    }
}

impl Clients {
    fn new(tls: &Tls) -> Result<Self, TlsProblem> {
        let connector = Connector::new(tls)?;
        // Repetition is decided here and not by hyper, which does not know what a request does.
        let pooled = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(PLACES)
            .retry_canceled_requests(false)
            .build(connector.clone());
        let fresh = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .retry_canceled_requests(false)
            .build(connector);
        Ok(Self { pooled, fresh })
    }
}

/// The path alone, for messages: a query may hold what somebody searched for.
pub(crate) fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn uri(host: Host) -> Option<String> {
        let token = Token::new("root@pam", "monitor", Secret::new("x".to_owned())).unwrap();
        let call = Call {
            method: Method::Get,
            path: "/version?a=b",
            form: "",
            token: &token,
            user_agent: "test",
            deadline: Instant::now(),
            limit: 0,
        };
        let endpoint = Endpoint::new(host, Tls::default());
        let request = endpoint.request(&call)?;
        assert!(request.headers()[AUTHORIZATION].is_sensitive());
        Some(request.uri().to_string())
    }

    #[test]
    fn every_spelling_of_an_address_becomes_a_url() {
        for (name, expected) in [
            ("pve.lan", "https://pve.lan:8006/api2/json/version?a=b"),
            ("PVE1", "https://PVE1:8006/api2/json/version?a=b"),
            ("192.0.2.7", "https://192.0.2.7:8006/api2/json/version?a=b"),
            ("::1", "https://[::1]:8006/api2/json/version?a=b"),
            ("[::1]", "https://[::1]:8006/api2/json/version?a=b"),
        ] {
            assert_eq!(uri(Host::new(name, 8006)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_name_that_would_mean_another_host_is_none() {
        for name in ["", "pve/x", "user@pve", "pve?x", "pve#x", "pve:1", "a b", "a\\b", "é"] {
            assert_eq!(uri(Host::new(name, 8006)), None, "{name:?}");
        }
        let mut host = Host::new("pve", 8006);
        host.prefix = "/x?y=".to_owned();
        assert_eq!(uri(host), None);
    }
}
