//! Decides who answered, and whether it was a success.
//!
//! Proxmox VE's own refusals carry JSON, or nothing at all (401, 595, 596), or in rare cases plain
//! text without a type (recorded from PVE 9.2.11). Pages and the errors of gateways are not its.

use http::{
    HeaderMap, HeaderName,
    header::{CONTENT_TYPE, LOCATION, SERVER, WWW_AUTHENTICATE},
    uri::Uri,
};
use hyper::{body::Incoming, ext::ReasonPhrase};

use crate::{Error, Method, Refusal, Token, body};

/// How much of a refusal is read.
const REFUSAL_LIMIT: usize = 64 << 10;

/// What was asked, for the errors.
pub(crate) struct Question<'a> {
    pub(crate) host: &'a str,
    pub(crate) method: Method,
    /// Without the query.
    pub(crate) path: &'a str,
    /// Whose secret is in no answer, whatever a proxy echoes.
    pub(crate) token: &'a Token,
}

/// Hands back an answer that is a success, by its head. Its body is still to come.
pub(crate) async fn judge(
    question: &Question<'_>,
    response: http::Response<Incoming>,
) -> Result<http::Response<Incoming>, Error> {
    let status = response.status().as_u16();
    let headers = response.headers();
    if response.status().is_success() {
        let kind = header(headers, &CONTENT_TYPE);
        // An empty answer has no type, and is told apart later.
        return if kind.is_none_or(is_json) {
            Ok(response)
        } else {
            Err(foreign(question, &response))
        };
    }
    if status < 400 || is_page(headers) || is_of_a_gateway(&response) {
        return Err(foreign(question, &response));
    }
    let reason = reason(&response).map(|reason| question.token.hidden_in_text(reason));
    // What the status line says is enough when the rest is lost.
    let body = body::collect(response.into_body(), REFUSAL_LIMIT)
        .await
        .and_then(|body| body::decompress(body, REFUSAL_LIMIT))
        .unwrap_or_default();
    let body = question.token.hidden_in(body);
    Err(Refusal::read(question.method, question.path, status, reason, &body).into())
}

/// The error for an answer that is not from Proxmox VE.
pub(crate) fn foreign(question: &Question<'_>, response: &http::Response<Incoming>) -> Error {
    // Hidden before anything is cut, or a part of it would be shown.
    let of = |name| {
        let value = header(response.headers(), name)?;
        Some(question.token.hidden_in_text(value.to_owned()))
    };
    let redirect_to = of(&LOCATION)
        .filter(|_| response.status().is_redirection())
        .map(|location| target(&location, question.host));
    Error::Foreign {
        host: question.host.to_owned(),
        method: question.method,
        path: question.path.to_owned(),
        status: response.status().as_u16(),
        content_type: of(&CONTENT_TYPE).map(|kind| media_type(&kind)),
        redirect_to,
    }
}

/// The host of a redirection, and nothing else of it: the rest may hold a session.
fn target(location: &str, own: &str) -> String {
    match location.parse::<Uri>().ok().as_ref().and_then(Uri::authority) {
        Some(authority) => match authority.port() {
            Some(port) => format!("{}:{port}", authority.host()),
            None => authority.host().to_owned(),
        },
        None => own.to_owned(),
    }
}

/// The reason phrase, also where it is the usual one, of which hyper tells nothing.
fn reason(response: &http::Response<Incoming>) -> Option<String> {
    match response.extensions().get::<ReasonPhrase>() {
        Some(reason) => Some(String::from_utf8_lossy(reason.as_bytes()).into_owned()),
        None => response.status().canonical_reason().map(str::to_owned),
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn is_page(headers: &HeaderMap) -> bool {
    header(headers, &CONTENT_TYPE).is_some_and(|kind| {
        let kind = kind.trim_start().to_ascii_lowercase();
        kind.starts_with("text/html") || kind.starts_with("application/xhtml")
    })
}

/// Proxmox VE names itself, unless a proxy hides it.
fn is_proxmox(headers: &HeaderMap) -> bool {
    header(headers, &SERVER).is_some_and(|server| server.starts_with("pve-api-daemon"))
}

/// Whether a refusal looks like that of something in front of Proxmox VE, which has no such codes as
/// 502, gives no type to plain text, and never asks for a password.
fn is_of_a_gateway(response: &http::Response<Incoming>) -> bool {
    let headers = response.headers();
    if is_proxmox(headers) {
        return false;
    }
    let kind = header(headers, &CONTENT_TYPE);
    match response.status().as_u16() {
        502..=504 | 520..=530 => true,
        404 | 405 | 407 | 421 | 429 => !kind.is_some_and(is_json),
        _ => kind.is_some_and(|kind| !is_json(kind)) || headers.contains_key(WWW_AUTHENTICATE),
    }
}

/// `text/html` of `text/html; charset=utf-8`, as a short line.
fn media_type(kind: &str) -> String {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.chars().filter(|c| !c.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_of_a_redirection_is_kept() {
        let own = "pve.lan:8006";
        assert_eq!(target("https://login.example/x?session=1", own), "login.example");
        assert_eq!(target("https://u:p@login.example:444/x", own), "login.example:444");
        assert_eq!(target("/login", own), own);
        assert_eq!(target("::", own), own);
    }

    #[test]
    fn json_is_known_by_its_type() {
        assert!(is_json("application/json;charset=UTF-8"));
        assert!(is_json("Application/JSON"));
        assert!(!is_json("text/html"));
        assert!(!is_json("application/jsonp"));
    }
}
