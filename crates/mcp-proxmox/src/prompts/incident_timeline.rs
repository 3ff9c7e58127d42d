//! `incident_timeline`: what happened when, on all nodes, around an incident.

use super::{Argument, Given, Prompt, Steps};
use crate::completion::Completes;

/// See the module's documentation.
#[derive(Debug)]
pub struct IncidentTimeline;

impl Prompt for IncidentTimeline {
    const NAME: &'static str = "incident_timeline";
    const TITLE: &'static str = "Timeline of an incident";
    const DESCRIPTION: &'static str = "What happened when around an incident: tasks, journals and cluster log of all nodes merged into one timeline, with cause and effect told apart.";
    const ARGUMENTS: &'static [Argument] = &[
        Argument::new(
            "since",
            Completes::Words(&["1h", "6h", "24h", "3d", "7d"]),
            "Begin: `6h` ago, or ISO 8601.",
        )
        .required(),
        Argument::new(
            "until",
            Completes::Words(&["30m", "1h", "6h", "12h"]),
            "End: `1h` ago, or ISO 8601; now by default.",
        ),
        Argument::new("what", Completes::Nothing, "What happened, as far as you know."),
        Argument::new("vm", Completes::Vm, "A VM or container that was hit: vmid or name."),
        Argument::new("node", Completes::Node, "A node that was hit."),
        Argument::new("unit", Completes::Unit, "A service to look at: a systemd unit, or kernel."),
        Argument::new("upid", Completes::Upid, "A task that it has to do with."),
    ];
    const NEEDS: &'static [&'static str] = &["search_logs", "get_system_log", "list_tasks"];

    fn task(given: &Given) -> String {
        let told =
            given.get("what").map(|what| format!(" Told was: `{what}`.")).unwrap_or_default();
        format!(
            "Make a timeline of what happened on this Proxmox VE host or cluster from `{}` until `{}` (`6h` means six hours ago).{told}",
            given.or("since", "24h"),
            given.or("until", "now")
        )
    }

    fn steps(given: &Given, steps: &mut Steps) {
        let range = format!("since `{}`{}", given.or("since", "24h"), given.and("until"));
        let vm = given.and("vm");
        if let Some(upid) = given.get("upid") {
            steps.with("get_task", format!("with upid `{upid}`: when it ran, and how it ended"));
        }
        steps
            .with("list_tasks", format!("with {range}{vm}: what was done, by whom, and what failed"))
            .with("search_logs", format!("with {range}{vm}, severity `warning`: all nodes at once; narrow the time around the first thing that is odd, then look again without severity"));
        let node = match given.get("node") {
            Some(node) => format!("with node `{node}`"),
            None => "of the node where it began".to_owned(),
        };
        steps
            .with(
                "get_system_log",
                format!("{node}{}, {range}: the minutes before the first error", given.and("unit")),
            )
            .with("get_task", "on tasks that failed: the lines that tell why")
            .with("get_cluster_health", "to see what is still wrong")
            .with(
                "list_nodes",
                "for uptimes, which tell what rebooted, and whether there is quorum now",
            )
            .with(
                "get_metrics",
                "of what was hit, timeframe `day`: when did load, memory or I/O change?",
            );
        if let Some(vm) = given.get("vm") {
            steps.with("get_vm_status", format!("with vm `{vm}`: its state and uptime now"));
        }
    }

    fn report(_given: &Given) -> String {
        "Report a table of time, node, what happened, source; mark the first thing that went wrong, and tell what followed from it \
         apart from what only came after it. Clocks of nodes can differ: say where the order is not sure. End with the cause as \
         far as it is proved, and what would keep it from happening again."
            .to_owned()
    }
}
