//! Serves recorded answers of a real server as they were: status line, reason phrase, headers and
//! body.
//!
//! Any token is let in whose id was recorded; its secret does not matter, unless it is `wrong`.
//! What was never recorded is answered with 501, as PVE answers unknown paths. A POST answers as
//! recorded and changes nothing.
//!
//! **Invariant:** the recordings are in the crate only for tests and with the feature `recordings`,
//! so that a released program does not carry them.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet},
    io::Write as _,
    sync::LazyLock,
};

use flate2::{Compression, write::GzEncoder};
use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::{
    answer::{Answer, JSON},
    console::{self, Session, replay::Replay},
    http::{self, Reply, Request},
};

/// Everything that was recorded, a file a subject.
const FILES: [&str; 16] = [
    include_str!("../recorded/access.json"),
    include_str!("../recorded/certificates.json"),
    include_str!("../recorded/console.json"),
    include_str!("../recorded/errors.json"),
    include_str!("../recorded/guest-details.json"),
    include_str!("../recorded/guests.json"),
    include_str!("../recorded/lifecycle.json"),
    include_str!("../recorded/logs.json"),
    include_str!("../recorded/network.json"),
    include_str!("../recorded/nodes.json"),
    include_str!("../recorded/other.json"),
    include_str!("../recorded/resources.json"),
    include_str!("../recorded/states.json"),
    include_str!("../recorded/storage.json"),
    include_str!("../recorded/tasks.json"),
    include_str!("../recorded/writes.json"),
];

static ALL: LazyLock<Vec<Recording>> = LazyLock::new(|| {
    // A file that cannot be read is empty here; a test says so loudly.
    FILES
        .iter()
        .flat_map(|file| serde_json::from_str::<Vec<Recording>>(file).unwrap_or_default())
        .collect()
});

/// Recorded answers, with those of one state of the cluster in front.
#[derive(Debug)]
pub struct Recordings {
    state: RecordedState,
    by_request: HashMap<Key, Vec<&'static Recording>>,
    tokens: HashSet<&'static str>,
    session: Option<&'static Replay>,
}

/// In which state the cluster was when an answer was recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedState {
    /// The usual one: `pve1` online, `pve2` off.
    #[default]
    Normal,
    /// VM 107 is paused.
    Paused,
    /// No quorum.
    #[serde(rename = "noquorum")]
    NoQuorum,
    /// The API daemon is dead.
    PvedaemonDown,
    /// The cluster file system is dead.
    PmxcfsDown,
    /// `pve2` is online, and answers through `pve1`.
    Remote,
}

/// One recorded answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    #[cfg_attr(not(test), expect(dead_code, reason = "only the tests name it"))]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) state: RecordedState,
    pub(crate) method: String,
    /// The path with its query, without `/api2/json`.
    pub(crate) path: String,
    pub(crate) token: String,
    /// The body that was sent, and its type.
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "only the tests send it again"))]
    pub(crate) sent: String,
    #[serde(default)]
    #[cfg_attr(not(test), expect(dead_code, reason = "only the tests send it again"))]
    pub(crate) sent_type: String,
    pub(crate) status: u16,
    pub(crate) reason: String,
    date: String,
    pub(crate) connection: Vec<String>,
    #[serde(default)]
    encoding: Option<String>,
    /// Only where it is not the usual one; empty where there is none although there is a body.
    #[serde(default)]
    content_type: Option<String>,
    pub(crate) body: String,
}

/// Method, decoded path, and the parameters in order.
type Key = (String, String, Vec<String>);

impl Recordings {
    /// The answers of the usual state of the cluster.
    pub fn load() -> Self {
        Self::of(RecordedState::Normal)
    }

