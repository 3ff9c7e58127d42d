//! The guest as it is after something was asked of it, wherever it is then.

use std::sync::{Mutex, PoisonError};

use pve_client::{
    Error, GuestRef, NodeName, Reader, RefusalKind,
    guest::{self, Current},
};

use crate::lookup;

/// A guest as it was read afterwards.
#[derive(Debug)]
pub(super) struct After {
    pub(super) current: Current,
    /// The node that it was on then.
    pub(super) node: NodeName,
}

/// Where a guest is, as far as is known: the HA manager may move it at any time.
#[derive(Debug)]
pub(super) struct Place(Mutex<GuestRef>);

impl Place {
    pub(super) fn new(guest: &GuestRef) -> Self {
        Self(Mutex::new(guest.clone()))
    }

    /// The guest's state. Where its node does not have it any more, the cluster's list tells who has.
    pub(super) async fn look(&self, pve: &Reader) -> Option<After> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match pve.get(guest::current(&known)).await {
            Ok(current) => Some(After { current, node: known.node }),
            Err(Error::Refused(refusal))
                if matches!(
                    refusal.kind(),
                    RefusalKind::NoSuchGuest | RefusalKind::NodeUnreachable
                ) =>
            {
                let moved = lookup::guest::find(pve, &known.vmid.to_string()).await.ok()?.guest;
                let current = pve.get(guest::current(&moved)).await.ok()?;
                let node = moved.node.clone();
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = moved;
                Some(After { current, node })
            }
            Err(_) => None,
        }
    }
}
