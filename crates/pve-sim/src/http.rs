//! One connection: reads requests, writes answers, and keeps to pveproxy's rules about when a
//! connection ends.
//!
//! It is written by hand because a simulator must be able to do what a library forbids: two
//! `Connection` headers, an answer without a length, one cut in its middle. **Invariants:** a
//! connection ends after an error, after 100 requests, and after five idle seconds; nothing that a
//! peer sends makes it panic or read without bound.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    time::timeout,
};

use crate::{
    answer::Answer,
    console::{self, Session},
    damage::{self, Damage},
    shared::{Forgotten, Shared},
};

/// The most bytes of a request's head that are read.
const HEAD_LIMIT: usize = 64 << 10;
/// The most bytes of a request's body that are read.
const BODY_LIMIT: usize = 4 << 20;

/// A request as it came.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with its query, as sent.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
    old_protocol: bool,
}

/// What goes onto the wire, and how much of it.
#[derive(Debug)]
pub(crate) enum Reply {
    /// This head and body, with what happens to them on their way.
    Whole { head: String, body: Bytes, close: bool, damage: Option<Damage> },
    /// This head, and then a console for as long as both sides want.
    Console { head: String, session: Box<Session>, upid: String },
    /// Nothing: the connection ends.
    Nothing,
    /// Nothing: the connection stays open until the peer ends it, or the rules are forgotten.
    Never(Forgotten),
}

impl Request {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    fn wants_close(&self) -> bool {
        let connection = self.header("connection").unwrap_or_default().to_ascii_lowercase();
        connection.contains("close") || (self.old_protocol && !connection.contains("keep-alive"))
    }
}

/// Serves one connection until it ends.
pub(crate) async fn serve<S>(mut stream: S, shared: Arc<Shared>)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut buffer = BytesMut::new();
    let idle = shared.options.idle_timeout.unwrap_or(Duration::MAX);
    for nth in 1..=shared.options.requests_per_connection {
        let Ok(read) = timeout(idle, read_request(&mut stream, &mut buffer)).await else { break };
        let last = nth == shared.options.requests_per_connection;
        let (reply, ends) = match read {
            Ok(Some(request)) => (shared.answer(&request, last).await, request.wants_close()),
            Ok(None) => break,
            Err(refusal) => (shared.refuse(&refusal), true),
        };
        match reply {
            Reply::Nothing => return,
            Reply::Console { head, session, upid } => {
                if stream.write_all(head.as_bytes()).await.is_ok() {
                    console::serve(stream, buffer, *session, &upid, &shared).await;
                }
                return;
            }
            Reply::Never(forgotten) => return wait_for_the_peer(&mut stream, forgotten).await,
            Reply::Whole { head, body, close, damage } => {
                if !damage::send(&mut stream, &head, &body, damage).await {
                    // Dropping the stream without a farewell is what a cut looks like to the peer.
                    return;
                }
                if close || ends || last {
                    break;
                }
            }
        }
    }
    // The peer may be gone already; there is nobody left to tell.
    let _ = stream.shutdown().await;
}

/// The head of an answer, in the order in which PVE writes it.
pub(crate) fn head(answer: &Answer, extra: &[(String, String)], last: bool) -> (String, bool) {
    let date = crate::date::http_date();
    let mut headers: Vec<(&str, String)> = vec![("Cache-Control", "max-age=0".to_owned())];
    let close = last || answer.connection.iter().all(|value| *value == "close");
    let connection: &[&str] = if close { &["close"] } else { answer.connection };
    headers.extend(connection.iter().map(|value| ("Connection", (*value).to_owned())));
    headers.push(("Date", date.clone()));
    headers.push(("Pragma", "no-cache".to_owned()));
    headers.push(("Server", "pve-api-daemon/3.0".to_owned()));
    if let Some(encoding) = answer.encoding {
        headers.push(("Content-Encoding", encoding.to_owned()));
    }
    if answer.with_length {
        headers.push(("Content-Length", answer.body.len().to_string()));
    }
    if let Some(content_type) = answer.content_type {
        headers.push(("Content-Type", content_type.to_owned()));
    }
    headers.push(("Expires", date));
    let replaced = |name: &str| extra.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    headers.retain(|(name, _)| !replaced(name));
    let extra = extra.iter().filter(|(_, value)| !value.is_empty());
    headers.extend(extra.map(|(name, value)| (name.as_str(), value.clone())));
    let asks_to_close = headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("connection") && value.eq_ignore_ascii_case("close")
    });
    let close = close || (asks_to_close && replaced("connection"));
    let lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    (format!("HTTP/1.1 {} {}\r\n{}\r\n", answer.status, answer.reason, lines.concat()), close)
}

