//! Certificates: an own authority that signs as a cluster's does, and the odd ones that clients
//! meet in the field.
//!
//! **Invariant:** nothing here is shared between simulators; every one makes its own keys.

use std::{io, sync::Arc};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SerialNumber,
};
use rustls::{ServerConfig, crypto::ring::default_provider};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use time::{Duration, OffsetDateTime};

/// The unit in the authority's name: every cluster makes up its own.
const OWN: &str = "5d3c1a5e-6f0b-4f67-9f43-3e1f5b1a2c77";
const FOREIGN: &str = "e1a40b0c-8d27-4d3c-b0c5-0c7f0d7b9a11";

/// What certificate the simulator shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CertificateKind {
    /// Signed by the cluster's own authority, as on a fresh node. [`crate::Sim::ca_pem`] is that
    /// authority.
    #[default]
    ClusterCa,
    /// Signed by an authority that is not the one [`crate::Sim::ca_pem`] gives.
    ForeignCa,
    /// Signed by itself.
    SelfSigned,
    /// Signed by itself, and saying that it is an authority (`CA:TRUE`).
    SelfSignedCa,
    /// As [`Self::ClusterCa`], but it expired yesterday.
    Expired,
    /// As [`Self::ClusterCa`], but it is valid only from tomorrow on.
    NotYetValid,
    /// As [`Self::ClusterCa`], but made out to `other.example` alone.
    WrongName,
}

/// A certificate as `/nodes/{node}/certificates/info` describes it.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    pub(crate) filename: &'static str,
    pub(crate) pem: String,
    pub(crate) fingerprint: String,
    pub(crate) subject: String,
    pub(crate) issuer: String,
    pub(crate) names: Vec<String>,
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
}

/// The keys and certificates of one simulator.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) config: Arc<ServerConfig>,
    /// What a client has to trust, in PEM.
    pub(crate) ca_pem: String,
    /// The SHA-256 of the certificate that the server shows.
    pub(crate) fingerprint: String,
    /// The authority and the node's own certificate, described.
    pub(crate) described: Vec<Described>,
}

/// Makes the keys and certificates of a node.
pub(crate) fn identity(
    kind: CertificateKind,
    node: &str,
    address: Option<&str>,
) -> io::Result<Identity> {
    make(kind, node, address).map_err(io::Error::other)
}

