//! `diagnose_vm`: why one VM or container is down, slow or odd.

use super::{Argument, Given, Prompt, SINCE, Steps};
use crate::completion::Completes;

/// See the module's documentation.
#[derive(Debug)]
pub struct DiagnoseVm;

impl Prompt for DiagnoseVm {
    const NAME: &'static str = "diagnose_vm";
    const TITLE: &'static str = "Diagnose a VM or container";
    const DESCRIPTION: &'static str = "Find out why one VM or container is down, slow or odd: state, tasks, logs, screen, storage and node, with evidence.";
    const ARGUMENTS: &'static [Argument] = &[
        Argument::new("vm", Completes::Vm, "Vmid or name of the VM or container.").required(),
        Argument::new("symptom", Completes::Nothing, "What was noticed, in your words."),
        SINCE,
    ];
    const NEEDS: &'static [&'static str] = &["get_vm_status", "get_vm_details"];

    fn task(given: &Given) -> String {
        let vm = given.or("vm", "?");
        match given.get("symptom") {
            Some(symptom) => {
                format!(
                    "Find out what is wrong with the VM or container `{vm}`. Noticed was: `{symptom}`."
                )
            }
            None => format!(
                "Find out whether something is wrong with the VM or container `{vm}`, and why."
            ),
        }
    }

    fn steps(given: &Given, steps: &mut Steps) {
        let vm = given.or("vm", "?");
        let since = given.or("since", "24h");
        steps
            .with("get_vm_status", format!("with vm `{vm}`: does it run, is it paused, locked or in an HA error, how busy is it, is a task at work?"))
            .with("list_tasks", format!("with vm `{vm}`, since `{since}`: what was done to it, by whom, and what failed?"))
            .with("get_task", "on each task that failed or still runs: the lines that tell why")
            .with("get_vm_details", format!("with vm `{vm}`: disks and their storages, network, pending changes; addresses and full file systems inside"))
            .with("search_logs", format!("with vm `{vm}`, since `{since}`: errors around the time when it began (out of memory, I/O, migration, fencing)"))
            .with("get_vm_screenshot", format!("with vm `{vm}`, where it runs but does not answer: a boot prompt, a panic, a file system check?"))
            .with("get_vm_console", format!("with vm `{vm}`, where it has a serial port or is a container and the screen tells nothing"))
            .with("get_metrics", format!("with vm `{vm}`: since when, and does CPU, memory, disk or network stand out?"))
            .with("get_node_status", "for its node: load, memory, pressure, services that do not run")
            .with("list_storage", "for the storages of its disks: full, or not available?")
            .with("get_network_stats", format!("with vm `{vm}`, where the network is in doubt: does anything come and go?"));
    }

    fn report(_given: &Given) -> String {
        "Report the cause if it is proved, else the likeliest ones with what speaks for and against each; the evidence (figures, \
         log lines with time and source); what to do next, the safest first."
            .to_owned()
    }
}
