//! Which certificates are trusted.
//!
//! What a user gives (authorities, fingerprints, a name) is checked when it is read; the
//! configuration of rustls is built from it when the first connection needs it.

use std::{fmt, str::FromStr, sync::Arc};

use rustls::{ClientConfig, RootCertStore, client::WebPkiServerVerifier, crypto::CryptoProvider};
use rustls_pki_types::{
    CertificateDer,
    pem::{PemObject, SectionKind},
};

use crate::{
    Fingerprint, TlsProblem,
    certificate::Certificate,
    verifier::{Check, Trusted, Verifier},
};

/// How connections are secured.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Whose certificates are trusted.
    pub trust: Trust,
    /// The name that the certificate must be for, where it is not the name of the host.
    pub server_name: Option<ServerName>,
}

/// Whose certificates are trusted.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Those of the public authorities that this program knows.
    #[default]
    PublicRoots,
    /// Those of these authorities, and of no others.
    Ca(CaBundle),
    /// Exactly these certificates, whatever they say of themselves.
    Pinned(Vec<Fingerprint>),
    /// All. Somebody on the way can read and change everything, the token's secret included.
    Anything,
}

/// The certificates of authorities.
#[derive(Clone)]
pub struct CaBundle {
    roots: Arc<RootCertStore>,
    /// Who they are, for messages.
    subjects: Arc<[String]>,
}

/// A name or an address that a certificate can be for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerName(rustls_pki_types::ServerName<'static>);

/// A text that is no bundle of authorities.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCaBundle {
    /// Broken between its lines of hyphens.
    #[error("it is not well-formed PEM")]
    Malformed,
    /// Nothing in it is a certificate.
    #[error("it has no `-----BEGIN CERTIFICATE-----`")]
    NoCertificate,
    /// It is somebody's secret.
    #[error("it holds a private key and no certificate; the certificate is in another file")]
    PrivateKey,
    /// One of its certificates cannot be read.
    #[error("its certificate number {0} cannot be used")]
    Unusable(usize),
    /// All in it are of servers, which sign nothing.
    #[error(
        "it holds the certificate of a server (`{subject}`, signed by `{issuer}`) and not that of a certificate authority; \
         on a node the authority's is /etc/pve/pve-root-ca.pem, and a server's own certificate is trusted by its SHA-256 \
         fingerprint: {fingerprint}"
    )]
    ServerCertificate {
        /// Whose it is.
        subject: String,
        /// Who signed it.
        issuer: String,
        /// Its fingerprint.
        fingerprint: Fingerprint,
    },
}

/// A text that no certificate can be for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a host name or an address that a certificate can be for")]
pub struct InvalidServerName;

impl Tls {
    /// What rustls needs, and what it may say when it cannot have it. `trusted` learns which certificate was.
    pub(crate) fn config(&self, trusted: &Trusted) -> Result<ClientConfig, TlsProblem> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let check = match &self.trust {
            Trust::PublicRoots => chain(public_roots(), Arc::new([]), &provider)?,
            Trust::Ca(CaBundle { roots, subjects }) => {
                chain(Arc::clone(roots), Arc::clone(subjects), &provider)?
            }
            Trust::Pinned(fingerprints) => Check::Pinned(fingerprints.clone()),
            Trust::Anything => Check::Nothing,
        };
        let algorithms = provider.signature_verification_algorithms;
        let verifier = Verifier::new(check, trusted.clone(), algorithms);
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsProblem::Other(error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(config)
    }
}

