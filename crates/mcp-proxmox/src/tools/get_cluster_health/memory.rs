//! Memory of nodes: what is used, what is swapped out, and what guests may still ask for.

use std::collections::BTreeMap;

use super::{
    facts::Facts,
    report::{Report, Severity, are, listed},
};
use crate::{
    answer::{Bytes, Percent, Share},
    in_order::InOrder as _,
};

/// From here on guests are killed any time, in percent.
const CRITICAL: f64 = 97.0;
/// From here on swapping slows a node down, in percent of its swap.
const SWAP: f64 = 50.0;
/// Why figures of a node that is online are missing.
pub(super) const HIDDEN: &str = "PVE shows no figures of the node: this token needs Sys.Audit on /nodes, or pvestatd there is dead";

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut known = 0;
    let mut short: Vec<(f64, &str, Share)> = Vec::new();
    for node in facts.online() {
        let Some(share) = Share::new(node.listed.mem, node.listed.maxmem) else {
            report.missed_on(&node.name, "memory", HIDDEN);
            continue;
        };
        known += 1;
        let percent = share.percent().map_or(0.0, Percent::value);
        if percent >= facts.limits.memory {
            short.push((percent, node.name.as_str(), share));
        }
    }
    if known > 0 {
        report.checked("memory");
    }
    short.order_by(|(a, ..), (b, ..)| b.total_cmp(a));
    if let Some((most, first, _)) = short.first() {
        let severity = if *most >= CRITICAL.max(facts.limits.memory) {
            Severity::Critical
        } else {
            Severity::Warning
        };
        let what = format!(
            "{} short of memory: {}",
            are(short.len(), "node"),
            listed(short.iter().map(|(_, name, _)| name))
        );
        let evidence = listed(short.iter().map(|(_, name, share)| format!("{name} {share}")));
        report.found(severity, what, evidence, format!("list_vms node={first} sort=memory"));
    }
    swap(facts, report);
    promised(facts, report);
}

fn swap(facts: &Facts, report: &mut Report) {
    let mut known = 0;
    let mut found: Vec<(&str, Share)> = Vec::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        match &said.status {
            Ok(status) => {
                known += 1;
                let swap = status.swap.as_ref();
                let share = swap.and_then(|swap| Share::new(swap.used, swap.total));
                let is_much = |share: &Share| share.percent().is_some_and(|of| of.value() >= SWAP);
                found.extend(share.filter(is_much).map(|share| (node.name.as_str(), share)));
            }
            Err(reason) => report.missed_on(&node.name, "swap", reason),
        }
    }
    if known > 0 {
        report.checked("swap");
    }
    if let Some((first, _)) = found.first() {
        let what = format!("swap is used much on {}", listed(found.iter().map(|(name, _)| name)));
        let evidence = listed(found.iter().map(|(name, share)| format!("{name} {share}")));
        report.found(
            Severity::Warning,
            what,
            evidence,
            format!("list_vms node={first} sort=memory"),
        );
    }
}

/// Running guests that together may take more than their node has.
fn promised(facts: &Facts, report: &mut Report) {
    let mut by_node: BTreeMap<&str, u64> = BTreeMap::new();
    let running =
        facts.guests.iter().flatten().filter(|guest| guest.status.as_deref() == Some("running"));
    for guest in running {
        if let (Some(node), Some(memory)) = (&guest.node, guest.maxmem) {
            let sum = by_node.entry(node.as_str()).or_default();
            *sum = sum.saturating_add(memory);
        }
    }
    let over = facts.online().filter_map(|node| {
        let (promised, there) = (*by_node.get(node.name.as_str())?, node.listed.maxmem?);
        (there > 0 && promised > there).then(|| (node.name.as_str(), promised, there))
    });
    let over: Vec<_> = over.collect();
    if let Some((first, ..)) = over.first() {
        let what = format!(
            "running guests may take more memory than there is on {}",
            listed(over.iter().map(|(name, ..)| name))
        );
        let evidence = listed(over.iter().map(|(name, promised, there)| {
            format!("{name} promises {} of {}", Bytes(*promised), Bytes(*there))
        }));
        report.found(
            Severity::Notice,
            what,
            evidence,
            format!("list_vms node={first} sort=memory"),
        );
    }
}

#[cfg(test)]
mod tests {
    use pve_client::{
        guest::Listed,
        node::{Space, Status},
    };

    use super::*;

    const GIB: u64 = 1 << 30;

    fn report(facts: &Facts) -> Report {
        let mut report = Report::default();
        check(facts, &mut report);
        report
    }

    fn with_memory(used: u64) -> Facts {
        let mut facts = Facts::of_nodes(&["a"]);
        (facts.nodes[0].listed.mem, facts.nodes[0].listed.maxmem) = (Some(used), Some(100 * GIB));
        facts
    }

    #[test]
    fn short_memory_is_told_from_the_limit_on() {
        assert!(report(&with_memory(89 * GIB)).findings().is_empty());
        let found = report(&with_memory(91 * GIB));
        assert_eq!(
            found.findings(),
            [(Severity::Warning, "1 node is short of memory: a", "a 91.0 of 100.0 GiB (91.0%)")]
        );
        assert_eq!(report(&with_memory(98 * GIB)).findings()[0].0, Severity::Critical);
    }

    #[test]
    fn swap_counts_from_half_of_it_on_and_none_is_no_problem() {
        let mut facts = with_memory(GIB);
        let swap = |used, total| {
            let swap = Some(Space { used: Some(used), total: Some(total), ..Space::default() });
            Ok(Status { swap, ..Status::default() })
        };
        for (used, total, n) in [(0, 0, 0), (3 * GIB, 8 * GIB, 0), (6 * GIB, 8 * GIB, 1)] {
            facts.nodes[0].said().status = swap(used, total);
            assert_eq!(report(&facts).findings().len(), n, "{used} of {total}");
        }
    }

    #[test]
    fn what_running_guests_may_take_is_added_up() {
        let mut facts = with_memory(GIB);
        let guest = |status: &str| Listed {
            node: "a".parse().ok(),
            status: Some(status.into()),
            maxmem: Some(60 * GIB),
            ..Listed::default()
        };
        facts.guests = Ok(vec![guest("running"), guest("stopped")]);
        assert!(report(&facts).findings().is_empty());
        facts.guests = Ok(vec![guest("running"), guest("running")]);
        let found = report(&facts);
        assert_eq!(found.findings()[0].0, Severity::Notice);
        assert_eq!(found.findings()[0].2, "a promises 120.0 GiB of 100.0 GiB");
    }

    #[test]
    fn hidden_figures_are_not_called_well() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.nodes[0].said().status = Err("no right".to_owned());
        let report = report(&facts);
        assert!(report.was_checked().is_empty());
        assert_eq!(report.not_checked().len(), 2, "{report:?}");
    }
}
