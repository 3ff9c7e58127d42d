//! Guests that are locked although no task works on them: what locked them has died, and nothing can be
//! done with them until somebody looks.

use pve_client::{guest::Listed, task};

use super::{
    facts::Facts,
    guests::name,
    report::{Report, Severity, are, listed},
};
use crate::{answer::clean::label, logs::tasks::is_console};

/// The lock of a guest that a task should hold. A guest that is hibernated holds its own.
pub(super) fn lock(guest: &Listed) -> Option<&str> {
    guest.lock.as_deref().filter(|lock| !lock.is_empty() && *lock != "suspended")
}

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let guests = facts.guests.as_deref().unwrap_or_default();
    let mut stale: Vec<(&Listed, &str)> = Vec::new();
    for node in facts.online() {
        let here = guests.iter().filter(|guest| guest.node.as_ref() == Some(&node.name));
        let locked: Vec<_> = here.filter_map(|guest| Some((guest, lock(guest)?))).collect();
        if locked.is_empty() {
            continue;
        }
        match node.said.as_ref().and_then(|said| said.running.as_ref()) {
            Some(Ok(running)) => {
                stale.extend(locked.iter().filter(|(guest, _)| !is_worked_on(guest, running)));
            }
            Some(Err(reason)) => report.missed_on(&node.name, "who holds locks", reason),
            None => {
                let reason =
                    "running tasks are hidden from this token: it needs Sys.Audit on /nodes";
                report.missed_on(&node.name, "who holds locks", reason);
            }
        }
    }
    let Some((first, _)) = stale.first() else { return };
    let names = stale.iter().map(|(guest, lock)| format!("{} ({})", name(guest), label(lock)));
    let what =
        format!("{} locked, and no task works there: {}", are(stale.len(), "guest"), listed(names));
    let evidence = "what locked it has died or was cut off; after checking, an administrator removes a lock on the \
                    node with `qm unlock VMID` or `pct unlock VMID`";
    let vmid = first.vmid.map(|vmid| vmid.to_string()).unwrap_or_default();
    report.found(Severity::Warning, what, evidence, format!("get_vm_status vm={vmid}"));
}

/// Whether a task of the guest runs, or one of many guests, which does not name them.
fn is_worked_on(guest: &Listed, tasks: &[task::Listed]) -> bool {
    let vmid = guest.vmid.map(|vmid| vmid.to_string()).unwrap_or_default();
    let works = |task: &&task::Listed| {
        task.is_running() && !is_console(task.kind.as_deref().unwrap_or_default())
    };
    tasks.iter().filter(works).any(|task| {
        let id = task.id.as_deref().unwrap_or_default();
        id.is_empty() || id == vmid
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(running: Option<Result<Vec<task::Listed>, String>>) -> Facts {
        let mut facts = Facts::of_nodes(&["a"]);
        let guest = |vmid: u32, lock: Option<&str>| Listed {
            vmid: vmid.try_into().ok(),
            node: "a".parse().ok(),
            lock: lock.map(Into::into),
            ..Listed::default()
        };
        let locks = [Some("backup"), Some("suspended"), None, Some("snapshot")];
        facts.guests = Ok((100..).zip(locks).map(|(vmid, lock)| guest(vmid, lock)).collect());
        facts.nodes[0].said().running = running;
        facts
    }

    fn report(facts: &Facts) -> Report {
        let mut report = Report::default();
        check(facts, &mut report);
        report
    }

    fn task(kind: &str, id: &str) -> task::Listed {
        let (kind, id) = (Some(kind.to_owned()), Some(id.to_owned()));
        task::Listed { kind, id, ..task::Listed::default() }
    }

    #[test]
    fn a_lock_without_a_task_is_told() {
        let running = vec![task("qmsnapshot", "103"), task("vncproxy", "100")];
        let found = report(&facts(Some(Ok(running))));
        assert_eq!(found.findings().len(), 1);
        assert_eq!(
            found.findings()[0].1,
            "1 guest is locked, and no task works there: 100 (backup)"
        );
    }

    #[test]
    fn a_task_of_many_guests_may_hold_any_lock() {
        assert!(report(&facts(Some(Ok(vec![task("vzdump", "")])))).findings().is_empty());
    }

    #[test]
    fn where_tasks_are_hidden_nobody_is_accused() {
        for running in [None, Some(Err("no".to_owned()))] {
            let report = report(&facts(running));
            assert!(report.findings().is_empty());
            assert!(report.not_checked()[0].starts_with("who holds locks of a: "), "{report:?}");
        }
    }
}
