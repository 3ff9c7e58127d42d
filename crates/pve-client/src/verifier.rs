//! Decides whether a certificate is trusted, and remembers why not.
//!
//! **Invariant:** the signature of the handshake is verified whatever is trusted, so that a pinned
//! certificate proves something: whoever presents it must have its key.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::{
    CertificateError, DigitallySignedStruct, OtherError, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature},
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use crate::{Fingerprint, TlsProblem, certificate::Certificate};

/// The certificate that was trusted last, for whoever wants to compare it. All clones hold the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trusted(Arc<Mutex<Option<Fingerprint>>>);

/// One verifier for all that can be trusted.
#[derive(Debug)]
pub(crate) struct Verifier {
    check: Check,
    trusted: Trusted,
    algorithms: WebPkiSupportedAlgorithms,
}

/// What a certificate must be.
#[derive(Debug)]
pub(crate) enum Check {
    /// Signed by a known authority, in force, and for the right name. Of authorities that the user gave, with
    /// their names.
    Chain(Arc<WebPkiServerVerifier>, Arc<[String]>),
    /// One of these, whatever it says of itself.
    Pinned(Vec<Fingerprint>),
    /// Anything.
    Nothing,
}

impl Verifier {
    pub(crate) fn new(
        check: Check,
        trusted: Trusted,
        algorithms: WebPkiSupportedAlgorithms,
    ) -> Self {
        Self { check, trusted, algorithms }
    }

    fn check(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.check {
            Check::Chain(webpki, given) => webpki
                .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
                .map_err(|error| untrusted(problem(error, end_entity, server_name, given))),
            Check::Pinned(expected) => {
                let presented = Fingerprint::of(end_entity);
                if expected.contains(&presented) {
                    Ok(ServerCertVerified::assertion())
                } else {
                    let expected = expected.clone();
                    Err(untrusted(TlsProblem::NotPinned { expected, presented }))
                }
            }
            Check::Nothing => Ok(ServerCertVerified::assertion()),
        }
    }
}

impl Trusted {
    pub(crate) fn get(&self) -> Option<Fingerprint> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, fingerprint: Fingerprint) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.check(end_entity, intermediates, server_name, ocsp_response, now)?;
        self.trusted.set(Fingerprint::of(end_entity));
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Carries the problem through rustls, which hands it on as it is.
fn untrusted(problem: TlsProblem) -> rustls::Error {
    CertificateError::Other(OtherError(Arc::new(problem))).into()
}

fn problem(
    error: rustls::Error,
    der: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
    given: &[String],
) -> TlsProblem {
    let Certificate {
        fingerprint,
        names,
        issuer,
        is_self_signed,
        is_ca,
        not_before,
        not_after,
        ..
    } = Certificate::read(der);
    let rustls::Error::InvalidCertificate(error) = error else {
        return TlsProblem::Other(error.to_string());
    };
    match error {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            let asked = server_name.to_str().into_owned();
            TlsProblem::WrongName { asked, names, fingerprint }
        }
        // Two authorities of the same name have different keys; then the signature is wrong.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            let given = given.to_vec();
            TlsProblem::UnknownIssuer { issuer, is_self_signed, given, fingerprint }
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            TlsProblem::Expired { issuer, is_self_signed, not_after, fingerprint }
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsProblem::NotYetValid { issuer, is_self_signed, not_before, fingerprint }
        }
        // Verification has its own type for this, which rustls does not show.
        CertificateError::Other(_) if is_ca => TlsProblem::AuthorityAsServer { fingerprint },
        error => TlsProblem::UnusableCertificate { why: error.to_string(), fingerprint },
    }
}
