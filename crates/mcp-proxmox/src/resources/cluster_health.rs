//! `pve://cluster/health`: what needs attention, everywhere.

use serde_json::json;

use super::{Content, Reading, Resource};
use crate::failure::Failure;

/// See the module's documentation.
#[derive(Debug)]
pub struct ClusterHealth;

impl Resource for ClusterHealth {
    const URI: &'static str = "pve://cluster/health";
    const NAME: &'static str = "cluster_health";
    const TITLE: &'static str = "Health of the cluster";
    const DESCRIPTION: &'static str =
        "What needs attention on the Proxmox VE host or cluster, the most urgent first.";
    const TOOL: &'static str = "get_cluster_health";

    fn accepts(_value: &str) -> bool {
        true
    }

    async fn read(reading: &Reading<'_>, _value: &str) -> Result<Content, Failure> {
        let answer = reading.tool(Self::TOOL, json!({})).await?;
        Ok(Content::of(answer, 30_000))
    }
}
