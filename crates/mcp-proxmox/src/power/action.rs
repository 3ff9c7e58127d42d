//! The actions: what is sent, which tasks do it, how one sees that it is done, and how it is called.

use pve_client::{GuestRef, Kind, Post, Upid, guest::Current, lifecycle};

use super::{look::Scene, state::State};
use crate::failure::Failure;

/// How many seconds a guest gets to shut down, unless the caller says otherwise.
const USUAL: u32 = 60;
/// The same where the HA manager cares for it, which stops hard what has not shut down by then.
const UNDER_HA: u32 = 180;

/// What can be done to a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start it, or wake it from hibernation.
    Start,
    /// Ask it to shut down, and give it so many seconds, or as many as are usual.
    Shutdown(Option<u32>),
    /// Ask it to shut down, give it so many seconds, and start it again.
    Reboot(Option<u32>),
    /// Stop it without its help.
    Stop,
    /// Reset it without its help.
    Reset,
    /// Pause it, or save its memory and stop it.
    Suspend {
        /// Save its memory and stop it.
        to_disk: bool,
    },
    /// Let it go on.
    Resume,
}

/// What will be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) action: Action,
    /// How long the guest gets, where it is asked.
    pub(super) seconds: u32,
    /// Whether a shutdown that still waits is ended by it.
    pub(super) overrules: bool,
}

impl Plan {
    pub(super) fn request(self, guest: &GuestRef) -> Post<Upid> {
        match self.action {
            Action::Start => lifecycle::start(guest),
            Action::Shutdown(_) => lifecycle::shutdown(guest, self.seconds),
            Action::Reboot(_) => lifecycle::reboot(guest, self.seconds),
            Action::Stop => lifecycle::stop(guest, self.overrules),
            Action::Reset => lifecycle::reset(guest),
            Action::Suspend { to_disk } => lifecycle::suspend(guest, to_disk),
            Action::Resume => lifecycle::resume(guest),
        }
    }
}

impl Action {
    /// Whether what a guest has not saved can be lost. A shutdown that goes through the HA manager is one:
    /// see `words`.
    pub(super) fn is_destructive(self, scene: &Scene) -> bool {
        match self {
            Self::Stop | Self::Reset => true,
            Self::Shutdown(_) => scene.managed().is_some(),
            _ => false,
        }
    }

