//! How a simulator behaves, apart from the cluster that it simulates.
//!
//! **Invariant:** by default it answers at once; every delay of a real server is switched on by
//! hand.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use crate::tls::CertificateKind;

/// How long PVE holds back every 401.
const DELAY_401: Duration = Duration::from_secs(3);
/// How long PVE takes to find that a node is gone; recorded between 0.2 and 3 seconds.
const DELAY_595: Duration = Duration::from_millis(1500);

/// How the simulator behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// The certificate it shows.
    pub certificate: CertificateKind,
    /// Whether 401 takes three seconds, as it does on PVE.
    pub delay_401: bool,
    /// Whether 595 takes its time, as it does on PVE.
    pub delay_595: bool,
    /// Speaks HTTP without TLS, as behind a proxy that takes TLS off.
    pub plain_http: bool,
    /// The address to listen on.
    pub address: IpAddr,
    /// The port to listen on; 0 takes a free one.
    pub port: u16,
    /// The node that it answers as; `None` is the first.
    pub node: Option<String>,
    /// How long an idle connection stays open; `None` is for ever. PVE: five seconds.
    pub idle_timeout: Option<Duration>,
    /// After how many requests a connection ends. PVE: 100.
    pub requests_per_connection: usize,
    /// How long a console waits for its connection. PVE: ten seconds.
    pub ticket_life: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            certificate: CertificateKind::default(),
            delay_401: false,
            delay_595: false,
            plain_http: false,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            node: None,
            idle_timeout: Some(Duration::from_secs(5)),
            requests_per_connection: 100,
            ticket_life: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// As a real server behaves: with its delays.
    pub fn realistic() -> Self {
        Self { delay_401: true, delay_595: true, ..Self::default() }
    }

    /// How long an answer with this status is held back.
    pub(crate) fn delay_of(&self, status: u16) -> Duration {
        match status {
            401 if self.delay_401 => DELAY_401,
            595 if self.delay_595 => DELAY_595,
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_realistic_server_takes_its_time_to_refuse() {
        let delays =
            |options: &Options| [200, 401, 595].map(|status| options.delay_of(status).as_millis());
        assert_eq!(delays(&Options::default()), [0, 0, 0]);
        assert_eq!(delays(&Options::realistic()), [0, 3000, 1500]);
    }
}