    /// The answers of this state; where it was not recorded, those of the usual one.
    pub fn of(state: RecordedState) -> Self {
        let mut by_request: HashMap<Key, Vec<&Recording>> = HashMap::new();
        let mut tokens = HashSet::new();
        // Those of the state that was asked for come first, because the first that fits is taken.
        let wanted = |of: RecordedState| ALL.iter().filter(move |recording| recording.state == of);
        let usual = wanted(RecordedState::Normal).filter(|_| state != RecordedState::Normal);
        for recording in wanted(state).chain(usual) {
            by_request.entry(key(&recording.method, &recording.path)).or_default().push(recording);
            tokens.insert(recording.token.as_str());
        }
        Self { state, by_request, tokens, session: None }
    }

    /// The same, where whoever opens a console gets this recorded session: `term-vm-boot`,
    /// `vnc-vm-zrle`, … Another name is none, and nobody is let in.
    #[must_use]
    pub fn with_session(mut self, name: &str) -> Self {
        self.session = Replay::named(name);
        self
    }

    /// Lets a connection into the recorded session, if this is one to its guest. The ticket does not
    /// matter.
    pub(crate) fn console_reply(&self, request: &Request, path: &str) -> Option<Reply> {
        let session = self.session?;
        let below = path.split('?').next()?.strip_prefix(session.guest.as_str())?;
        match (below, request.header("sec-websocket-key")) {
            ("/vncwebsocket", Some(key)) => Some(Reply::Console {
                head: console::head(key),
                session: Box::new(Session::Replay(session)),
                upid: String::new(),
            }),
            // Not every session was recorded together with the request that opened it.
            ("/vncproxy", _) if !self.by_request.contains_key(&key(&request.method, path)) => {
                let body =
                    r#"{"data":{"port":"5900","ticket":"PVEVNC:0::x","password":"x","user":"x"}}"#;
                let answer = Answer::json(body.into());
                let (head, close) = http::head(&answer, &[], false);
                Some(Reply::Whole { head, body: answer.body, close, damage: None })
            }
            _ => None,
        }
    }

    /// The ids of the tokens that were recorded.
    pub fn tokens(&self) -> impl Iterator<Item = &'static str> {
        self.tokens.iter().copied()
    }

    /// Answers a request; `token` is the id and the secret of the asking token.
    pub(crate) fn reply(&self, method: &str, path: &str, token: Option<(&str, &str)>) -> Reply {
        let answer = match token {
            None => Answer::bare(401, "No ticket"),
            Some((id, secret)) if secret == "wrong" || !self.tokens.contains(id) => {
                Answer::bare(401, "Authentication failed!")
            }
            Some(_) if self.state == RecordedState::PmxcfsDown => {
                let reason = "Unable to load access control list: Connection refused";
                Answer::bare(500, format!("RPCEnvironment init request failed: {reason}"))
            }
            Some((id, _)) => match self.find(method, path, id) {
                Some(recording) => return recording.reply(),
                None if self.is_daemons(method, path) => Answer::unreachable("Connection refused"),
                None => Answer::not_implemented(method, path.split('?').next().unwrap_or(path)),
            },
        };
        let (head, close) = http::head(&answer, &[], false);
        Reply::Whole { head, body: answer.body, close, damage: None }
    }

    fn find(&self, method: &str, path: &str, token: &str) -> Option<&'static Recording> {
        let wanted = key(method, path);
        let of_token = |recordings: &Vec<&'static Recording>| {
            recordings.iter().find(|recording| recording.token == token).copied()
        };
        let exact = self.by_request.get(&wanted).and_then(of_token);
        // The same path with the nearest query: a list that is asked with another limit.
        let near = || {
            let same_path = self
                .by_request
                .iter()
                .filter(|((verb, path, _), _)| (verb, path) == (&wanted.0, &wanted.1));
            let fits = same_path.filter_map(|((_, _, query), list)| Some((query, of_token(list)?)));
            let fits = fits.filter(|(_, recording)| recording.status == 200);
            // As many parameters as possible with their values, then with their names, then nothing
            // beside them.
            let name = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
            let names: Vec<String> = wanted.2.iter().map(|pair| name(pair)).collect();
            let distance = |query: &[String]| {
                let same = query.iter().filter(|pair| wanted.2.contains(pair)).count();
                let alike = query.iter().filter(|pair| names.contains(&name(pair))).count();
                (Reverse(same), Reverse(alike), query.len())
            };
            fits.min_by_key(|(query, _)| (distance(query), (*query).clone()))
                .map(|(_, found)| found)
        };
        let found = exact.or_else(near)?;
        // With pvedaemon dead, what it answered before is not answered any more.
        let dead = self.state == RecordedState::PvedaemonDown && found.state != self.state;
        (!(dead && found.is_daemons())).then_some(found)
    }

    fn is_daemons(&self, method: &str, path: &str) -> bool {
        let recorded = self.by_request.get(&key(method, path)).into_iter().flatten();
        self.state == RecordedState::PvedaemonDown
            && recorded.into_iter().any(|found| found.is_daemons())
    }
}

