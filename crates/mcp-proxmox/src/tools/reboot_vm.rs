//! `reboot_vm`: shuts a guest down and starts it again.

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
pub struct RebootVm;

impl Tool for RebootVm {
    const NAME: &'static str = "reboot_vm";
    const TITLE: &'static str = "Reboot a VM or container";
    const DESCRIPTION: &'static str = "Cleanly reboot a running VM or container; success is proved by its new uptime. One that does not react is left running (reset_vm is the hard way).";
    const TOOLSET: Toolset = Toolset::Power;
    const IDEMPOTENT: bool = false;

    type Effect = SoftChange;
    type Input = power::Watching<power::Waiting>;
    type Output = power::Booted;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        input.carry_out(pve, call, |rest| rest.order(Self::NAME, Action::Reboot)).await
    }
}