impl CaBundle {
    /// Reads one or several certificates in PEM. Other sections, such as keys, are passed over.
    pub fn from_pem(pem: &[u8]) -> Result<Self, InvalidCaBundle> {
        let mut roots = RootCertStore::empty();
        let mut read = Vec::new();
        for (i, der) in CertificateDer::pem_slice_iter(pem).enumerate() {
            let der = der.map_err(|_| InvalidCaBundle::Malformed)?;
            read.push(Certificate::read(&der));
            roots.add(der).map_err(|_| InvalidCaBundle::Unusable(i + 1))?;
        }
        // One that signed itself is trusted as it is, whether or not it calls itself an authority.
        let signs = |certificate: &Certificate| certificate.is_ca || certificate.is_self_signed;
        match read.first() {
            Some(first) if !read.iter().any(signs) => {
                return Err(InvalidCaBundle::ServerCertificate {
                    subject: first.subject.clone(),
                    issuer: first.issuer.clone(),
                    fingerprint: first.fingerprint,
                });
            }
            Some(_) => {
                let subjects = read.into_iter().map(|certificate| certificate.subject).collect();
                return Ok(Self { roots: Arc::new(roots), subjects });
            }
            None => {}
        }
        let holds_key = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).flatten().any(|(kind, _)| {
            matches!(
                kind,
                SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey
            )
        });
        Err(if holds_key { InvalidCaBundle::PrivateKey } else { InvalidCaBundle::NoCertificate })
    }

    /// How many certificates it has.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// Always `false`: an empty bundle is refused when it is read.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }
}

impl fmt::Debug for CaBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CaBundle({} certificates)", self.len())
    }
}

impl ServerName {
    pub(crate) fn get(&self) -> &rustls_pki_types::ServerName<'static> {
        &self.0
    }
}

impl FromStr for ServerName {
    type Err = InvalidServerName;

    /// Reads a name or an address, an IPv6 address also in brackets.
    fn from_str(text: &str) -> Result<Self, InvalidServerName> {
        let text = text.trim();
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        rustls_pki_types::ServerName::try_from(bare.to_owned())
            .map(Self)
            .map_err(|_| InvalidServerName)
    }
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_str())
    }
}

fn chain(
    roots: Arc<RootCertStore>,
    given: Arc<[String]>,
    provider: &Arc<CryptoProvider>,
) -> Result<Check, TlsProblem> {
    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider))
        .build()
        .map(|webpki| Check::Chain(webpki, given))
        .map_err(|error| TlsProblem::Authorities(error.to_string()))
}

