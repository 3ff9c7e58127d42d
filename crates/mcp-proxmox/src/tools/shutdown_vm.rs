//! `shutdown_vm`: asks a guest to shut down. It never turns into a hard stop, except by the HA
//! manager, which is asked to do it where it cares for the guest.

use crate::{
    power::{Action, Patience, PowerTool},
    tier::SoftChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct ShutdownVm;

impl PowerTool for ShutdownVm {
    const NAME: &'static str = "shutdown_vm";
    const TITLE: &'static str = "Shut down a VM or container";
    const DESCRIPTION: &'static str = "Ask a VM or container to shut down cleanly. One that does not react is left running (then: stop_vm), but the HA manager stops its own hard.";

    type Effect = SoftChange;
    type Own = Patience;

    fn action(own: &Patience) -> Action {
        Action::Shutdown(own.timeout_seconds)
    }
}
