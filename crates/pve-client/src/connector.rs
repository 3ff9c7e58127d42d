//! Makes connections, and says in our own words why one could not be made.

use std::{
    error::Error as StdError,
    future::Future,
    io, net,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
    vec,
};

use http::Uri;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{HttpConnector, dns::Name},
    rt::TokioIo,
};
use rustls::{AlertDescription, CertificateError};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::{Tls, TlsProblem, UnsentKind, verifier::Trusted};

/// How long a connection may take, from the name to the end of the TLS handshake.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes TLS connections.
#[derive(Clone)]
pub(crate) struct Connector(HttpsConnector<HttpConnector<Resolver>>);

/// Why there is no connection. Travels through hyper as it is.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotConnected(pub(crate) UnsentKind);

/// The system's resolver, whose failures are told apart from those of connecting.
#[derive(Clone)]
struct Resolver;

/// The name has no address.
#[derive(Debug, thiserror::Error)]
#[error("the name could not be resolved")]
struct NotResolved;

type Pending<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

impl Connector {
    pub(crate) fn new(tls: &Tls, trusted: &Trusted) -> Result<Self, TlsProblem> {
        let config = tls.config(trusted)?;
        let mut tcp = HttpConnector::new_with_resolver(Resolver);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Shared out among the addresses of a name, so that a dead one does not use it all up.
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(config);
        let builder = builder.https_only();
        let https = match &tls.server_name {
            Some(name) => builder
                .with_server_name_resolver(FixedServerNameResolver::new(name.get().clone()))
                .enable_http1()
                .wrap_connector(tcp),
            None => builder.enable_http1().wrap_connector(tcp),
        };
        Ok(Self(https))
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = NotConnected;
    type Future = Pending<Self::Response, NotConnected>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), NotConnected>> {
        self.0.poll_ready(cx).map_err(|error| NotConnected(kind(&*error)))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
                Ok(connected) => connected.map_err(|error| NotConnected(kind(&*error))),
                Err(_) => Err(NotConnected(UnsentKind::ConnectTimedOut(CONNECT_TIMEOUT))),
            }
        })
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<net::SocketAddr>;
    type Error = NotResolved;
    type Future = Pending<Self::Response, NotResolved>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NotResolved>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(async move {
            // The port is set by the caller.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let addresses: Vec<_> = found.map_err(|_| NotResolved)?.collect();
            if addresses.is_empty() { Err(NotResolved) } else { Ok(addresses.into_iter()) }
        })
    }
}

/// Looks for the first cause that says something.
fn kind(error: &(dyn StdError + 'static)) -> UnsentKind {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(kind) = known(error) {
            return kind;
        }
        cause = next(error);
    }
    UnsentKind::Other(io::ErrorKind::Other)
}

/// What an error is caused by. One of the operating system does not count what it wraps as a cause.
fn next<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

fn known(error: &(dyn StdError + 'static)) -> Option<UnsentKind> {
    if error.is::<NotResolved>() {
        return Some(UnsentKind::NotResolved);
    }
    if error.is::<rustls_pki_types::InvalidDnsNameError>() {
        return Some(UnsentKind::InvalidAddress);
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(tls_problem(error).into());
    }
    let error = error.downcast_ref::<io::Error>()?;
    if error
        .get_ref()
        .is_some_and(|wrapped| wrapped.is::<rustls::Error>() || wrapped.is::<io::Error>())
    {
        return None;
    }
    Some(match error.kind() {
        io::ErrorKind::ConnectionRefused => UnsentKind::Refused,
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::AddrNotAvailable => UnsentKind::Unreachable,
        io::ErrorKind::TimedOut => UnsentKind::ConnectTimedOut(CONNECT_TIMEOUT),
        // Nothing is read before the handshake, so that is where it ends.
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => TlsProblem::Closed.into(),
        kind => UnsentKind::Other(kind),
    })
}

fn tls_problem(error: &rustls::Error) -> TlsProblem {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(other)) => {
            match other.0.downcast_ref::<TlsProblem>() {
                Some(problem) => problem.clone(),
                None => TlsProblem::Other(error.to_string()),
            }
        }
        rustls::Error::InvalidCertificate(CertificateError::BadSignature)
        | rustls::Error::PeerMisbehaved(
            rustls::PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme,
        ) => TlsProblem::NotItsKey,
        rustls::Error::InvalidMessage(_) => TlsProblem::NotTls,
        rustls::Error::PeerIncompatible(_)
        | rustls::Error::AlertReceived(
            AlertDescription::ProtocolVersion | AlertDescription::InsufficientSecurity,
        ) => TlsProblem::TooOld,
        rustls::Error::AlertReceived(alert) => TlsProblem::RefusedByPeer(format!("{alert:?}")),
        error => TlsProblem::Other(error.to_string()),
    }
}
