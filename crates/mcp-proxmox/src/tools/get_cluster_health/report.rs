//! What the checks say, put together: findings by severity, and missing facts by reason.

use pve_client::NodeName;

use super::Output;
use crate::{
    answer::{Table, clean::paragraph},
    call::Limits,
    catalog::ALL,
    in_order::InOrder as _,
};

/// What nobody should take the report for.
const NEVER: &str = "Never looked at: disks (SMART, ZFS); networks (list_networks, get_network_stats); logs but the kernel's (search_logs severity=error)";
/// How many findings are shown. Checks fold what is alike, so that it takes a great disaster to pass this.
pub(super) const FINDINGS: usize = 40;
/// How many findings the whole report has at most.
pub(super) const WHOLE: usize = 1000;
/// How the summary says that there are more.
pub(super) const CUT: &str = "more are not shown";
/// How many things that were not looked at are told.
const MISSED: usize = 20;
/// How many things are named in one finding.
pub(super) const NAMED: usize = 6;

/// The next step of who may not read what the next step would be.
const LOGS_CLOSED: &str = "the node's journal, which this token may not read (get_access)";

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Severity {
    /// Something does not work, or soon will not.
    Critical,
    /// Something will break, or is not as it should be.
    Warning,
    /// Worth knowing.
    Notice,
}

/// Something that is wrong.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    /// One sentence, which names what it is about.
    pub(super) what: String,
    /// What it was seen by.
    pub(super) evidence: String,
    /// The tool to call next, with its arguments. Empty where none helps.
    pub(super) next: String,
}

/// What could not be looked at.
#[derive(Debug, PartialEq, Eq)]
struct Missed {
    what: String,
    node: Option<NodeName>,
    reason: String,
}

/// What the checks say.
#[derive(Debug, Default)]
pub(super) struct Report {
    findings: Vec<Finding>,
    checked: Vec<String>,
    missed: Vec<Missed>,
}

impl Report {
    /// Something is wrong.
    pub(super) fn found(
        &mut self,
        severity: Severity,
        what: impl Into<String>,
        evidence: impl Into<String>,
        next: impl Into<String>,
    ) {
        let (what, evidence, next) = (what.into(), evidence.into(), next.into());
        self.findings.push(Finding { severity, what, evidence, next });
    }

    /// This was looked at.
    pub(super) fn checked(&mut self, what: impl Into<String>) {
        self.checked.push(what.into());
    }

    /// This could not be looked at.
    pub(super) fn missed(&mut self, what: impl Into<String>, reason: &str) {
        self.missed.push(Missed { what: what.into(), node: None, reason: reason.to_owned() });
    }

    /// This could not be looked at on one node.
    pub(super) fn missed_on(&mut self, node: &NodeName, what: &str, reason: &str) {
        // The same privilege is missing on each node's own path.
        let reason = reason.replace(&format!("/nodes/{node}"), "/nodes/NODE");
        self.missed.push(Missed { what: what.to_owned(), node: Some(node.clone()), reason });
    }

    /// What is told, with so many findings at most. A journal is no next step for those who may not read it, and a tool
    /// that is not offered is none for anybody.
    pub(super) fn into_output(mut self, reads_logs: bool, most: usize, limits: &Limits) -> Output {
        if !reads_logs {
            for finding in &mut self.findings {
                if finding.next.starts_with("get_system_log") {
                    finding.next = LOGS_CLOSED.to_owned();
                }
            }
        }
        for Finding { next, .. } in &mut self.findings {
            let tool = next.split_once(' ').map_or(next.as_str(), |(tool, _)| tool);
            if ALL.iter().any(|entry| entry.name == tool) && !limits.may_use(tool) {
                next.clear();
            }
        }
        self.findings.order_by_key(|finding| finding.severity);
        let mut findings = Table::new(&["severity", "finding", "evidence", "next"]);
        for finding in self.findings.iter().take(most) {
            findings.push([
                finding.severity.word().into(),
                paragraph(&finding.what).into(),
                paragraph(&finding.evidence).into(),
                Some(paragraph(&finding.next)).filter(|next| !next.is_empty()).into(),
            ]);
        }
        let mut not_checked = fold(&self.missed);
        let summary = summary(&self.findings, not_checked.len(), most);
        if let Some(more) = not_checked.len().checked_sub(MISSED).filter(|more| *more > 0) {
            not_checked.truncate(MISSED);
            not_checked.push(format!("and {more} more"));
        }
        let checked =
            if self.checked.is_empty() { "nothing".to_owned() } else { self.checked.join("; ") };
        let checked = format!("{checked}. {NEVER}");
        Output { summary, findings, checked, not_checked }
    }

    #[cfg(test)]
    pub(super) fn findings(&self) -> Vec<(Severity, &str, &str)> {
        self.findings
            .iter()
            .map(|finding| (finding.severity, finding.what.as_str(), finding.evidence.as_str()))
            .collect()
    }

    #[cfg(test)]
    pub(super) fn not_checked(&self) -> Vec<String> {
        fold(&self.missed)
    }

