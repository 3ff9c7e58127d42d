//! Clocks of nodes that differ: corosync, Ceph and tokens take badly to it.

use super::{
    facts::Facts,
    report::{Report, Severity, listed},
};

/// From here on clocks of nodes differ, in seconds. What lies between two questions is less.
const APART: i64 = 5;
/// From here on our own clock is told to be off, in seconds.
const OURS: i64 = 60;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut clocks: Vec<(i64, &str)> = Vec::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        match &said.ahead {
            Ok(ahead) => clocks.push((*ahead, node.name.as_str())),
            Err(reason) => report.missed_on(&node.name, "clocks", reason),
        }
    }
    clocks.sort_unstable();
    let (Some((least, _)), Some((most, _))) = (clocks.first(), clocks.last()) else { return };
    report.checked("clocks");
    let median = clocks.get(clocks.len() / 2).map_or(0, |(ahead, _)| *ahead);
    if most - least > APART {
        let odd: Vec<_> =
            clocks.iter().filter(|(ahead, _)| (ahead - median).abs() > APART / 2).collect();
        let what = format!(
            "the clocks of the nodes are up to {} s apart: {}",
            most - least,
            listed(odd.iter().map(|(_, name)| name))
        );
        let evidence = listed(odd.iter().map(|(ahead, name)| {
            let (by, which) =
                ((ahead - median).abs(), if *ahead > median { "ahead of" } else { "behind" });
            format!("{name} is {by} s {which} most nodes")
        }));
        let next = odd.first().map(|(_, name)| format!("get_system_log node={name} unit=chrony"));
        report.found(Severity::Warning, what, evidence, next.unwrap_or_default());
    }
    if median.abs() > OURS {
        let which = if median > 0 { "behind" } else { "ahead of" };
        let what = format!(
            "the clock of the machine that runs this server is {} s {which} the cluster's",
            median.abs()
        );
        let evidence = "times such as `2h` count from it, so that they miss by as much";
        report.found(Severity::Notice, what, evidence, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ahead: &[i64]) -> Report {
        let mut facts = Facts::of_nodes(&["a", "b", "c", "d"]);
        for (node, ahead) in facts.nodes.iter_mut().zip(ahead) {
            node.said().ahead = Ok(*ahead);
        }
        let mut report = Report::default();
        check(&facts, &mut report);
        report
    }

    #[test]
    fn the_node_that_differs_is_named_and_a_second_is_none() {
        assert!(report(&[0, 1, -1, 0]).findings().is_empty());
        let found = report(&[0, 95, 1, 0]);
        assert_eq!(
            found.findings(),
            [(
                Severity::Warning,
                "the clocks of the nodes are up to 95 s apart: b",
                "b is 94 s ahead of most nodes"
            )]
        );
    }

    #[test]
    fn where_all_nodes_agree_it_is_our_clock_that_is_off() {
        let found = report(&[-7200, -7201, -7200, -7200]);
        assert_eq!(found.findings().len(), 1);
        assert_eq!(found.findings()[0].0, Severity::Notice);
        assert!(found.findings()[0].1.contains("7200 s ahead of the cluster's"), "{found:?}");
    }

    #[test]
    fn hidden_clocks_are_not_called_well() {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.nodes[0].said().ahead = Err("no".to_owned());
        let mut report = Report::default();
        check(&facts, &mut report);
        assert_eq!(
            (report.not_checked(), report.was_checked()),
            (vec!["clocks of a: no".to_owned()], String::new())
        );
    }
}
