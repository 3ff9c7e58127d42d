//! `stop_vm`: stops a guest without its help.

use crate::{
    power::{Action, NoneOfItsOwn, PowerTool},
    tier::HardChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct StopVm;

impl PowerTool for StopVm {
    const NAME: &'static str = "stop_vm";
    const TITLE: &'static str = "Stop a VM or container hard";
    const DESCRIPTION: &'static str = "Stop a VM or container at once, as if its plug were pulled: unsaved data is lost. Try shutdown_vm first. The user has to agree.";

    type Effect = HardChange;
    type Own = NoneOfItsOwn;

    fn action(_: &NoneOfItsOwn) -> Action {
        Action::Stop
    }
}
