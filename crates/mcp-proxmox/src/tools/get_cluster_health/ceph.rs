//! Ceph, where the cluster has it: what Ceph itself says is wrong.

use super::{
    facts::Facts,
    report::{Report, Severity, listed},
};
use crate::answer::clean::{label, sentence};

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let status = match &facts.ceph {
        // Where there is no Ceph there is nothing to say of it.
        Ok(None) => return,
        Ok(Some(status)) => status,
        Err(reason) => return report.missed("Ceph", reason),
    };
    let health = status.health.as_ref();
    let Some(word) = health.and_then(|health| health.status.as_deref()) else {
        return report.missed("Ceph", "it did not say how it is");
    };
    report.checked("Ceph");
    let severity = match word {
        "HEALTH_OK" => return,
        "HEALTH_ERR" => Severity::Critical,
        _ => Severity::Warning,
    };
    let checks = health.map(|health| &health.checks).into_iter().flatten();
    let heard: Vec<_> = checks.filter(|(_, check)| check.muted != Some(true)).collect();
    let what = match heard.len() {
        0 => format!("Ceph says {}", label(word)),
        _ => format!(
            "Ceph says {}: {}",
            label(word),
            listed(heard.iter().map(|(name, _)| label(name)))
        ),
    };
    let told = heard.iter().filter_map(|(_, check)| check.summary.as_ref()?.message.as_deref());
    let told = told.map(sentence).collect::<Vec<_>>().join("; ");
    report.found(severity, what, told, "search_logs pattern=ceph");
}

#[cfg(test)]
mod tests {
    use pve_client::ceph::{Check, Health, Status, Summary};

    use super::*;

    fn report(ceph: Result<Option<Status>, String>) -> Report {
        let mut report = Report::default();
        check(&Facts { ceph, ..Facts::nothing() }, &mut report);
        report
    }

    fn status(word: &str, checks: &[(&str, &str, bool)]) -> Status {
        let check = |(name, message, muted): &(&str, &str, bool)| {
            let summary = Some(Summary { message: Some((*message).to_owned()) });
            ((*name).to_owned(), Check { summary, muted: Some(*muted), ..Check::default() })
        };
        let checks = checks.iter().map(check).collect();
        Status { health: Some(Health { status: Some(word.to_owned()), checks }) }
    }

    #[test]
    fn what_ceph_says_is_passed_on_without_what_was_muted() {
        let checks = [("OSD_DOWN", "1 osds down", false), ("POOL_NO_REDUNDANCY", "x", true)];
        let report = report(Ok(Some(status("HEALTH_WARN", &checks))));
        assert_eq!(
            report.findings(),
            [(Severity::Warning, "Ceph says HEALTH_WARN: OSD_DOWN", "1 osds down")]
        );
    }

    #[test]
    fn an_error_is_critical_and_well_is_well() {
        assert_eq!(report(Ok(Some(status("HEALTH_ERR", &[])))).findings()[0].0, Severity::Critical);
        let well = report(Ok(Some(status("HEALTH_OK", &[]))));
        assert!(well.findings().is_empty());
        assert_eq!(well.was_checked(), "Ceph");
    }

    #[test]
    fn no_ceph_is_no_finding_and_silent_ceph_is_not_called_well() {
        let none = report(Ok(None));
        assert!(none.was_checked().is_empty() && none.not_checked().is_empty());
        assert_eq!(report(Err("no answer in time".to_owned())).not_checked().len(), 1);
        assert_eq!(report(Ok(Some(Status::default()))).not_checked().len(), 1);
    }
}
