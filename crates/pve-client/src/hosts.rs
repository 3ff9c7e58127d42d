//! The hosts of a cluster, and which of them a request goes to.
//!
//! They are tried in their order; one that could not be reached is passed over for a while, so that the
//! one that works is remembered. After that while a single request tries it again, with little patience.
//!
//! **Invariant:** a request goes to a second host only when it certainly was not sent to the first. A GET
//! whose connection broke is the exception: it goes to one more host, once.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use hyper::upgrade::Upgraded;
use tokio::time::Instant;

use crate::{
    Error, FailedHost, FailedWhy, Host, LostWhy, Method, Tls, Unsent, UnsentKind,
    endpoint::{Endpoint, Whole},
    outgoing::Call,
};

/// For how long a host is passed over after its first failure. Doubles with each further one.
const PAUSE: Duration = Duration::from_secs(30);
/// For how long it is passed over at most.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// A connection that had less time than this and did not come about tells nothing of its host.
const FAIR: Duration = Duration::from_millis(500);

/// All hosts of one cluster.
pub(crate) struct Hosts(Vec<Endpoint>);

/// Whose turn it is, in one request.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    /// How many hosts could be tried after this one.
    pub(crate) others: usize,
    /// Whether it was down, and is only tried again.
    pub(crate) is_again: bool,
    /// When its turn began.
    pub(crate) began: Instant,
}

/// What is known of a host's way.
#[derive(Default)]
pub(crate) struct Health(Mutex<Option<Down>>);

/// A host that could not be reached.
struct Down {
    /// When it failed last.
    at: Instant,
    kind: UnsentKind,
    /// Until when it is passed over.
    until: Instant,
    pause: Duration,
}

/// One request on its way from host to host.
struct Round<'a> {
    hosts: &'a [Endpoint],
    method: Method,
    tried: Vec<bool>,
    failed: Vec<FailedHost>,
    /// What became of a GET that was sent, and goes to one more host.
    lost: Option<Error>,
}

impl Hosts {
    /// Does nothing yet. No host at all stands for this very machine.
    pub(crate) fn new(hosts: Vec<Host>, tls: &Tls) -> Self {
        let mut endpoints: Vec<_> =
            hosts.into_iter().map(|host| Endpoint::new(host, tls.clone())).collect();
        if endpoints.is_empty() {
            let host = Host::new("localhost", Host::PORT);
            endpoints.push(Endpoint::new(host, tls.clone()));
        }
        Self(endpoints)
    }

    /// The host that would be asked now. `None` never happens.
    pub(crate) fn current(&self) -> Option<&Endpoint> {
        let up = self.0.iter().find(|endpoint| endpoint.health.is_up());
        up.or(self.0.first())
    }

    /// Sends a request to the first host that takes it, and reads its whole answer.
    pub(crate) async fn exchange(&self, call: &Call<'_>) -> Result<Whole, Error> {
        let mut round = Round::new(&self.0, call.method);
        while let Some((endpoint, turn)) = round.next() {
            match endpoint.exchange(call, turn).await {
                Ok(whole) => {
                    endpoint.health.works();
                    return Ok(whole);
                }
                Err(error) => round.failed(endpoint, error)?,
            }
        }
        Err(round.end())
    }

    /// Opens a WebSocket at the first host that takes the request: a ticket is good for one connection.
    pub(crate) async fn upgrade(&self, call: &Call<'_>) -> Result<Upgraded, Error> {
        // As a write: what was sent is not sent again.
        let mut round = Round::new(&self.0, Method::Post);
        while let Some((endpoint, turn)) = round.next() {
            match endpoint.upgrade(call, turn).await {
                Ok(upgraded) => {
                    endpoint.health.works();
                    return Ok(upgraded);
                }
                Err(error) => round.failed(endpoint, error)?,
            }
        }
        Err(round.end())
    }
}

impl<'a> Round<'a> {
    fn new(hosts: &'a [Endpoint], method: Method) -> Self {
        let tried = vec![false; hosts.len()];
        Self { hosts, method, tried, failed: Vec::new(), lost: None }
    }

    /// The next host: the first that works or may be tried again, then those that are down.
    fn next(&mut self) -> Option<(&'a Endpoint, Turn)> {
        let left = || self.hosts.iter().enumerate().zip(&self.tried).filter(|(_, tried)| !**tried);
        let others = left().count().checked_sub(1)?;
        let ready = left().find_map(|((nth, endpoint), _)| {
            endpoint.health.take_turn().map(|is_again| (nth, endpoint, is_again))
        });
        let (nth, endpoint, is_again) = match ready {
            Some(ready) => ready,
            None => left().map(|((nth, endpoint), _)| (nth, endpoint, false)).next()?,
        };
        *self.tried.get_mut(nth)? = true;
        Some((endpoint, Turn { others, is_again, began: Instant::now() }))
    }

    /// Takes note of a failure, and hands it back where no other host may be tried.
    fn failed(&mut self, endpoint: &Endpoint, error: Error) -> Result<(), Error> {
        if let Error::Unsent(Unsent { host, kind, .. }) = &error
            && !matches!(
                kind,
                UnsentKind::DeadlineOver | UnsentKind::NoPlace(_) | UnsentKind::Silent(_)
            )
        {
            let is_new = tells_of_host(kind) && endpoint.health.fails(kind);
            if is_new && self.hosts.len() > 1 {
                tracing::warn!(host, why = kind.brief(), "this host cannot be asked");
            }
            self.failed.push(FailedHost { host: host.clone(), why: kind.clone().into() });
            return Ok(());
        }
        let is_last = self.tried.iter().all(|tried| *tried);
        let broke = matches!(&error, Error::Lost { why: LostWhy::Cut | LostWhy::NotHttp, .. });
        if broke && self.method == Method::Get && self.lost.is_none() && !is_last {
            self.lost = Some(error);
            return Ok(());
        }
        Err(self.told(error))
    }