impl Recording {
    /// All of them.
    #[cfg(test)]
    pub(crate) fn all() -> &'static [Self] {
        &ALL
    }

    /// Whether pvedaemon wrote this answer: then it carries two `Connection` headers.
    fn is_daemons(&self) -> bool {
        self.connection.len() > 1
    }

    /// The headers in their recorded order, with the length of the body as it is sent.
    pub(crate) fn headers(&self, length: usize) -> Vec<(&'static str, String)> {
        let mut headers = vec![("Cache-Control", "max-age=0".to_owned())];
        headers.extend(self.connection.iter().map(|value| ("Connection", value.clone())));
        headers.push(("Date", self.date.clone()));
        headers.push(("Pragma", "no-cache".to_owned()));
        headers.push(("Server", "pve-api-daemon/3.0".to_owned()));
        // A zipped body is never empty, even if there is nothing in it.
        if !self.body.is_empty() || self.encoding.is_some() {
            headers.extend(
                self.encoding.iter().map(|encoding| ("Content-Encoding", encoding.clone())),
            );
            headers.push(("Content-Length", length.to_string()));
            let content_type = self.content_type.as_deref().unwrap_or(JSON);
            if !content_type.is_empty() {
                headers.push(("Content-Type", content_type.to_owned()));
            }
        }
        headers.push(("Expires", self.date.clone()));
        headers
    }

    fn reply(&self) -> Reply {
        let body = if self.encoding.is_some() {
            zipped(&self.body)
        } else {
            self.body.clone().into_bytes()
        };
        let headers = self.headers(body.len());
        let lines: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("HTTP/1.1 {} {}\r\n{}\r\n", self.status, self.reason, lines.concat());
        Reply::Whole { head, body: body.into(), close: self.status >= 400, damage: None }
    }
}

fn zipped(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(text.as_bytes());
    encoder.finish().unwrap_or_default()
}

fn key(method: &str, path: &str) -> Key {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let mut pairs: Vec<String> =
        query.split('&').filter(|pair| !pair.is_empty()).map(decode).collect();
    pairs.sort_unstable();
    (method.to_owned(), decode(path), pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read() {
        for file in FILES {
            let read = serde_json::from_str::<Vec<Recording>>(file);
            assert!(read.is_ok_and(|list| !list.is_empty()), "{}", &file[..100]);
        }
    }

    #[test]
    fn a_query_in_another_order_is_the_same_request() {
        assert_eq!(key("GET", "/a%2Fb?x=1&y=2"), key("GET", "/a/b?y=2&x=1"));
    }

    #[test]
    fn a_list_with_another_limit_gets_the_nearest_recorded_one() {
        let recordings = Recordings::load();
        let found = recordings
            .find("GET", "/nodes/pve1/tasks?source=all&limit=50", "root@pam!lab")
            .unwrap();
        assert!(found.path.contains("source=all"), "{}", found.path);
    }

    #[test]
    fn with_pvedaemon_dead_only_pveproxys_own_answers_are_left() {
        let recordings = Recordings::of(RecordedState::PvedaemonDown);
        let token = "root@pam!lab";
        assert!(recordings.find("GET", "/version", token).is_some());
        assert!(recordings.find("GET", "/nodes/pve1/services", token).is_none());
        assert!(recordings.is_daemons("GET", "/nodes/pve1/services"));
    }
}
