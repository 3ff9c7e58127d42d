//! What all connections of a simulator share, and how a request gets its answer: rules first, then
//! recordings or the simulated cluster.
//!
//! **Invariants:** the world is behind one lock that no request holds while it waits; what was
//! asked is noted before it is answered.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;

use crate::{
    answer::{Answer, CLOSE, JSON, KEEP_ALIVE},
    cluster::Cluster,
    console, endpoints,
    http::{self, Reply, Request},
    options::Options,
    rule::{self, Rule, with_numbers},
    sim::Seen,
    tls::{self, Identity},
};

/// What all connections of a simulator share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) identity: Identity,
    pub(crate) port: u16,
    pub(crate) world: Mutex<World>,
    pub(crate) rules: Mutex<Vec<Rule>>,
    /// Tells those who hang that the rules were forgotten.
    pub(crate) forgets: tokio::sync::watch::Sender<()>,
    pub(crate) seen: Mutex<Vec<Seen>>,
    pub(crate) in_flight: Gauge,
    /// The same of each node.
    pub(crate) at_nodes: Mutex<HashMap<String, Arc<Gauge>>>,
    pub(crate) connections: Gauge,
    pub(crate) handshakes: AtomicUsize,
    /// How many requests met a rule that made something else of their answer.
    pub(crate) strikes: AtomicUsize,
    /// What clients sent into text terminals after the login.
    pub(crate) typed: Mutex<Vec<Bytes>>,
    /// Keys that clients pressed and let go on screens.
    pub(crate) pressed: Mutex<Vec<(u32, bool)>>,
    /// The programs at terminals and displays, which go on between connections.
    pub(crate) programs: Mutex<HashMap<(u32, console::What), console::Running>>,
    /// Somebody typed on a screen, which others may look at.
    pub(crate) drawn: tokio::sync::Notify,
    #[cfg(any(test, feature = "recordings"))]
    pub(crate) recordings: Option<crate::recordings::Recordings>,
}

/// The cluster, and what is known about it beside its description.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    /// When the figures of the cluster were true.
    pub(crate) started: Instant,
    /// The name of the node that answers.
    pub(crate) local: String,
    /// The certificates of the node that answers.
    pub(crate) certificates: Vec<tls::Described>,
    /// Bodies of big lists, by token and path, with the second at which they were written.
    pub(crate) lists: HashMap<(String, String), (u64, Bytes)>,
    /// The number of the last process that a task got.
    pub(crate) last_pid: u32,
    /// Consoles that wait for their connection.
    pub(crate) tickets: Vec<console::Ticket>,
    /// All tickets and passwords of consoles so far.
    pub(crate) given: Vec<String>,
    /// How long they wait.
    pub(crate) ticket_life: Duration,
}

/// Counts what is there now, and what was there at once at most.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    pub(crate) now: AtomicUsize,
    pub(crate) peak: AtomicUsize,
}

pub(crate) struct Counted<'a>(&'a Gauge);

/// Hears when the rules are forgotten.
pub(crate) type Forgotten = tokio::sync::watch::Receiver<()>;

impl Shared {
    /// Answers one request: rules first, then recordings or the simulated cluster.
    pub(crate) async fn answer(&self, request: &Request, last: bool) -> Reply {
        let path = request.target.strip_prefix("/api2/json").unwrap_or(&request.target);
        let token = request.header("authorization").and_then(Credentials::read);
        let seen = Seen {
            method: request.method.clone(),
            path: path.to_owned(),
            token: token.as_ref().map(|token| token.id.to_owned()),
            body: String::from_utf8_lossy(&request.body).into_owned(),
        };
        #[cfg(any(test, feature = "recordings"))]
        crate::record::note(&seen, request);
        lock(&self.seen).push(seen);
        let _counted = Counted::new(&self.in_flight);
        let at_node = self.at_node(path);
        let _counted_at_node = at_node.as_deref().map(Counted::new);
        let forgotten = self.forgets.subscribe();
        let rule = self.take_rule(&request.method, path);
        if rule.as_ref().is_some_and(Rule::strikes_whatever_comes) {
            self.strikes.fetch_add(1, Ordering::SeqCst);
        }
        if let Some(delay) = rule.as_ref().and_then(|rule| rule.delay) {
            tokio::time::sleep(delay).await;
        }
        let Some(rule) = rule else { return self.own_reply(request, path, token, last).await };
        if rule.hang {
            return Reply::Never(forgotten);
        }
        let rule = if rule.echoes { rule.of(&request.target) } else { rule };
        let mut reply = match rule.status {
            Some(status) => {
                if rule.carried_out {
                    drop(self.own_reply(request, path, token, last).await);
                }
                told_by(&rule, status, last)
            }
            None if rule.numbers.is_some() || rule.changed.is_some() => {
                let mut answer = self.own_answer(request, path, token);
                if answer.encoding.is_none() {
                    if let Some(number) = &rule.numbers {
                        answer.body = with_numbers(&answer.body, number);
                    }
                    if let Some(by) = rule.changed {
                        answer.body = rule::changed(&answer.body, by);
                    }
                }
                reply(&answer, last)
            }
            None => self.own_reply(request, path, token, last).await,
        };
        if rule.lost {
            return Reply::Nothing;
        }
        if let Reply::Whole { head, body, damage, .. } = &mut reply {
            *damage = rule.damage;
            let strikes = rule.damage.is_some_and(|damage| damage.strikes(head, body));
            if strikes && !rule.strikes_whatever_comes() {
                self.strikes.fetch_add(1, Ordering::SeqCst);
            }
        }
        reply
    }

    /// Answers what is not even a request that PVE would look at.
    pub(crate) fn refuse(&self, answer: &Answer) -> Reply {
        let _counted = Counted::new(&self.in_flight);
        reply(answer, true)
    }

