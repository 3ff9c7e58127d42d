//! What a presented certificate says, for people who have to judge it.
//!
//! Nothing here decides whether a certificate is trusted; `verifier` does.

use std::{
    fmt::{self, Write as _},
    net::IpAddr,
    str::FromStr,
};

use rustls_pki_types::CertificateDer;
use x509_parser::{extensions::GeneralName, prelude::*};

/// The SHA-256 digest of a certificate, written as Proxmox VE shows it: `AA:BB:…`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

/// A text that is no SHA-256 fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a SHA-256 fingerprint has 32 bytes in hexadecimal, as in `AA:BB:…`; this has {digits} \
     hexadecimal digits{}",
    hint(*.digits, *.is_hexadecimal)
)]
pub struct InvalidFingerprint {
    digits: usize,
    is_hexadecimal: bool,
}

/// The parts of a certificate that a message may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificate {
    pub(crate) fingerprint: Fingerprint,
    /// The names and addresses that it is for.
    pub(crate) names: Vec<String>,
    pub(crate) subject: String,
    pub(crate) issuer: String,
    pub(crate) is_self_signed: bool,
    pub(crate) is_ca: bool,
    pub(crate) not_before: String,
    pub(crate) not_after: String,
}

impl Fingerprint {
    /// The digest of a certificate.
    pub(crate) fn of(certificate: &CertificateDer<'_>) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, certificate);
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest.as_ref());
        Self(bytes)
    }
}

impl FromStr for Fingerprint {
    type Err = InvalidFingerprint;

    /// Reads upper and lower case, with and without colons or blanks, also behind the name of the digest as
    /// other programs write it (`sha256:…`, `SHA256 Fingerprint=…`).
    fn from_str(text: &str) -> Result<Self, InvalidFingerprint> {
        let text = text.trim();
        let named = text.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("sha256"));
        let text = match text.split_once(['=', ':']) {
            Some((_, rest)) if named => rest,
            _ => text,
        };
        let significant: Vec<char> =
            text.chars().filter(|c| *c != ':' && !c.is_whitespace()).collect();
        let digits: Vec<u8> =
            significant.iter().filter_map(|c| c.to_digit(16)?.try_into().ok()).collect();
        let invalid = InvalidFingerprint {
            digits: digits.len(),
            is_hexadecimal: digits.len() == significant.len(),
        };
        let (pairs, rest) = digits.as_chunks::<2>();
        let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
        match <[u8; 32]>::try_from(bytes) {
            Ok(bytes) if rest.is_empty() && invalid.is_hexadecimal => Ok(Self(bytes)),
            _ => Err(invalid),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_char(':')?;
            }
            write!(f, "{byte:02X}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl Certificate {
    /// Reads what can be read. A certificate that is none still has a fingerprint.
    pub(crate) fn read(der: &CertificateDer<'_>) -> Self {
        let mut certificate = Self {
            fingerprint: Fingerprint::of(der),
            names: Vec::new(),
            subject: String::new(),
            issuer: String::new(),
            is_self_signed: false,
            is_ca: false,
            not_before: String::new(),
            not_after: String::new(),
        };
        if let Ok((_, x509)) = X509Certificate::from_der(der) {
            certificate.names = names(&x509);
            certificate.subject = printable(&x509.subject().to_string());
            certificate.issuer = printable(&x509.issuer().to_string());
            certificate.is_self_signed = x509.issuer() == x509.subject();
            certificate.is_ca = x509.is_ca();
            certificate.not_before = moment(&x509.validity().not_before);
            certificate.not_after = moment(&x509.validity().not_after);
        }
        certificate
    }
}

/// The alternative names, since verification looks at nothing else.
fn names(x509: &X509Certificate<'_>) -> Vec<String> {
    let Ok(Some(extension)) = x509.subject_alternative_name() else { return Vec::new() };
    let names = extension.value.general_names.iter();
    names
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(printable(name)),
            GeneralName::IPAddress(bytes) => match bytes.len() {
                4 => <[u8; 4]>::try_from(*bytes).ok().map(|ip| IpAddr::from(ip).to_string()),
                _ => <[u8; 16]>::try_from(*bytes).ok().map(|ip| IpAddr::from(ip).to_string()),
            },
            _ => None,
        })
        .collect()
}

fn moment(time: &ASN1Time) -> String {
    let time = time.to_datetime();
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02} UTC",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute()
    )
}

/// Text from the other side, which may be anything, as a short line.
fn printable(text: &str) -> String {
    text.chars().take(200).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn hint(digits: usize, is_hexadecimal: bool) -> &'static str {
    match (digits, is_hexadecimal) {
        (_, false) => " and other characters",
        (40, true) => ", which is a SHA-1 fingerprint",
        (_, true) => "",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As PVE 9.2.11 shows it in `/nodes`.
    const SHOWN: &str = "3A:CD:08:BE:1C:93:97:2D:FE:25:B8:FA:EC:2C:D3:AF:23:84:65:61:A1:13:CE:71:\
                         D3:05:A3:59:D1:9D:36:35";

    #[test]
    fn a_fingerprint_is_read_in_every_spelling_and_shown_in_one() {
        let lower = SHOWN.to_lowercase();
        let bare = lower.replace(':', "");
        let spellings = [
            SHOWN,
            &lower,
            &bare,
            &format!("  {SHOWN}\n"),
            &bare.to_uppercase(),
            &format!("sha256:{bare}"),
            &format!("sha256 Fingerprint={SHOWN}"),
        ];
        for text in spellings {
            assert_eq!(text.parse::<Fingerprint>().unwrap().to_string(), SHOWN, "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused_with_a_count() {
        let sha1 = "AA:".repeat(20);
        let message = sha1.parse::<Fingerprint>().unwrap_err().to_string();
        assert!(message.ends_with("has 40 hexadecimal digits, which is a SHA-1 fingerprint"));
        for bad in ["", "AA", &SHOWN[..94], &format!("{SHOWN}:00"), &SHOWN.replace("3A", "3G")] {
            assert!(bad.parse::<Fingerprint>().is_err(), "accepted {bad:?}");
        }
    }

    #[test]
    fn a_certificate_tells_its_names_issuer_and_dates() {
        let mut params =
            rcgen::CertificateParams::new(["pve1".to_owned(), "192.0.2.7".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2024, 2, 1);
        params.not_after = rcgen::date_time_ymd(2026, 2, 1);
        params.distinguished_name.push(rcgen::DnType::CommonName, "PVE\u{1b}[2J");
        let signed = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        let read = Certificate::read(signed.der());
        assert_eq!(read.names, ["pve1", "192.0.2.7"]);
        assert!(read.is_self_signed && !read.is_ca);
        assert_eq!(read.not_before, "2024-02-01 00:00 UTC");
        assert_eq!(read.not_after, "2026-02-01 00:00 UTC");
        assert!(!read.issuer.contains('\u{1b}'), "{}", read.issuer);
    }

    #[test]
    fn garbage_still_has_a_fingerprint() {
        let read = Certificate::read(&CertificateDer::from(vec![1, 2, 3]));
        assert_eq!(&read.fingerprint.to_string()[..8], "03:90:58");
        assert!(read.names.is_empty());
    }

    proptest! {
        #[test]
        fn a_fingerprint_is_written_as_it_is_read(bytes: [u8; 32], text in ".{0,120}") {
            let written = Fingerprint(bytes).to_string();
            prop_assert_eq!(written.parse::<Fingerprint>().ok().map(|read| read.0), Some(bytes));
            prop_assert!(text.parse::<Fingerprint>().is_err() || text.len() >= 64);
        }
    }
}
