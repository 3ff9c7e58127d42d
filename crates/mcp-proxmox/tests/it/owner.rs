//! The owner of a token, who types on a node what is told to mend what is missing.

use std::collections::BTreeMap;

use pve_sim::{Role, Sim};

/// The words of a command as a shell reads them.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(nth, part)| match nth % 2 {
        1 => vec![part],
        _ => part.split_whitespace().collect(),
    });
    words.collect()
}

/// Does on the simulated cluster what its owner would do by typing these lines on a node. As `pveum` does, it makes no role
/// twice, gives none that is not there, and gives what it gives beside what the same path gives already.
pub fn types(sim: &Sim, lines: &str) {
    let there = sim
        .change(|cluster| cluster.acl.iter().map(|entry| entry.role.clone()).collect::<Vec<_>>());
    let mut roles: BTreeMap<String, Role> =
        there.into_iter().chain([Role::auditor()]).map(|role| (role.name.clone(), role)).collect();
    for line in lines.lines() {
        let (command, comment) = line.split_once("   #").unwrap_or((line, ""));
        match words(command)[..] {
            ["pveum", "role", "add", name, "--privs", privileges] => {
                let privileges: Vec<&str> = privileges.split(' ').collect();
                if roles.contains_key(name) {
                    assert!(comment.contains("may be there already"), "{name} is there: {line}");
                    continue;
                }
                roles.insert(name.to_owned(), Role::new(name, &privileges));
            }
            [
                "pveum",
                "acl",
                "modify",
                path,
                "--users",
                user,
                "--tokens",
                token,
                "--roles",
                given,
            ] => {
                for name in given.split(',') {
                    let role =
                        roles.get(name).unwrap_or_else(|| panic!("there is no {name}: {lines}"));
                    sim.change(|cluster| {
                        cluster.grant(path, user, role.clone()).grant(path, token, role.clone());
                    });
                }
            }
            ref other => panic!("this cannot be typed: {other:?}"),
        }
    }
}
