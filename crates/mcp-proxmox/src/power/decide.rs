//! Decides what a guest's state means for an action: it is done already, something is in the way, or the
//! request can be sent.
//!
//! What PVE would find out only in a task, after seconds, or not say at all, is found here. **The wanted
//! state counts as success before anything can be in the way of it.**

use pve_client::Kind;

use super::{
    action::{Action, Plan},
    held,
    look::Scene,
    state::State,
};
use crate::{answer::clean::quoted, call::Call, failure::Failure, rights::grant};

/// What is to be done.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Nothing: it is as it should be.
    Already(Option<String>),
    /// This is to be sent.
    Send(Plan),
}

pub(super) fn verdict(scene: &Scene, call: &Call, action: Action) -> Result<Verdict, Failure> {
    call.policy.lets(&scene.found, &scene.current)?;
    if scene.current.template == Some(true) || scene.found.listed.template == Some(true) {
        let what = format!("{} is a template, which never runs; nothing was sent", scene.who());
        return Err(Failure::new(what).hint("clone it in the web interface, and start the clone"));
    }
    // What is said of a state that is about to be another would mislead.
    let changing = scene.at_work().find(|task| held::changes_state(task));
    match (of_state(scene, action), changing) {
        (Ok(Standing::Possible), _) => {}
        (_, Some(task)) => return Err(held::at_work(scene, call, task)),
        (Ok(Standing::Reached(note)), None) => return Ok(Verdict::Already(note)),
        (Err(failure), None) => return Err(failure),
    }
    if scene.lacks_right {
        return Err(no_right(scene));
    }
    if action.goes_through_ha() && scene.managed().as_deref() == Some("error") {
        let what = format!(
            "{} is in HA state `error`, in which the HA manager does nothing; nothing was sent",
            scene.who()
        );
        return Err(Failure::new(what).hint("an administrator has to find the cause, and then set its HA state to `disabled` and to `started` again"));
    }
    let wakes =
        scene.state == State::Hibernated && matches!(action, Action::Start | Action::Resume);
    if let Some(lock) = scene.current.lock.as_deref().filter(|_| !wakes) {
        return Err(held::locked(scene, call, lock));
    }
    let mut overrules = false;
    if let Some(task) = scene.at_work().next() {
        // Whoever wants it stopped does not want to wait for a shutdown that hangs.
        overrules = action == Action::Stop
            && scene.managed().is_none()
            && scene.at_work().all(held::waits_for_guest);
        if !overrules {
            return Err(held::at_work(scene, call, task));
        }
    }
    if let Some(why) = without_quorum(scene, action) {
        let who = scene.who();
        let what = format!("the cluster has no quorum, so {who} {why}; nothing was sent");
        return Err(Failure::new(what).hint(
            "list_nodes tells which nodes are missing; nothing can be started, and no configuration changed, before they are back",
        ));
    }
    Ok(Verdict::Send(Plan { action, seconds: action.seconds(scene), overrules }))
}

/// Why this cannot be done, where there is no quorum and nothing can be written below `/etc/pve`.
fn without_quorum(scene: &Scene, action: Action) -> Option<&'static str> {
    if scene.is_quorate != Some(false) {
        return None;
    }
    match action {
        // A reboot that stops it and cannot start it again is worse than none.
        Action::Reboot(_) => Some("cannot be started again"),
        _ if action.starts(&scene.state) => Some("cannot be started"),
        Action::Suspend { to_disk: true } => {
            Some("cannot be hibernated, which writes to its configuration")
        }
        Action::Stop | Action::Shutdown(_) if scene.managed().is_some() => {
            Some("cannot be stopped: the HA manager, which does that, can be told nothing")
        }
        _ => None,
    }
}

fn no_right(scene: &Scene) -> Failure {
    let vmid = scene.found.guest.vmid;
    Failure::new(format!(
        "the API token lacks the privilege VM.PowerMgmt on /vms/{vmid}; nothing was sent"
    ))
    .hint(grant::advice("VM.PowerMgmt", &format!("/vms/{vmid}")))
    .refused()
}

/// How a guest's state stands to what is wanted.
enum Standing {
    /// It is what is wanted, with what should be known about that.
    Reached(Option<String>),
    /// It can become so.
    Possible,
}

