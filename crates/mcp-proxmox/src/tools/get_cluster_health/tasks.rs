//! Tasks of the last day that failed or warned, one finding for each type.

use std::collections::BTreeMap;

use pve_client::task::Listed;

use super::{
    facts::{Facts, node::TASKS},
    report::{Report, Severity, counted, listed},
};
use crate::{
    answer::clean::label,
    in_order::InOrder as _,
    logs::tasks::{Outcome, is_console},
};

/// Tasks that ended so many seconds ago count.
const DAY: i64 = 86_400;
/// How many types of failed tasks are told.
const TYPES: usize = 8;

pub(super) fn check(facts: &Facts, report: &mut Report) {
    let mut known = 0;
    let mut groups: BTreeMap<(u8, String), Vec<&Listed>> = BTreeMap::new();
    for (node, said) in facts.nodes.iter().filter_map(|node| Some((node, node.said.as_ref()?))) {
        let tasks = match &said.tasks {
            Ok(tasks) => tasks,
            Err(reason) => {
                report.missed_on(&node.name, "failed tasks", reason);
                continue;
            }
        };
        known += 1;
        if tasks.len() >= TASKS as usize {
            let reason = format!("only the newest {TASKS} of a node are read");
            report.missed_on(&node.name, "older failed tasks", &reason);
        }
        for task in tasks {
            let ended = task.endtime.or(task.starttime).unwrap_or_default();
            let kind = task.kind.as_deref().map(label).unwrap_or_default();
            let rank = match Outcome::of(task) {
                Outcome::Error => 0,
                Outcome::Unknown => 1,
                Outcome::Warning => 2,
                Outcome::Ok | Outcome::Running => continue,
            };
            if !is_console(&kind) && facts.now.saturating_sub(ended) <= DAY {
                groups.entry((rank, kind)).or_default().push(task);
            }
        }
    }
    if known > 0 {
        report.checked("tasks of the last 24 h");
    }
    let n_left = groups.len().saturating_sub(TYPES);
    for ((rank, kind), mut tasks) in groups.into_iter().take(TYPES) {
        tasks.order_by_key(|task| std::cmp::Reverse(task.endtime));
        let (severity, verb) = match rank {
            0 => (Severity::Warning, "failed"),
            1 => (Severity::Warning, "ended in an unknown way"),
            _ => (Severity::Notice, "ended with warnings"),
        };
        let what = format!("{} {verb}", counted(tasks.len(), &format!("{kind} task")));
        let next = tasks.first().and_then(|task| task.upid.as_ref());
        let next = next.map(|upid| format!("get_task upid={upid}"));
        report.found(
            severity,
            what,
            evidence(&tasks),
            next.unwrap_or_else(|| format!("list_tasks type={kind}")),
        );
    }
    if n_left > 0 {
        let reason = "list_tasks with outcome=error shows them";
        report.missed(format!("{n_left} more types of failed tasks"), reason);
    }
}

/// What they are about, and how they ended: each text once.
fn evidence(tasks: &[&Listed]) -> String {
    let mut ends: Vec<(String, Vec<String>)> = Vec::new();
    for task in tasks {
        let end = task.exit().map_or_else(|| "no status".to_owned(), label);
        let node = task.node.as_ref().map(ToString::to_string).unwrap_or_default();
        let about = match task.id.as_deref().filter(|id| !id.is_empty()) {
            Some(id) => format!("{} on {node}", label(id)),
            None => node,
        };
        match ends.iter_mut().find(|(known, _)| *known == end) {
            Some((_, abouts)) if abouts.contains(&about) => {}
            Some((_, abouts)) => abouts.push(about),
            None => ends.push((end, vec![about])),
        }
    }
    let n_more = ends.len().saturating_sub(3);
    let told = ends.into_iter().take(3).map(|(end, abouts)| format!("{}: {end}", listed(abouts)));
    let told = told.collect::<Vec<_>>().join("; ");
    if n_more > 0 { format!("{told}; and {n_more} other errors") } else { told }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(kind: &str, id: &str, status: &str, age: i64) -> Listed {
        Listed {
            node: "a".parse().ok(),
            kind: Some(kind.to_owned()),
            id: Some(id.to_owned()),
            status: Some(status.to_owned()),
            starttime: Some(1_800_000_000 - age - 60),
            endtime: Some(1_800_000_000 - age),
            ..Listed::default()
        }
    }

    fn report(tasks: Vec<Listed>) -> Report {
        let mut facts = Facts::of_nodes(&["a"]);
        facts.nodes[0].said().tasks = Ok(tasks);
        let mut report = Report::default();
        check(&facts, &mut report);
        report
    }

    #[test]
    fn failures_are_grouped_by_type_and_their_texts_told_once() {
        let report = report(vec![
            task("qmstart", "125", "storage 'nas' is not online", 100),
            task("qmstart", "125", "storage 'nas' is not online", 200),
            task("qmstart", "126", "no such disk", 300),
            task("vzdump", "", "job errors", 400),
            task("vzstart", "204", "WARNINGS: 1", 500),
        ]);
        let found = report.findings();
        assert_eq!(
            found[0],
            (
                Severity::Warning,
                "3 qmstart tasks failed",
                "125 on a: storage 'nas' is not online; 126 on a: no such disk"
            )
        );
        assert_eq!((found[1].1, found[1].2), ("1 vzdump task failed", "a: job errors"));
        assert_eq!(
            (found[2].0, found[2].1),
            (Severity::Notice, "1 vzstart task ended with warnings")
        );
    }

    #[test]
    fn what_is_older_than_a_day_or_a_console_is_none() {
        let old = task("vzdump", "", "job errors", DAY + 1);
        let console = task("vncproxy", "100", "connection timed out", 10);
        let killed = task("qmstop", "100", "unexpected status", 10);
        let report = report(vec![old, console, killed]);
        assert_eq!(report.findings().len(), 1);
        assert_eq!(report.findings()[0].1, "1 qmstop task ended in an unknown way");
    }

    #[test]
    fn hidden_tasks_and_full_lists_are_told() {
        let many = report(vec![task("qmstart", "1", "x", 1); TASKS as usize]);
        assert!(many.not_checked()[0].starts_with("older failed tasks of a"), "{many:?}");
        let mut facts = Facts::of_nodes(&["a"]);
        facts.nodes[0].said().tasks = Err("hidden".to_owned());
        let mut report = Report::default();
        check(&facts, &mut report);
        assert_eq!(
            (report.not_checked(), report.was_checked()),
            (vec!["failed tasks of a: hidden".to_owned()], String::new())
        );
    }
}
