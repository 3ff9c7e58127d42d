//! `pve://nodes/{node}`: one node in depth.

use pve_client::NodeName;
use serde_json::json;

use super::{Content, Reading, Resource};
use crate::{completion::Completes, failure::Failure};

/// See the module's documentation.
#[derive(Debug)]
pub struct Node;

impl Resource for Node {
    const URI: &'static str = "pve://nodes/{node}";
    const NAME: &'static str = "node";
    const TITLE: &'static str = "A node";
    const DESCRIPTION: &'static str =
        "The state of one Proxmox VE node: load, memory, disks, services, updates, certificates.";
    const TOOL: &'static str = "get_node_status";
    const COMPLETES: Completes = Completes::Node;

    fn accepts(value: &str) -> bool {
        value.parse::<NodeName>().is_ok()
    }

    async fn read(reading: &Reading<'_>, value: &str) -> Result<Content, Failure> {
        let answer = reading.tool(Self::TOOL, json!({ "node": value })).await?;
        Ok(Content::of(answer, 10_000))
    }
}
