//! Where a page of tasks begins.

use pve_client::task::Listed;

use crate::failure::Failure;

/// The order of tasks.
pub(super) fn key(task: &Listed) -> (i64, String) {
    let upid = task.upid.as_ref().map(ToString::to_string);
    (task.starttime.unwrap_or_default(), upid.unwrap_or_default())
}

/// The task after which a page begins, so that it stays right when new tasks come; or the time at which
/// it begins, where no task stands there.
pub(super) struct Cursor {
    pub(super) start: i64,
    upid: Option<String>,
}

impl Cursor {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let parts = text.trim().split_once('/');
        let read = parts.and_then(|(start, upid)| {
            let start = start.parse().ok()?;
            if upid.is_empty() {
                return Some(Self { start, upid: None });
            }
            let upid: pve_client::Upid = upid.parse().ok()?;
            Some(Self { start, upid: Some(upid.to_string()) })
        });
        read.ok_or_else(|| {
            Failure::new("the `cursor` is not one of this tool's")
                .hint("give back `next_cursor` as it was, or leave it out")
        })
    }

    /// Whether a task comes after this place, and so started before it.
    pub(super) fn is_before(&self, task: &Listed) -> bool {
        let (start, upid) = key(task);
        start < self.start
            || (start == self.start && self.upid.as_ref().is_none_or(|at| upid < *at))
    }
}
