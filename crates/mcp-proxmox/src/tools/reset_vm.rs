//! `reset_vm`: resets a VM without its help.

use pve_client::Operator;

use crate::{
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    power::{self, Action},
    tier::HardChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct ResetVm;

impl Tool for ResetVm {
    const NAME: &'static str = "reset_vm";
    const TITLE: &'static str = "Reset a VM hard";
    const DESCRIPTION: &'static str = "Reset a VM at once, as with its reset button: unsaved data is lost. Try reboot_vm first. Not for containers. The user has to agree.";
    const TOOLSET: Toolset = Toolset::Power;
    const IDEMPOTENT: bool = false;

    type Effect = HardChange;
    type Input = power::Plain;
    type Output = power::Outcome;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        power::carry_out(pve, call, input.order(Self::NAME, Action::Reset)).await
    }
}
