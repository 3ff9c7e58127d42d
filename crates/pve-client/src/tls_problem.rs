//! Why no safe connection could be made, in words that help to mend it.
//!
//! Every problem with a certificate carries its fingerprint, so that a person can compare it with
//! the one that the node itself shows, and trust exactly that certificate.

use crate::Fingerprint;

/// How many names of a certificate a message lists.
const NAMES: usize = 8;

/// What is wrong with the connection's security.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TlsProblem {
    /// The certificate is trusted, and for other names.
    #[error(
        "its certificate is not for `{asked}` but for {}; use one of these names, or say which of \
         them to verify (SHA-256 fingerprint: {fingerprint})",
        listed(.names)
    )]
    WrongName {
        /// The name that was verified.
        asked: String,
        /// The names in the certificate.
        names: Vec<String>,
        /// The presented certificate.
        fingerprint: Fingerprint,
    },
    /// Nobody who is trusted has signed the certificate. It is like that on every fresh node, whose
    /// certificate is signed by the cluster's own authority.
    #[error(
        "its certificate is not signed by {}, but by {}; trust {}this certificate, once its SHA-256 \
         fingerprint is compared: {fingerprint}",
        trusted(.given),
        signed_by(.issuer, *.is_self_signed, .given),
        authority(*.is_self_signed)
    )]
    UnknownIssuer {
        /// Who signed it, by its own account.
        issuer: String,
        /// Whether it signed itself.
        is_self_signed: bool,
        /// The authorities that the user gave, where they are trusted and no others.
        given: Vec<String>,
        /// The presented certificate.
        fingerprint: Fingerprint,
    },
    /// The certificate is too old.
    #[error(
        "its certificate, signed by {}, expired on {not_after}; renew it, or check this machine's \
         clock (SHA-256 fingerprint: {fingerprint})",
        signer(.issuer, *.is_self_signed)
    )]
    Expired {
        /// Who signed it, by its own account.
        issuer: String,
        /// Whether it signed itself.
        is_self_signed: bool,
        /// The end of its life.
        not_after: String,
        /// The presented certificate.
        fingerprint: Fingerprint,
    },
    /// The certificate is too young.
    #[error(
        "its certificate, signed by {}, is not valid before {not_before}; check this machine's \
         clock (SHA-256 fingerprint: {fingerprint})",
        signer(.issuer, *.is_self_signed)
    )]
    NotYetValid {
        /// Who signed it, by its own account.
        issuer: String,
        /// Whether it signed itself.
        is_self_signed: bool,
        /// The start of its life.
        not_before: String,
        /// The presented certificate.
        fingerprint: Fingerprint,
    },
    /// Only certain certificates are trusted, and this is none of them.
    #[error(
        "it presented another certificate than the pinned one: expected {}, presented {presented}; \
         if the certificate was renewed, compare this fingerprint on the node and pin it",
        fingerprints(.expected)
    )]
    NotPinned {
        /// Those that are trusted.
        expected: Vec<Fingerprint>,
        /// The presented certificate.
        presented: Fingerprint,
    },
    /// An authority's own certificate stands where a server's should.
    #[error(
        "it uses the certificate of a certificate authority as its own, which is not allowed; give \
         it a server certificate, or trust exactly this one by its SHA-256 fingerprint: \
         {fingerprint}"
    )]
    AuthorityAsServer {
        /// The presented certificate.
        fingerprint: Fingerprint,
    },
    /// The certificate is for something else than a server, or cannot be read.
    #[error("its certificate cannot be used ({why}); its SHA-256 fingerprint is {fingerprint}")]
    UnusableCertificate {
        /// What is wrong with it.
        why: String,
        /// The presented certificate.
        fingerprint: Fingerprint,
    },
    /// The server could not prove that the certificate is its own.
    #[error("it could not prove that it has the key of its certificate")]
    NotItsKey,
    /// Nothing newer than TLS 1.1.
    #[error("it speaks only versions of TLS that are too old to be safe; TLS 1.2 or 1.3 is needed")]
    TooOld,
    /// Plain HTTP, or something else altogether.
    #[error("what listens there does not speak TLS; check the port (Proxmox VE uses 8006)")]
    NotTls,
    /// It hung up within the handshake.
    #[error("it closed the connection within the TLS handshake; check the port, or try again")]
    Closed,
    /// It refused the handshake.
    #[error("it refused the TLS handshake ({0})")]
    RefusedByPeer(String),
    /// The list of trusted authorities cannot be used.
    #[error("the list of trusted certificate authorities cannot be used ({0})")]
    Authorities(String),
    /// Anything else.
    #[error("no TLS connection could be made ({0})")]
    Other(String),
}

