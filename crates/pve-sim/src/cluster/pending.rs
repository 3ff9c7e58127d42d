//! What was begun and has not ended yet: tasks that take their time, and what they will change.
//!
//! **Invariants:** a change happens when its task ends and never twice; time passes only in the ways
//! that [`Takes`] names, so that a test decides when something is over.

use std::time::{Duration, Instant};

use super::{Cluster, Guest, Kind, State, Task, Usage, changes};
use crate::date;

/// How long it takes until something that was asked of a guest is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Takes {
    /// It is done before PVE answers.
    #[default]
    AtOnce,
    /// It is done when its task (of a guest that the HA manager cares for: the guest) was looked at
    /// so often.
    Polls(u32),
    /// It is done so many seconds later.
    Seconds(u64),
    /// It is done when [`Cluster::finish_tasks`] is called.
    UntilTold,
}

/// A request to a guest that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deed {
    /// The guest.
    pub vmid: u32,
    /// The last part of the path: `start`, `shutdown`, …
    pub action: &'static str,
    /// Whether it may stop the guest without its help.
    pub hard: bool,
    /// Who asked.
    pub token: String,
}

/// A task, or a wish of the HA manager's, that is under way.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) vmid: u32,
    /// The task; a wish of the HA manager's has none, since its task ended at once.
    pub(crate) upid: Option<String>,
    pub(crate) change: Change,
    pub(crate) outcome: Result<(), String>,
    left: Left,
}

/// What becomes of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Nothing,
    Run,
    Stop,
    Reboot,
    Pause,
    Hibernate,
    Resume,
    Reset,
}

#[derive(Debug, Clone, Copy)]
enum Left {
    Polls(u32),
    Until(Instant),
    UntilTold,
}

impl Cluster {
    /// Ends everything that is under way, as if its time had passed.
    pub fn finish_tasks(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            self.finish(pending);
        }
    }

    /// Kills the workers of all tasks that run: they end with `unexpected status` and change nothing.
    pub fn kill_tasks(&mut self) {
        self.pending.clear();
        for task in self.tasks.iter_mut().filter(|task| task.endtime.is_none()) {
            task.endtime = Some(date::unix_now());
            "unexpected status".clone_into(&mut task.status);
        }
    }

    /// Notes a task that begins now, and ends it where that takes no time. Says its identifier.
    pub(crate) fn begin(
        &mut self,
        mut task: Task,
        vmid: u32,
        change: Change,
        outcome: Result<(), String>,
    ) -> String {
        task.endtime = None;
        task.status.clear();
        let upid = task.upid();
        self.tasks.push(task);
        self.put_off(vmid, Some(upid.clone()), change, outcome);
        upid
    }

    /// Lets the HA manager bring a guest to a state, in its own time.
    pub(crate) fn wish(&mut self, vmid: u32, change: Change) {
        self.pending.retain(|pending| pending.vmid != vmid || pending.upid.is_some());
        self.put_off(vmid, None, change, Ok(()));
    }

    /// Ends the tasks of a guest that still run, as a stop does that overrules them.
    pub(crate) fn interrupt(&mut self, vmid: u32) {
        let (of_guest, others) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|pending| pending.vmid == vmid && pending.upid.is_some());
        self.pending = others;
        let of_guest: Vec<Pending> = of_guest;
        for pending in of_guest {
            self.finish(Pending { outcome: Err("received interrupt".to_owned()), ..pending });
        }
    }

    /// Whether a task of this guest is under way, which holds its lock file.
    pub(crate) fn is_busy(&self, vmid: u32) -> bool {
        self.pending.iter().any(|pending| pending.vmid == vmid && pending.upid.is_some())
    }

    /// Somebody looked at a task, or at a guest.
    pub(crate) fn looked_at(&mut self, upid: Option<&str>, vmid: Option<u32>) {
        let now = Instant::now();
        let mut over = Vec::new();
        for (nth, pending) in self.pending.iter_mut().enumerate() {
            let meant = match &pending.upid {
                Some(task) => upid == Some(task.as_str()),
                None => vmid == Some(pending.vmid),
            };
            match &mut pending.left {
                Left::Polls(0) if meant => over.push(nth),
                Left::Polls(polls) if meant => *polls -= 1,
                Left::Until(then) if *then <= now => over.push(nth),
                _ => {}
            }
        }
        for nth in over.into_iter().rev() {
            let pending = self.pending.remove(nth);
            self.finish(pending);
        }
    }

    fn put_off(
        &mut self,
        vmid: u32,
        upid: Option<String>,
        change: Change,
        outcome: Result<(), String>,
    ) {
        let takes = self.guest(vmid).map_or(Takes::AtOnce, |guest| guest.takes);
        let left = match takes {
            Takes::AtOnce => None,
            Takes::Polls(polls) => Some(Left::Polls(polls)),
            Takes::Seconds(seconds) => {
                Some(Left::Until(Instant::now() + Duration::from_secs(seconds)))
            }
            Takes::UntilTold => Some(Left::UntilTold),
        };
        let pending =
            Pending { vmid, upid, change, outcome, left: left.unwrap_or(Left::UntilTold) };
        match left {
            None => self.finish(pending),
            Some(_) => self.pending.push(pending),
        }
    }

    fn finish(&mut self, pending: Pending) {
        let Pending { vmid, upid, change, outcome, .. } = pending;
        let warning = self.guest(vmid).and_then(|guest| guest.warns.clone());
        if outcome.is_ok()
            && let Some(guest) = self.guest_mut(vmid)
        {
            apply(guest, change);
        }
        let task = self.tasks.iter_mut().find(|task| Some(task.upid()) == upid);
        let Some(task) = task.filter(|task| task.endtime.is_none()) else { return };
        task.endtime = Some(date::unix_now());
        let (status, line) = match (outcome, warning) {
            (Err(text), _) => (text.clone(), format!("TASK ERROR: {text}")),
            (Ok(()), Some(warning)) => {
                task.log.push(format!("WARN: {warning}"));
                ("WARNINGS: 1".to_owned(), "TASK WARNINGS: 1".to_owned())
            }
            (Ok(()), None) => ("OK".to_owned(), "TASK OK".to_owned()),
        };
        task.status = status;
        // What was killed writes no last line.
        if task.status != "received interrupt" {
            task.log.push(line);
        }
    }
}

