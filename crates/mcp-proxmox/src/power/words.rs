//! What an action means, in words: for the person who is asked, for those who only want to know, and in the
//! answer.
//!
//! **What the HA manager does is said as it is.** PVE does not shut such a guest down itself: it files the
//! wish, and the HA manager has the guest stopped hard that is not down when its time is over.

use super::{action::Action, look::Scene, outcome::Outcome, state::State};
use crate::{answer::Duration, pending};

/// Of a VM that is reset while it does not run.
const STILL: &str = "a reset does not make it run: it does nothing until resume_vm";

impl Action {
    /// What a person is asked.
    pub(super) fn question(self, scene: &Scene) -> String {
        let who = scene.who();
        let asked = match self {
            Self::Start => format!("Start {who}?"),
            Self::Shutdown(_) => format!("Shut down {who}?"),
            Self::Reboot(_) => format!("Reboot {who}?"),
            Self::Stop => format!("Stop {who} at once, as if its plug were pulled?"),
            Self::Reset => format!("Reset {who} at once, as if its reset button were pressed?"),
            Self::Suspend { to_disk: false } => format!("Pause {who}?"),
            Self::Suspend { to_disk: true } => format!("Hibernate {who}?"),
            Self::Resume => format!("Resume {who}?"),
        };
        let mut sentences = vec![asked];
        if self.interrupts()
            && let Some(uptime) = scene.uptime()
        {
            sentences.push(format!("It has been up for {}.", Duration(uptime)));
        }
        match self {
            Self::Stop | Self::Reset => sentences.push("What it has not saved is lost.".to_owned()),
            Self::Shutdown(_) | Self::Reboot(_) => {
                sentences.push("Whoever uses it is interrupted.".to_owned());
                let told = pending::told(&scene.pending);
                sentences.extend(told.map(|told| format!("Pending changes are applied: {told}.")));
            }
            Self::Suspend { to_disk: false } => {
                sentences.push("It does nothing until it is resumed.".to_owned());
            }
            Self::Suspend { to_disk: true } => sentences.push(
                "Its memory is saved and it stops; it does nothing until it is resumed.".to_owned(),
            ),
            Self::Start | Self::Resume => {}
        }
        if let Some(told) = self.under_ha(scene) {
            let mut letters = told.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            sentences.push(format!("{first}{}.", letters.as_str()));
        }
        sentences.join(" ")
    }

    /// What it means for the guest, for those who only want to know.
    pub(super) fn meaning(self, scene: &Scene) -> Vec<String> {
        let mut notes = Vec::new();
        let ends_run =
            !matches!(self, Self::Start | Self::Resume | Self::Suspend { to_disk: false });
        if ends_run && let Some(uptime) = scene.uptime() {
            notes.push(format!("it has been up for {}", Duration(uptime)));
        }
        let seconds = self.seconds(scene);
        match self {
            Self::Stop | Self::Reset => {
                notes.push("what it has not saved is lost".to_owned());
                if self == Self::Reset && scene.state != State::Running {
                    notes.push(STILL.to_owned());
                }
            }
            Self::Shutdown(_) if scene.managed().is_none() => notes.push(format!(
                "it gets {seconds} s to shut down; if it does not, it is left running and never stopped hard"
            )),
            Self::Reboot(_) => {
                notes.push(format!(
                    "it gets {seconds} s to shut down; if it does not, it is left running"
                ));
                let told = pending::told(&scene.pending);
                notes.extend(told.map(|told| format!("pending changes are applied by it: {told}")));
            }
            Self::Suspend { to_disk: false } => {
                notes.extend(scene.uptime().map(|up| format!("it has been up for {}", Duration(up))));
                notes.push("it does nothing until resume_vm, and keeps its memory".to_owned());
            }
            Self::Suspend { to_disk: true } => notes.push(
                "its memory is saved and it stops; it does nothing until start_vm, which resumes where it was".to_owned(),
            ),
            Self::Start if scene.state == State::Hibernated => {
                notes.push("it goes on where it was hibernated".to_owned());
            }
            _ => {}
        }
        notes.extend(self.under_ha(scene));
        notes
    }

    /// What is to be known afterwards. The request began a task of this type, and took so many seconds.
    pub(super) fn afterthoughts(
        self,
        scene: &Scene,
        outcome: &Outcome,
        task: &str,
        took: u64,
    ) -> Vec<String> {
        let mut notes = Vec::new();
        let by_ha = task.starts_with("ha");
        if let Some(wish) = self.wish().filter(|_| by_ha)
            && outcome.ha.as_deref().is_some_and(|now| now != wish)
        {
            notes.push(format!("its HA state will become `{wish}`"));
        }
        let is_open = matches!(outcome.outcome, "requested" | "sent" | "running" | "unconfirmed");
        let seconds = self.seconds(scene);
        match self {
            Self::Shutdown(_) if by_ha && !is_open && took >= u64::from(seconds) => {
                notes.push(format!(
                    "the HA manager stops hard what is not down after {seconds} s, so it may not have shut down cleanly"
                ));
            }
            Self::Reboot(_) if outcome.outcome == "done" => {
                let was = scene.uptime().map(|was| format!("; it was {} before", Duration(was)));
                notes.extend(outcome.uptime.map(|now| {
                    format!("its uptime is {} now{}", Duration(now), was.unwrap_or_default())
                }));
                let told = pending::told(&scene.pending);
                notes.extend(told.map(|told| {
                    format!("pending before it: {told}; get_vm_details tells what is in force")
                }));
            }
            // What may still come is said again.
            Self::Shutdown(_) | Self::Reboot(_) if is_open => notes.extend(self.under_ha(scene)),
            Self::Suspend { .. } => notes.extend(self.under_ha(scene)),
            Self::Reset if outcome.after.as_deref().is_some_and(|now| now != "running") => {
                notes.push(STILL.to_owned());
            }
            _ => {}
        }
        notes
    }

    /// What the HA manager has to do with it, where it cares for the guest.
    pub(super) fn under_ha(self, scene: &Scene) -> Option<String> {
        let now = scene.managed()?;
        let cares = format!("the HA manager cares for it (now: {now})");
        let seconds = self.seconds(scene);
        let usual = match self {
            Self::Shutdown(None) => " (timeout_seconds gives it another time)",
            _ => "",
        };
        Some(match self {
            Self::Start => {
                format!("{cares}: it is asked for `started`, acts in its own time, and keeps it so")
            }
            Self::Stop => format!(
                "{cares}: it is asked for `stopped`, acts in its own time, stops it hard at once, and keeps it stopped until start_vm"
            ),
            Self::Shutdown(_) => format!(
                "{cares}: it is asked for `stopped`, acts in its own time, gives the guest {seconds} s{usual}, then STOPS IT HARD, which loses what is not saved, and keeps it stopped until start_vm"
            ),
            Self::Reboot(_) if now == "started" => format!(
                "{cares}, but the reboot does not go through it: it may start the guest itself as soon as it is down"
            ),
            Self::Suspend { to_disk: true } if now == "started" => format!(
                "{cares} and wants it to run: it is likely to start it again soon after, which resumes it"
            ),
            _ => return None,
        })
    }
}
