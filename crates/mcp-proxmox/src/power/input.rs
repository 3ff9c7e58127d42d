//! The arguments of these tools.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, Order};

/// The arguments of a tool that has none of its own.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plain {
    /// Vmid or unique name.
    vm: String,
    /// Seconds to wait for the end.
    #[serde(default = "forty")]
    #[schemars(range(max = 45))]
    wait_seconds: u32,
    /// Only check.
    #[serde(default)]
    dry_run: bool,
    /// The user agreed.
    #[serde(default)]
    confirm: bool,
}

/// The arguments of a tool that waits for the guest.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiting {
    /// Vmid or unique name.
    vm: String,
    /// Seconds that the guest gets.
    #[serde(default = "sixty")]
    #[schemars(range(min = 1, max = 3600))]
    timeout_seconds: u32,
    /// Seconds to wait for the end.
    #[serde(default = "forty")]
    #[schemars(range(max = 45))]
    wait_seconds: u32,
    /// Only check.
    #[serde(default)]
    dry_run: bool,
    /// The user agreed.
    #[serde(default)]
    confirm: bool,
}

/// The arguments of `suspend_vm`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspend {
    /// Vmid or unique name.
    vm: String,
    /// Hibernate: save its memory, then stop it.
    #[serde(default)]
    to_disk: bool,
    /// Seconds to wait for the end.
    #[serde(default = "forty")]
    #[schemars(range(max = 45))]
    wait_seconds: u32,
    /// Only check.
    #[serde(default)]
    dry_run: bool,
    /// The user agreed.
    #[serde(default)]
    confirm: bool,
}

impl Plain {
    /// The order to do this.
    pub fn order(self, tool: &'static str, action: Action) -> Order {
        let arguments = serde_json::to_value(&self).unwrap_or_default();
        let Self { vm, wait_seconds, dry_run, confirm } = self;
        Order { tool, action, vm, wait_seconds, dry_run, confirm, arguments }
    }
}

impl Waiting {
    /// The order to do what `action` makes of the time that the guest gets.
    pub fn order(self, tool: &'static str, action: fn(u32) -> Action) -> Order {
        let arguments = serde_json::to_value(&self).unwrap_or_default();
        let Self { vm, timeout_seconds, wait_seconds, dry_run, confirm } = self;
        let action = action(timeout_seconds);
        Order { tool, action, vm, wait_seconds, dry_run, confirm, arguments }
    }
}

impl Suspend {
    /// The order to suspend.
    pub fn order(self, tool: &'static str) -> Order {
        let arguments = serde_json::to_value(&self).unwrap_or_default();
        let Self { vm, to_disk, wait_seconds, dry_run, confirm } = self;
        let action = Action::Suspend { to_disk };
        Order { tool, action, vm, wait_seconds, dry_run, confirm, arguments }
    }
}

fn forty() -> u32 {
    40
}

fn sixty() -> u32 {
    60
}
