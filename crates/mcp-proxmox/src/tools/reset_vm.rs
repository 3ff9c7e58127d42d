//! `reset_vm`: resets a VM without its help.

use crate::{
    power::{Action, NoneOfItsOwn, PowerTool},
    tier::HardChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct ResetVm;

impl PowerTool for ResetVm {
    const NAME: &'static str = "reset_vm";
    const TITLE: &'static str = "Reset a VM hard";
    const DESCRIPTION: &'static str = "Reset a VM at once, as with its reset button: unsaved data is lost. Try reboot_vm first. Not for containers. The user has to agree.";
    const IDEMPOTENT: bool = false;

    type Effect = HardChange;
    type Own = NoneOfItsOwn;

    fn action(_: &NoneOfItsOwn) -> Action {
        Action::Reset
    }
}
