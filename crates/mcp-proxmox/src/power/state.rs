//! What a guest is doing, as far as these tools tell it apart.

use std::borrow::Cow;

use pve_client::guest::Current;

use crate::answer::clean::label;

/// What a guest is doing. PVE says `running` of a paused VM and `stopped` of a hibernated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    Stopped,
    Hibernated,
    Paused,
    /// Its QEMU runs for a backup; the guest itself was not started.
    Prelaunch,
    /// Its QEMU waits at the beginning: it was reset while it was paused, or is set to start so.
    Frozen,
    IoError,
    Other(String),
}

impl State {
    pub(super) fn of(current: &Current) -> Self {
        let status = current.status.as_deref().unwrap_or("unknown");
        match (status, current.qmpstatus.as_deref(), current.lock.as_deref()) {
            ("stopped", _, Some("suspended")) => Self::Hibernated,
            ("stopped", _, _) => Self::Stopped,
            (_, Some("paused" | "suspended"), _) => Self::Paused,
            (_, Some("prelaunch"), Some("backup")) => Self::Prelaunch,
            (_, Some("prelaunch"), _) => Self::Frozen,
            (_, Some("io-error"), _) => Self::IoError,
            ("running", None | Some("running"), _) => Self::Running,
            (status, qmpstatus, _) => Self::Other(label(qmpstatus.unwrap_or(status))),
        }
    }

    pub(super) fn word(&self) -> Cow<'static, str> {
        match self {
            Self::Running => "running".into(),
            Self::Stopped => "stopped".into(),
            Self::Hibernated => "hibernated".into(),
            Self::Paused => "paused".into(),
            Self::Prelaunch | Self::Frozen => "prelaunch".into(),
            Self::IoError => "io-error".into(),
            Self::Other(word) => word.clone().into(),
        }
    }

    /// Whether nothing of it runs.
    pub(super) fn is_down(&self) -> bool {
        matches!(self, Self::Stopped | Self::Hibernated)
    }
}
