//! The HA manager: guests that it gave up on, managers that went silent, fencing that is off.

use pve_client::{VmId, cluster::HaRow};

use super::{
    facts::Facts,
    report::{Report, Severity, listed},
};
use crate::answer::clean::label;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let rows = match &facts.ha {
        Ok(rows) => rows,
        Err(reason) => return report.missed("HA", reason),
    };
    let of = |kind: &'static str| {
        rows.iter().filter(move |row: &&HaRow| row.kind.as_deref() == Some(kind))
    };
    if of("service").next().is_none() {
        return report.checked("HA (manages nothing)");
    }
    report.checked("HA");
    // In `error` the manager does nothing more with a guest until somebody clears it.
    for (state, severity, meaning) in [
        ("error", Severity::Critical, "HA gave up on"),
        ("fence", Severity::Critical, "HA waits for a node to be fenced before it starts"),
        ("recovery", Severity::Critical, "HA finds no node for"),
        ("freeze", Severity::Notice, "HA leaves alone for now (frozen)"),
    ] {
        let is_so = |row: &&HaRow| {
            row.state.as_deref() == Some(state) || row.crm_state.as_deref() == Some(state)
        };
        let rows: Vec<&HaRow> = of("service").filter(is_so).collect();
        if let Some(first) = rows.first() {
            let what = format!("{meaning} {}", listed(rows.iter().map(|row| sid(row))));
            let evidence = first.status.as_deref().map(label).unwrap_or_default();
            report.found(severity, what, format!("state {state}: {evidence}"), next(first));
        }
    }
    let silent =
        |row: &&HaRow| row.status.as_deref().is_some_and(|status| status.contains("old timestamp"));
    // That a node is off is told elsewhere.
    let lrms: Vec<&HaRow> = of("lrm")
        .filter(silent)
        .filter(|row| row.node.as_ref().is_some_and(|node| facts.is_online(node)))
        .collect();
    if let Some(first) = lrms.first() {
        let nodes = listed(lrms.iter().filter_map(|row| row.node.as_ref()));
        let what = format!("the HA manager of {nodes} is silent: it does not act on its guests");
        let evidence = first.status.as_deref().map(label).unwrap_or_default();
        let node = first.node.as_ref().map(ToString::to_string).unwrap_or_default();
        report.found(Severity::Critical, what, evidence, format!("get_node_status node={node}"));
    }
    unwell(facts, rows, report);
    match of("master").next() {
        None => report.found(
            Severity::Warning,
            "HA has no master: nobody moves or recovers its guests",
            "no node holds the manager's lock; it is taken within two minutes where a node can",
            "search_logs unit=pve-ha-crm",
        ),
        Some(master) if says(master, "(idle") => report.found(
            Severity::Warning,
            "the HA master is idle although HA manages guests",
            master.status.as_deref().map(label).unwrap_or_default(),
            "search_logs unit=pve-ha-crm",
        ),
        Some(_) => {}
    }
    if let Some(master) = of("master").find(silent) {
        let evidence = master.status.as_deref().map(label).unwrap_or_default();
        report.found(Severity::Critical, "the HA master is silent", evidence, "list_nodes");
    }
    let off = |row: &&HaRow| matches!(row.armed_state.as_deref(), Some("disarming" | "disarmed"));
    if let Some(fencing) = of("fencing").find(off) {
        let evidence = fencing.status.as_deref().map(label).unwrap_or_default();
        let what = "HA is disarmed: guests of a node that dies are not started elsewhere";
        report.found(Severity::Warning, what, evidence, "list_nodes");
    }
}

/// The managers of nodes that are there, talk, and are not well all the same.
fn unwell(facts: &Facts, rows: &[HaRow], report: &mut Report) {
    let lrms = rows.iter().filter(|row| row.kind.as_deref() == Some("lrm"));
    for lrm in lrms {
        let Some(node) = lrm.node.as_ref().filter(|node| facts.is_online(node)) else { continue };
        let has_guests = rows.iter().any(|row| {
            row.sid.is_some() && row.node.as_ref() == Some(node) && says(row, "(started")
        });
        let (severity, what) = if says(lrm, "lost") && says(lrm, "lock") {
            (Severity::Critical, "has lost its lock: its node is about to be fenced")
        } else if says(lrm, "unable to read") {
            (Severity::Critical, "says nothing that can be read")
        } else if has_guests && (says(lrm, "(idle") || says(lrm, "wait_for_agent_lock")) {
            (Severity::Warning, "is idle although guests of HA run there: it does not act on them")
        } else {
            continue;
        };
        let evidence = lrm.status.as_deref().map(label).unwrap_or_default();
        let what = format!("the HA manager of {node} {what}");
        report.found(
            severity,
            what,
            evidence,
            format!("get_system_log node={node} unit=pve-ha-lrm"),
        );
    }
}

fn says(row: &HaRow, word: &str) -> bool {
    row.status.as_deref().is_some_and(|status| status.contains(word))
}

