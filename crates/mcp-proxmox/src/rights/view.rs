//! What a token sees of a cluster, in words: what there is to see, how much of it this token sees, and which
//! tools show less for it.

use super::{
    Extent, Rights,
    need::{Holding, NEEDS, Need},
};
use crate::tier::Level;

/// How many paths are named.
const PATHS: usize = 6;

/// How much of one thing a token sees.
#[derive(Debug)]
pub struct Seen {
    /// What there is to see.
    pub need: &'static Need,
    /// How much of it.
    pub seen: String,
    /// What is missing, and where. `None` where all is seen.
    pub missing: Option<String>,
    /// Whether it sees nothing of it.
    pub is_nothing: bool,
}

/// How much a token with these rights sees of each thing that matters to `tools` in this tier.
pub fn seen(rights: &Rights, level: Level, tools: &[&str]) -> Vec<Seen> {
    let matters =
        |need: &&Need| need.level <= level && need.tools().any(|tool| tools.contains(&tool));
    NEEDS.iter().filter(matters).map(|need| of_need(rights, need)).collect()
}

fn of_need(rights: &Rights, need: &'static Need) -> Seen {
    let (mut missing, mut nothing, mut partly) = (Vec::new(), false, Vec::new());
    for Holding { root, any_of } in need.all_of {
        let names = any_of.join(" or ");
        // Of the cluster as a whole there is no part.
        let is_whole = *root == "/";
        if is_whole && rights.has("/", any_of) {
            continue;
        }
        let mut lacking = (*root).to_owned();
        match rights.extent(root, any_of) {
            Extent::All => continue,
            _ if is_whole => partly.push("the cluster as a whole is hidden".to_owned()),
            Extent::AllBut(paths) => {
                partly.push(format!("all but {}", listed(&paths)));
                lacking = match paths.as_slice() {
                    [path] => crate::answer::clean::label(path),
                    _ => format!("those of {root}"),
                };
            }
            Extent::Only(paths) => partly.push(format!("only {}", listed(&paths))),
            Extent::None => nothing = true,
        }
        missing.push(format!("{names} on {lacking}"));
    }
    let seen = match (nothing, partly.is_empty()) {
        (true, _) => "nothing".to_owned(),
        (false, true) => "all".to_owned(),
        (false, false) => partly.join("; "),
    };
    let missing = (!missing.is_empty()).then(|| missing.join(" and "));
    Seen { need, seen, missing, is_nothing: nothing }
}

/// The first of these paths.
pub(super) fn listed(paths: &[String]) -> String {
    let named = paths.iter().take(PATHS).map(|path| crate::answer::clean::label(path));
    let named = named.collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(PATHS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The privileges by path, where they differ from what is above. Sets that all is in, or that are those of
/// a well-known role, have its name.
pub fn by_path(rights: &Rights) -> Vec<(String, String)> {
    let differs = rights.0.iter().filter(|(path, held)| {
        let above = (path.as_str() != "/").then(|| rights.0.get(super::parent(path))).flatten();
        above != Some(held)
    });
    differs.map(|(path, held)| (crate::answer::clean::label(path), in_words(held))).collect()
}

/// PVE 9.2's own count of its privileges (recorded).
const EVERYTHING: usize = 47;
/// What `PVEAuditor` holds in PVE 9.2 (recorded).
pub(crate) const AUDITOR: [&str; 7] = [
    "Datastore.Audit",
    "Mapping.Audit",
    "Pool.Audit",
    "SDN.Audit",
    "Sys.Audit",
    "VM.Audit",
    "VM.GuestAgent.Audit",
];

fn in_words(held: &pve_client::access::Held) -> String {
    let names: Vec<String> = held.keys().map(|name| crate::answer::clean::label(name)).collect();
    let here_only = held.values().any(|below| !below);
    let words = if names.len() >= EVERYTHING {
        format!("everything ({} privileges)", names.len())
    } else if names.iter().map(String::as_str).eq(AUDITOR) {
        format!("PVEAuditor ({})", names.join(", "))
    } else {
        names.join(", ")
    };
    if here_only { format!("{words}; in part not below it") } else { words }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{catalog::ALL, rights::mending::mending};

    fn rights(paths: &[&str], privileges: &[&str]) -> Rights {
        let held: BTreeMap<String, bool> =
            privileges.iter().map(|name| ((*name).to_owned(), true)).collect();
        Rights(paths.iter().map(|path| ((*path).to_owned(), held.clone().into())).collect())
    }

    fn tools() -> Vec<&'static str> {
        ALL.iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn an_auditor_lacks_what_is_not_only_looking() {
        let auditor = rights(&["/", "/nodes", "/pool", "/sdn", "/storage", "/vms"], &AUDITOR);
        let all: Vec<&str> = NEEDS.iter().flat_map(Need::tools).collect();
        let seen = seen(&auditor, Level::Read, &all);
        let less: Vec<&str> =
            seen.iter().filter(|seen| seen.missing.is_some()).map(|seen| seen.need.what).collect();
        assert_eq!(
            less,
            [
                "system logs and the cluster log",
                "consoles and screens",
                "backups",
                "pending updates"
            ]
        );
        let lines = mending(&auditor, &seen, "mcp@pve!monitor").lines;
        assert!(lines[0].starts_with("pveum role add MCPSyslog --privs 'Sys.Syslog'"), "{lines:?}");
        assert_eq!(
            lines[1],
            "pveum acl modify / --users 'mcp@pve' --tokens 'mcp@pve!monitor' --roles MCPSyslog"
        );
        assert!(lines.iter().all(|line| !line.contains("PVEAuditor")));
        assert_eq!(by_path(&auditor).len(), 1, "what is the same below is told once");
    }

    #[test]
    fn one_guest_and_one_node_are_named() {
        let some = rights(&["/vms/100", "/nodes/pve1"], &["VM.Audit", "Sys.Audit"]);
        let seen = seen(&some, Level::Read, &tools());
        assert_eq!(seen[0].seen, "only /vms/100");
        assert_eq!(seen[0].missing.as_deref(), Some("VM.Audit on /vms"));
        assert_eq!(seen[1].seen, "only /nodes/pve1; the cluster as a whole is hidden");
        assert!(seen[2].is_nothing && seen[2].need.is_basic);
        assert!(mending(&some, &seen, "a@pve!b").lines[0].ends_with("--roles PVEAuditor"));
    }
}
