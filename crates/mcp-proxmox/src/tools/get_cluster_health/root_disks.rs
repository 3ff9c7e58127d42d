//! Root file systems of nodes that are nearly full: a node without space there stops working oddly.

use super::{
    facts::Facts,
    report::{Report, Severity, are, listed},
};
use crate::{
    answer::{Percent, Share},
    in_order::InOrder as _,
};

/// From here on a node is about to fail, in percent.
const CRITICAL: f64 = 95.0;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut known = 0;
    let mut found: Vec<(f64, &str, Share)> = Vec::new();
    for node in facts.online() {
        let Some(share) = Share::new(node.listed.disk, node.listed.maxdisk) else {
            report.missed_on(&node.name, "root disks", super::memory::HIDDEN);
            continue;
        };
        known += 1;
        let percent = share.percent().map_or(0.0, Percent::value);
        if percent >= facts.limits.full {
            found.push((percent, node.name.as_str(), share));
        }
    }
    if known > 0 {
        report.checked("root disks");
    }
    found.order_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let Some((fullest, first, _)) = found.first() else { return };
    let severity = if *fullest >= CRITICAL { Severity::Critical } else { Severity::Warning };
    let what = format!(
        "{} nearly full: {}",
        are(found.len(), "root disk"),
        listed(found.iter().map(|(_, name, _)| name))
    );
    let evidence = listed(found.iter().map(|(_, name, share)| format!("{name} {share}")));
    report.found(severity, what, evidence, format!("get_node_status node={first}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_root_disks_are_told_the_fullest_first_and_hidden_ones_are_not_well() {
        let mut facts = Facts::of_nodes(&["a", "b", "c"]);
        for (node, used) in facts.nodes.iter_mut().zip([Some(88), Some(96), None]) {
            (node.listed.disk, node.listed.maxdisk) = (used, used.map(|_| 100));
        }
        let mut report = Report::default();
        check(&facts, &mut report);
        assert_eq!(
            report.findings(),
            [(
                Severity::Critical,
                "2 root disks are nearly full: b, a",
                "b 96 of 100 B (96.0%), a 88 of 100 B (88.0%)"
            )]
        );
        assert!(report.not_checked()[0].starts_with("root disks of c: "));
        facts.limits.full = 97.0;
        let mut report = Report::default();
        check(&facts, &mut report);
        assert!(report.findings().is_empty());
    }
}
