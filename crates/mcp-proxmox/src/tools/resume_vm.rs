//! `resume_vm`: lets a paused or hibernated VM go on.

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
pub struct ResumeVm;

impl Tool for ResumeVm {
    const NAME: &'static str = "resume_vm";
    const TITLE: &'static str = "Resume a VM";
    const DESCRIPTION: &'static str = "Let a paused or hibernated VM go on, or one that QEMU stopped on an I/O error once the storage is mended. Not for containers.";
    const TOOLSET: Toolset = Toolset::Power;

    type Effect = SoftChange;
    type Input = power::Plain;
    type Output = power::Outcome;

    async fn run(pve: Operator, call: &Call, input: Self::Input) -> Result<Self::Output, Failure> {
        power::carry_out(pve, call, input.order(Self::NAME, Action::Resume)).await
    }
}
