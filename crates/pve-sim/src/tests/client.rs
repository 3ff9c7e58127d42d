//! A client as small as can be: TLS, one request, and everything of the answer that a test may want
//! to see.

use std::{net::SocketAddr, sync::Arc};

use rustls::{ClientConfig, RootCertStore, crypto::ring::default_provider, pki_types::ServerName};
use rustls_pki_types::{CertificateDer, pem::PemObject as _};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use crate::Sim;

/// An answer as it came over the wire.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// One connection, which may carry several requests.
pub(crate) struct Connection(TlsStream<TcpStream>);

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    pub(crate) fn data(&self) -> Value {
        self.json()["data"].clone()
    }

    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let found = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).collect()
    }
}

impl Connection {
    pub(crate) async fn open(sim: &Sim) -> Self {
        Self::to(sim.address(), sim.ca_pem()).await.expect("a handshake")
    }

    /// Fails as the TLS library does, so that tests can see what a client would.
    pub(crate) async fn to(address: SocketAddr, ca_pem: &str) -> std::io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca_pem.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from(address.ip().to_string()).unwrap();
        Ok(Self(TlsConnector::from(Arc::new(config)).connect(name, stream).await?))
    }

    /// Sends a request without waiting for the answer.
    pub(crate) async fn send(&mut self, method: &str, path: &str, lines: &[&str], body: &str) {
        let mut text = format!("{method} /api2/json{path} HTTP/1.1\r\nHost: pve\r\n");
        for line in lines {
            text.push_str(line);
            text.push_str("\r\n");
        }
        if !body.is_empty() || method == "POST" {
            let length = body.len().to_string();
            text.extend(["Content-Length: ", length.as_str(), "\r\n"]);
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads one answer; `None` if the connection ended without one.
    pub(crate) async fn receive(&mut self) -> Option<Got> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status_line = lines.next().unwrap().strip_prefix("HTTP/1.1 ").unwrap();
        let (status, reason) = status_line.split_once(' ').unwrap();
        let pair = |line: &str| {
            line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()))
        };
        let headers: Vec<(String, String)> = lines.filter_map(pair).collect();
        let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let mut body = Vec::new();
        match length.map(|(_, value)| value.parse::<usize>().unwrap()) {
            Some(length) => {
                body.resize(length, 0);
                self.0.read_exact(&mut body).await.ok()?;
            }
            // An answer without a length ends with the connection.
            None => drop(self.0.read_to_end(&mut body).await),
        }
        Some(Got { status: status.parse().unwrap(), reason: reason.to_owned(), headers, body })
    }

    /// Whether the server has ended the connection.
    pub(crate) async fn is_over(&mut self) -> bool {
        self.0.read_u8().await.is_err()
    }
}

/// Asks one question on a connection of its own, with the token of this id and secret.
pub(crate) async fn ask(
    sim: &Sim,
    method: &str,
    path: &str,
    token: (&str, &str),
    body: &str,
) -> Got {
    ask_with(sim, method, path, token, ("application/x-www-form-urlencoded", body)).await
}

/// The same with a body of this type.
pub(crate) async fn ask_with(
    sim: &Sim,
    method: &str,
    path: &str,
    (id, secret): (&str, &str),
    (content_type, body): (&str, &str),
) -> Got {
    let mut connection = Connection::open(sim).await;
    let authorization = format!("Authorization: PVEAPIToken={id}={secret}");
    let content_type = format!("Content-Type: {content_type}");
    let lines = [authorization.as_str(), content_type.as_str()];
    let lines = if body.is_empty() { lines.get(..1).unwrap() } else { &lines };
    connection.send(method, path, lines, body).await;
    connection.receive().await.expect("an answer")
}

/// `GET` of this path.
pub(crate) async fn get(sim: &Sim, path: &str, token: (&str, &str)) -> Got {
    ask(sim, "GET", path, token, "").await
}