fn sid(row: &HaRow) -> String {
    row.sid.as_deref().map(label).unwrap_or_default()
}

fn next(row: &HaRow) -> String {
    let vmid = row.sid.as_deref().and_then(|sid| sid.rsplit(':').next());
    let vmid = vmid.and_then(|vmid| vmid.parse::<VmId>().ok());
    vmid.map_or_else(|| "list_vms".to_owned(), |vmid| format!("get_vm_status vm={vmid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kind: &str, edit: impl FnOnce(&mut HaRow)) -> HaRow {
        let mut row = HaRow { kind: Some(kind.to_owned()), ..HaRow::default() };
        edit(&mut row);
        row
    }

    fn service(sid: &str, state: &str) -> HaRow {
        row("service", |row| {
            row.sid = Some(sid.to_owned());
            row.state = Some(state.to_owned());
            row.status = Some(format!("a ({state})"));
        })
    }

    fn lrm(node: &str, state: &str) -> HaRow {
        row("lrm", |row| {
            row.node = node.parse().ok();
            row.status = Some(format!("{node} ({state}, Mon Nov 30)"));
        })
    }

    fn master(state: &str) -> HaRow {
        row("master", |row| row.status = Some(format!("a ({state}, Mon Nov 30)")))
    }

    /// What is found where the master is well.
    fn report(mut rows: Vec<HaRow>) -> Report {
        rows.push(master("active"));
        report_of(rows)
    }

    fn report_of(rows: Vec<HaRow>) -> Report {
        let mut report = Report::default();
        check(&Facts { ha: Ok(rows), ..Facts::of_nodes(&["a"]) }, &mut report);
        report
    }

    #[test]
    fn guests_that_ha_gave_up_on_are_one_finding() {
        let rows = vec![
            service("vm:100", "error"),
            service("ct:200", "error"),
            service("vm:101", "started"),
        ];
        let report = report(rows);
        assert_eq!(
            report.findings(),
            [(Severity::Critical, "HA gave up on vm:100, ct:200", "state error: a (error)")]
        );
    }

    #[test]
    fn a_silent_manager_counts_where_its_node_is_there() {
        let dead = "old timestamp - dead?";
        let rows = vec![service("vm:100", "started"), lrm("a", dead), lrm("off", dead)];
        let report = report(rows);
        assert_eq!(report.findings().len(), 1);
        assert!(report.findings()[0].1.contains("manager of a is silent"), "{report:?}");
    }

    #[test]
    fn a_manager_that_is_not_well_is_told_and_one_that_has_nothing_to_do_is_not() {
        let on_a = || {
            let mut service = service("vm:100", "started");
            service.node = "a".parse().ok();
            service
        };
        for (state, words) in [
            ("idle", "manager of a is idle although"),
            ("wait_for_agent_lock", "manager of a is idle although"),
            ("lost_agent_lock", "manager of a has lost its lock"),
            ("unable to read lrm status", "manager of a says nothing"),
        ] {
            let report = report(vec![on_a(), lrm("a", state), lrm("off", state)]);
            assert_eq!(report.findings().len(), 1, "{state}: {report:?}");
            assert!(report.findings()[0].1.contains(words), "{state}: {report:?}");
        }
        for (service, state) in [
            (on_a(), "active"),
            (on_a(), "maintenance mode"),
            (service("vm:100", "started"), "idle"),
        ] {
            let report = report(vec![service, lrm("a", state)]);
            assert!(report.findings().is_empty(), "{state}: {report:?}");
        }
    }

    #[test]
    fn a_master_that_is_not_there_or_idle_is_told() {
        let managed = || service("vm:100", "started");
        let told = report_of(vec![managed()]);
        assert!(told.findings()[0].1.contains("HA has no master"), "{told:?}");
        let told = report_of(vec![managed(), master("idle")]);
        assert!(told.findings()[0].1.contains("master is idle"), "{told:?}");
        assert!(report_of(vec![master("idle")]).findings().is_empty(), "it manages nothing");
    }

    #[test]
    fn ha_that_is_disarmed_is_told_and_one_that_manages_nothing_is_not() {
        let fencing = || row("fencing", |row| row.armed_state = Some("disarmed".to_owned()));
        assert_eq!(
            report(vec![service("vm:1", "started"), fencing()]).findings()[0].0,
            Severity::Warning
        );
        let idle = report(vec![fencing()]);
        assert!(idle.findings().is_empty());
        assert_eq!(idle.was_checked(), "HA (manages nothing)");
    }

    #[test]
    fn hidden_ha_is_not_called_well() {
        let mut report = Report::default();
        check(&Facts { ha: Err("no right".to_owned()), ..Facts::nothing() }, &mut report);
        assert_eq!(
            (report.not_checked(), report.was_checked()),
            (vec!["HA: no right".to_owned()], String::new())
        );
    }
}
