//! `cluster_report`: how the whole cluster is, for the person who answers for it.

use super::{Argument, Given, Prompt, SINCE, Steps};
use crate::completion::Completes;

/// See the module's documentation.
#[derive(Debug)]
pub struct ClusterReport;

impl Prompt for ClusterReport {
    const NAME: &'static str = "cluster_report";
    const TITLE: &'static str = "Report on the cluster";
    const DESCRIPTION: &'static str = "A report on the host or cluster: quorum, nodes, VMs and containers, storage, backups, failed tasks, and what needs attention first.";
    const ARGUMENTS: &'static [Argument] = &[
        SINCE,
        Argument::new(
            "focus",
            Completes::Words(&[
                "backups",
                "capacity",
                "errors",
                "network",
                "nodes",
                "security updates",
                "storage",
            ]),
            "What to look at more closely.",
        ),
    ];
    const NEEDS: &'static [&'static str] = &["get_cluster_health", "list_nodes", "list_vms"];

    fn task(given: &Given) -> String {
        let since = given.or("since", "24h");
        let focus = given.get("focus");
        let focus =
            focus.map(|focus| format!(" Look most closely at: `{focus}`.")).unwrap_or_default();
        format!(
            "Write a report on this Proxmox VE host or cluster, over the time since `{since}`.{focus}"
        )
    }

    fn steps(given: &Given, steps: &mut Steps) {
        let since = given.or("since", "24h");
        steps
            .with("get_cluster_health", "first: it finds most of what needs attention, and names the tool to look closer with")
            .with("list_nodes", "quorum, nodes that are off, versions that differ, load and memory")
            .with("list_vms", "counts by state, and the exceptions: locked, unknown, in an HA error, unusually busy")
            .with("list_storage", "storages that are not available or more than 85 % full")
            .with("list_tasks", format!("with outcome `error`, since `{since}`; then once more with type `backup`: which failed, and did a later one work?"))
            .with("get_task", "on the failures that are not clear from the list")
            .with("search_logs", format!("with severity `error`, since `{since}`: what repeats, and on which node?"))
            .with("get_node_status", "on nodes that stood out: services, updates, certificates, pressure")
            .with("list_networks", "only where the network is in doubt: bonds and bridges that are down, pending changes");
    }

    fn report(_given: &Given) -> String {
        "Report in one page: first a line on whether all is well; then what needs attention, the most urgent first, each with its \
         evidence and one next step; then the figures (nodes, guests by state, storage, backups, failed tasks) as a short \
         table; last what could not be seen."
            .to_owned()
    }
}
