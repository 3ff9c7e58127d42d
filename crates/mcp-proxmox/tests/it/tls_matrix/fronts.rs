//! What may listen where PVE should: certificates of every kind before a simulated cluster, old TLS, no TLS.
//!
//! The simulator speaks plain HTTP here, and the front takes TLS off, as a reverse proxy does: so that any
//! certificate can be shown, and another one when it is renewed.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
};

use pve_sim::{Cluster, Options, Sim};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::{ServerConfig, SupportedProtocolVersion, crypto::ring::default_provider};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

/// The name beside the address in most certificates, and the one that is verified instead of it.
pub const NAME: &str = "pve1.lan";

/// The alert `protocol_version` of TLS 1.0: what a server says that knows nothing newer.
const OLD: &[u8] = &[0x15, 3, 1, 0, 2, 2, 70];
const GARBAGE: &[u8] = b"SSH-2.0-OpenSSH_9.9\r\n";
/// What nginx and most others say to a handshake on a port without TLS.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";

/// An authority, with its own certificate.
pub struct Authority {
    params: CertificateParams,
    key: KeyPair,
    der: rustls::pki_types::CertificateDer<'static>,
    pub pem: String,
}

/// What a server shows: its certificate, those between it and a root, and its key.
pub struct Identity {
    chain: Vec<rustls::pki_types::CertificateDer<'static>>,
    key: KeyPair,
    pub pem: String,
}

/// How a certificate is made.
#[derive(Clone, Copy)]
pub struct Kind {
    pub names: &'static [&'static str],
    pub is_ca: bool,
    /// From the first of January of the one year to that of the other.
    pub years: (i32, i32),
}

impl Kind {
    pub const USUAL: Self =
        Self { names: &["127.0.0.1", "::1", "localhost", NAME], is_ca: false, years: (2020, 2200) };

    fn params(self) -> CertificateParams {
        let names: Vec<_> = self.names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, NAME);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.is_ca =
            if self.is_ca { IsCa::Ca(BasicConstraints::Unconstrained) } else { IsCa::ExplicitNoCa };
        params.not_before = date_time_ymd(self.years.0, 1, 1);
        params.not_after = date_time_ymd(self.years.1, 1, 1);
        params
    }

    pub fn self_signed(self) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = self.params().self_signed(&key).unwrap();
        Identity { chain: vec![certificate.der().clone()], key, pem: certificate.pem() }
    }
}

impl Authority {
    /// An authority that everything begins with.
    pub fn root(name: &str) -> Self {
        let (params, key) = (Self::params(name), KeyPair::generate().unwrap());
        let certificate = params.self_signed(&key).unwrap();
        Self { der: certificate.der().clone(), pem: certificate.pem(), params, key }
    }

    /// An authority that this one has signed, as every public one that signs servers is.
    pub fn below(&self, name: &str) -> Self {
        let (params, key) = (Self::params(name), KeyPair::generate().unwrap());
        let certificate = params.signed_by(&key, &self.issuer()).unwrap();
        Self { der: certificate.der().clone(), pem: certificate.pem(), params, key }
    }

    fn params(name: &str) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        params
    }

    fn issuer(&self) -> Issuer<'_, &KeyPair> {
        Issuer::from_params(&self.params, &self.key)
    }

    pub fn sign(&self, kind: Kind) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = kind.params().signed_by(&key, &self.issuer()).unwrap();
        Identity { chain: vec![certificate.der().clone()], key, pem: certificate.pem() }
    }

    /// With its own certificate in the chain, as a server sends that of an authority between.
    pub fn sign_and_show(&self, kind: Kind) -> Identity {
        let mut identity = self.sign(kind);
        identity.chain.push(self.der.clone());
        identity
    }
}

impl Identity {
    /// As PVE writes it.
    pub fn fingerprint(&self) -> String {
        let digest = ring::digest::digest(&ring::digest::SHA256, &self.chain[0]);
        let bytes: Vec<_> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        bytes.join(":")
    }

    fn server(&self, versions: &[&'static SupportedProtocolVersion]) -> Arc<ServerConfig> {
        let key = rustls::pki_types::PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), key);
        Arc::new(config.unwrap())
    }
}

/// What stands before the cluster.
enum Shown {
    Tls(Arc<ServerConfig>),
    /// Says this to whoever comes, and hangs up.
    Bytes(&'static [u8]),
}

/// Something that listens, and the cluster behind it.
pub struct Front {
    pub sim: Sim,
    pub address: SocketAddr,
    shown: Arc<Mutex<Shown>>,
    listening: JoinHandle<()>,
}

impl Front {
    pub async fn tls(at: IpAddr, identity: &Identity) -> Self {
        Self::new(at, Shown::Tls(identity.server(rustls::ALL_VERSIONS))).await
    }

    pub async fn tls_1_2(at: IpAddr, identity: &Identity) -> Self {
        Self::new(at, Shown::Tls(identity.server(&[&rustls::version::TLS12]))).await
    }

    pub async fn tls_1_0(at: IpAddr) -> Self {
        Self::new(at, Shown::Bytes(OLD)).await
    }

    pub async fn garbage(at: IpAddr) -> Self {
        Self::new(at, Shown::Bytes(GARBAGE)).await
    }

    pub async fn plain(at: IpAddr) -> Self {
        Self::new(at, Shown::Bytes(PLAIN)).await
    }

    pub async fn hanging_up(at: IpAddr) -> Self {
        Self::new(at, Shown::Bytes(b"")).await
    }

    async fn new(at: IpAddr, shown: Shown) -> Self {
        let options =
            // A connection ends after each answer, so that a renewed certificate is seen.
            Options { plain_http: true, requests_per_connection: 1, ..Options::default() };
        let sim = Sim::start_with(Cluster::demo(), options).await.unwrap();
        let listener = TcpListener::bind((at, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shown = Arc::new(Mutex::new(shown));
        let listening = tokio::spawn(listen(listener, sim.address(), Arc::clone(&shown)));
        Self { sim, address, shown, listening }
    }

    /// Shows another certificate from now on.
    pub fn renew(&self, identity: &Identity) {
        *self.shown.lock().unwrap() = Shown::Tls(identity.server(rustls::ALL_VERSIONS));
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, inside: SocketAddr, shown: Arc<Mutex<Shown>>) {
    let mut connections = JoinSet::new();
    while let Ok((outside, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let (config, bytes) = match &*shown.lock().unwrap() {
            Shown::Tls(config) => (Some(Arc::clone(config)), &b""[..]),
            Shown::Bytes(bytes) => (None, *bytes),
        };
        connections.spawn(async move {
            let mut outside = outside;
            let Some(config) = config else {
                // What is not read is answered with a reset, which may overtake the bytes.
                let _ = outside.read(&mut [0; 4096]).await;
                let _ = outside.write_all(bytes).await;
                let _ = outside.shutdown().await;
                return;
            };
            if let Ok(mut tls) = TlsAcceptor::from(config).accept(outside).await {
                let mut inside = TcpStream::connect(inside).await.unwrap();
                drop(copy_bidirectional(&mut tls, &mut inside).await);
            }
        });
    }
}
