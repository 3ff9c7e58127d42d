//! `pve://cluster/health`: what needs attention, everywhere, and all of it where an answer of the tool was cut.

use serde_json::{Map, Value};

use super::{Body, Content, Reading, Resource};
use crate::{answer::text, failure::Failure, tools::get_cluster_health};

/// How long it may be kept, in milliseconds.
const FRESH_MS: u64 = 30_000;

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
        let report = get_cluster_health::whole(reading.access.reader(), reading.call).await?;
        let Ok(Value::Object(report)) = serde_json::to_value(report) else {
            return Err(Failure::bug(Self::TOOL));
        };
        Ok(Content { body: Body::Text(text::draw(&report)), fresh_ms: FRESH_MS })
    }

    fn more_than(answer: &Map<String, Value>) -> Option<String> {
        get_cluster_health::is_cut(answer).then(String::new)
    }
}