/// Bytes as PVE writes fingerprints: `3A:CD:08:…`.
pub(crate) fn colons(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
    pairs.join(":")
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn make(kind: CertificateKind, node: &str, address: Option<&str>) -> Result<Identity, Failure> {
    let now = OffsetDateTime::now_utc();
    let authority = authority(now, OWN);
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?;

    let leaf = leaf(kind, node, address, now)?;
    let leaf_key = KeyPair::generate()?;
    let leaf_certificate = match kind {
        CertificateKind::SelfSigned | CertificateKind::SelfSignedCa => {
            leaf.self_signed(&leaf_key)?
        }
        CertificateKind::ForeignCa => {
            let foreign = self::authority(now, FOREIGN);
            leaf.signed_by(&leaf_key, &Issuer::from_params(&foreign, KeyPair::generate()?))?
        }
        _ => leaf.signed_by(&leaf_key, &Issuer::from_params(&authority, &authority_key))?,
    };
    let self_signed = matches!(kind, CertificateKind::SelfSigned | CertificateKind::SelfSignedCa);
    let ca_pem = if self_signed { leaf_certificate.pem() } else { authority_certificate.pem() };

    let chain = vec![leaf_certificate.der().clone()];
    let key = PrivateKeyDer::try_from(leaf_key.serialize_der())?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;

    let (root, node_subject) = (subject(&authority), subject(&leaf));
    let issuer = if self_signed { node_subject.clone() } else { root.clone() };
    let described = vec![
        describe("pve-root-ca.pem", &authority, (root.clone(), root), &authority_certificate),
        describe("pve-ssl.pem", &leaf, (node_subject, issuer), &leaf_certificate),
    ];
    let fingerprint = fingerprint(leaf_certificate.der());
    Ok(Identity { config: Arc::new(config), ca_pem, fingerprint, described })
}

/// The authority that a cluster makes for itself, valid for ten years.
fn authority(now: OffsetDateTime, cluster: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = name(&[
        (DnType::CommonName, "Proxmox Virtual Environment"),
        (DnType::OrganizationalUnitName, cluster),
        (DnType::OrganizationName, "PVE Cluster Manager CA"),
    ]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (params.not_before, params.not_after) = (now - Duration::days(40), now + Duration::days(3650));
    params
}

/// The certificate of a node, valid for two years; its names are those that `pvecm` puts there.
fn leaf(
    kind: CertificateKind,
    node: &str,
    address: Option<&str>,
    now: OffsetDateTime,
) -> Result<CertificateParams, Failure> {
    let usual = ["127.0.0.1", "::1", "localhost"].into_iter().chain(address).chain([node]);
    let wrong = kind == CertificateKind::WrongName;
    let names: Vec<&str> = if wrong { vec!["other.example"] } else { usual.collect() };
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = name(&[
        (DnType::OrganizationalUnitName, "PVE Cluster Node"),
        (DnType::OrganizationName, "Proxmox Virtual Environment"),
        (DnType::CommonName, node),
    ]);
    params.serial_number = Some(SerialNumber::from(1_u64));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.is_ca = match kind {
        CertificateKind::SelfSignedCa => IsCa::Ca(BasicConstraints::Unconstrained),
        _ => IsCa::ExplicitNoCa,
    };
    (params.not_before, params.not_after) = match kind {
        CertificateKind::Expired => (now - Duration::days(731), now - Duration::days(1)),
        CertificateKind::NotYetValid => (now + Duration::days(1), now + Duration::days(731)),
        _ => (now - Duration::days(40), now + Duration::days(690)),
    };
    Ok(params)
}

fn name(parts: &[(DnType, &str)]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for (kind, value) in parts {
        name.push(kind.clone(), *value);
    }
    name
}

/// The name as PVE writes it, `/OU=PVE Cluster Node/O=Proxmox Virtual Environment/CN=pve1`.
fn subject(params: &CertificateParams) -> String {
    let part = |kind: &DnType, value: &rcgen::DnValue| {
        let value = match value {
            rcgen::DnValue::Utf8String(value) => value.as_str(),
            _ => "",
        };
        let kind = match kind {
            DnType::CommonName => "CN",
            DnType::OrganizationalUnitName => "OU",
            _ => "O",
        };
        format!("/{kind}={value}")
    };
    params.distinguished_name.iter().map(|(kind, value)| part(kind, value)).collect()
}

fn describe(
    filename: &'static str,
    params: &CertificateParams,
    (subject, issuer): (String, String),
    certificate: &rcgen::Certificate,
) -> Described {
    let names = params.subject_alt_names.iter().map(|name| match name {
        rcgen::SanType::DnsName(name) => name.to_string(),
        // PVE writes addresses of version 6 with all their zeros.
        rcgen::SanType::IpAddress(std::net::IpAddr::V6(address)) => {
            address.segments().map(|part| format!("{part:04x}")).join(":")
        }
        rcgen::SanType::IpAddress(address) => address.to_string(),
        _ => String::new(),
    });
    Described {
        filename,
        pem: certificate.pem().replace("\r\n", "\n"),
        fingerprint: fingerprint(certificate.der()),
        subject,
        issuer,
        names: names.collect(),
        not_before: params.not_before.unix_timestamp(),
        not_after: params.not_after.unix_timestamp(),
    }
}

fn fingerprint(certificate: &CertificateDer<'_>) -> String {
    colons(ring::digest::digest(&ring::digest::SHA256, certificate).as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_described_as_pve_describes_it() {
        let identity = identity(CertificateKind::ClusterCa, "pve1", Some("192.0.2.1")).unwrap();
        let [root, node] = identity.described.as_slice() else { panic!("two certificates") };
        assert_eq!(node.subject, "/OU=PVE Cluster Node/O=Proxmox Virtual Environment/CN=pve1");
        assert_eq!(node.issuer, root.subject);
        assert_eq!(node.fingerprint, identity.fingerprint);
        assert_eq!(node.fingerprint.len(), 32 * 3 - 1);
        let names = [
            "127.0.0.1",
            "0000:0000:0000:0000:0000:0000:0000:0001",
            "localhost",
            "192.0.2.1",
            "pve1",
        ];
        assert_eq!(node.names, names);
        assert!(node.pem.starts_with("-----BEGIN CERTIFICATE-----\n"));
    }
}
