//! Rules put an answer, or a fault, in front of what the simulator would answer by itself.
//!
//! **Invariants:** the newest rule that fits wins, and a rule without a status changes the
//! simulator's own answer (it delays, damages or loses it) instead of replacing it, so the request
//! still takes effect. One with a status keeps the request from taking effect, unless it says otherwise.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::damage::Damage;

/// An answer or a fault for the requests that it fits.
///
/// ```
/// use pve_sim::Rule;
/// let gone = Rule::get("/nodes/pve2/status").status(595, "No route to host").body("");
/// let slow = Rule::get("/cluster/resources").delay(std::time::Duration::from_millis(20)).times(1);
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each is a fault of its own")]
#[derive(Debug, Clone)]
pub struct Rule {
    /// The method it fits; `None` fits all.
    pub method: Option<String>,
    /// The path it fits.
    pub path: Pattern,
    /// The status to answer with; `None` leaves the answer to the simulator.
    pub status: Option<u16>,
    /// The reason phrase.
    pub reason: String,
    /// Headers to answer with, beside the usual ones; one of the same name replaces the usual one.
    pub headers: Vec<(String, String)>,
    /// The body to answer with.
    pub body: Bytes,
    /// How long to wait before anything is answered.
    pub delay: Option<Duration>,
    /// Whether the request takes effect, although this answer takes the place of its own.
    pub carried_out: bool,
    /// What happens to the answer on its way out.
    pub damage: Option<Damage>,
    /// Cut the connection without a byte of an answer, after the request took effect.
    pub lost: bool,
    /// Repeats the whole target of the request in the reason and the message.
    pub echoes: bool,
    /// Never answer, and keep the connection open.
    pub hang: bool,
    /// What every number of the answer becomes, but for those that name a guest.
    pub numbers: Option<serde_json::Number>,
    /// What is done to the data of the answer.
    pub changed: Option<fn(&mut Value)>,
    /// For how many requests it holds; `None` is for all.
    pub times: Option<usize>,
}

/// Which paths a rule fits, all without `/api2/json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pattern {
    /// This path. Written with a query it fits that query alone, without one it fits every query.
    Exact(String),
    /// Everything that begins like this.
    Prefix(String),
}

impl Rule {
    /// A rule for `GET` of this path.
    pub fn get(path: &str) -> Self {
        Self::on("GET", path)
    }

    /// A rule for `POST` to this path.
    pub fn post(path: &str) -> Self {
        Self::on("POST", path)
    }

    /// A rule for this method and path.
    pub fn on(method: &str, path: &str) -> Self {
        Self::new(Some(method.to_owned()), Pattern::Exact(path.to_owned()))
    }

    /// A rule for every request whose path begins like this, whatever its method.
    pub fn under(prefix: &str) -> Self {
        Self::new(None, Pattern::Prefix(prefix.to_owned()))
    }

    /// A rule for every request.
    pub fn everything() -> Self {
        Self::under("")
    }

    fn new(method: Option<String>, path: Pattern) -> Self {
        Self {
            method,
            path,
            status: None,
            reason: String::new(),
            headers: Vec::new(),
            body: Bytes::new(),
            delay: None,
            carried_out: false,
            damage: None,
            lost: false,
            echoes: false,
            hang: false,
            numbers: None,
            changed: None,
            times: None,
        }
    }

    /// Answers with this status and reason phrase.
    #[must_use]
    pub fn status(mut self, status: u16, reason: &str) -> Self {
        self.status = Some(status);
        reason.clone_into(&mut self.reason);
        self
    }

