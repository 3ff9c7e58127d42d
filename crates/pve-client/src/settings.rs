//! What a client needs to know before it can send anything.

use std::{fmt, time::Duration};

use crate::{Fingerprint, ServerName, Tls, Token};

/// Where the cluster is, who asks, and what is trusted.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The cluster's nodes, or one address that leads to it, in the order in which they are tried. An
    /// empty list stands for this very machine.
    pub hosts: Vec<Host>,
    /// Who asks.
    pub token: Token,
    /// Which certificates are trusted.
    pub tls: Tls,
    /// How long one request may take from its turn on, its one repetition included. Proxmox VE itself
    /// gives up after 30 s and then says why, so less hides the reason.
    pub request_timeout: Duration,
    /// What this program calls itself, for the access log of Proxmox VE.
    pub user_agent: String,
}

/// One address. It is shown as it would stand in a URL: `pve.lan:8006`, `[::1]:8006`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// A name or an address, an IPv6 address without brackets.
    pub name: String,
    /// The port, 8006 unless somebody changed it.
    pub port: u16,
    /// What a reverse proxy puts before `/api2/json`: empty, or as in `/pve`.
    pub prefix: String,
    /// The name that its certificate must be for, where it is neither its own nor that of
    /// [`Tls::server_name`].
    pub server_name: Option<ServerName>,
    /// The certificates that it may have, where they are others than those of [`Tls::trust`]. Empty for those.
    pub pins: Vec<Fingerprint>,
}

impl Settings {
    /// How long a request may take where nothing else is said.
    pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(35);

    /// Settings for one host with everything else as it is by default: public certificates only,
    /// and 35 s for a request.
    pub fn new(host: Host, token: Token) -> Self {
        Self {
            hosts: vec![host],
            token,
            tls: Tls::default(),
            request_timeout: Self::REQUEST_TIMEOUT,
            user_agent: concat!("pve-client/", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

impl Host {
    /// The port of Proxmox VE.
    pub const PORT: u16 = 8006;

    /// A host at a port, without a prefix.
    pub fn new(name: impl Into<String>, port: u16) -> Self {
        let (prefix, pins) = (String::new(), Vec::new());
        Self { name: name.into(), port, prefix, server_name: None, pins }
    }

    /// The start of every URL: `https://pve.lan:8006/api2/json`.
    pub fn base(&self) -> String {
        let prefix = self.prefix.trim_matches('/');
        if prefix.is_empty() {
            format!("https://{self}/api2/json")
        } else {
            format!("https://{self}/{prefix}/api2/json")
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') && !self.name.starts_with('[') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_as_it_stands_in_a_url() {
        assert_eq!(Host::new("pve.lan", 8006).to_string(), "pve.lan:8006");
        assert_eq!(Host::new("::1", 8006).to_string(), "[::1]:8006");
        assert_eq!(Host::new("192.0.2.7", 443).to_string(), "192.0.2.7:443");
    }

    #[test]
    fn the_prefix_of_a_proxy_stands_before_the_api() {
        let mut host = Host::new("pve.lan", 443);
        assert_eq!(host.base(), "https://pve.lan:443/api2/json");
        for prefix in ["/pve", "pve", "/pve/"] {
            host.prefix = prefix.to_owned();
            assert_eq!(host.base(), "https://pve.lan:443/pve/api2/json");
        }
    }
}