/// Reads one request; `None` when the peer has gone.
async fn read_request<S>(stream: &mut S, buffer: &mut BytesMut) -> Result<Option<Request>, Answer>
where
    S: AsyncRead + Unpin,
{
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if buffer.len() > HEAD_LIMIT {
            return Err(Answer::bare(501, "request header too large"));
        }
        if !matches!(stream.read_buf(buffer).await, Ok(read) if read > 0) {
            return Ok(None);
        }
    };
    let head = buffer.split_to(end + 4);
    let mut request = parse_head(&String::from_utf8_lossy(&head))?;
    if !["GET", "POST", "PUT", "DELETE"].contains(&request.method.as_str()) {
        return Err(Answer::bare(501, format!("method '{}' not available", request.method)));
    }
    if request.header("transfer-encoding").is_some() {
        return Err(Answer::bare(501, "chunked transfer encoding not supported"));
    }
    let length = request.header("content-length").map_or(Ok(0), str::parse::<usize>);
    let Ok(length) = length else { return Err(Answer::bare(400, "bad content length")) };
    if length > 0 && !matches!(request.method.as_str(), "POST" | "PUT") {
        return Err(Answer::bare(
            501,
            format!("Unexpected content for method '{}'", request.method),
        ));
    }
    if length > BODY_LIMIT {
        return Err(Answer::bare(501, "for data too large"));
    }
    while buffer.len() < length {
        if !matches!(stream.read_buf(buffer).await, Ok(read) if read > 0) {
            return Ok(None);
        }
    }
    request.body = buffer.split_to(length).freeze();
    Ok(Some(request))
}

fn parse_head(head: &str) -> Result<Request, Answer> {
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target), Some(protocol)) = (words.next(), words.next(), words.next())
    else {
        return Err(Answer::bare(501, "malformed request"));
    };
    let headers = lines.filter_map(|line| line.split_once(':'));
    Ok(Request {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect(),
        body: Bytes::new(),
        old_protocol: protocol == "HTTP/1.0",
    })
}

/// Answers somebody who speaks HTTP to the TLS port, as pveproxy does: with a redirection.
pub(crate) async fn redirect_to_tls<S>(mut stream: S, port: u16)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut buffer = BytesMut::new();
    let read = timeout(Duration::from_secs(5), read_request(&mut stream, &mut buffer)).await;
    let Ok(Ok(Some(request))) = read else { return };
    let (status, reason) = match request.method.as_str() {
        "GET" => (301, "Moved Permanently"),
        _ => (308, "Permanent Redirect"),
    };
    let host = request.header("host").unwrap_or("localhost");
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    let location = format!("https://{host}:{port}{}", request.target);
    let answer = Answer::bare(status, reason);
    let (head, _) = head(&answer, &[("Location".to_owned(), location)], true);
    // The peer may be gone already; there is nobody left to tell.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn wait_for_the_peer<S: AsyncRead + Unpin>(stream: &mut S, mut forgotten: Forgotten) {
    let mut ignored = [0; 1024];
    let reading =
        async { while matches!(stream.read(&mut ignored).await, Ok(read) if read > 0) {} };
    tokio::select! {
        () = reading => {}
        _ = forgotten.changed() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_answer_has_the_recorded_order_of_headers() {
        let (head, close) = head(&Answer::json(Bytes::from_static(b"{}")), &[], false);
        let names: Vec<&str> =
            head.lines().skip(1).filter_map(|line| line.split(':').next()).collect();
        let expected = [
            "Cache-Control",
            "Connection",
            "Date",
            "Pragma",
            "Server",
            "Content-Length",
            "Content-Type",
            "Expires",
            "",
        ];
        assert_eq!(names, expected);
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(!close);
    }

    #[test]
    fn a_header_of_a_rule_replaces_the_usual_one_and_an_empty_one_removes_it() {
        let extra = [("content-type", "text/html"), ("Server", "nginx"), ("Pragma", "")];
        let extra = extra.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (head, _) = head(&Answer::json(Bytes::new()), &extra, false);
        assert!(head.contains("content-type: text/html\r\n") && head.contains("Server: nginx\r\n"));
        assert!(
            !head.contains("json") && !head.contains("pve-api-daemon") && !head.contains("Pragma")
        );
    }
}