    /// Answers with this body; with `200 OK` if no status was given.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        if self.status.is_none() {
            self = self.status(200, "OK");
        }
        self.body = body.into();
        self
    }

    /// Answers `200 OK` with `{"data": …}` around this JSON.
    #[must_use]
    pub fn data(self, data: &Value) -> Self {
        self.body(serde_json::json!({ "data": data }).to_string())
    }

    /// Lets the request take effect all the same, as where a connection inside the cluster breaks after it
    /// was carried out.
    #[must_use]
    pub fn carried_out(mut self) -> Self {
        self.carried_out = true;
        self
    }

    /// Adds a header, or replaces the usual one of that name.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Waits before answering. The work goes on when the client leaves, as PVE's does.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// Cuts the connection after so many bytes of the body.
    #[must_use]
    pub fn cut_after(self, bytes: usize) -> Self {
        self.damaged(Damage::CutAfter(bytes))
    }

    /// Damages the answer on its way out.
    #[must_use]
    pub fn damaged(mut self, damage: Damage) -> Self {
        self.damage = Some(damage);
        self
    }

    /// Cuts the connection without an answer. Without a status the request still takes effect.
    #[must_use]
    pub fn lost(mut self) -> Self {
        self.lost = true;
        self
    }

    /// Refuses with this status and repeats the whole target of the request, as some proxies do.
    #[must_use]
    pub fn echo(mut self, status: u16) -> Self {
        self.echoes = true;
        self.status(status, "")
    }

    /// Never answers, and keeps the connection open until the rules are forgotten.
    #[must_use]
    pub fn hang(mut self) -> Self {
        self.hang = true;
        self
    }

    /// Makes every number of the answer this one, but for those that name a guest.
    #[must_use]
    pub fn numbers(mut self, number: impl Into<serde_json::Number>) -> Self {
        self.numbers = Some(number.into());
        self
    }

    /// Does this to the data of the answer.
    #[must_use]
    pub fn changed(mut self, by: fn(&mut Value)) -> Self {
        self.changed = Some(by);
        self
    }

    /// Holds for so many requests only.
    #[must_use]
    pub fn times(mut self, times: usize) -> Self {
        self.times = Some(times);
        self
    }

    /// What it answers to this target, where it repeats it.
    pub(crate) fn of(mut self, target: &str) -> Self {
        self.reason = format!("cannot serve {target}");
        let message = format!("cannot serve this: {}\n", target.replace("%3A", ":"));
        self.body = serde_json::json!({ "data": null, "message": message }).to_string().into();
        self
    }

    /// Whether it makes something else of any answer, and not of some only.
    pub(crate) fn strikes_whatever_comes(&self) -> bool {
        self.status.is_some() || self.delay.is_some() || self.lost || self.echoes || self.hang
    }

    /// Whether it fits this request; `target` is the path with its query, without `/api2/json`.
    pub(crate) fn fits(&self, method: &str, target: &str) -> bool {
        if self.times == Some(0) || self.method.as_deref().is_some_and(|wanted| wanted != method) {
            return false;
        }
        match &self.path {
            Pattern::Prefix(prefix) => target.starts_with(prefix.as_str()),
            Pattern::Exact(path) if path.contains('?') => path == target,
            Pattern::Exact(path) => target.split('?').next() == Some(path),
        }
    }
}

/// The body with its data changed.
pub(crate) fn changed(body: &Bytes, by: fn(&mut Value)) -> Bytes {
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return body.clone() };
    value.get_mut("data").map(by);
    value.to_string().into()
}

/// The body with this instead of every number but those that name a guest.
pub(crate) fn with_numbers(body: &Bytes, number: &serde_json::Number) -> Bytes {
    fn replace(value: &mut Value, number: &serde_json::Number) {
        match value {
            Value::Number(found) => number.clone_into(found),
            Value::Array(items) => items.iter_mut().for_each(|item| replace(item, number)),
            Value::Object(object) => {
                let others = object.iter_mut().filter(|(key, _)| key.as_str() != "vmid");
                others.for_each(|(_, value)| replace(value, number));
            }
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_slice(body) else { return body.clone() };
    replace(&mut value, number);
    value.to_string().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_without_a_query_fits_every_query() {
        assert!(Rule::get("/nodes").fits("GET", "/nodes"));
        assert!(Rule::get("/nodes").fits("GET", "/nodes?x=1"));
        assert!(!Rule::get("/nodes").fits("GET", "/nodes/pve1"));
        assert!(!Rule::get("/nodes").fits("POST", "/nodes"));
    }

    #[test]
    fn a_path_with_a_query_fits_that_query_alone() {
        let rule = Rule::get("/cluster/resources?type=vm");
        assert!(rule.fits("GET", "/cluster/resources?type=vm"));
        assert!(!rule.fits("GET", "/cluster/resources"));
    }

    #[test]
    fn a_prefix_fits_whatever_follows() {
        assert!(Rule::under("/nodes/pve2/").fits("POST", "/nodes/pve2/qemu/100/status/start"));
        assert!(Rule::everything().fits("DELETE", "/bogus"));
    }
}
