//! Starting, stopping and what belongs to it, and following the task that does it.
//!
//! Each request answers with the UPID of its task. **What PVE finds out only in the task is no refusal
//! of the request** (recorded from PVE 9.2.11): a VM that runs already, is locked, is a template or has
//! no disk gets a task that fails. Everything here needs `VM.PowerMgmt`.
//!
//! **Invariant:** a soft request never carries `forceStop`, which would turn it into a hard one, and
//! nothing carries `skiplock`, which is for root alone.

use crate::{Get, GuestRef, Post, Upid, form::Form, ids::segment, perl};

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

perl::answer! {
    /// How a task is doing.
    pub struct Progress {
        /// `running` or `stopped`.
        pub status: Option<String>,
        /// How it ended: `OK`, `WARNINGS: 2`, `unexpected status` or the text of the error. Absent while
        /// it runs.
        pub exitstatus: Option<String>,
        /// When it started, in seconds since 1970.
        pub starttime: Option<i64>,
    }
}

perl::answer! {
    /// A line of a task's log.
    pub struct Line {
        /// Its number, from 1.
        pub n: Option<u64>,
        /// Its text.
        pub t: Option<String>,
    }
}

impl Progress {
    /// Whether the task has ended.
    pub fn is_over(&self) -> bool {
        self.status.as_deref() == Some("stopped") || self.exitstatus.is_some()
    }
}

/// How a task is doing. A UPID that its node does not know is refused.
pub fn progress(upid: &Upid) -> Get<Progress> {
    Get::one(format!("{}/status", path(upid)))
}

/// The first lines of a task's log: all that a task of this kind writes.
pub fn log(upid: &Upid) -> Get<Vec<Line>> {
    Get::many(Form::default().number("limit", 100).after(&format!("{}/log", path(upid))))
}

fn path(upid: &Upid) -> String {
    format!("/nodes/{}/tasks/{}", segment(upid.node.as_str()), segment(&upid.to_string()))
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
    fn recorded_states_of_a_task_are_read() {
        let upid: Upid =
            "UPID:pve1:00001B07:000BED04:6B0D174E:qmshutdown:107:ops@pve!rw:".parse().unwrap();
        assert_eq!(
            progress(&upid).path(),
            "/nodes/pve1/tasks/UPID:pve1:00001B07:000BED04:6B0D174E:qmshutdown:107:ops@pve%21rw:/status"
        );
        let running = br#"{"data":{"id":"107","user":"ops@pve","pid":6919,"tokenid":"rw",
            "pstart":781572,"node":"pve1","starttime":1796020046,"type":"qmshutdown",
            "status":"running"}}"#;
        assert!(!progress(&upid).read(running).ok().unwrap().data.is_over());
        let ended = br#"{"data":{"status":"stopped","starttime":1796020046,
            "exitstatus":"VM quit/powerdown failed - got timeout","type":"qmshutdown"}}"#;
        let ended = progress(&upid).read(ended).ok().unwrap().data;
        assert!(ended.is_over() && ended.exitstatus.unwrap().ends_with("got timeout"));
    }

    #[test]
    fn a_recorded_log_is_read() {
        let upid: Upid =
            "UPID:pve1:00001B6A:000BF3C4:6B0D175F:vzstart:201:ops@pve!rw:".parse().unwrap();
        assert!(log(&upid).path().ends_with("/log?limit=100"));
        let body = br#"{"total":2,"data":[{"t":"WARN: Systemd 257 detected.","n":1},
            {"t":"TASK WARNINGS: 1","n":2}]}"#;
        let lines = log(&upid).read(body).ok().unwrap().data;
        assert_eq!(lines[0].t.as_deref(), Some("WARN: Systemd 257 detected."));
    }
}
