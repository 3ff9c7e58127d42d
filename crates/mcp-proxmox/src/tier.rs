//! How much this server may do, and the client that lets it do so.
//!
//! **A tool whose effect is [`Reads`] cannot change the cluster.** The compiler sees to it: such a tool is
//! handed an [`Observer`], which is a [`Reader`], and a `Reader` has no method that takes a request that changes
//! something. **A tool that changes something cannot be handed what another call has read**: an [`Operator`] has no way
//! to an `Observer`.

use std::{fmt, str::FromStr};

use pve_client::{Observer, Operator, Reader};
use tokio::time::Instant;

use crate::call::Call;

/// The tiers, from the one that can do least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Reads only.
    #[default]
    Read,
    /// Also starts, stops, shuts down and reboots VMs and containers.
    Write,
}

/// Access to one cluster, as far as the user allowed it.
#[derive(Clone, Debug)]
pub enum Access {
    /// The user allows reading.
    Read(Reader),
    /// The user allows writing too.
    Write(Operator),
}

/// What a tool does to the cluster, as a type. The tool's tier, the client that it is handed and the
/// hints that MCP clients get all follow from it, so that hint and behaviour cannot disagree.
pub trait Effect {
    /// The client that a tool with this effect is handed.
    type Pve: Send + Sync;
    /// The tier that it takes.
    const LEVEL: Level;
    /// Whether something that was not saved can be lost.
    const DESTRUCTIVE: bool;
    /// The client, where `access` holds one. All its requests end with the call, which learns what could not be read.
    fn pve(access: &Access, call: &Call) -> Option<Self::Pve>;
}

/// Nothing is changed.
#[derive(Debug)]
pub struct Reads;

/// A change that a guest takes part in, or that loses nothing.
#[derive(Debug)]
pub struct SoftChange;

/// A change that can lose what was not saved.
#[derive(Debug)]
pub struct HardChange;

impl Effect for Reads {
    type Pve = Observer;
    const LEVEL: Level = Level::Read;
    const DESTRUCTIVE: bool = false;

    fn pve(access: &Access, call: &Call) -> Option<Observer> {
        let reader = access.reader().until(call.deadline).counting(&call.left_out);
        Some(Observer::new(reader))
    }
}

impl Effect for SoftChange {
    type Pve = Operator;
    const LEVEL: Level = Level::Write;
    const DESTRUCTIVE: bool = false;

    fn pve(access: &Access, call: &Call) -> Option<Operator> {
        let operator = access.operator()?.until(call.deadline);
        Some(operator.counting(&call.left_out))
    }
}

impl Effect for HardChange {
    type Pve = Operator;
    const LEVEL: Level = Level::Write;
    const DESTRUCTIVE: bool = true;

    fn pve(access: &Access, call: &Call) -> Option<Operator> {
        SoftChange::pve(access, call)
    }
}

impl Access {
    /// Access of this tier through `reader`.
    pub fn new(level: Level, reader: Reader) -> Self {
        match level {
            Level::Read => Self::Read(reader),
            Level::Write => Self::Write(Operator::new(reader)),
        }
    }

    /// The tier that the user chose.
    pub fn level(&self) -> Level {
        match self {
            Self::Read(_) => Level::Read,
            Self::Write(_) => Level::Write,
        }
    }

    /// The client that only reads.
    pub fn reader(&self) -> &Reader {
        match self {
            Self::Read(reader) => reader,
            Self::Write(operator) => operator.reader(),
        }
    }

    /// The client of those who only read, all of whose requests end by `deadline`.
    pub fn observer(&self, deadline: Instant) -> Observer {
        Observer::new(self.reader().until(deadline))
    }

    fn operator(&self) -> Option<&Operator> {
        match self {
            Self::Read(_) => None,
            Self::Write(operator) => Some(operator),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "read" => Ok(Self::Read),
            "write" => Ok(Self::Write),
            _ => Err("it must be `read` or `write`".to_owned()),
        }
    }
}
