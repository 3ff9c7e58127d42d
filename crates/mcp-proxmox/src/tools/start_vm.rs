//! `start_vm`: starts a guest, or wakes it from hibernation.

use crate::{
    power::{Action, NoneOfItsOwn, PowerTool, Watching},
    tier::SoftChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct StartVm;

impl PowerTool for StartVm {
    const NAME: &'static str = "start_vm";
    const TITLE: &'static str = "Start a VM or container";
    const DESCRIPTION: &'static str = "Start a VM or container; a hibernated VM goes on where it was. Waits for the end and reports the state.";

    type Effect = SoftChange;
    type Own = Watching<NoneOfItsOwn>;

    fn action(_: &Self::Own) -> Action {
        Action::Start
    }
}
