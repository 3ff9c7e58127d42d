//! The limit: the same requests by an HTTP client that does nothing with the answers.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use http_body_util::{BodyExt as _, Empty};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use pve_sim::Sim;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use serde::de::IgnoredAny;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// As many connections as the program has.
const CONNECTIONS: usize = 4;

/// Connections that are open.
pub struct Bare {
    connections: Vec<Option<SendRequest<Empty<Bytes>>>>,
    connector: TlsConnector,
    address: SocketAddr,
    authorization: String,
}

/// What the same requests cost.
pub struct Limit {
    /// From the first request to the last byte.
    pub asking: Duration,
    /// Reading all bodies as JSON and keeping nothing.
    pub reading: Duration,
    /// The bytes of all bodies.
    pub bytes: usize,
}

impl Bare {
    /// What it needs to open its connections.
    pub fn new(sim: &Sim, token_id: &str, secret: &str) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(sim.ca_pem().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            connections: Vec::new(),
            connector: TlsConnector::from(Arc::new(config)),
            address: sim.address(),
            authorization: format!("PVEAPIToken={token_id}={secret}"),
        }
    }

    /// Sends the requests, as many at once as there are connections.
    pub async fn ask(&mut self, paths: &[String]) -> Limit {
        self.connections.resize_with(CONNECTIONS, || None);
        for connection in &mut self.connections {
            open(connection, &self.connector, self.address).await;
        }
        let (connector, address, authorization) =
            (&self.connector, self.address, &self.authorization);
        let begin = Instant::now();
        let lanes = self.connections.iter_mut().enumerate().map(|(lane, connection)| {
            let mine = paths.iter().skip(lane).step_by(CONNECTIONS);
            async move {
                let mut bodies = Vec::new();
                for path in mine {
                    let request = Request::get(format!("/api2/json{path}"))
                        .header("Host", "pve")
                        .header("Authorization", authorization)
                        .body(Empty::new())
                        .unwrap();
                    let sender = open(connection, connector, address).await;
                    let answer = sender.send_request(request).await.unwrap();
                    bodies.push(answer.into_body().collect().await.unwrap().to_bytes());
                }
                bodies
            }
        });
        let bodies: Vec<Bytes> = futures_util::future::join_all(lanes).await.concat();
        let asking = begin.elapsed();
        let begin = Instant::now();
        for body in &bodies {
            // What is no JSON takes no time to be read as such.
            let _ = serde_json::from_slice::<IgnoredAny>(body);
        }
        Limit { asking, reading: begin.elapsed(), bytes: bodies.iter().map(Bytes::len).sum() }
    }
}

/// Opens a connection again that PVE has closed, as it does after a refusal and after five idle seconds.
async fn open<'a>(
    connection: &'a mut Option<SendRequest<Empty<Bytes>>>,
    connector: &TlsConnector,
    address: SocketAddr,
) -> &'a mut SendRequest<Empty<Bytes>> {
    let is_ready = match connection.as_mut() {
        Some(sender) => sender.ready().await.is_ok(),
        None => false,
    };
    if !is_ready {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::IpAddress(address.ip().into());
        let stream = connector.connect(name, stream).await.unwrap();
        let (sender, driver) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(driver);
        *connection = Some(sender);
    }
    connection.as_mut().unwrap()
}
