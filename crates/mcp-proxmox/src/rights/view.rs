//! What a token sees of a cluster, in words: what there is to see, how much of it this token sees, which
//! tools show less for it, and the commands that mend it.

use super::{Extent, Rights, grant};
use crate::tier::Level;

/// How many paths are named.
const PATHS: usize = 6;

/// Something that there is to see or to do.
#[derive(Debug)]
pub struct Need {
    /// What it is.
    pub what: &'static str,
    /// The tools that show less without it.
    pub tools: &'static [&'static str],
    /// The tier in which it matters.
    pub level: Level,
    /// Whether hardly anything works without it.
    pub is_basic: bool,
    /// All of these are needed.
    all_of: &'static [Holding],
    /// How it is mended.
    mend: Mend,
}

/// Any one of these privileges, on everything below this root.
#[derive(Debug)]
struct Holding {
    root: &'static str,
    any_of: &'static [&'static str],
}

/// What gives a privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mend {
    /// The role `PVEAuditor`, which changes nothing.
    Auditor,
    /// A role of one's own with these privileges.
    Own(&'static str),
    /// Not at all: what would let it see more lets it change too much.
    Not,
}

const fn on(root: &'static str, any_of: &'static [&'static str]) -> Holding {
    Holding { root, any_of }
}

/// Everything that a tool may need, from the most to the least important.
const NEEDS: [Need; 11] = [
    Need {
        what: "VMs and containers",
        tools: &[
            "list_vms",
            "get_vm_status",
            "get_vm_details",
            "get_metrics",
            "get_metrics_chart",
            "get_cluster_health",
            "get_task",
            "get_vm_console",
            "get_vm_screenshot",
            "start_vm",
            "stop_vm",
            "shutdown_vm",
            "reboot_vm",
            "reset_vm",
            "suspend_vm",
            "resume_vm",
            "send_vm_keys",
        ],
        level: Level::Read,
        is_basic: true,
        all_of: &[on("/vms", &["VM.Audit"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "nodes, quorum and the tasks of others",
        tools: &[
            "list_nodes",
            "get_node_status",
            "get_cluster_health",
            "get_network_stats",
            "list_tasks",
            "get_task",
            "search_logs",
            "get_metrics",
            "get_metrics_chart",
        ],
        level: Level::Read,
        is_basic: true,
        all_of: &[on("/nodes", &["Sys.Audit"]), on("/", &["Sys.Audit"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "storages",
        tools: &[
            "list_storage",
            "get_storage_status",
            "get_cluster_health",
            "get_metrics",
            "get_metrics_chart",
        ],
        level: Level::Read,
        is_basic: true,
        all_of: &[on("/storage", &["Datastore.Audit", "Datastore.AllocateSpace"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "networks: bridges, zones and what is on them",
        tools: &["list_networks"],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/sdn", &["SDN.Audit", "SDN.Use"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "pools",
        tools: &["list_vms"],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/pool", &["Pool.Audit"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "what guest agents tell",
        tools: &["get_vm_details", "get_network_stats"],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/vms", &["VM.GuestAgent.Audit", "VM.GuestAgent.Unrestricted", "VM.Monitor"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "system logs and the cluster log",
        tools: &["get_system_log", "search_logs", "get_cluster_health"],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/nodes", &["Sys.Syslog"]), on("/", &["Sys.Syslog"])],
        mend: Mend::Own("Sys.Syslog"),
    },
    Need {
        what: "consoles and screens",
        tools: &["get_vm_console", "get_vm_screenshot", "send_vm_keys"],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/vms", &["VM.Console"])],
        mend: Mend::Own("VM.Console"),
    },
    Need {
        what: "backups",
        tools: &["get_storage_status", "get_cluster_health"],
        level: Level::Read,
        is_basic: false,
        all_of: &[
            on("/storage", &["Datastore.AllocateSpace", "Datastore.Allocate"]),
            on("/vms", &["VM.Backup"]),
        ],
        mend: Mend::Own("Datastore.AllocateSpace VM.Backup"),
    },
    Need {
        what: "pending updates",
        tools: &["get_node_status"],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/nodes", &["Sys.Modify"])],
        mend: Mend::Not,
    },
    Need {
        what: "starting, stopping and what belongs to it",
        tools: &[
            "start_vm",
            "stop_vm",
            "shutdown_vm",
            "reboot_vm",
            "reset_vm",
            "suspend_vm",
            "resume_vm",
        ],
        level: Level::Write,
        is_basic: false,
        all_of: &[on("/vms", &["VM.PowerMgmt"])],
        mend: Mend::Own("VM.PowerMgmt"),
    },
];

/// What a tool needs, from the most to the least important.
pub fn needs_of(tool: &str) -> impl Iterator<Item = &'static Need> {
    NEEDS.iter().filter(move |need| need.tools.contains(&tool))
}

impl Need {
    /// The privileges, with where they are needed: `VM.Audit on /vms`.
    pub fn privileges(&self) -> String {
        let held = self
            .all_of
            .iter()
            .map(|Holding { root, any_of }| format!("{} on {root}", any_of.join(" or ")));
        held.collect::<Vec<_>>().join(" and ")
    }

    /// All privileges that are named, whether each of them is needed or any.
    pub fn named_privileges(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.all_of.iter().flat_map(|holding| holding.any_of).copied()
    }
}

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
        |need: &&Need| need.level <= level && need.tools.iter().any(|tool| tools.contains(tool));
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
        match rights.extent(root, any_of) {
            Extent::All => continue,
            _ if is_whole => partly.push("the cluster as a whole is hidden".to_owned()),
            Extent::AllBut(paths) => partly.push(format!("all but {}", listed(&paths))),
            Extent::Only(paths) => partly.push(format!("only {}", listed(&paths))),
            Extent::None => nothing = true,
        }
        missing.push(format!("{names} on {root}"));
    }
    let seen = match (nothing, partly.is_empty()) {
        (true, _) => "nothing".to_owned(),
        (false, true) => "all".to_owned(),
        (false, false) => partly.join("; "),
    };
    let missing = (!missing.is_empty()).then(|| missing.join(" and "));
    Seen { need, seen, missing, is_nothing: nothing }
}

fn listed(paths: &[String]) -> String {
    let named = paths.iter().take(PATHS).map(|path| crate::answer::clean::label(path));
    let named = named.collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(PATHS) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The commands, to be typed on a node, that let `token` see what it does not.
pub fn mending(seen: &[Seen], token: &str) -> Vec<String> {
    let user = token.split('!').next().unwrap_or(token);
    // With privilege separation both need the role, without it the user alone does: both fits both.
    let give = |path: &str, roles: &str| {
        format!("pveum acl modify {path} --users '{user}' --tokens '{token}' --roles {roles}")
    };
    let missing = || seen.iter().filter(|seen| seen.missing.is_some());
    let mut lines = Vec::new();
    if missing().any(|seen| seen.need.mend == Mend::Auditor) {
        lines.push(give("/", "PVEAuditor"));
    }
    for Seen { need, .. } in missing() {
        let Mend::Own(privileges) = need.mend else { continue };
        let role = grant::role(privileges);
        let beware = match privileges {
            "Sys.Syslog" | "VM.PowerMgmt" => "",
            "VM.Console" => "; whoever has it may also type",
            _ => "; it also lets make backups and use space",
        };
        lines.push(format!(
            "pveum role add {role} --privs '{privileges}'   # for {}{beware}",
            need.what
        ));
        lines.push(match need.level {
            Level::Read => give("/", &role),
            // To act is better given where it is meant than everywhere.
            Level::Write => format!(
                "{}   # or only where agents may act: /pool/NAME, /vms/VMID",
                give("/vms", &format!("PVEAuditor,{role}"))
            ),
        });
    }
    lines
}

/// What whoever types those commands has to know of PVE's list of permissions.
pub fn cautions(rights: &Rights) -> Vec<String> {
    let paths = by_path(rights).into_iter().map(|(path, _)| path);
    let other: Vec<String> = paths.filter(|path| path != "/").collect();
    let groups = "an entry of a user replaces what its groups have on the same path: give those roles to the user too";
    let deeper = (!other.is_empty()).then(|| {
        format!(
            "what is given on / does not reach a path that has an entry of its own for this user or token, as {} may have: give the roles there too",
            listed(&other)
        )
    });
    [groups.to_owned()].into_iter().chain(deeper).collect()
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
    use crate::catalog::ALL;

    fn rights(paths: &[&str], privileges: &[&str]) -> Rights {
        let held: BTreeMap<String, bool> =
            privileges.iter().map(|name| ((*name).to_owned(), true)).collect();
        Rights(paths.iter().map(|path| ((*path).to_owned(), held.clone().into())).collect())
    }

    fn tools() -> Vec<&'static str> {
        ALL.iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn every_tool_is_named_by_what_it_needs() {
        for tool in tools().into_iter().filter(|tool| *tool != "get_access") {
            assert!(
                NEEDS.iter().any(|need| need.tools.contains(&tool)),
                "{tool}: name it in NEEDS, with the privileges that it needs"
            );
        }
    }

    #[test]
    fn an_auditor_lacks_what_is_not_only_looking() {
        let auditor = rights(&["/", "/nodes", "/pool", "/sdn", "/storage", "/vms"], &AUDITOR);
        let all: Vec<&str> = NEEDS.iter().flat_map(|need| need.tools).copied().collect();
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
        let lines = mending(&seen, "mcp@pve!monitor");
        assert!(lines[0].starts_with("pveum role add MCPSyslog --privs 'Sys.Syslog'"), "{lines:?}");
        assert_eq!(
            lines[1],
            "pveum acl modify / --users 'mcp@pve' --tokens 'mcp@pve!monitor' --roles MCPSyslog"
        );
        assert!(lines.iter().all(|line| !line.contains("PVEAuditor")));
        assert_eq!(by_path(&auditor).len(), 1, "what is the same below is told once");
    }

    #[test]
    fn the_page_on_tokens_has_the_lines_that_are_told() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access.md");
        let page = std::fs::read_to_string(page).unwrap();
        let auditor = rights(&["/", "/nodes", "/pool", "/sdn", "/storage", "/vms"], &AUDITOR);
        for line in mending(&seen(&auditor, Level::Read, &tools()), "mcp@pve!monitor") {
            let line = line.split("   #").next().unwrap_or_default();
            assert!(page.lines().any(|other| other == format!("# {line}")), "{line}");
        }
    }

    #[test]
    fn one_guest_and_one_node_are_named() {
        let some = rights(&["/vms/100", "/nodes/pve1"], &["VM.Audit", "Sys.Audit"]);
        let seen = seen(&some, Level::Read, &tools());
        assert_eq!(seen[0].seen, "only /vms/100");
        assert_eq!(seen[0].missing.as_deref(), Some("VM.Audit on /vms"));
        assert_eq!(seen[1].seen, "only /nodes/pve1; the cluster as a whole is hidden");
        assert!(seen[2].is_nothing && seen[2].need.is_basic);
        assert!(mending(&seen, "a@pve!b")[0].ends_with("--roles PVEAuditor"));
    }
}
