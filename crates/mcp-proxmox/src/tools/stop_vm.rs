//! `stop_vm`: stops a guest without its help.

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
pub struct StopVm;

impl Tool for StopVm {
    const NAME: &'static str = "stop_vm";
    const TITLE: &'static str = "Stop a VM or container hard";
    const DESCRIPTION: &'static str = "Stop a VM or container at once, as if its plug were pulled: unsaved data is lost. Try shutdown_vm first. The user has to agree.";
    const TOOLSET: Toolset = Toolset::Power;

    type Effect = HardChange;
    type Input = power::Plain;
    type Output = power::Outcome;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        power::carry_out(pve, call, input.order(Self::NAME, Action::Stop)).await
    }
}