fn apply(guest: &mut Guest, change: Change) {
    let pid = guest.pid.max(1000 + guest.vmid) + 7;
    let run = |guest: &mut Guest| {
        // What wakes goes on with what it had.
        let is_hibernated = guest.lock.as_deref() == Some("suspended");
        stop(guest);
        if !is_hibernated {
            changes::apply(guest);
        }
        let started = guest.clone().running(1);
        let now = Some(Instant::now());
        *guest = Guest { lock: None, state: State::Running, pid, started: now, ..started };
        guest.terminal.is_booting = true;
    };
    match change {
        Change::Run | Change::Reboot => run(guest),
        Change::Resume if guest.state == State::Stopped => run(guest),
        Change::Resume => guest.state = State::Running,
        Change::Stop => {
            stop(guest);
            changes::apply(guest);
        }
        Change::Pause if guest.kind == Kind::Qemu => guest.state = State::Paused,
        // What did not run when it was reset waits at its beginning (tried with QEMU itself).
        Change::Reset if guest.state != State::Running => guest.state = State::Prelaunch,
        // PVE cannot pause a container.
        Change::Nothing | Change::Pause | Change::Reset => {}
        Change::Hibernate => {
            stop(guest);
            guest.lock = Some("suspended".to_owned());
        }
    }
}

fn stop(guest: &mut Guest) {
    if guest.is_up() {
        let now = date::unix_now();
        let since = guest.started.map_or(0, |started| started.elapsed().as_secs());
        guest.ran.push((now.saturating_sub(guest.uptime + since), now));
    }
    guest.state = State::Stopped;
    let Usage { received, sent, read, written, .. } = &mut guest.usage;
    for count in [received, sent, read, written] {
        // What it will count in the first second of its next run, at the pace it had.
        *count /= guest.uptime.max(1);
    }
    guest.uptime = 0;
    guest.started = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures;

    fn begun(takes: Takes) -> Cluster {
        let mut cluster = Cluster::of_nodes(None, &["pve1"]);
        cluster.guests = vec![Guest { takes, ..Guest::vm(100, "pve1", "web") }];
        let task = Task::ended("pve1", "qmstart", "100", "a@pve!t", (5, 5), "");
        cluster.begin(task, 100, Change::Run, Ok(()));
        cluster
    }

    #[test]
    fn a_task_ends_when_it_was_looked_at_often_enough_and_only_then_changes_something() {
        let mut cluster = begun(Takes::Polls(2));
        let upid = cluster.tasks[0].upid();
        for _ in 0..2 {
            cluster.looked_at(Some(&upid), None);
            assert!(cluster.tasks[0].endtime.is_none() && !cluster.guest(100).unwrap().is_up());
        }
        cluster.looked_at(Some(&upid), None);
        assert_eq!(cluster.tasks[0].status, "OK");
        assert!(cluster.guest(100).unwrap().is_up());
    }

    #[test]
    fn a_guest_that_was_started_counts_from_then_and_not_from_the_simulators_start() {
        let mut cluster = begun(Takes::AtOnce);
        let later = Duration::from_secs(600);
        assert!(figures::of_guest(cluster.guest(100).unwrap(), later).uptime < 60);
        let mut guest = Guest::vm(101, "pve1", "db").running(1000);
        guest.usage.received = 5_000_000;
        cluster.guests.push(guest);
        cluster.wish(101, Change::Reboot);
        let after = figures::of_guest(cluster.guest(101).unwrap(), later);
        assert!(after.uptime < 60 && after.received < 500_000, "{after:?}");
    }

    #[test]
    fn a_task_that_is_killed_changes_nothing() {
        let mut cluster = begun(Takes::UntilTold);
        assert!(cluster.is_busy(100));
        cluster.kill_tasks();
        cluster.finish_tasks();
        assert_eq!(cluster.tasks[0].status, "unexpected status");
        assert!(!cluster.guest(100).unwrap().is_up());
    }
}
