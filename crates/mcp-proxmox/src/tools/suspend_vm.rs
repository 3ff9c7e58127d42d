//! `suspend_vm`: pauses a VM, or hibernates it.

use pve_client::Operator;

use crate::{
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    power,
    tier::SoftChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct SuspendVm;

impl Tool for SuspendVm {
    const NAME: &'static str = "suspend_vm";
    const TITLE: &'static str = "Pause or hibernate a VM";
    const DESCRIPTION: &'static str = "Pause a VM in memory, or with to_disk hibernate it (its memory is saved and it stops). Not for containers. resume_vm lets it go on.";
    const TOOLSET: Toolset = Toolset::Power;

    type Effect = SoftChange;
    type Input = power::Suspend;
    type Output = power::Outcome;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        power::carry_out(pve, call, input.order(Self::NAME)).await
    }
}