    async fn own_reply(
        &self,
        request: &Request,
        path: &str,
        token: Option<Credentials<'_>>,
        last: bool,
    ) -> Reply {
        #[cfg(any(test, feature = "recordings"))]
        if let Some(recordings) = &self.recordings {
            let token = token.as_ref().map(|token| (token.id, token.secret));
            if let Some(reply) = recordings.console_reply(request, path) {
                return reply;
            }
            return recordings.reply(&request.method, path, token);
        }
        let answer = self.own_answer(request, path, token);
        let delay = self.options.delay_of(answer.status);
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if answer.status == 101 {
            return self.console(request, path);
        }
        reply(&answer, last)
    }

    /// Lets a connection into a console, for which its ticket was good.
    fn console(&self, request: &Request, path: &str) -> Reply {
        let Some(key) = request.header("sec-websocket-key") else {
            return reply(&Answer::error(400, "missing Sec-WebSocket-Key"), true);
        };
        match console::accept(self, path, key) {
            Some((head, session, upid)) => {
                Reply::Console { head, session: Box::new(session), upid }
            }
            // Guessed: pveproxy connects to the port before it agrees.
            None => reply(
                &Answer::error(500, "connect to 'localhost' failed: Connection refused"),
                true,
            ),
        }
    }

    fn own_answer(&self, request: &Request, path: &str, token: Option<Credentials<'_>>) -> Answer {
        if !request.target.starts_with("/api2/json") {
            return Answer::bare(404, "Not Found");
        }
        let mut world = lock(&self.world);
        let Some(token) = token else {
            let cookie =
                request.header("cookie").is_some_and(|value| value.contains("PVEAuthCookie="));
            return Answer::bare(401, if cookie { "Authentication failed!" } else { "No ticket" });
        };
        if world.cluster.pmxcfs_down {
            let reason = "Unable to load access control list: Connection refused";
            return Answer::bare(500, format!("RPCEnvironment init request failed: {reason}"));
        }
        if !token.is_let_in(&world.cluster) {
            return Answer::bare(401, "Authentication failed!");
        }
        endpoints::answer(&mut world, token.id, request, path)
    }

    /// What counts the requests at the node that this path is for.
    fn at_node(&self, path: &str) -> Option<Arc<Gauge>> {
        let node = path.strip_prefix("/nodes/")?.split(['/', '?']).next()?;
        Some(Arc::clone(lock(&self.at_nodes).entry(node.to_owned()).or_default()))
    }

    /// The newest rule that fits, with one use taken off it.
    fn take_rule(&self, method: &str, path: &str) -> Option<Rule> {
        let mut rules = lock(&self.rules);
        let rule = rules.iter_mut().rev().find(|rule| rule.fits(method, path))?;
        if let Some(times) = &mut rule.times {
            *times -= 1;
        }
        Some(rule.clone())
    }
}

/// What an `Authorization` header says.
#[derive(Debug)]
struct Credentials<'a> {
    id: &'a str,
    secret: &'a str,
}

impl<'a> Credentials<'a> {
    /// Reads `PVEAPIToken=user@realm!name=secret`; PVE takes a blank for the first `=` too.
    fn read(header: &'a str) -> Option<Self> {
        let rest = header.strip_prefix("PVEAPIToken")?.strip_prefix(['=', ' '])?;
        let (id, secret) = rest.split_once('=').unwrap_or((rest, ""));
        Some(Self { id, secret })
    }

    fn is_let_in(&self, cluster: &Cluster) -> bool {
        let user = self.id.split('!').next().unwrap_or_default();
        let disabled = cluster.users.iter().any(|known| known.id == user && !known.enabled);
        let known = cluster.tokens.iter().find(|token| token.id == self.id);
        !disabled && known.is_some_and(|token| token.secret == self.secret && !token.expired)
    }
}

impl World {
    /// How long the figures have been moving; nothing if they do not.
    pub(crate) fn elapsed(&self) -> Duration {
        if self.cluster.moves { self.started.elapsed() } else { Duration::ZERO }
    }
}

impl<'a> Counted<'a> {
    pub(crate) fn new(gauge: &'a Gauge) -> Self {
        let now = gauge.now.fetch_add(1, Ordering::SeqCst) + 1;
        gauge.peak.fetch_max(now, Ordering::SeqCst);
        Self(gauge)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What a rule answers.
fn told_by(rule: &Rule, status: u16, last: bool) -> Reply {
    let has_body = !rule.body.is_empty();
    let answer = Answer {
        status,
        reason: rule.reason.clone(),
        body: rule.body.clone(),
        content_type: has_body.then_some(JSON),
        encoding: None,
        with_length: has_body || status < 400,
        connection: if status < 400 { KEEP_ALIVE } else { CLOSE },
    };
    let (head, close) = http::head(&answer, &rule.headers, last);
    Reply::Whole { head, body: answer.body, close, damage: None }
}

fn reply(answer: &Answer, last: bool) -> Reply {
    let (head, close) = http::head(answer, &[], last);
    Reply::Whole { head, body: answer.body.clone(), close, damage: None }
}

/// A panic elsewhere must not make every later request fail as well.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read_as_pve_reads_them() {
        let read = |header| Credentials::read(header).map(|found| (found.id, found.secret));
        assert_eq!(read("PVEAPIToken=a@b@pve!t=x=y"), Some(("a@b@pve!t", "x=y")));
        assert_eq!(read("PVEAPIToken a@pve!t=x"), Some(("a@pve!t", "x")));
        assert_eq!(read("PVEAPIToken=a@pve!t"), Some(("a@pve!t", "")));
        assert_eq!(read("Bearer x"), None);
    }
}
