//! `resume_vm`: lets a paused or hibernated VM go on.

use crate::{
    power::{Action, NoneOfItsOwn, PowerTool},
    tier::SoftChange,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct ResumeVm;

impl PowerTool for ResumeVm {
    const NAME: &'static str = "resume_vm";
    const TITLE: &'static str = "Resume a VM";
    const DESCRIPTION: &'static str = "Let a paused or hibernated VM go on, or one that QEMU stopped on an I/O error once the storage is mended. Not for containers.";

    type Effect = SoftChange;
    type Own = NoneOfItsOwn;

    fn action(_: &NoneOfItsOwn) -> Action {
        Action::Resume
    }
}
