//! Guests: virtual machines (`qemu`) and containers (`lxc`).
//!
//! The lists are up to ten seconds old and know only running and stopped; the present state of one
//! guest ([`current`]) is live, and so is the slower [`list_full`].

pub mod agent;

mod config;
mod current;
mod listed;

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

pub use config::{Config, Pending, Snapshot, config, pending, snapshots};
pub use current::{Balloon, Current, DiskIo, Ha, NicIo, current};
pub use listed::{Full, Listed, list, list_full};

use crate::{NodeName, VmId, ids::segment, perl::FromPerl};

/// The two kinds of guest. Their names are those in the paths of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A virtual machine.
    Qemu,
    /// A container.
    Lxc,
}

/// One guest and where it is: what every request about it needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GuestRef {
    /// The node that it is on now.
    pub node: NodeName,
    /// What it is.
    pub kind: Kind,
    /// Its number.
    pub vmid: VmId,
}

impl GuestRef {
    /// The start of every path about it.
    pub(crate) fn path(&self) -> String {
        format!("/nodes/{}/{}/{}", segment(self.node.as_str()), self.kind, self.vmid)
    }
}

impl Kind {
    /// `qemu` or `lxc`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Lxc => "lxc",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for GuestRef {
    /// As the API itself names it: `qemu/100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.vmid)
    }
}

/// A text that is no kind of guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a guest is of the kind `qemu` or `lxc`")]
pub struct InvalidKind;

impl FromStr for Kind {
    type Err = InvalidKind;

    fn from_str(text: &str) -> Result<Self, InvalidKind> {
        match text {
            "qemu" => Ok(Self::Qemu),
            "lxc" => Ok(Self::Lxc),
            _ => Err(InvalidKind),
        }
    }
}

impl Serialize for Kind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl FromPerl for Kind {
    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_shown_as_the_api_names_it() {
        let (node, vmid) = ("pve1".parse().unwrap(), VmId::try_from(107u32).unwrap());
        let guest = GuestRef { node, kind: Kind::Qemu, vmid };
        assert_eq!(guest.to_string(), "qemu/107");
        assert_eq!(guest.path(), "/nodes/pve1/qemu/107");
    }
}
