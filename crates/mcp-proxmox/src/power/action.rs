//! The actions: what is sent, which tasks do it, how one sees that it is done, and how it is called.

use pve_client::{GuestRef, Kind, Post, Upid, guest::Current, lifecycle};

use super::{look::Scene, state::State};
use crate::answer::Duration;

/// What can be done to a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start it, or wake it from hibernation.
    Start,
    /// Ask it to shut down, and give it so many seconds.
    Shutdown(u32),
    /// Ask it to shut down, give it so many seconds, and start it again.
    Reboot(u32),
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
    /// Whether a shutdown that still waits is ended by it.
    pub(super) overrules: bool,
}

impl Plan {
    pub(super) fn request(self, guest: &GuestRef) -> Post<Upid> {
        match self.action {
            Action::Start => lifecycle::start(guest),
            Action::Shutdown(timeout) => lifecycle::shutdown(guest, timeout),
            Action::Reboot(timeout) => lifecycle::reboot(guest, timeout),
            Action::Stop => lifecycle::stop(guest, self.overrules),
            Action::Reset => lifecycle::reset(guest),
            Action::Suspend { to_disk } => lifecycle::suspend(guest, to_disk),
            Action::Resume => lifecycle::resume(guest),
        }
    }
}

impl Action {
    pub(super) fn is_destructive(self) -> bool {
        matches!(self, Self::Stop | Self::Reset)
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

    /// `stop web01 (VM 104 on pve1)`.
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
            // A paused VM stays paused when it is reset.
            Self::Reset => state == State::Running || state == State::of(before),
            Self::Shutdown(_) | Self::Stop => state.is_down(),
            Self::Suspend { to_disk: false } => state == State::Paused,
            Self::Suspend { to_disk: true } => state == State::Hibernated,
            Self::Reboot(_) => state == State::Running && is_another_run(before, after),
        }
    }

    /// Whether whoever uses the guest has to do without it, at least for a while.
    pub(super) fn interrupts(self) -> bool {
        !matches!(self, Self::Start | Self::Resume)
    }

    /// Whether a start is part of it, which takes a quorum.
    pub(super) fn starts(self, state: &State) -> bool {
        matches!(self, Self::Start) || (self == Self::Resume && *state == State::Hibernated)
    }

    /// Whether the HA manager does it, where it cares for the guest.
    pub(super) fn goes_through_ha(self) -> bool {
        matches!(self, Self::Start | Self::Stop | Self::Shutdown(_))
    }

    /// What a person is asked.
    pub(super) fn question(self, scene: &Scene) -> String {
        let since = scene
            .uptime()
            .map(|uptime| format!(", which has been up for {}", Duration(uptime)))
            .unwrap_or_default();
        let risk = match self {
            Self::Stop => " at once, as if its plug were pulled? What it has not saved is lost.",
            Self::Reset => " at once, as with its reset button? What it has not saved is lost.",
            Self::Shutdown(_) | Self::Reboot(_) => "? Whoever uses it is interrupted.",
            Self::Suspend { .. } => "? It does nothing until it is resumed.",
            Self::Start | Self::Resume => "?",
        };
        let verb = self.verb();
        let mut letters = verb.chars();
        let verb: String =
            letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
        format!("{verb} {}{since}{risk}", scene.who())
    }

    /// What it means for the guest, for those who only want to know.
    pub(super) fn meaning(self, scene: &Scene) -> Vec<String> {
        let mut notes = Vec::new();
        let ends_run =
            !matches!(self, Self::Start | Self::Resume | Self::Suspend { to_disk: false });
        if ends_run && let Some(uptime) = scene.uptime() {
            notes.push(format!("it has been up for {}", Duration(uptime)));
        }
        match self {
            Self::Stop | Self::Reset => {
                notes.push("what it has not saved is lost".to_owned());
            }
            Self::Shutdown(timeout) => notes.push(format!(
                "it gets {timeout} s to shut down; if it does not, it is left running and never stopped hard"
            )),
            Self::Reboot(timeout) => notes.push(format!(
                "it gets {timeout} s to shut down; if it does not, it is left running"
            )),
            Self::Start if scene.state == State::Hibernated => {
                notes.push("it goes on where it was hibernated".to_owned());
            }
            _ => {}
        }
        if let Some(ha) = scene.managed().filter(|_| self.goes_through_ha()) {
            let wish = if self == Self::Start { "started" } else { "stopped" };
            notes.push(format!(
                "the HA manager cares for it (now: {ha}): it is asked for `{wish}`, acts in its own time, and keeps it so"
            ));
        }
        notes
    }
}

/// Whether this is another run than before: another process, or a clock that began anew.
pub(super) fn is_another_run(before: &Current, after: &Current) -> bool {
    let other_process =
        matches!((before.pid, after.pid), (Some(before), Some(after)) if before != after);
    let began_anew =
        matches!((before.uptime, after.uptime), (Some(before), Some(after)) if after < before);
    other_process || began_anew
}
