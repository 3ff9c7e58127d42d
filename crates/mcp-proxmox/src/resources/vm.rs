//! `pve://vms/{vmid}`: one VM or container as it is now.

use pve_client::VmId;
use serde_json::json;

use super::{Content, Reading, Resource};
use crate::{completion::Completes, failure::Failure};

/// See the module's documentation.
#[derive(Debug)]
pub struct Vm;

impl Resource for Vm {
    const URI: &'static str = "pve://vms/{vmid}";
    const NAME: &'static str = "vm";
    const TITLE: &'static str = "A VM or container";
    const DESCRIPTION: &'static str = "The state of one VM or container: whether it runs, CPU, memory, disk, network, uptime, running task.";
    const TOOL: &'static str = "get_vm_status";
    const COMPLETES: Completes = Completes::VmId;

    fn accepts(value: &str) -> bool {
        value.parse::<VmId>().is_ok()
    }

    async fn read(reading: &Reading<'_>, value: &str) -> Result<Content, Failure> {
        let answer = reading.tool(Self::TOOL, json!({ "vm": value })).await?;
        Ok(Content::of(answer, 10_000))
    }
}
