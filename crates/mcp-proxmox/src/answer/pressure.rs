//! Pressure stall information of a node or guest.

use schemars::JsonSchema;
use serde::Serialize;

/// The share of time, in percent, in which something waited. Unknown is absent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Pressure {
    /// For a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// For memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// For disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io: Option<f64>,
}
