//! Requests that certainly never left this machine.

use std::{fmt, time::Duration};

use crate::{FailedHost, TlsProblem, error::seconds, failed_host::listed};

/// A request that was never sent, so that it can be repeated safely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsent {
    /// Where it should have gone: `pve.lan:8006`. The last of several.
    pub host: String,
    /// What stood in its way.
    pub kind: UnsentKind,
    /// The hosts that were tried before, and took nothing either.
    pub others: Vec<FailedHost>,
}

/// What kept a request from being sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnsentKind {
    /// The address is none.
    #[error("this is not a host name or address")]
    InvalidAddress,
    /// The name has no address.
    #[error("the name could not be resolved; check its spelling and the name server")]
    NotResolved,
    /// Nothing listens there.
    #[error(
        "the connection was refused; check the port (Proxmox VE uses 8006) and that pveproxy runs"
    )]
    Refused,
    /// There is no way there.
    #[error("it cannot be reached from this machine: there is no route to it")]
    Unreachable,
    /// Nobody answered.
    #[error("no connection within {} s; it may be off, a firewall may drop the packets, or what listens there hangs", seconds(*.0))]
    ConnectTimedOut(Duration),
    /// The connection broke before the request was on its way.
    #[error("the connection was closed at once")]
    Closed,
    /// No safe connection could be made.
    #[error(transparent)]
    Tls(Box<TlsProblem>),
    /// The time was over before anything was done.
    #[error("its time was over before it could be sent")]
    DeadlineOver,
    /// As many requests as may be at a host were there, and none of them ended in time.
    #[error("it waited {} s for its turn behind other requests of ours, and then its time was over", seconds(*.0))]
    NoPlace(Duration),
    /// The node, or the host itself, has not answered what was asked before, and may still be busy with it.
    #[error("{0}")]
    Silent(Silence),
    /// Anything else that the operating system said.
    #[error("no connection could be made ({0})")]
    Other(std::io::ErrorKind),
}

/// Requests that were given up, and that Proxmox VE may still be busy with: one more would take the last of three
/// workers from everybody else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} has not answered {requests} earlier requests, the newest of them for {} s, and may still be busy with them", who(.node.as_deref()), seconds(*.waited)
)]
pub struct Silence {
    /// The node; the host itself where it is none.
    pub node: Option<String>,
    /// How many were given up.
    pub requests: usize,
    /// How long ago the newest of them was sent.
    pub waited: Duration,
}

impl Unsent {
    /// What stood in the way at each host that was tried.
    pub fn kinds(&self) -> impl Iterator<Item = &UnsentKind> {
        let others = self.others.iter().filter_map(|other| match &other.why {
            crate::FailedWhy::Unsent(kind) => Some(kind),
            crate::FailedWhy::Lost(_) => None,
        });
        others.chain([&self.kind])
    }
}

impl UnsentKind {
    /// The same in a few words, for a list of hosts.
    pub(crate) fn brief(&self) -> String {
        match self {
            Self::InvalidAddress => "not a host name or address".to_owned(),
            Self::NotResolved => "its name could not be resolved".to_owned(),
            Self::Refused => "connection refused".to_owned(),
            Self::Unreachable => "no route to it".to_owned(),
            Self::ConnectTimedOut(waited) => format!("no connection within {} s", seconds(*waited)),
            Self::Tls(problem) => problem.brief(),
            Self::Silent(silence) => format!("{} does not answer", who(silence.node.as_deref())),
            Self::NoPlace(waited) => format!("no turn within {} s", seconds(*waited)),
            Self::Closed | Self::DeadlineOver | Self::Other(_) => self.to_string(),
        }
    }
}

fn who(node: Option<&str>) -> String {
    node.map_or_else(|| "it".to_owned(), |node| format!("node `{node}`"))
}

impl std::error::Error for Unsent {}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, kind, others } = self;
        if others.is_empty() {
            return write!(f, "nothing was sent to `{host}`: {kind}");
        }
        let n_hosts = others.len() + 1;
        let others = listed(others);
        write!(
            f,
            "nothing was sent, since none of {n_hosts} hosts could be asked: {others}; `{host}`: {}",
            kind.brief()
        )
    }
}

impl From<TlsProblem> for UnsentKind {
    fn from(problem: TlsProblem) -> Self {
        Self::Tls(Box::new(problem))
    }
}
