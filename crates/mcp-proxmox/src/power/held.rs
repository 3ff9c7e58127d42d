//! Who holds a guest: the lock in its configuration, and the task that put it there.
//!
//! The lock itself says neither by what nor since when; the newest task of the guest whose type fits does.
//! **Nothing is ever unlocked here.**

use pve_client::{Kind, task::Listed};

use super::look::Scene;
use crate::{
    answer::clean::{label, sentence},
    call::Call,
    failure::Failure,
};

/// The refusal to act on a locked guest.
pub(super) fn locked(scene: &Scene, call: &Call, lock: &str) -> Failure {
    let shown = label(lock);
    let what = |by: &str| {
        Failure::new(format!("{} is locked ({shown}){by}; nothing was sent", scene.who()))
    };
    let Some(tasks) = &scene.tasks else {
        return what("").hint("its tasks could not be read: list_tasks may tell who holds it");
    };
    let unlock = unlock(scene);
    let fits = |task: &&Listed| task.kind.as_deref().is_some_and(|kind| puts(kind, lock));
    match tasks.iter().find(fits) {
        Some(task) if task.is_running() => what(&format!(" by {}, which still runs", named(task, call)))
            .hint(format!("wait for its end; task: {}", upid(task))),
        Some(task) => {
            let ended = match task.endtime.and_then(|end| call.time(end)) {
                Some(end) => format!("ended at {end}"),
                None => "has ended".to_owned(),
            };
            what(&format!(" by {}, which {ended}", named(task, call))).hint(format!(
                "the lock looks stale: an administrator can check that nothing works on it, and then run `{unlock}` on {}; this server never unlocks",
                label(scene.found.guest.node.as_str())
            ))
        }
        None => what(", and no task that this token can see put it there").hint(format!(
            "a job of several guests may hold it (list_tasks); if nothing works on it any more, an administrator can run `{unlock}` on {}; this server never unlocks",
            label(scene.found.guest.node.as_str())
        )),
    }
}

/// The refusal to act on a guest on which a task is at work.
pub(super) fn at_work(scene: &Scene, call: &Call, task: &Listed) -> Failure {
    let what = format!(
        "{} runs on {} and has not ended; nothing was sent",
        named(task, call),
        scene.who()
    );
    let hint = if waits_for_guest(task) {
        "it waits for the guest, and holds it until its time is over: wait, or with the user's consent stop_vm, which ends it"
    } else {
        "wait for its end, then call again"
    };
    Failure::new(what).hint(format!("{hint}; task: {}", upid(task)))
}

/// Whether a task waits until a guest shuts itself down.
pub(super) fn waits_for_guest(task: &Listed) -> bool {
    matches!(task.kind.as_deref(), Some("qmshutdown" | "vzshutdown" | "qmreboot" | "vzreboot"))
}

/// Whether a guest may be another one after this task: it is started, stopped or suspended by it.
pub(super) fn changes_state(task: &Listed) -> bool {
    let kind = task.kind.as_deref().unwrap_or_default();
    let action = kind.strip_prefix("qm").or_else(|| kind.strip_prefix("vz")).unwrap_or_default();
    matches!(action, "start" | "stop" | "shutdown" | "reboot" | "suspend" | "pause" | "resume")
}

/// `qmshutdown of root@pam!x since …`.
fn named(task: &Listed, call: &Call) -> String {
    let kind = task.kind.as_deref().map_or_else(|| "a task".to_owned(), label);
    let who = task.who().map(|who| format!(" of {}", label(&who))).unwrap_or_default();
    let since = task.starttime.and_then(|start| call.time(start));
    format!("{kind}{who}{}", since.map(|since| format!(" since {since}")).unwrap_or_default())
}

fn upid(task: &Listed) -> String {
    // Identifiers are longer than names may be.
    task.upid.as_ref().map_or_else(|| "unknown".to_owned(), |upid| sentence(&upid.to_string()))
}

fn unlock(scene: &Scene) -> String {
    let program = match scene.found.guest.kind {
        Kind::Qemu => "qm",
        Kind::Lxc => "pct",
    };
    format!("{program} unlock {}", scene.found.guest.vmid)
}

/// Whether tasks of this type lock a guest so.
fn puts(kind: &str, lock: &str) -> bool {
    let action = kind.strip_prefix("qm").or_else(|| kind.strip_prefix("vz")).unwrap_or(kind);
    match lock {
        "backup" => kind == "vzdump",
        "snapshot" => action == "snapshot",
        "snapshot-delete" => action == "delsnapshot",
        "rollback" => action == "rollback",
        "migrate" => matches!(kind, "qmigrate" | "vzmigrate" | "hamigrate"),
        "clone" => action == "clone",
        "create" => matches!(action, "create" | "restore" | "clone"),
        "suspending" | "suspended" => action == "suspend",
        "disk" => matches!(action, "move" | "move_volume" | "resize"),
        "destroyed" => action == "destroy",
        "fstrim" => action == "fstrim",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_traced_to_the_tasks_that_put_them() {
        for (kind, lock) in [
            ("vzdump", "backup"),
            ("qmsnapshot", "snapshot"),
            ("vzdelsnapshot", "snapshot-delete"),
            ("qmigrate", "migrate"),
            ("hamigrate", "migrate"),
            ("qmsuspend", "suspending"),
        ] {
            assert!(puts(kind, lock), "{kind} {lock}");
        }
        assert!(!puts("qmstart", "backup") && !puts("vzdump", "snapshot"));
    }
}
