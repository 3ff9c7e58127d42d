//! `reboot_vm`: shuts a guest down and starts it again.

use crate::{
    power::{Action, Patience, PowerTool, Watching},
    tier::SoftChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct RebootVm;

impl PowerTool for RebootVm {
    const NAME: &'static str = "reboot_vm";
    const TITLE: &'static str = "Reboot a VM or container";
    const DESCRIPTION: &'static str = "Cleanly reboot a running VM or container; success is proved by its new uptime. One that does not react is left running (reset_vm is the hard way).";
    const IDEMPOTENT: bool = false;

    type Effect = SoftChange;
    type Own = Watching<Patience>;

    fn action(own: &Self::Own) -> Action {
        Action::Reboot(own.rest.timeout_seconds)
    }
}
