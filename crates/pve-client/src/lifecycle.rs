//! Starting, stopping and what belongs to it. [`crate::task_log`] tells how the task is that does it.
//!
//! Each request answers with the UPID of its task. **What PVE finds out only in the task is no refusal
//! of the request** (recorded from PVE 9.2.11): a VM that runs already, is locked, is a template or has
//! no disk gets a task that fails. Everything here needs `VM.PowerMgmt`.
//!
//! **Invariant:** a soft request never carries `forceStop`, which would turn it into a hard one, and
//! nothing carries `skiplock`, which is for root alone.

use crate::{GuestRef, Post, Upid, form::Form};

/// Starts a guest, or resumes a hibernated one.
pub fn start(guest: &GuestRef) -> Post<Upid> {
    post(guest, "start", Form::default())
}

/// Asks a guest to shut down, and waits so many seconds for it. A guest that does not is left running.
pub fn shutdown(guest: &GuestRef, timeout: u32) -> Post<Upid> {
    post(guest, "shutdown", Form::default().number("timeout", timeout))
}

/// Asks a guest to shut down, and starts it again. The task ends when it is down: that it is up again
/// shows in its process number and uptime.
pub fn reboot(guest: &GuestRef, timeout: u32) -> Post<Upid> {
    post(guest, "reboot", Form::default().number("timeout", timeout))
}

/// Stops a guest without its help. `overrule` ends a shutdown that still waits, which otherwise holds the
/// guest's lock; PVE knows that since 8.1.
pub fn stop(guest: &GuestRef, overrule: bool) -> Post<Upid> {
    let form = Form::default();
    post(guest, "stop", if overrule { form.flag("overrule-shutdown", true) } else { form })
}

/// Resets a VM without its help.
pub fn reset(guest: &GuestRef) -> Post<Upid> {
    post(guest, "reset", Form::default())
}

/// Pauses a VM, or with `to_disk` saves its memory and stops it.
pub fn suspend(guest: &GuestRef, to_disk: bool) -> Post<Upid> {
    let form = Form::default();
    post(guest, "suspend", if to_disk { form.flag("todisk", true) } else { form })
}

/// Lets a paused or hibernated VM go on.
pub fn resume(guest: &GuestRef) -> Post<Upid> {
    post(guest, "resume", Form::default())
}

fn post(guest: &GuestRef, action: &str, form: Form) -> Post<Upid> {
    Post::new(format!("{}/status/{action}", guest.path()), form)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, VmId};

    fn guest(kind: Kind) -> GuestRef {
        GuestRef { node: "pve1".parse().unwrap(), kind, vmid: VmId::try_from(107u32).unwrap() }
    }

    #[test]
    fn each_action_has_its_path_and_only_the_parameters_that_it_needs() {
        let (vm, ct) = (guest(Kind::Qemu), guest(Kind::Lxc));
        for (request, path, form) in [
            (start(&vm), "/nodes/pve1/qemu/107/status/start", ""),
            (shutdown(&ct, 60), "/nodes/pve1/lxc/107/status/shutdown", "timeout=60"),
            (reboot(&vm, 90), "/nodes/pve1/qemu/107/status/reboot", "timeout=90"),
            (stop(&vm, false), "/nodes/pve1/qemu/107/status/stop", ""),
            (stop(&ct, true), "/nodes/pve1/lxc/107/status/stop", "overrule-shutdown=1"),
            (reset(&vm), "/nodes/pve1/qemu/107/status/reset", ""),
            (suspend(&vm, false), "/nodes/pve1/qemu/107/status/suspend", ""),
            (suspend(&vm, true), "/nodes/pve1/qemu/107/status/suspend", "todisk=1"),
            (resume(&vm), "/nodes/pve1/qemu/107/status/resume", ""),
        ] {
            assert_eq!((request.path(), request.form()), (path, form));
        }
    }

    #[test]
    fn the_recorded_answer_is_the_task() {
        let body = br#"{"data":"UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:ops@pve!rw:"}"#;
        let upid = (start(&guest(Kind::Qemu)).reading())(body).ok().unwrap().data;
        assert_eq!(upid.kind, "qmstart");
    }
}
