//! `failed_backups`: which backups failed, why, and which guests have none that is recent.

use super::{Argument, Given, Prompt, SINCE, Steps};
use crate::completion::Completes;

/// See the module's documentation.
#[derive(Debug)]
pub struct FailedBackups;

impl Prompt for FailedBackups {
    const NAME: &'static str = "failed_backups";
    const TITLE: &'static str = "Look into failed backups";
    const DESCRIPTION: &'static str = "Which backups (vzdump) failed, why, whether a later one worked, and which VMs or containers have no recent backup.";
    const ARGUMENTS: &'static [Argument] = &[
        SINCE,
        Argument::new("vm", Completes::Vm, "Only this VM or container: vmid or name."),
        Argument::new("storage", Completes::Storage, "The storage that backups go to."),
    ];
    const NEEDS: &'static [&'static str] = &["list_tasks", "get_storage_status"];

    fn task(given: &Given) -> String {
        let of = given.get("vm").map(|vm| format!(" of the VM or container `{vm}`"));
        let to = given.get("storage").map(|storage| format!(" to the storage `{storage}`"));
        format!(
            "Find out which backups{}{} failed since `{}`, why, and what is not protected for it.",
            of.unwrap_or_default(),
            to.unwrap_or_default(),
            given.or("since", "7d")
        )
    }

    fn steps(given: &Given, steps: &mut Steps) {
        let since = given.or("since", "7d");
        let vm = given.and("vm");
        let storage = match given.get("storage") {
            Some(storage) => format!("with storage `{storage}`{vm}"),
            None => format!("for each of them{vm}"),
        };
        steps
            .with("list_tasks", format!("with type `backup`, since `{since}`{vm}: jobs of several guests are one task; note outcome and UPID"))
            .with("get_task", "on each that ended with an error or warning: `backups` tells guest by guest what came of it, `telling_lines` why")
            .with("get_cluster_health", "for guests without a recent backup")
            .with("list_storage", "with content `backup`: is the target available, and has it room?")
            .with("get_storage_status", format!("{storage}: newest backup of each guest, unverified ones, when it will be full"))
            .with("list_vms", "to find guests that no backup was seen of")
            .with("search_logs", format!("with pattern `vzdump|backup`, since `{since}`: what the nodes say around the failures"))
            .with("get_vm_status", "for a guest that failed with a lock, or whose agent did not freeze");
    }

    fn report(_given: &Given) -> String {
        "Report each failure with guest, time, cause (the log line that proves it) and whether a later backup worked; then guests \
         without any recent backup, with the age of the newest; then what mends the causes, the most urgent first."
            .to_owned()
    }
}
