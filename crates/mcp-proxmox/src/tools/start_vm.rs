//! `start_vm`: starts a guest, or wakes it from hibernation.

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
pub struct StartVm;

impl Tool for StartVm {
    const NAME: &'static str = "start_vm";
    const TITLE: &'static str = "Start a VM or container";
    const DESCRIPTION: &'static str = "Start a VM or container, or resume a hibernated VM where it was. Waits for the end and reports the state it is in then.";
    const TOOLSET: Toolset = Toolset::Power;

    type Effect = SoftChange;
    type Input = power::Watching<power::Plain>;
    type Output = power::Booted;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        input.carry_out(pve, call, |rest| rest.order(Self::NAME, Action::Start)).await
    }
}
