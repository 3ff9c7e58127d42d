//! `shutdown_vm`: asks a guest to shut down. It never turns into a hard stop.

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
    const DESCRIPTION: &'static str = "Ask a VM or container to shut down cleanly. One that does not react is left running, never stopped hard (that is stop_vm).";

    type Effect = SoftChange;
    type Own = Patience;

    fn action(own: &Patience) -> Action {
        Action::Shutdown(own.timeout_seconds)
    }
}
