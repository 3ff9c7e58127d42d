//! `pve://vms/{vmid}/screenshot`: the screen of a VM or container as it is now.

use pve_client::VmId;
use serde_json::json;

use super::{Content, Reading, Resource};
use crate::{completion::Completes, failure::Failure};

/// See the module's documentation.
#[derive(Debug)]
pub struct VmScreenshot;

impl Resource for VmScreenshot {
    const URI: &'static str = "pve://vms/{vmid}/screenshot";
    const NAME: &'static str = "vm_screenshot";
    const TITLE: &'static str = "Screen of a VM or container";
    const DESCRIPTION: &'static str =
        "The screen of one VM (its display) or container (its terminal) as it is now, as PNG.";
    const MIME: &'static str = "image/png";
    const TOOL: &'static str = "get_vm_screenshot";
    const COMPLETES: Completes = Completes::VmId;

    fn accepts(value: &str) -> bool {
        value.parse::<VmId>().is_ok()
    }

    async fn read(reading: &Reading<'_>, value: &str) -> Result<Content, Failure> {
        let answer = reading.tool(Self::TOOL, json!({ "vm": value })).await?;
        // A screen is what it is now.
        Ok(Content::of(answer, 0))
    }
}
