//! Requests that certainly never left this machine.

use std::time::Duration;

use crate::{TlsProblem, error::seconds};

/// A request that was never sent, so that it can be repeated safely.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing was sent to `{host}`: {kind}")]
pub struct Unsent {
    /// Where it should have gone: `pve.lan:8006`.
    pub host: String,
    /// What stood in its way.
    pub kind: UnsentKind,
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
    #[error("no connection within {} s; it may be off, or a firewall drops the packets", seconds(*.0))]
    ConnectTimedOut(Duration),
    /// The connection broke before the request was on its way.
    #[error("the connection was closed at once")]
    Closed,
    /// No safe connection could be made.
    #[error(transparent)]
    Tls(Box<TlsProblem>),
    /// The time was over before its turn came.
    #[error("its time was over before it could be sent")]
    DeadlineOver,
    /// Anything else that the operating system said.
    #[error("no connection could be made ({0})")]
    Other(std::io::ErrorKind),
}

impl From<TlsProblem> for UnsentKind {
    fn from(problem: TlsProblem) -> Self {
        Self::Tls(Box::new(problem))
    }
}
