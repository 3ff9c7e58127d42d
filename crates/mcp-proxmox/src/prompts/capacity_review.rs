//! `capacity_review`: what runs out first, and what is reserved without being used.

use super::{Argument, Given, Prompt, Steps};
use crate::completion::Completes;

/// See the module's documentation.
#[derive(Debug)]
pub struct CapacityReview;

impl Prompt for CapacityReview {
    const NAME: &'static str = "capacity_review";
    const TITLE: &'static str = "Review capacity";
    const DESCRIPTION: &'static str = "CPU, memory and disk of nodes and storages: what runs out when, which VMs and containers use most, what is reserved in vain.";
    const ARGUMENTS: &'static [Argument] = &[
        Argument::new("node", Completes::Node, "Only this node."),
        Argument::new("storage", Completes::Storage, "Only this storage."),
        Argument::new(
            "timeframe",
            Completes::Words(&["day", "week", "month", "year"]),
            "How far back the trend goes; month by default.",
        ),
    ];
    const NEEDS: &'static [&'static str] = &["get_metrics", "list_storage", "list_nodes"];

    fn task(given: &Given) -> String {
        let what = match (given.get("node"), given.get("storage")) {
            (None, None) => "this host or cluster".to_owned(),
            (Some(node), None) => format!("the node `{node}`"),
            (None, Some(storage)) => format!("the storage `{storage}`"),
            (Some(node), Some(storage)) => format!("the node `{node}` and the storage `{storage}`"),
        };
        format!(
            "Review the capacity of {what}: what runs out first, when, and what can be done about it."
        )
    }

    fn steps(given: &Given, steps: &mut Steps) {
        let timeframe = given.or("timeframe", "month");
        let on_node = given.and("node");
        let node = match given.get("node") {
            Some(node) => format!("with node `{node}`"),
            None => "for each node".to_owned(),
        };
        let storage = match given.get("storage") {
            Some(storage) => format!("with storage `{storage}`"),
            None => "for each storage that is more than half full".to_owned(),
        };
        steps
            .with("list_nodes", "CPU, memory and load of all nodes; could the others carry the guests of the largest one?")
            .with("list_storage", "used and total space; thin and shared storages are each counted once")
            .with("get_storage_status", format!("{storage}: growth and the day when it will be full, what the space goes to"))
            .with("get_metrics", format!("{node}, timeframe `{timeframe}`: 95th percentile and trend, not the moment"))
            .with("list_vms", format!("with sort `memory`, then `cpu`{on_node}, detail `true`: who uses most, who has far more than it uses, what is stopped and still takes disk"))
            .with("get_metrics_chart", "only where the user should see a trend")
            .with("get_vm_details", "for the guests that stand out: disk sizes, snapshots that grow, ballooning");
    }

    fn report(_given: &Given) -> String {
        "Report what runs out first with a date or a margin, and how sure that is (how much history there is); the largest users; \
         what could be given back; and whether one node may fail. Percentages always with the amount."
            .to_owned()
    }
}