    #[cfg(test)]
    pub(super) fn was_checked(&self) -> String {
        self.checked.join("; ")
    }
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

fn summary(findings: &[Finding], n_missed: usize, most: usize) -> String {
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    let counts = [Severity::Critical, Severity::Warning, Severity::Notice].map(|severity| {
        let n = count(severity);
        (n > 0).then(|| format!("{n} {}", severity.word()))
    });
    let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let cut = match findings.len().checked_sub(most) {
        Some(more) if more > 0 => format!("; {more} {CUT}, mend these first"),
        _ => String::new(),
    };
    match (counts.is_empty(), n_missed) {
        (true, 0) => "nothing was found in what was checked".to_owned(),
        (true, _) => {
            "nothing was found in what could be checked, and some could not: see not_checked"
                .to_owned()
        }
        (false, 0) => format!("{counts}{cut}"),
        (false, _) => format!("{counts}{cut}; some could not be checked: see not_checked"),
    }
}

/// One line for each reason, with all that it holds for.
fn fold(missed: &[Missed]) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<&str>, Vec<&NodeName>)> = Vec::new();
    for Missed { what, node, reason } in missed {
        let at = by_reason
            .iter()
            .position(|(known, _, nodes)| known == reason && nodes.is_empty() == node.is_none());
        let index = at.unwrap_or_else(|| {
            by_reason.push((reason, Vec::new(), Vec::new()));
            by_reason.len() - 1
        });
        let Some((_, whats, nodes)) = by_reason.get_mut(index) else { continue };
        if !whats.contains(&what.as_str()) {
            whats.push(what);
        }
        if let Some(node) = node.as_ref().filter(|node| !nodes.contains(node)) {
            nodes.push(node);
        }
    }
    let told = by_reason.into_iter().map(|(reason, whats, mut nodes)| {
        nodes.sort_unstable();
        let whats = whats.join(", ");
        let on = if nodes.is_empty() { String::new() } else { format!(" of {}", listed(nodes)) };
        paragraph(&format!("{whats}{on}: {reason}"))
    });
    told.collect()
}

/// The first few, and how many more there are.
pub(super) fn listed(names: impl IntoIterator<Item = impl ToString>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(NAMED).map(|name| name.to_string()).collect();
    let shown = shown.join(", ");
    // Of ten thousand names none is kept that is not shown.
    match names.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 node`, `2 nodes`.
pub(super) fn counted(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// `1 node is`, `2 nodes are`.
pub(super) fn are(n: usize, one: &str) -> String {
    format!("{} {}", counted(n, one), if n == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn structure(output: &Output) -> serde_json::Value {
        serde_json::to_value(output).unwrap()
    }

    #[test]
    fn nothing_found_is_never_said_without_what_was_not_looked_at() {
        let mut report = Report::default();
        report.checked("quorum");
        let whole = structure(&report.into_output(true, FINDINGS, &Limits::default()));
        assert_eq!(whole["summary"], "nothing was found in what was checked");
        assert!(whole.get("findings").is_none() && whole.get("not_checked").is_none());
        let mut report = Report::default();
        report.missed("quorum", "it is hidden");
        let partial = structure(&report.into_output(true, FINDINGS, &Limits::default()));
        assert!(partial["summary"].as_str().unwrap().contains("some could not"), "{partial}");
        assert_eq!(partial["checked"], format!("nothing. {NEVER}"));
        assert_eq!(partial["not_checked"], serde_json::json!(["quorum: it is hidden"]));
    }

    #[test]
    fn nobody_is_sent_to_a_journal_that_is_closed_to_them() {
        for reads_logs in [true, false] {
            let mut report = Report::default();
            report.found(Severity::Warning, "chrony", "", "get_system_log node=a unit=chrony");
            let output = structure(&report.into_output(reads_logs, FINDINGS, &Limits::default()));
            let next = output["findings"]["rows"][0][3].as_str().unwrap();
            assert_eq!(next.starts_with("get_system_log"), reads_logs, "{next}");
            assert!(reads_logs || next.contains("get_access"), "{next}");
        }
    }

    #[test]
    fn the_worst_comes_first_and_no_more_than_forty_are_shown() {
        let mut report = Report::default();
        for nth in 0..60 {
            let severity = [Severity::Notice, Severity::Critical, Severity::Warning][nth % 3];
            report.found(severity, format!("thing {nth}"), "", "");
        }
        let output = structure(&report.into_output(true, FINDINGS, &Limits::default()));
        let rows = output["findings"]["rows"].as_array().unwrap();
        assert_eq!(
            (rows.len(), &rows[0][0], &rows[20][0]),
            (40, &"critical".into(), &"warning".into())
        );
        assert_eq!(rows[0][1], "thing 1", "the order of the checks is kept");
        let summary = output["summary"].as_str().unwrap();
        assert!(summary.starts_with("20 critical, 20 warning, 20 notice; 20 more"), "{summary}");
    }

    #[test]
    fn a_reason_is_told_once_for_all_nodes() {
        let mut report = Report::default();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
            let node: NodeName = name.parse().unwrap();
            for what in ["load", "clocks"] {
                let lacks = format!("the API token lacks Sys.Audit on /nodes/{name} (403)");
                report.missed_on(&node, what, &lacks);
            }
        }
        report.missed("quorum", "no");
        assert_eq!(
            report.not_checked(),
            [
                "load, clocks of a, b, c, d, e, f and 2 more: the API token lacks Sys.Audit on /nodes/NODE (403)",
                "quorum: no"
            ]
        );
    }
}