/// Of a guest that does not run although the HA manager is to keep it running.
const STARTS_AGAIN: &str = "its HA state is `started`, so the HA manager is about to start it again: call this again when it runs, or an administrator sets its HA state to `stopped`";

/// How the guest stands to what is wanted, or why it cannot become so.
fn of_state(scene: &Scene, action: Action) -> Result<Standing, Failure> {
    let who = scene.who();
    let refuse = |why: &str, hint: &str| {
        Err(Failure::new(format!("{who} {why}; nothing was sent")).hint(hint.to_owned()))
    };
    if scene.found.guest.kind == Kind::Lxc {
        match action {
            Action::Reset => {
                return refuse(
                    "is a container, and containers have no reset",
                    "reboot_vm restarts it cleanly",
                );
            }
            Action::Suspend { .. } | Action::Resume => {
                return refuse(
                    "is a container, and PVE cannot suspend containers without CRIU, which it does not install",
                    "shutdown_vm stops it cleanly, start_vm starts it again",
                );
            }
            _ => {}
        }
    }
    // PVE takes a request for the HA manager at once, and what was asked before may come later.
    let is_asked_to_stop = scene
        .managed()
        .is_some_and(|state| matches!(state.as_str(), "stopped" | "disabled" | "request_stop"));
    if is_asked_to_stop
        && !scene.state.is_down()
        && !matches!(action, Action::Stop | Action::Shutdown(_))
    {
        return refuse(
            "still runs, but the HA manager is about to stop it",
            "wait until it is down (get_vm_status); then start_vm starts it again",
        );
    }
    let kept = "its saved memory is kept; start_vm resumes where it was";
    let fix = "a full or broken storage is the usual reason (list_storage); when that is mended, resume_vm lets it go on, and stop_vm gives it up";
    match (action, &scene.state) {
        (Action::Shutdown(_) | Action::Stop, State::Stopped) => {
            let starts_again = scene.managed().is_some_and(|state| state == "started");
            Ok(Standing::Reached(starts_again.then(|| STARTS_AGAIN.to_owned())))
        }
        (Action::Start | Action::Resume, State::Running)
        | (Action::Suspend { to_disk: false }, State::Paused)
        | (Action::Suspend { to_disk: true }, State::Hibernated) => Ok(Standing::Reached(None)),
        (Action::Shutdown(_) | Action::Stop, State::Hibernated) => {
            Ok(Standing::Reached(Some(kept.to_owned())))
        }
        (Action::Start, State::Paused) => {
            refuse("is paused, not stopped", "resume_vm lets it go on")
        }
        (
            Action::Start | Action::Shutdown(_) | Action::Reboot(_) | Action::Suspend { .. },
            State::IoError,
        ) => refuse("was stopped by QEMU on an I/O error", fix),
        (_, State::Prelaunch) => refuse(
            "has a QEMU process that PVE started to back it up, and does not run",
            "wait for the backup to end (list_tasks), then call again",
        ),
        (
            Action::Start | Action::Shutdown(_) | Action::Reboot(_) | Action::Suspend { .. },
            State::Frozen,
        ) => refuse(
            "waits at its beginning (prelaunch), as a VM does that was reset while it was paused",
            "resume_vm lets it go on",
        ),
        (Action::Shutdown(_) | Action::Reboot(_), State::Paused) => refuse(
            "is paused, so it cannot react",
            "resume_vm first; or, with the user's consent, stop_vm",
        ),
        (Action::Suspend { to_disk: true }, State::Paused) => {
            refuse("is paused, so it cannot be hibernated", "resume_vm first")
        }
        (
            Action::Reboot(_) | Action::Reset | Action::Suspend { .. } | Action::Resume,
            State::Stopped,
        ) => refuse("is stopped", "start_vm starts it"),
        (
            Action::Reboot(_) | Action::Reset | Action::Suspend { to_disk: false },
            State::Hibernated,
        ) => refuse("is hibernated", "start_vm resumes where it was"),
        (_, State::Other(word)) if action != Action::Stop && action != Action::Reset => refuse(
            &format!("is in the state {}", quoted(word)),
            match word.as_str() {
                // QEMU never leaves these by itself.
                "internal-error" | "guest-panicked" => {
                    "nothing but reset_vm or stop_vm, with the user's consent, gets it out of that"
                }
                _ => "wait until it is over, and read it with get_vm_status",
            },
        ),
        _ => Ok(Standing::Possible),
    }
}
