//! A server that answers with exactly the bytes that a test wants, and remembers what it was asked.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::Barrier,
};
use tokio_rustls::TlsAcceptor;

use crate::certificates::{Authority, Identity};

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// The lines before the body.
    pub(crate) head: String,
    pub(crate) body: String,
    /// Which connection it came over, from 1 on.
    pub(crate) connection: usize,
    /// Which request it is of all, from 1 on.
    pub(crate) nth: usize,
}

/// What the server does with a request.
pub(crate) enum Reply {
    /// Sends these bytes and waits for the next request.
    Send(Vec<u8>),
    /// Sends these bytes, which may be none, and closes the connection.
    Close(Vec<u8>),
    /// Sends these bytes, which may be none, and then says nothing for ever.
    Stall(Vec<u8>),
    /// Sends these bytes once four requests are here.
    WithThreeOthers(Vec<u8>),
}

/// A running server. It ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) port: u16,
    log: Arc<Log>,
}

struct Log {
    seen: Mutex<Vec<Seen>>,
    connections: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    four: Barrier,
    is_shut: AtomicBool,
}

type Plan = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

impl Seen {
    /// `GET /api2/json/version`.
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap().trim_end_matches(" HTTP/1.1")
    }

    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

impl Server {
    /// A TLS server whose certificate is for `localhost` and `127.0.0.1`.
    pub(crate) async fn start(plan: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let identity = Authority::new("test authority").identity(&["localhost", "127.0.0.1"]);
        Self::start_with(&identity, plan).await
    }

    pub(crate) async fn start_with(
        identity: &Identity,
        plan: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_tls(identity.server(), plan).await
    }

    pub(crate) async fn start_tls(
        config: ServerConfig,
        plan: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let plan: Plan = Arc::new(plan);
        Self::listen(move |tcp, connection, log| {
            let (acceptor, plan) = (acceptor.clone(), Arc::clone(&plan));
            async move {
                // A client that does not trust us hangs up here.
                if let Ok(tls) = acceptor.accept(tcp).await {
                    serve(tls, connection, &log, &plan).await;
                }
            }
        })
        .await
    }

    /// A server that reads a little, sends these bytes, whatever they are, and closes.
    pub(crate) async fn start_raw(bytes: &'static [u8]) -> Self {
        Self::listen(move |mut tcp, _, _| async move {
            let mut hello = [0; 1024];
            let _ = tcp.read(&mut hello).await;
            let _ = tcp.write_all(bytes).await;
            let _ = tcp.shutdown().await;
            // What was sent is lost if the rest of the hello is still unread.
            let _ = tcp.read_to_end(&mut Vec::new()).await;
        })
        .await
    }

    async fn listen<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(TcpStream, usize, Arc<Log>) -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Arc::new(Log {
            seen: Mutex::default(),
            connections: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
            four: Barrier::new(4),
            is_shut: AtomicBool::new(false),
        });
        let server = Self { port, log: Arc::clone(&log) };
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let connection = log.connections.fetch_add(1, Ordering::SeqCst) + 1;
                if log.is_shut.load(Ordering::SeqCst) {
                    continue;
                }
                tokio::spawn(serve(tcp, connection, Arc::clone(&log)));
            }
        });
        server
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.log.seen.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// Hangs up on whoever connects from now on, or does so no more.
    pub(crate) fn shut(&self, is_shut: bool) {
        self.log.is_shut.store(is_shut, Ordering::SeqCst);
    }

    pub(crate) fn most_at_once(&self) -> usize {
        self.log.most_at_once.load(Ordering::SeqCst)
    }
}

/// A status line, headers, a blank line, a body, with the body's length.
pub(crate) fn http(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut answer = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        answer.push_str(name);
        answer.push_str(": ");
        answer.push_str(value);
        answer.push_str("\r\n");
    }
    answer.push_str("\r\n");
    [answer.into_bytes(), body.to_vec()].concat()
}

/// An answer as Proxmox VE gives it.
pub(crate) fn pve(status: &str, body: &str) -> Vec<u8> {
    let headers = [
        ("Cache-Control", "max-age=0"),
        ("Connection", "Keep-Alive"),
        ("Date", "Mon, 30 Nov 2026 06:25:58 GMT"),
        ("Server", "pve-api-daemon/3.0"),
        ("Content-Type", "application/json;charset=UTF-8"),
    ];
    http(status, &headers, body.as_bytes())
}

/// The answer to `/version`.
pub(crate) fn version() -> Vec<u8> {
    pve("200 OK", r#"{"data":{"version":"9.2.11","release":"9.2","repoid":"14a22df3"}}"#)
}

async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    connection: usize,
    log: &Log,
    plan: &Plan,
) {
    while let Some((head, body)) = request(&mut stream).await {
        let at_once = log.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        log.most_at_once.fetch_max(at_once, Ordering::SeqCst);
        let seen = {
            let mut all = log.seen.lock().unwrap();
            let seen = Seen { head, body, connection, nth: all.len() + 1 };
            all.push(seen.clone());
            seen
        };
        let (bytes, stays_open) = match plan(&seen) {
            Reply::Send(bytes) => (bytes, true),
            Reply::Close(bytes) => (bytes, false),
            Reply::Stall(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.flush().await;
                std::future::pending().await
            }
            Reply::WithThreeOthers(bytes) => {
                log.four.wait().await;
                // Gives a fifth request every chance to come in between.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                (bytes, true)
            }
        };
        log.at_once.fetch_sub(1, Ordering::SeqCst);
        let _ = stream.write_all(&bytes).await;
        let _ = stream.flush().await;
        if !stays_open {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

async fn request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(bytes).unwrap().trim_end().to_owned();
    let length = head
        .to_ascii_lowercase()
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.parse().ok())
        .unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some((head, String::from_utf8(body).unwrap()))
}
