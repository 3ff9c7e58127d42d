//! A request as it goes out: where to, with which headers.
//!
//! **Invariant:** it goes to the host that is shown, or nowhere. The token's header is marked as one that
//! nothing may show.

use std::{net::Ipv6Addr, time::Duration};

use bytes::Bytes;
use http::{
    HeaderValue, Request, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT},
};
use http_body_util::Full;
use tokio::time::Instant;

use crate::{Host, Method, Token};

/// What is sent.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// Below `/api2/json`, with the query.
    pub(crate) path: &'a str,
    pub(crate) form: &'a str,
    pub(crate) token: &'a Token,
    pub(crate) user_agent: &'a str,
    /// When it has to be over, whatever it waits for.
    pub(crate) deadline: Option<Instant>,
    /// How long it may take from its turn on.
    pub(crate) timeout: Duration,
    pub(crate) limit: usize,
}

/// `None` when the address is none.
pub(crate) fn request(host: &Host, call: &Call<'_>) -> Option<Request<Full<Bytes>>> {
    let uri: Uri = format!("{}{}", host.base(), call.path).parse().ok()?;
    // A name such as `pve/x` or `user@pve` would mean another host than the one that is shown.
    let name = host.name.trim_matches(['[', ']']);
    let is_meant = uri.host()?.trim_matches(['[', ']']) == name;
    let is_address = !name.contains(':') || name.parse::<Ipv6Addr>().is_ok();
    if !is_meant || !is_address || name.is_empty() || host.prefix.contains('?') {
        return None;
    }
    let mut authorization = HeaderValue::from_bytes(call.token.authorization().as_bytes()).ok()?;
    authorization.set_sensitive(true);
    // No compression is asked for: it would cost the worker more time than it saves in a LAN.
    let request = Request::builder()
        .method(call.method.as_str())
        .uri(uri)
        .header(AUTHORIZATION, authorization)
        .header(USER_AGENT, call.user_agent)
        .header(ACCEPT, "application/json");
    match call.method {
        Method::Get => request.body(Full::default()),
        // Proxmox VE takes neither chunks nor a body without its length.
        Method::Post => request
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(CONTENT_LENGTH, call.form.len())
            .body(Full::from(call.form.to_owned())),
    }
    .ok()
}

/// The path alone, for messages: a query may hold what somebody searched for.
pub(crate) fn without_query(path: &str) -> &str {
    path.split('?').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn uri(host: &Host) -> Option<String> {
        let token = Token::new("root@pam", "monitor", Secret::new("x".to_owned())).unwrap();
        let call = Call {
            method: Method::Get,
            path: "/version?a=b",
            form: "",
            token: &token,
            user_agent: "test",
            deadline: None,
            timeout: Duration::ZERO,
            limit: 0,
        };
        let request = request(host, &call)?;
        assert!(request.headers()[AUTHORIZATION].is_sensitive());
        Some(request.uri().to_string())
    }

    #[test]
    fn every_spelling_of_an_address_becomes_a_url() {
        for (name, expected) in [
            ("pve.lan", "https://pve.lan:8006/api2/json/version?a=b"),
            ("PVE1", "https://PVE1:8006/api2/json/version?a=b"),
            ("192.0.2.7", "https://192.0.2.7:8006/api2/json/version?a=b"),
            ("::1", "https://[::1]:8006/api2/json/version?a=b"),
            ("[::1]", "https://[::1]:8006/api2/json/version?a=b"),
        ] {
            assert_eq!(uri(&Host::new(name, 8006)).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_name_that_would_mean_another_host_is_none() {
        for name in ["", "pve/x", "user@pve", "pve?x", "pve#x", "pve:1", "a b", "a\\b", "é"] {
            assert_eq!(uri(&Host::new(name, 8006)), None, "{name:?}");
        }
        let mut host = Host::new("pve", 8006);
        host.prefix = "/x?y=".to_owned();
        assert_eq!(uri(&host), None);
    }
}
