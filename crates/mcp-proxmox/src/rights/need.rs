//! What tools need of a token: what there is to see or to do, the tools that show less without it, the
//! privileges, and what gives them. **Every tool is named by what it needs**, which a test holds.

use crate::tier::Level;

/// Something that there is to see or to do.
#[derive(Debug)]
pub struct Need {
    /// What it is.
    pub what: &'static str,
    /// The tools that show less without it, in lists that several needs may share.
    tools: &'static [&'static [&'static str]],
    /// The tier in which it matters.
    pub level: Level,
    /// Whether hardly anything works without it.
    pub is_basic: bool,
    /// All of these are needed.
    pub(super) all_of: &'static [Holding],
    /// How it is mended.
    pub(super) mend: Mend,
}

/// Any one of these privileges, on everything below this root.
#[derive(Debug)]
pub(super) struct Holding {
    pub(super) root: &'static str,
    pub(super) any_of: &'static [&'static str],
}

/// What gives a privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mend {
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

/// The tools that change whether a guest runs.
const POWER: [&str; 7] =
    ["start_vm", "stop_vm", "shutdown_vm", "reboot_vm", "reset_vm", "suspend_vm", "resume_vm"];

/// Everything that a tool may need, from the most to the least important.
pub(super) const NEEDS: [Need; 11] = [
    Need {
        what: "VMs and containers",
        tools: &[
            &[
                "list_vms",
                "get_vm_status",
                "get_vm_details",
                "get_metrics",
                "get_metrics_chart",
                "get_cluster_health",
                "get_task",
                "get_vm_console",
                "get_vm_screenshot",
                "send_vm_keys",
            ],
            &POWER,
        ],
        level: Level::Read,
        is_basic: true,
        all_of: &[on("/vms", &["VM.Audit"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "nodes, quorum and the tasks of others",
        tools: &[&[
            "list_nodes",
            "get_node_status",
            "get_cluster_health",
            "get_network_stats",
            "list_tasks",
            "get_task",
            "search_logs",
            "get_metrics",
            "get_metrics_chart",
        ]],
        level: Level::Read,
        is_basic: true,
        all_of: &[on("/nodes", &["Sys.Audit"]), on("/", &["Sys.Audit"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "storages",
        tools: &[&[
            "list_storage",
            "get_storage_status",
            "get_cluster_health",
            "get_metrics",
            "get_metrics_chart",
        ]],
        level: Level::Read,
        is_basic: true,
        all_of: &[on("/storage", &["Datastore.Audit", "Datastore.AllocateSpace"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "networks: bridges, zones and what is on them",
        tools: &[&["list_networks"]],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/sdn", &["SDN.Audit", "SDN.Use"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "pools",
        tools: &[&["list_vms"]],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/pool", &["Pool.Audit"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "what guest agents tell",
        tools: &[&["get_vm_details", "get_network_stats"]],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/vms", &["VM.GuestAgent.Audit", "VM.GuestAgent.Unrestricted", "VM.Monitor"])],
        mend: Mend::Auditor,
    },
    Need {
        what: "system logs and the cluster log",
        tools: &[&["get_system_log", "search_logs", "get_cluster_health"]],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/nodes", &["Sys.Syslog"]), on("/", &["Sys.Syslog"])],
        mend: Mend::Own("Sys.Syslog"),
    },
    Need {
        what: "consoles and screens",
        tools: &[&["get_vm_console", "get_vm_screenshot", "send_vm_keys"]],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/vms", &["VM.Console"])],
        mend: Mend::Own("VM.Console"),
    },
    Need {
        what: "backups",
        tools: &[&["get_storage_status", "get_cluster_health"]],
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
        tools: &[&["get_node_status"]],
        level: Level::Read,
        is_basic: false,
        all_of: &[on("/nodes", &["Sys.Modify"])],
        mend: Mend::Not,
    },
    Need {
        what: "starting, stopping and what belongs to it",
        tools: &[&POWER],
        level: Level::Write,
        is_basic: false,
        all_of: &[on("/vms", &["VM.PowerMgmt"])],
        mend: Mend::Own("VM.PowerMgmt"),
    },
];

/// What a tool needs, from the most to the least important.
pub fn needs_of(tool: &str) -> impl Iterator<Item = &'static Need> {
    NEEDS.iter().filter(move |need| need.is_of(tool))
}

impl Need {
    /// The tools that show less without it.
    pub fn tools(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.tools.iter().copied().flatten().copied()
    }

    /// Whether this tool shows less without it.
    pub fn is_of(&self, tool: &str) -> bool {
        self.tools().any(|other| other == tool)
    }

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

#[cfg(test)]
mod tests {
    use super::NEEDS;
    use crate::catalog::ALL;

    #[test]
    fn every_tool_is_named_by_what_it_needs() {
        for entry in ALL.iter().filter(|entry| entry.name != "get_access") {
            assert!(
                NEEDS.iter().any(|need| need.is_of(entry.name)),
                "{}: name it in NEEDS, with the privileges that it needs",
                entry.name
            );
        }
    }
}