    /// How many seconds the guest gets, where it is asked.
    pub(super) fn seconds(self, scene: &Scene) -> u32 {
        match self {
            Self::Shutdown(Some(given)) | Self::Reboot(Some(given)) => given,
            Self::Shutdown(None) | Self::Reboot(None) if scene.managed().is_some() => UNDER_HA,
            _ => USUAL,
        }
    }

    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Shutdown(_) => "shut down",
            Self::Reboot(_) => "reboot",
            Self::Stop => "stop",
            Self::Reset => "reset",
            Self::Suspend { to_disk: false } => "pause",
            Self::Suspend { to_disk: true } => "hibernate",
            Self::Resume => "resume",
        }
    }

    /// To stop `web01` (VM 104 on pve1).
    pub(super) fn what(self, scene: &Scene) -> String {
        format!("to {} {}", self.verb(), scene.who())
    }

    /// The types of the tasks that do it: the guest's own, and that of a request to the HA manager.
    pub(super) fn tasks(self, kind: Kind) -> &'static [&'static str] {
        match (self, kind) {
            (Self::Start, Kind::Qemu) => &["qmstart", "hastart"],
            (Self::Start, Kind::Lxc) => &["vzstart", "hastart"],
            (Self::Shutdown(_), Kind::Qemu) => &["qmshutdown", "hastop"],
            (Self::Shutdown(_), Kind::Lxc) => &["vzshutdown", "hastop"],
            (Self::Stop, Kind::Qemu) => &["qmstop", "hastop"],
            (Self::Stop, Kind::Lxc) => &["vzstop", "hastop"],
            (Self::Reboot(_), Kind::Qemu) => &["qmreboot"],
            (Self::Reboot(_), Kind::Lxc) => &["vzreboot"],
            (Self::Reset, _) => &["qmreset"],
            (Self::Suspend { to_disk: false }, Kind::Qemu) => &["qmpause", "qmsuspend"],
            (Self::Suspend { .. }, Kind::Qemu) => &["qmsuspend"],
            (Self::Suspend { .. }, Kind::Lxc) => &["vzsuspend"],
            (Self::Resume, Kind::Qemu) => &["qmresume"],
            (Self::Resume, Kind::Lxc) => &["vzresume"],
        }
    }

    /// Whether the guest is now as it should be.
    pub(super) fn is_done(self, before: &Current, after: &Current) -> bool {
        let state = State::of(after);
        match self {
            Self::Start | Self::Resume => state == State::Running,
            // A VM that does not run does not do so either when it is reset.
            Self::Reset => {
                matches!(state, State::Running | State::Frozen) || state == State::of(before)
            }
            Self::Shutdown(_) | Self::Stop => state.is_down(),
            Self::Suspend { to_disk: false } => state == State::Paused,
            Self::Suspend { to_disk: true } => state == State::Hibernated,
            Self::Reboot(_) => state == State::Running && is_another_run(before, after),
        }
    }

    /// Whether a guest that is as it should be proves that it was done. A VM is after a reset what it was before,
    /// so that nothing but the task tells.
    pub(super) fn shows(self) -> bool {
        self != Self::Reset
    }

    /// Whether it is over only when the guest has shut itself down.
    pub(super) fn waits_for_guest(self) -> bool {
        matches!(self, Self::Shutdown(_) | Self::Reboot(_))
    }

    /// Whether whoever uses the guest has to do without it, at least for a while.
    pub(super) fn interrupts(self) -> bool {
        !matches!(self, Self::Start | Self::Resume)
    }

    /// Whether a start is part of it, which takes a quorum.
    pub(super) fn starts(self, state: &State) -> bool {
        matches!(self, Self::Start | Self::Reboot(_))
            || (self == Self::Resume && *state == State::Hibernated)
    }

    /// Whether it may be more than the nodes can do without a quorum: see `decide`.
    pub(super) fn may_need_quorum(self, is_under_ha: bool) -> bool {
        match self {
            Self::Start | Self::Resume | Self::Reboot(_) | Self::Suspend { to_disk: true } => true,
            Self::Stop | Self::Shutdown(_) => is_under_ha,
            Self::Reset | Self::Suspend { to_disk: false } => false,
        }
    }

    /// What the HA manager is asked for, where it cares for the guest.
    pub(super) fn wish(self) -> Option<&'static str> {
        match self {
            Self::Start => Some("started"),
            Self::Stop | Self::Shutdown(_) => Some("stopped"),
            _ => None,
        }
    }

    /// Whether the HA manager does it, where it cares for the guest.
    pub(super) fn goes_through_ha(self) -> bool {
        self.wish().is_some()
    }
}

/// Which run of the guest this is, for what holds for this one alone. Empty where nothing runs.
pub fn run_of(current: &Current) -> String {
    current.pid.map(|pid| format!(" (process {pid})")).unwrap_or_default()
}

/// What was agreed to was meant for the run that the question spoke of.
///
/// # Errors
/// When the guest was started anew since.
pub fn still_the_run(who: &str, before: &Current, now: &Current) -> Result<(), Failure> {
    if !is_another_run(before, now) {
        return Ok(());
    }
    let what = format!(
        "{who} was started anew, or moved, while the question was open, and the consent was for it as it was; nothing was sent"
    );
    Err(Failure::new(what)
        .hint("see its state with get_vm_status; if it is still wanted, call again"))
}

/// Whether this is another run than before: another process, or a clock that began anew.
pub(super) fn is_another_run(before: &Current, after: &Current) -> bool {
    let other_process =
        matches!((before.pid, after.pid), (Some(before), Some(after)) if before != after);
    let began_anew =
        matches!((before.uptime, after.uptime), (Some(before), Some(after)) if after < before);
    other_process || began_anew
}
