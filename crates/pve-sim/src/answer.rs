//! An answer as a value: status, reason phrase, body, and what is odd about its headers.
//!
//! **Invariant:** the texts are those of a real Proxmox VE API server (recorded from PVE 9.2.11);
//! nothing outside this file writes an error's body.

use std::io::Write as _;

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};

use crate::json::Json;

/// What one request is answered with, before it becomes bytes.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The status code.
    pub(crate) status: u16,
    /// The reason phrase. PVE puts the text of an error there, and for some errors nowhere else.
    pub(crate) reason: String,
    /// The body.
    pub(crate) body: Bytes,
    /// The value of `Content-Type`; none on the answers that PVE sends without any.
    pub(crate) content_type: Option<&'static str>,
    /// The value of `Content-Encoding`; the body is what it says.
    pub(crate) encoding: Option<&'static str>,
    /// Whether `Content-Length` is sent. Answers without a body carry none and end with the
    /// connection.
    pub(crate) with_length: bool,
    /// The values of `Connection`, in order. PVE sends two of them when another daemon wrote the
    /// answer.
    pub(crate) connection: &'static [&'static str],
}

/// The content type of every answer with JSON in it.
pub(crate) const JSON: &str = "application/json;charset=UTF-8";

/// `Connection` of an answer that pveproxy wrote itself.
pub(crate) const KEEP_ALIVE: &[&str] = &["Keep-Alive"];
/// `Connection` of an answer that pvedaemon wrote and pveproxy passed on; the connection stays open
/// all the same.
pub(crate) const FROM_DAEMON: &[&str] = &["close", "Keep-Alive"];
/// `Connection` of an answer that another node's pveproxy wrote.
pub(crate) const FROM_NODE: &[&str] = &["Keep-Alive", "Keep-Alive"];
/// `Connection` of an answer that another node's pvedaemon wrote.
pub(crate) const FROM_NODES_DAEMON: &[&str] = &["close,Keep-Alive", "Keep-Alive"];

/// `Connection` of an error.
pub(crate) const CLOSE: &[&str] = &["close"];

impl Answer {
    /// 200 with this JSON.
    pub(crate) fn json(body: Bytes) -> Self {
        Self {
            status: 200,
            reason: "OK".to_owned(),
            body,
            content_type: Some(JSON),
            encoding: None,
            with_length: true,
            connection: KEEP_ALIVE,
        }
    }

    /// 200 with this JSON compressed, as the journal comes to everybody (recorded).
    pub(crate) fn zipped(text: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing into memory cannot fail.
        let _ = encoder.write_all(text);
        let body = encoder.finish().unwrap_or_default();
        Self {
            content_type: Some("application/json"),
            encoding: Some("gzip"),
            ..Self::json(body.into())
        }
    }

    /// An error with a reason phrase and nothing else, as 401, 595 and refused methods are
    /// answered.
    pub(crate) fn bare(status: u16, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.into(),
            body: Bytes::new(),
            content_type: None,
            encoding: None,
            with_length: false,
            connection: CLOSE,
        }
    }

    /// An error from the API itself; the text ends with a newline in the body and stands in the
    /// reason phrase.
    pub(crate) fn error(status: u16, text: &str) -> Self {
        Self::refusal(status, text, &format!("{text}\n"), &[])
    }

    /// 403 as PVE words it: `Permission check failed (/vms/100, VM.Audit)`.
    pub(crate) fn forbidden(path: &str, privileges: &str) -> Self {
        Self::error(403, &format!("Permission check failed ({path}, {privileges})"))
    }

    /// 501: no such path, or not with this method. The one JSON error whose message has no newline
    /// at its end.
    pub(crate) fn not_implemented(method: &str, path: &str) -> Self {
        let text = format!("Method '{method} {path}' not implemented");
        Self::refusal(501, &text, &text, &[])
    }

    /// 400 with one text per parameter.
    pub(crate) fn bad_parameters(errors: &[(String, String)]) -> Self {
        let text = "Parameter verification failed.";
        Self::refusal(400, text, &format!("{text}\n"), errors)
    }

    /// 595: pveproxy could not reach whoever answers this (another node, or its own pvedaemon).
    pub(crate) fn unreachable(reason: &str) -> Self {
        Self::bare(595, reason)
    }

    /// The error as a server of before about PVE 8.4 sends it: without a `message` in the body.
    #[must_use]
    pub(crate) fn without_message(mut self) -> Self {
        if self.status >= 400 && self.content_type == Some(JSON) {
            let errors = serde_json::from_slice::<serde_json::Value>(&self.body).ok();
            let errors = errors.and_then(|body| body.get("errors").cloned());
            self.body = match errors {
                Some(errors) => serde_json::json!({ "data": null, "errors": errors }).to_string(),
                None => "{\"data\":null}".to_owned(),
            }
            .into();
        }
        self
    }

    fn refusal(status: u16, reason: &str, message: &str, errors: &[(String, String)]) -> Self {
        let body = Json::object(|body| {
            body.null("data");
            body.text("message", message);
            if !errors.is_empty() {
                body.object("errors", |list| {
                    for (parameter, text) in errors {
                        list.text(parameter, text);
                    }
                });
            }
        });
        let reason = reason.lines().next().unwrap_or_default().to_owned();
        Self { status, reason, connection: CLOSE, ..Self::json(body) }
    }
}
