//! `shutdown_vm`: asks a guest to shut down. It never turns into a hard stop.

use pve_client::Operator;

use crate::{
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    power::{self, Action},
    tier::SoftChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct ShutdownVm;

impl Tool for ShutdownVm {
    const NAME: &'static str = "shutdown_vm";
    const TITLE: &'static str = "Shut down a VM or container";
    const DESCRIPTION: &'static str = "Ask a VM or container to shut down cleanly. One that does not react is left running and reported so; it is never stopped hard (that is stop_vm).";
    const TOOLSET: Toolset = Toolset::Power;

    type Effect = SoftChange;
    type Input = power::Waiting;
    type Output = power::Outcome;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        power::carry_out(pve, call, input.order(Self::NAME, Action::Shutdown)).await
    }
}
