//! `docs/pve-behaviour.md`: what Proxmox VE does that others stumbled over, and what this server does about it.
//!
//! `behaviour.tsv` has a line for each case: its number, its subject, what PVE does, what we do, and where it was
//! seen. **Invariant:** a case is in the table if, and only if, a test carries its number or [`NOT_APPLICABLE`]
//! says why none does.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use super::{NOT_APPLICABLE, tested};
use crate::documents::keep_current;

const TABLE: &str = include_str!("behaviour.tsv");

struct Case {
    id: &'static str,
    subject: &'static str,
    pve: &'static str,
    we: &'static str,
    seen: &'static str,
}

fn cases() -> Vec<Case> {
    let read = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [id, subject, pve, we, seen] = cells[..] else {
            panic!("a line of behaviour.tsv has five cells: {line}")
        };
        Case { id, subject, pve, we, seen }
    };
    TABLE.lines().map(read).collect()
}

#[test]
fn the_table_has_every_case_that_is_tested_or_cannot_arise_and_no_other() {
    let tested: BTreeSet<String> = tested().into_iter().map(|(id, _)| id).collect();
    let mut listed = BTreeSet::new();
    for case in cases() {
        let is_tested = tested.contains(case.id);
        let cannot_arise = NOT_APPLICABLE.iter().any(|(id, _)| *id == case.id);
        assert!(is_tested || cannot_arise, "{}: no test carries this number", case.id);
        assert_eq!(case.we.is_empty(), cannot_arise, "{}: say what we do", case.id);
        assert!(!case.pve.is_empty() && !case.seen.is_empty(), "{}", case.id);
        assert!(listed.insert(case.id.to_owned()), "{} is there twice", case.id);
    }
    let missing: Vec<&String> = tested.difference(&listed).collect();
    assert!(missing.is_empty(), "write lines for {missing:?} into behaviour.tsv");
    for (id, _) in NOT_APPLICABLE {
        assert!(listed.contains(*id), "write a line for {id} into behaviour.tsv");
    }
}

#[test]
fn the_page_on_pves_behaviour_is_current() {
    let tests: BTreeMap<String, String> = tested().into_iter().collect();
    let cases = cases();
    let mut text = format!(
        "# What Proxmox VE does, and what this server does about it\n\n\
         {} traps that programs met which talk to Proxmox VE: in reports of their users, or in its own code. Each is tried \
         by a test, which serves the answer that went wrong elsewhere and looks at what comes out; `cargo test NUMBER` (as \
         in `cargo test q019`) runs it. Made from `crates/mcp-proxmox/tests/it/cases/behaviour.tsv` by the test \
         `the_page_on_pves_behaviour_is_current`.\n",
        cases.len()
    );
    let mut subject = "";
    for case in cases {
        if case.subject != subject {
            subject = case.subject;
            let _ = write!(
                text,
                "\n## {}{}\n\n| case | Proxmox VE | this server | test | seen in |\n|---|---|---|---|---|\n",
                subject[..1].to_uppercase(),
                &subject[1..]
            );
        }
        let cannot_arise = NOT_APPLICABLE.iter().find(|(id, _)| *id == case.id);
        let we = match cannot_arise {
            Some((_, reason)) => format!("does not meet it: {reason}"),
            None => case.we.to_owned(),
        };
        // The name of a test is a sentence behind its number.
        let test = tests.get(case.id).and_then(|name| name.split_once('_'));
        let test = test.map_or(String::new(), |(_, sentence)| sentence.replace('_', " "));
        let Case { id, pve, seen, .. } = case;
        let _ = writeln!(text, "| {id} | {pve} | {we} | {test} | {seen} |");
    }
    keep_current("pve-behaviour.md", &text);
}