    /// What is told when no host is left.
    fn end(mut self) -> Error {
        if let Some(lost) = self.lost.take() {
            return self.told(lost);
        }
        match self.failed.pop() {
            Some(FailedHost { host, why: FailedWhy::Unsent(kind) }) => {
                Unsent { host, kind, others: self.failed }.into()
            }
            // Every host that was tried has failed, so this is never reached.
            _ => Unsent { host: String::new(), kind: UnsentKind::DeadlineOver, others: Vec::new() }
                .into(),
        }
    }

    /// The error, with what became of the other hosts.
    fn told(&mut self, error: Error) -> Error {
        let mut others = std::mem::take(&mut self.failed);
        let lost = self.lost.take();
        match (error, lost) {
            // What was sent tells more than what was not.
            (Error::Unsent(Unsent { host, kind, .. }), Some(lost)) => {
                others.push(FailedHost { host, why: kind.into() });
                with_others(lost, others)
            }
            (error, Some(Error::Lost { host, why, .. })) => {
                others.push(FailedHost { host, why: why.into() });
                with_others(error, others)
            }
            (error, _) => with_others(error, others),
        }
    }
}

/// Whether this says that the host is down, and not only that there was hardly any time.
fn tells_of_host(kind: &UnsentKind) -> bool {
    !matches!(kind, UnsentKind::ConnectTimedOut(waited) if *waited < FAIR)
}

fn with_others(error: Error, failed: Vec<FailedHost>) -> Error {
    match error {
        Error::Unsent(Unsent { host, kind, .. }) => Unsent { host, kind, others: failed }.into(),
        Error::Lost { host, method, path, why, .. } => {
            Error::Lost { host, method, path, why, others: failed }
        }
        error => error,
    }
}

impl Health {
    fn is_up(&self) -> bool {
        self.down().is_none()
    }

    /// Whether it may be asked before those that are down: `Some(true)` where it was down itself and the
    /// time has come to try it again, which only one request does.
    fn take_turn(&self) -> Option<bool> {
        let now = Instant::now();
        match &mut *self.down() {
            None => Some(false),
            Some(down) if down.until <= now => {
                down.pause = (down.pause * 2).min(LONGEST_PAUSE);
                down.until = now + down.pause;
                Some(true)
            }
            Some(_) => None,
        }
    }

    fn works(&self) {
        *self.down() = None;
    }

    /// Notes a failure. Says whether it is the first since it worked.
    fn fails(&self, kind: &UnsentKind) -> bool {
        let (now, kind) = (Instant::now(), kind.clone());
        let mut known = self.down();
        if let Some(down) = &mut *known {
            (down.at, down.kind) = (now, kind);
            false
        } else {
            *known = Some(Down { at: now, kind, until: now + PAUSE, pause: PAUSE });
            true
        }
    }

    /// How it failed, where it did so since.
    pub(crate) fn failed_since(&self, began: Instant) -> Option<UnsentKind> {
        self.down().as_ref().filter(|down| down.at > began).map(|down| down.kind.clone())
    }

    fn down(&self) -> std::sync::MutexGuard<'_, Option<Down>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_host_that_is_down_is_tried_again_by_one_request_and_ever_more_seldom() {
        let health = Health::default();
        assert_eq!(health.take_turn(), Some(false));
        assert!(health.fails(&UnsentKind::Refused));
        for pause in [30, 60, 120, 240, 300, 300] {
            tokio::time::advance(Duration::from_secs(pause - 1)).await;
            assert_eq!(health.take_turn(), None, "{pause}");
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!(health.take_turn(), Some(true), "{pause}");
            assert_eq!(health.take_turn(), None, "only one request tries it");
            assert!(!health.fails(&UnsentKind::Refused), "it is known to be down");
        }
        health.works();
        assert_eq!(health.take_turn(), Some(false));
    }

    #[tokio::test(start_paused = true)]
    async fn the_hosts_are_tried_in_their_order_and_the_one_that_works_is_remembered() {
        let hosts = ["a", "b", "c"].map(|name| Host::new(name, 8006)).to_vec();
        let hosts = Hosts::new(hosts, &Tls::default());
        let order = || {
            let mut round = Round::new(&hosts.0, Method::Get);
            let mut order = String::new();
            while let Some((endpoint, turn)) = round.next() {
                order.push_str(&endpoint.host().name);
                assert_eq!(turn.others, 3 - order.len());
            }
            order
        };
        assert_eq!(order(), "abc");
        hosts.0[0].health.fails(&UnsentKind::Refused);
        assert_eq!((order().as_str(), hosts.current().unwrap().host().name.as_str()), ("bca", "b"));
        tokio::time::advance(PAUSE).await;
        assert_eq!(order(), "abc", "its time has come");
        assert_eq!(order(), "bca", "and one request was enough to try it");
        for endpoint in &hosts.0 {
            endpoint.health.fails(&UnsentKind::Refused);
        }
        assert_eq!(order(), "abc", "where all are down, all are tried");
    }
}
