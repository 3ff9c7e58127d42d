//! Nodes on which more waits for a processor than there are processors.

use super::{
    facts::Facts,
    report::{Report, Severity, are, listed},
};

use crate::in_order::InOrder as _;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut known = 0;
    let mut found: Vec<(f64, &str, f64, f64)> = Vec::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        let status = match &said.status {
            Ok(status) => status,
            Err(reason) => {
                report.missed_on(&node.name, "load", reason);
                continue;
            }
        };
        // Over fifteen minutes: a short peak is no problem.
        let threads = node.listed.maxcpu.filter(|threads| *threads > 0.0);
        let (Some(load), Some(threads)) = (status.loadavg.get(2), threads) else { continue };
        known += 1;
        if *load > threads {
            found.push((load / threads, node.name.as_str(), *load, threads));
        }
    }
    if known > 0 {
        report.checked("load");
    }
    found.order_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let Some((_, first, ..)) = found.first() else { return };
    let what = format!(
        "{} overloaded: {}",
        are(found.len(), "node"),
        listed(found.iter().map(|(_, name, ..)| name))
    );
    let evidence = listed(found.iter().map(|(_, name, load, threads)| {
        format!("{name}: load {load:.1} over 15 minutes on {threads} threads")
    }));
    report.found(Severity::Warning, what, evidence, format!("list_vms node={first} sort=cpu"));
}

#[cfg(test)]
mod tests {
    use pve_client::node::Status;

    use super::*;

    #[test]
    fn load_counts_over_fifteen_minutes_and_by_the_number_of_threads() {
        let mut facts = Facts::of_nodes(&["a", "b", "c"]);
        for (node, load) in
            facts.nodes.iter_mut().zip([[90.0, 20.0, 8.0], [1.0, 9.0, 17.5], [0.0; 3]])
        {
            node.listed.maxcpu = Some(16.0);
            node.said().status = Ok(Status { loadavg: load.to_vec(), ..Status::default() });
        }
        facts.nodes[2].said().status = Err("no".to_owned());
        let mut report = Report::default();
        check(&facts, &mut report);
        assert_eq!(
            report.findings(),
            [(
                Severity::Warning,
                "1 node is overloaded: b",
                "b: load 17.5 over 15 minutes on 16 threads"
            )]
        );
        assert_eq!(report.not_checked(), ["load of c: no"]);
    }
}
