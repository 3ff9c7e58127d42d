//! Certificates for the servers of the tests.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::{
    ServerConfig, SupportedProtocolVersion,
    crypto::ring,
    sign::{CertifiedKey, SingleCertAndKey},
};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// An authority, as every cluster has one.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and a key, which need not belong together.
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) pem: String,
    pub(crate) key: KeyPair,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A server's certificate for these names and addresses.
    pub(crate) fn identity(&self, names: &[&str]) -> Identity {
        self.sign(&params(names))
    }

    pub(crate) fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity { certificate: certificate.der().clone(), pem: certificate.pem(), key }
    }

    /// The authority's own certificate, as some use it for their server.
    pub(crate) fn as_identity(&self) -> Identity {
        let key = KeyPair::try_from(self.0.key().serialize_der()).unwrap();
        Identity { certificate: self.0.der().clone(), pem: self.pem(), key }
    }
}

impl Identity {
    /// A certificate that nobody else has signed.
    pub(crate) fn self_signed(names: &[&str]) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = params(names).self_signed(&key).unwrap();
        Self { certificate: certificate.der().clone(), pem: certificate.pem(), key }
    }

    /// The same certificate in the hands of somebody who does not have its key.
    pub(crate) fn stolen(&self) -> Self {
        let (certificate, pem) = (self.certificate.clone(), self.pem.clone());
        Self { certificate, pem, key: KeyPair::generate().unwrap() }
    }

    pub(crate) fn fingerprint(&self) -> String {
        let digest = ::ring::digest::digest(&::ring::digest::SHA256, &self.certificate);
        let bytes: Vec<_> = digest.as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        bytes.join(":")
    }

    /// A server that presents the certificate and signs with the key, whether they fit or not.
    pub(crate) fn server(&self) -> ServerConfig {
        self.server_with(rustls::ALL_VERSIONS)
    }

    pub(crate) fn server_with(
        &self,
        versions: &[&'static SupportedProtocolVersion],
    ) -> ServerConfig {
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let key = ring::sign::any_supported_type(&key).unwrap();
        let certified = CertifiedKey::new(vec![self.certificate.clone()], key);
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))
    }
}

pub(crate) fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "test server");
    params
}
