//! Certificates that have ended, or will within a month.

use super::{
    facts::Facts,
    report::{Report, Severity, counted, listed},
};
use crate::answer::clean::label;

/// Certificates that end within so many days are told.
const DAYS: i64 = 30;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut known = 0;
    let mut found: Vec<(i64, String, &str)> = Vec::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        let certificates = match &said.certificates {
            Ok(certificates) => certificates,
            Err(reason) => {
                report.missed_on(&node.name, "certificates", reason);
                continue;
            }
        };
        known += 1;
        for certificate in certificates {
            let Some(end) = certificate.notafter else { continue };
            let days = end.saturating_sub(facts.now).div_euclid(86_400);
            let file =
                certificate.filename.as_deref().map_or_else(|| "a certificate".to_owned(), label);
            // Every node has the cluster's authority.
            let name =
                if file == "pve-root-ca.pem" { file } else { format!("{file} on {}", node.name) };
            if days <= DAYS && !found.iter().any(|(_, known, _)| *known == name) {
                found.push((days, name, node.name.as_str()));
            }
        }
    }
    if known > 0 {
        report.checked("certificates");
    }
    found.sort();
    let (ended, ending): (Vec<_>, Vec<_>) = found.into_iter().partition(|(days, ..)| *days < 0);
    for (severity, verb, found) in
        [(Severity::Critical, "ended", ended), (Severity::Warning, "ending soon", ending)]
    {
        let Some((_, _, node)) = found.first() else { continue };
        let what = format!(
            "{} {verb}: {}",
            counted(found.len(), "certificate"),
            listed(found.iter().map(|(_, name, _)| name))
        );
        let evidence = listed(found.iter().map(|(days, name, _)| match days {
            ..0 => format!("{name} ended {} ago", counted(days_of(-days), "day")),
            _ => format!("{name} ends in {}", counted(days_of(*days), "day")),
        }));
        report.found(severity, what, evidence, format!("get_node_status node={node}"));
    }
}

fn days_of(days: i64) -> usize {
    usize::try_from(days).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pve_client::node::CertificateInfo;

    use super::*;

    #[test]
    fn ended_and_ending_certificates_are_told_and_the_authority_once() {
        let mut facts = Facts::of_nodes(&["a", "b", "c"]);
        let certificate = |file: &str, days: i64| CertificateInfo {
            filename: Some(file.to_owned()),
            notafter: Some(1_800_000_000 + days * 86_400 + 60),
            ..CertificateInfo::default()
        };
        for node in &mut facts.nodes {
            node.said().certificates =
                Ok(vec![certificate("pve-root-ca.pem", 20), certificate("pve-ssl.pem", 400)]);
        }
        facts.nodes[1].said().certificates = Ok(vec![certificate("pveproxy-ssl.pem", -3)]);
        facts.nodes[2].said().certificates = Err("no".to_owned());
        let mut report = Report::default();
        check(&facts, &mut report);
        assert_eq!(
            report.findings(),
            [
                (
                    Severity::Critical,
                    "1 certificate ended: pveproxy-ssl.pem on b",
                    "pveproxy-ssl.pem on b ended 3 days ago"
                ),
                (
                    Severity::Warning,
                    "1 certificate ending soon: pve-root-ca.pem",
                    "pve-root-ca.pem ends in 20 days"
                ),
            ]
        );
        assert_eq!(report.not_checked(), ["certificates of c: no"]);
    }
}
