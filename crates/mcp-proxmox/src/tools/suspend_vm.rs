//! `suspend_vm`: pauses a VM, or hibernates it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    power::{Action, PlainOwn, PowerTool},
    tier::SoftChange,
};

/// How it is suspended.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Suspension {
    /// Hibernate.
    #[serde(default)]
    to_disk: bool,
}

impl PlainOwn for Suspension {}

/// See the module's documentation.
#[derive(Debug)]
pub struct SuspendVm;

impl PowerTool for SuspendVm {
    const NAME: &'static str = "suspend_vm";
    const TITLE: &'static str = "Pause or hibernate a VM";
    const DESCRIPTION: &'static str = "Pause a VM in memory, or with to_disk hibernate it (its memory is saved and it stops). Not for containers. resume_vm lets it go on.";

    type Effect = SoftChange;
    type Own = Suspension;

    fn action(own: &Suspension) -> Action {
        Action::Suspend { to_disk: own.to_disk }
    }
}