impl TlsProblem {
    /// The fingerprint of the certificate that was presented, where the problem is about it.
    pub fn presented(&self) -> Option<Fingerprint> {
        match self {
            Self::WrongName { fingerprint, .. }
            | Self::UnknownIssuer { fingerprint, .. }
            | Self::Expired { fingerprint, .. }
            | Self::NotYetValid { fingerprint, .. }
            | Self::AuthorityAsServer { fingerprint }
            | Self::UnusableCertificate { fingerprint, .. }
            | Self::NotPinned { presented: fingerprint, .. } => Some(*fingerprint),
            _ => None,
        }
    }

    /// The same in a few words, for a list of hosts.
    pub(crate) fn brief(&self) -> String {
        let what = match self {
            Self::WrongName { .. } => "its certificate is for another name",
            Self::UnknownIssuer { .. } => "its certificate is signed by nobody who is trusted",
            Self::Expired { .. } => "its certificate has expired",
            Self::NotYetValid { .. } => "its certificate is not valid yet",
            Self::NotPinned { .. } => "its certificate is not a pinned one",
            Self::AuthorityAsServer { .. } | Self::UnusableCertificate { .. } => {
                "its certificate cannot be used"
            }
            other => return other.to_string(),
        };
        match self.presented() {
            Some(fingerprint) => format!("{what} (SHA-256 {fingerprint})"),
            None => what.to_owned(),
        }
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "no name at all".to_owned();
    }
    let shown: Vec<_> = names.iter().take(NAMES).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn signer(issuer: &str, is_self_signed: bool) -> String {
    if is_self_signed { "itself".to_owned() } else { format!("`{issuer}`") }
}

/// Who should have signed.
fn trusted(given: &[String]) -> String {
    match given {
        [] => "anybody who is trusted".to_owned(),
        [one] => format!("the authority that was given to be trusted (`{one}`)"),
        _ => format!("one of the authorities that were given to be trusted ({})", listed(given)),
    }
}

/// Who signed instead. All clusters call their authority nearly the same.
fn signed_by(issuer: &str, is_self_signed: bool, given: &[String]) -> String {
    match signer(issuer, is_self_signed) {
        signer if given.iter().any(|name| name == issuer) => {
            format!("{signer}, another authority of the same name")
        }
        signer => signer,
    }
}

/// Whom to trust rather than one certificate, where there is such a one.
fn authority(is_self_signed: bool) -> &'static str {
    if is_self_signed {
        ""
    } else {
        "the cluster's own certificate authority (on a node: /etc/pve/pve-root-ca.pem), or "
    }
}

fn fingerprints(expected: &[Fingerprint]) -> String {
    let expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
    expected.join(" or ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use rustls_pki_types::CertificateDer;

    use super::*;

    #[test]
    fn at_most_eight_names_are_listed() {
        let problem = |n: usize| TlsProblem::WrongName {
            asked: "pve".to_owned(),
            names: (0..n).map(|i| format!("n{i}")).collect(),
            fingerprint: Fingerprint::of(&CertificateDer::from(Vec::new())),
        };
        assert!(problem(0).to_string().contains("but for no name at all;"));
        assert!(problem(2).to_string().contains("but for `n0`, `n1`;"));
        assert!(problem(11).to_string().contains("`n7` and 3 more;"));
    }

    proptest! {
        #[test]
        fn no_problem_lists_more_than_eight_names_and_each_has_its_fingerprint(
            names in prop::collection::vec("[a-z]{1,20}", 0..40),
            der in prop::collection::vec(any::<u8>(), 0..40),
            is_self_signed in any::<bool>(),
        ) {
            let fingerprint = Fingerprint::of(&CertificateDer::from(der));
            let issuer = names.concat();
            let shown = names.len().min(NAMES);
            let problem = TlsProblem::WrongName { asked: "pve".to_owned(), names, fingerprint };
            let told = problem.to_string();
            prop_assert_eq!(told.matches('`').count(), 2 * (shown + 1), "{}", told);
            let unknown = TlsProblem::UnknownIssuer { issuer, is_self_signed, fingerprint };
            for problem in [problem, unknown] {
                prop_assert_eq!(problem.presented(), Some(fingerprint));
                prop_assert!(problem.to_string().contains(&fingerprint.to_string()));
                prop_assert!(problem.brief().contains(&fingerprint.to_string()) && problem.brief().len() < 200);
            }
        }
    }
}
