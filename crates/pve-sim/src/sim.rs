//! The running simulator: starts, listens, and lets a test look at it and change it.
//!
//! **Invariant:** everything stops when the [`Sim`] is dropped, its connections too.

use std::{
    collections::HashMap,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use tokio::{
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use crate::{
    cluster::Cluster,
    http,
    options::Options,
    rule::Rule,
    shared::{Counted, Gauge, Shared, World, lock},
    tls,
};

/// A running simulator. It stops when it is dropped.
#[derive(Debug)]
pub struct Sim {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: JoinHandle<()>,
}

/// A request that came in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// `GET`, `POST`, …
    pub method: String,
    /// The path with its query as it was sent, without `/api2/json`.
    pub path: String,
    /// The id of the token in the `Authorization` header, whether or not it was let in.
    pub token: Option<String>,
    /// The body, as text.
    pub body: String,
}

impl Sim {
    /// Starts a simulator on a free port of this machine.
    pub async fn start(cluster: Cluster) -> io::Result<Self> {
        Self::start_with(cluster, Options::default()).await
    }

    /// Starts a simulator that behaves as `options` say.
    pub async fn start_with(cluster: Cluster, options: Options) -> io::Result<Self> {
        let (listener, shared) = Self::prepare(cluster, options).await?;
        Self::listen(listener, shared)
    }

    /// Starts a simulator that answers with recordings of a real server, and what was not recorded
    /// with 501.
    #[cfg(any(test, feature = "recordings"))]
    pub async fn replay(recordings: crate::recordings::Recordings) -> io::Result<Self> {
        Self::replay_with(recordings, Options::default()).await
    }

    /// Starts a simulator that answers with recordings and behaves as `options` say.
    #[cfg(any(test, feature = "recordings"))]
    pub async fn replay_with(
        recordings: crate::recordings::Recordings,
        options: Options,
    ) -> io::Result<Self> {
        let (listener, mut shared) = Self::prepare(Cluster::lab(), options).await?;
        shared.recordings = Some(recordings);
        Self::listen(listener, shared)
    }

    async fn prepare(cluster: Cluster, options: Options) -> io::Result<(TcpListener, Shared)> {
        let first = cluster.nodes.first().map_or("pve", |node| &node.name).to_owned();
        let local = options.node.clone().unwrap_or(first);
        let address = cluster.node(&local).and_then(|node| node.address.as_deref());
        let identity = tls::identity(options.certificate, &local, address)?;
        let listener = TcpListener::bind((options.address, options.port)).await?;
        let world = World {
            cluster,
            started: Instant::now(),
            local,
            certificates: identity.described.clone(),
            lists: HashMap::new(),
            last_pid: 0x1A00,
            tickets: Vec::new(),
            given: Vec::new(),
            ticket_life: options.ticket_life,
        };
        let shared = Shared {
            port: listener.local_addr()?.port(),
            options,
            identity,
            world: Mutex::new(world),
            rules: Mutex::default(),
            forgets: tokio::sync::watch::Sender::new(()),
            seen: Mutex::default(),
            in_flight: Gauge::default(),
            at_nodes: Mutex::default(),
            connections: Gauge::default(),
            handshakes: AtomicUsize::new(0),
            strikes: AtomicUsize::new(0),
            typed: Mutex::default(),
            pressed: Mutex::default(),
            programs: Mutex::default(),
            drawn: tokio::sync::Notify::new(),
            #[cfg(any(test, feature = "recordings"))]
            recordings: None,
        };
        Ok((listener, shared))
    }

    fn listen(listener: TcpListener, shared: Shared) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(shared);
        let listening = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, listening })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The authority that signed its certificate, in PEM: what is in `/etc/pve/pve-root-ca.pem`.
    pub fn ca_pem(&self) -> &str {
        &self.shared.identity.ca_pem
    }

    /// The SHA-256 of its certificate, as PVE writes it: `3A:CD:08:…`.
    pub fn fingerprint(&self) -> &str {
        &self.shared.identity.fingerprint
    }

    /// Every request so far, in the order in which they came.
    pub fn requests(&self) -> Vec<Seen> {
        lock(&self.shared.seen).clone()
    }

    /// How many of the requests so far are meant.
    pub fn n_requests(&self, is_meant: impl Fn(&Seen) -> bool) -> usize {
        lock(&self.shared.seen).iter().filter(|seen| is_meant(seen)).count()
    }

    /// Forgets the requests so far, and how many there were at once.
    pub fn forget_requests(&self) {
        lock(&self.shared.seen).clear();
        self.shared.in_flight.peak.store(0, Ordering::SeqCst);
    }

    /// Puts an answer or a fault in front of everything else; the newest rule that fits wins.
    pub fn answer(&self, rule: Rule) {
        lock(&self.shared.rules).push(rule);
    }

    /// Takes all rules away. What hangs by one of them loses its connection.
    pub fn forget_rules(&self) {
        lock(&self.shared.rules).clear();
        self.shared.forgets.send_replace(());
    }

    /// Changes the cluster while it runs.
    pub fn change<T>(&self, change: impl FnOnce(&mut Cluster) -> T) -> T {
        let mut world = lock(&self.shared.world);
        world.lists.clear();
        change(&mut world.cluster)
    }

    /// What clients sent into text terminals after the login, a message each: `0:1:x` is a key,
    /// `1:100:30:` a size.
    pub fn terminal_messages(&self) -> Vec<String> {
        let messages = lock(&self.shared.typed);
        messages.iter().map(|message| String::from_utf8_lossy(message).into_owned()).collect()
    }

    /// Keys that clients pressed (`true`) and let go on screens, by X11's numbers.
    pub fn pressed_keys(&self) -> Vec<(u32, bool)> {
        lock(&self.shared.pressed).clone()
    }

    /// The tickets and passwords of consoles that were given so far, used or not.
    pub fn console_secrets(&self) -> Vec<String> {
        lock(&self.shared.world).given.clone()
    }

    /// The most requests that were being answered at once.
    pub fn peak_in_flight(&self) -> usize {
        self.shared.in_flight.peak.load(Ordering::SeqCst)
    }

    /// The most requests below `/nodes/{node}` that were being answered at once, whoever still waited for them.
    pub fn peak_at_node(&self, node: &str) -> usize {
        let at_nodes = lock(&self.shared.at_nodes);
        at_nodes.get(node).map_or(0, |gauge| gauge.peak.load(Ordering::SeqCst))
    }

    /// How many connections are open now.
    pub fn connections(&self) -> usize {
        self.shared.connections.now.load(Ordering::SeqCst)
    }

    /// The most connections that were open at once.
    pub fn peak_connections(&self) -> usize {
        self.shared.connections.peak.load(Ordering::SeqCst)
    }

    /// How many requests so far met a rule that made something else of their answer. A damage that comes
    /// behind the end of an answer does not count.
    pub fn strikes(&self) -> usize {
        self.shared.strikes.load(Ordering::SeqCst)
    }

    /// How many TLS handshakes succeeded so far.
    pub fn handshakes(&self) -> usize {
        self.shared.handshakes.load(Ordering::SeqCst)
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // The connections are tasks of the listening one and end with it.
        self.listening.abort();
    }
}

/// Takes connections for as long as it is not aborted.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        // An error here is one connection's, or the lack of file descriptors for a while.
        let accepted = listener.accept().await;
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                connections.spawn(connected(stream, Arc::clone(&shared)));
            }
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

async fn connected(stream: TcpStream, shared: Arc<Shared>) {
    let _counted = Counted::new(&shared.connections);
    // Without this, small answers wait for the peer's acknowledgement of the last one.
    let _ = stream.set_nodelay(true);
    if shared.options.plain_http {
        return http::serve(stream, Arc::clone(&shared)).await;
    }
    let mut first = [0];
    let handshake_begins = matches!(stream.peek(&mut first).await, Ok(1)) && first == [0x16];
    if !handshake_begins {
        return http::redirect_to_tls(stream, shared.port).await;
    }
    let acceptor = TlsAcceptor::from(Arc::clone(&shared.identity.config));
    if let Ok(stream) = acceptor.accept(stream).await {
        shared.handshakes.fetch_add(1, Ordering::SeqCst);
        http::serve(stream, Arc::clone(&shared)).await;
    }
}