fn public_roots() -> Arc<RootCertStore> {
    Arc::new(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() })
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    fn certificate() -> (String, String) {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(["pve1".to_owned()]).unwrap();
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    }

    #[test]
    fn a_bundle_may_have_several_certificates_and_other_sections() {
        let (first, key) = certificate();
        let (second, _) = certificate();
        let bundle = CaBundle::from_pem(format!("# ours\n{first}\n{key}\n{second}").as_bytes());
        assert_eq!(bundle.unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_bundle_is_refused_for_its_own_reason() {
        let (pem, key) = certificate();
        let read = |pem: &str| CaBundle::from_pem(pem.as_bytes()).unwrap_err();
        assert_eq!(read(""), InvalidCaBundle::NoCertificate);
        assert_eq!(read("hello"), InvalidCaBundle::NoCertificate);
        assert_eq!(read(&key), InvalidCaBundle::PrivateKey);
        assert_eq!(read(&pem.replace("-----END", "")), InvalidCaBundle::Malformed);
        let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(read(garbage), InvalidCaBundle::Unusable(1));
        assert_eq!(read(&format!("{pem}{garbage}")), InvalidCaBundle::Unusable(2));
    }

    #[test]
    fn the_certificate_of_a_server_is_no_authority_and_is_told_as_such() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "Cluster CA");
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).unwrap().pem();
        let issuer = rcgen::Issuer::new(params, &key);
        let mut server = rcgen::CertificateParams::new(["pve1.lan".to_owned()]).unwrap();
        server.distinguished_name.push(rcgen::DnType::CommonName, "pve1.lan");
        let server = server.signed_by(&rcgen::KeyPair::generate().unwrap(), &issuer).unwrap().pem();
        let told = CaBundle::from_pem(server.as_bytes()).unwrap_err().to_string();
        assert!(told.contains("the certificate of a server (`CN=pve1.lan`"), "{told}");
        assert!(told.contains("signed by `CN=Cluster CA`"), "{told}");
        assert!(told.contains("fingerprint: "), "{told}");
        let chain = CaBundle::from_pem(format!("{server}{authority}").as_bytes());
        assert_eq!(chain.unwrap().len(), 2, "a whole chain has its authority");
    }

    #[test]
    fn a_server_name_is_a_name_or_an_address() {
        for good in ["pve1", "pve1.lan", "192.0.2.7", "::1"] {
            assert_eq!(good.parse::<ServerName>().unwrap().to_string(), good);
        }
        assert_eq!("[::1]".parse::<ServerName>().unwrap().to_string(), "::1");
        for bad in ["", "a b", "https://pve1", "pve1:8006", "-", "a..b"] {
            assert!(bad.parse::<ServerName>().is_err(), "accepted {bad:?}");
        }
    }

    #[test]
    fn strict_means_all_the_public_authorities_and_some() {
        let roots = public_roots();
        assert_eq!(roots.len(), webpki_roots::TLS_SERVER_ROOTS.len());
        assert!(roots.len() > 100, "{}", roots.len());
    }

    #[test]
    fn every_kind_of_trust_makes_a_configuration() {
        let (pem, _) = certificate();
        let bundle = CaBundle::from_pem(pem.as_bytes()).unwrap();
        for trust in
            [Trust::PublicRoots, Trust::Ca(bundle), Trust::Pinned(Vec::new()), Trust::Anything]
        {
            let config = Tls { trust, server_name: None }.config(&Trusted::default()).unwrap();
            assert!(config.alpn_protocols.is_empty(), "only HTTP/1.1 is spoken");
        }
    }

    /// Two certificates and a key, in PEM.
    static BUNDLE: LazyLock<String> = LazyLock::new(|| {
        let (first, key) = certificate();
        format!("{first}{key}{}", certificate().0)
    });

    /// What is read is whole or refused in a few words.
    fn read(pem: &[u8]) -> Result<usize, TestCaseError> {
        match CaBundle::from_pem(pem) {
            Ok(bundle) => {
                prop_assert!(!bundle.is_empty());
                prop_assert_eq!(bundle.subjects.len(), bundle.len());
                Ok(bundle.len())
            }
            Err(refusal) => {
                prop_assert!(refusal.to_string().len() < 2000, "{refusal}");
                Ok(0)
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_as_a_bundle_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(read(&bytes)?, 0);
            let framed = ["-----BEGIN CERTIFICATE-----\n".as_bytes(), &bytes, b"\n-----END CERTIFICATE-----\n"].concat();
            prop_assert_eq!(read(&framed)?, 0);
        }

        #[test]
        fn a_bundle_that_is_cut_or_spoilt_has_no_more_than_before(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut pem = BUNDLE.as_bytes().to_vec();
            let at = at.index(pem.len());
            // Its last line may lack its end.
            let most = if at + 30 < pem.len() { 1 } else { 2 };
            prop_assert!(read(&pem[..at])? <= most);
            pem[at] = byte;
            prop_assert!(read(&pem)? <= 2);
        }

        #[test]
        fn sections_in_any_order_are_as_many_certificates_as_there_are(order in proptest::collection::vec(0_usize..4, 0..6)) {
            let (first, key) = &*PAIR;
            let sections = [first.as_str(), key, "# a comment\n", "\r\n\r\n"];
            let pem: String = order.iter().map(|nth| sections[*nth]).collect();
            let expected = order.iter().filter(|nth| **nth == 0).count();
            prop_assert_eq!(read(pem.as_bytes())?, expected);
        }

        #[test]
        fn any_name_is_answered_and_one_that_is_taken_is_written_so_that_it_is_taken_again(name in "([a-zA-Z0-9.:_\\[\\] -]|\\PC){0,30}") {
            if let Ok(read) = name.parse::<ServerName>() {
                prop_assert_eq!(read.to_string().parse::<ServerName>(), Ok(read));
            }
        }
    }

    static PAIR: LazyLock<(String, String)> = LazyLock::new(certificate);
}
