//! Replication that fails, or that has not been done for too long.

use pve_client::replication::State;

use super::{
    facts::Facts,
    report::{Report, Severity, are, listed},
};
use crate::answer::{Duration, clean::sentence};

/// A job that should have run so many seconds ago is late.
const LATE: i64 = 3600;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let jobs = match &facts.replication {
        Ok(jobs) => jobs,
        Err(reason) => return report.missed("replication", reason),
    };
    if let Some(hidden) = facts.hidden_guests() {
        report.missed("replication of guests that are not seen", &hidden);
    } else if jobs.is_empty() {
        report.checked("replication (there is none)");
    }
    let mut known = 0;
    let mut states: Vec<&State> = Vec::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        match &said.replication {
            Some(Ok(found)) => {
                known += 1;
                states.extend(found.iter().filter(|state| state.disable != Some(true)));
            }
            Some(Err(reason)) => report.missed_on(&node.name, "replication", reason),
            None => {}
        }
    }
    if known > 0 {
        report.checked("replication");
    }
    let failing: Vec<&State> =
        states.iter().copied().filter(|state| state.fail_count.unwrap_or_default() > 0).collect();
    if let Some(first) = failing.first() {
        let jobs = listed(failing.iter().map(|state| words(state)));
        let what = format!("{} failing: {jobs}", are(failing.len(), "replication job"));
        let told = listed(failing.iter().map(|state| evidence(state, facts.now)));
        report.found(Severity::Warning, what, told, next(first, facts));
    }
    let is_late = |state: &&State| {
        let is_due =
            state.next_sync.is_some_and(|next| next > 0 && facts.now.saturating_sub(next) > LATE);
        is_due && state.fail_count.unwrap_or_default() == 0 && state.pid.is_none()
    };
    let late: Vec<&State> = states.into_iter().filter(is_late).collect();
    if let Some(first) = late.first() {
        let jobs = listed(late.iter().map(|state| words(state)));
        let what = format!("{} late: {jobs}", are(late.len(), "replication job"));
        let told = listed(late.iter().map(|state| evidence(state, facts.now)));
        report.found(
            Severity::Warning,
            format!("{what}; does pvescheduler run?"),
            told,
            next(first, facts),
        );
    }
}

fn words(state: &State) -> String {
    let guest = state.guest.map(|guest| guest.to_string()).unwrap_or_default();
    match &state.target {
        Some(target) => format!("{guest} to {target}"),
        None => guest,
    }
}

fn evidence(state: &State, now: i64) -> String {
    format!("{}: {}", words(state), outcome(state, now))
}

/// When it last worked, and why it failed since.
pub(in crate::tools) fn outcome(state: &State, now: i64) -> String {
    let last = state
        .last_sync
        .filter(|last| *last > 0)
        .and_then(|last| u64::try_from(now.saturating_sub(last)).ok());
    let last = last.map_or_else(
        || "never worked".to_owned(),
        |age| format!("last worked {} ago", Duration(age)),
    );
    let failed = match state.fail_count {
        Some(count) if count > 0 => format!(", failed {count} times since"),
        _ => String::new(),
    };
    let error =
        state.error.as_deref().map(|error| format!(": {}", sentence(error))).unwrap_or_default();
    format!("{last}{failed}{error}")
}

/// The scheduler of the guest's node writes why a job failed.
fn next(state: &State, facts: &Facts) -> String {
    let guests = facts.guests.as_deref().unwrap_or_default();
    let guest = guests.iter().find(|guest| guest.vmid.is_some() && guest.vmid == state.guest);
    if let Some(node) = guest.and_then(|guest| guest.node.as_ref()) {
        return format!("get_system_log node={node} unit=pvescheduler");
    }
    let guest = state.guest.map(|guest| guest.to_string()).unwrap_or_default();
    format!("get_vm_details vm={guest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(guest: u32, edit: impl FnOnce(&mut State)) -> State {
        let mut state = State {
            guest: guest.try_into().ok(),
            target: "b".parse().ok(),
            last_sync: Some(1_800_000_000 - 7200),
            next_sync: Some(1_800_000_000 + 60),
            fail_count: Some(0),
            ..State::default()
        };
        edit(&mut state);
        state
    }

    fn report(states: Vec<State>) -> Report {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.replication = Ok(vec![pve_client::replication::Job::default()]);
        facts.nodes[0].said().replication = Some(Ok(states));
        let mut report = Report::default();
        check(&facts, &mut report);
        report
    }

    #[test]
    fn failing_jobs_come_with_their_error_and_their_last_success() {
        let failing = state(111, |state| {
            state.fail_count = Some(4);
            state.error = Some("no route to host".to_owned());
        });
        let report = report(vec![failing, state(112, |_| {})]);
        assert_eq!(
            report.findings(),
            [(
                Severity::Warning,
                "1 replication job is failing: 111 to b",
                "111 to b: last worked 2h ago, failed 4 times since: no route to host"
            )]
        );
        assert_eq!(report.was_checked(), "replication");
    }

    #[test]
    fn late_jobs_are_told_unless_they_run_or_are_switched_off() {
        let due = |state: &mut State| state.next_sync = Some(1_800_000_000 - 9000);
        let report = report(vec![
            state(100, due),
            state(101, |state| {
                (state.pid, state.next_sync) = (Some(7), Some(1_800_000_000 - 9000));
            }),
            state(102, |state| (state.disable, state.next_sync) = (Some(true), Some(1))),
        ]);
        assert_eq!(report.findings().len(), 1);
        assert!(report.findings()[0].1.starts_with("1 replication job is late: 100"), "{report:?}");
    }

    #[test]
    fn hidden_jobs_are_not_called_none() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.rights = Ok(crate::rights::Rights::default());
        let mut report = Report::default();
        check(&facts, &mut report);
        assert!(report.was_checked().is_empty());
        assert!(report.not_checked()[0].contains("VM.Audit"), "{report:?}");
        facts.rights = Facts::nothing().rights;
        let mut report = Report::default();
        check(&facts, &mut report);
        assert_eq!(report.was_checked(), "replication (there is none)");
    }
}
