//! Sends a request once, and follows what it began.
//!
//! **When its answer is lost the request is not sent again.** The newest tasks of the guest tell whether it
//! arrived: ours is the one with our token, of the right type and on this guest, that was not there before.

mod search;

use pve_client::{Error, Operator, Reader, RefusalKind, Upid, task_log};
use tokio::time::{Duration as Time, Instant, sleep, timeout_at};

use self::search::Search;
use super::{
    KEPT,
    action::{Action, Plan},
    after::{After, Place},
    look::Scene,
    outcome::Outcome,
    state::State,
};
use crate::{
    answer::{
        Duration,
        clean::{label, quoted_sentence, sentence},
    },
    call::Call,
    failure::Failure,
    turns::Alone,
};

/// How much of a task's log is read: all that tasks of this kind write.
const LOG_LINES: u32 = 100;
/// A request that takes longer to be answered is said to.
const SLOW: Time = Time::from_secs(1);

/// How long a guest gets to be down after somebody ended the task that waited for it.
const SOON: Time = Time::from_secs(5);

/// How a task was last seen.
enum Seen {
    Ended(String),
    /// It is not over, or was not when it was last read.
    Running,
    /// It could not be read at the end.
    Unread,
    /// Its node does not know it any more.
    Gone,
}

/// A request under way.
struct Course<'a> {
    pve: &'a Reader,
    call: &'a Call,
    scene: &'a Scene,
    action: Action,
    place: Place,
    began: Instant,
    /// When waiting ends.
    until: Instant,
}

/// Sends what is planned, waits for its end until `until`, and says what is so then.
pub(super) async fn carry_through(
    operator: &Operator,
    call: &Call,
    scene: &Scene,
    (plan, mut alone): (Plan, Alone),
    until: Instant,
) -> Result<Outcome, Failure> {
    let course = Course {
        pve: operator.reader(),
        call,
        scene,
        action: plan.action,
        place: Place::new(&scene.found.guest),
        began: Instant::now(),
        until,
    };
    let request = plan.request(&scene.found.guest);
    let sent = operator.until(call.deadline - KEPT).post(request).await;
    // Then it is not the guest that is slow.
    let sending = course.began.elapsed();
    let slow = (sending > SLOW && Instant::now() > until).then(|| {
        let took = Duration(sending.as_secs());
        format!("sending the request alone took {took}, longer than wait_seconds: PVE was slow to answer it")
    });
    let (upid, lost) = match sent {
        Ok(upid) => (upid, None),
        Err(error) if error.may_have_taken_effect() => {
            let why = Failure::from_pve(plan.action.verb(), &error).what().to_owned();
            let search = course.search().await;
            let Search::Found(upid) = search else {
                let mut outcome = course.unknown(&why, &search).await;
                outcome.notes.extend(slow);
                return Ok(outcome);
            };
            (upid, Some(why))
        }
        Err(error) => return course.refused(&error).await,
    };
    call.sent.has_task(&upid);
    if plan.action.waits_for_guest() {
        alone.lets_a_stop_pass();
    }
    let mut outcome = course.follow(&upid).await?;
    let took = course.began.elapsed().as_secs();
    outcome.notes.extend(plan.action.afterthoughts(scene, &outcome, &upid.kind, took));
    outcome.notes.extend(slow);
    Ok(match lost {
        Some(why) => outcome.with_note(format!(
            "the answer was lost ({why}), but its task was found, and nothing was sent again; a task that another program began just then with the same token would look alike"
        )),
        None => outcome,
    })
}

impl Course<'_> {
    /// Follows a task to its end, and the guest to its state.
    async fn follow(&self, upid: &Upid) -> Result<Outcome, Failure> {
        let by_ha = upid.kind.starts_with("ha");
        match self.end_of(upid).await {
            Seen::Running => {
                let after = self.state().await;
                // `running` would be read as the guest's state by whoever did not want to wait.
                let is_waited_for = self.until > self.began;
                let word = if is_waited_for { "running" } else { "sent" };
                let outcome = Outcome::new(self.scene, word).with_task(upid);
                let since = Duration(self.began.elapsed().as_secs());
                let known = if is_waited_for {
                    format!("the task still runs after {since}, and goes on by itself")
                } else {
                    "sent; not waited for: its task has begun, and `after` is how the guest was right then".to_owned()
                };
                Ok(outcome.with_state(after.as_ref()).with_note(format!(
                    "{known}: get_task with its UPID tells how it ends; send nothing else to this guest before"
                )))
            }
            Seen::Unread => {
                let after = self.state().await;
                Ok(self.by_state(upid, after.as_ref()).with_note(
                    "its task began, and could not be read at the end: get_task with its UPID tells what came of it; send nothing else to this guest before",
                ))
            }
            Seen::Gone => {
                let after = self.settled().await;
                Ok(self.by_state(upid, after.as_ref()).with_note(
                    "its task began, but its node does not know it any more; what counts is the state",
                ))
            }
            Seen::Ended(result) if result == "OK" || result.starts_with("WARNINGS") => {
                let after = self.settled().await;
                let word = if by_ha { "requested" } else { "unconfirmed" };
                let mut outcome = Outcome::new(self.scene, self.judged(after.as_ref(), word));
                outcome.took = Some(Duration(self.began.elapsed().as_secs()));
                outcome.task_result = Some(sentence(&result));
                if result != "OK" {
                    outcome.warnings = self.log(upid, |line| line.starts_with("WARN")).await;
                }
                if outcome.outcome == "requested" {
                    outcome.notes.push(
                        "the request was filed with the HA manager, which acts in its own time, perhaps on another node: see get_vm_status"
                            .to_owned(),
                    );
                } else if outcome.outcome == "unconfirmed" {
                    outcome.notes.push(format!(
                        "PVE's task ended well, but {} was not seen in the guest's state: see get_vm_status",
                        self.sign()
                    ));
                }
                Ok(outcome.with_task(upid).with_state(after.as_ref()))
            }
            Seen::Ended(result) => self.failed(upid, &result).await,
        }
    }

    /// A task that failed. Where the guest is as it should be all the same, that is what counts.
    async fn failed(&self, upid: &Upid, result: &str) -> Result<Outcome, Failure> {
        // Whoever stops a guest ends the task that waits for it first.
        let is_interrupted = result == "received interrupt" && self.action.waits_for_guest();
        let after = if is_interrupted { self.down_soon().await } else { self.state().await };
        let said = sentence(result);
        if self.is_shown(after.as_ref()) {
            // Somebody else did it at the same moment.
            let by_another =
                ["already running", "can't lock file"].iter().any(|word| result.contains(word));
            let word = if by_another { "already" } else { "done" };
            let mut outcome = Outcome::new(self.scene, word).with_task(upid);
            outcome.task_result = Some(said);
            let note = if is_interrupted {
                "somebody ended the task, as stop_vm does, and the guest is down: it may not have shut down cleanly"
            } else if by_another {
                "the task failed since something else did the same, so the guest is as it should be"
            } else {
                "the task failed, but the guest is as it should be"
            };
            return Ok(outcome.with_state(after.as_ref()).with_note(note));
        }
        let state = match &after {
            Some(after) => self.now(after),
            None => "its state afterwards could not be read".to_owned(),
        };
        let lines = self.log(upid, |line| !line.starts_with("TASK ERROR")).await;
        let log = match lines.last() {
            Some(line) if !line.starts_with("no content") => {
                format!(" Last in its log: {}.", quoted_sentence(line))
            }
            _ => String::new(),
        };
        let verb = self.action.verb();
        let who = self.scene.who();
        let what = match result {
            "unexpected status" => {
                format!("the task to {verb} {who} was killed, so its outcome is unknown; {state}.")
            }
            "received interrupt" if is_interrupted => {
                format!("somebody ended the task to {verb} {who}, as stop_vm does; {state}.")
            }
            "received interrupt" => format!("somebody ended the task to {verb} {who}; {state}."),
            _ => format!("PVE could not {verb} {who}: {said}; {state}.{log}"),
        };
        let what = format!("{what} Task: {}", sentence(&upid.to_string()));
        Err(Failure::new(what).hint(self.advice(result)))
    }

    fn advice(&self, result: &str) -> String {
        let advice = match self.action {
            _ if result.contains("is locked") || result.contains("can't lock file") => {
                "something else works on it: list_tasks tells what; nothing is unlocked from here"
            }
            Action::Shutdown(_) | Action::Reboot(_)
                if result.contains("timeout") || result.contains("lxc-stop") =>
            {
                "it did not react in time: look at its console, or try again with a longer timeout_seconds; only with the user's consent stop_vm, which loses what is not saved"
            }
            Action::Start | Action::Resume
                if result.contains("not online") || result.contains("does not exist") =>
            {
                "list_storage tells whether its storage is there"
            }
            _ => {
                "read its state with get_vm_status before anything else; the whole log is in get_task"
            }
        };
        advice.to_owned()
    }

    /// A request that PVE refused at once. Perhaps since it was done a moment before.
    async fn refused(&self, error: &Error) -> Result<Outcome, Failure> {
        let race = error.refusal().is_some_and(|refusal| refusal.kind() == RefusalKind::Other);
        if race {
            let after = self.state().await;
            if self.is_shown(after.as_ref()) {
                return Ok(Outcome::new(self.scene, "already")
                    .with_state(after.as_ref())
                    .with_note(
                        "it became so while the request was on its way, and PVE refused that",
                    ));
            }
        }
        Err(Failure::from_pve(&format!("{} {}", self.action.verb(), self.scene.who()), error))
    }

    /// Nobody knows whether the request arrived.
    async fn unknown(&self, why: &str, search: &Search) -> Outcome {
        let after = self.state().await;
        let found = match search {
            Search::NotThere => {
                "no task of ours was found since, so it probably never began, but it still may"
            }
            _ => {
                "the guest's tasks could not be read, so that nobody knows whether it was carried out"
            }
        };
        Outcome::new(self.scene, "unknown").with_state(after.as_ref()).with_note(format!(
            "{why}; {found}: nothing was sent again. Look at the state and at list_tasks in a minute before you call again"
        ))
    }

    /// Waits for the end of a task.
    async fn end_of(&self, upid: &Upid) -> Seen {
        let mut pause = Pause::new();
        loop {
            let mut is_read = false;
            // Also when nobody wants to wait: a task that failed at once should be said to have failed.
            let look = self.pve.until(self.until.max(Instant::now() + Time::from_secs(2)));
            match look.get(task_log::status(upid)).await {
                Ok(status) if status.is_over() => {
                    let end = status.exitstatus.unwrap_or_else(|| "unexpected status".to_owned());
                    return Seen::Ended(end);
                }
                Err(Error::Refused(refusal)) if refusal.kind() == RefusalKind::BadParameters => {
                    return Seen::Gone;
                }
                Ok(_) => is_read = true,
                // A node that does not answer this time may do so the next.
                Err(_) => {}
            }
            self.tell("its task runs");
            if !pause.before(self.until).await {
                return if is_read { Seen::Running } else { Seen::Unread };
            }
        }
    }

    /// The state of the guest as soon as it is as it should be, or as it is when waiting ends.
    async fn settled(&self) -> Option<After> {
        let mut pause = Pause::new();
        loop {
            let after = self.state().await;
            if self.is_done(after.as_ref()) {
                return after;
            }
            self.tell("waiting for the guest's state");
            if !pause.before(self.until).await {
                return after;
            }
        }
    }

    /// The state of the guest as soon as it is down, or as it is after a few seconds.
    async fn down_soon(&self) -> Option<After> {
        let end = self.until.min(Instant::now() + SOON);
        let mut pause = Pause::new();
        loop {
            let after = self.state().await;
            let is_down = |after: &After| State::of(&after.current).is_down();
            if after.as_ref().is_some_and(is_down) || !pause.before(end).await {
                return after;
            }
        }
    }

    async fn state(&self) -> Option<After> {
        self.place.look(&self.pve.until(self.call.deadline - Time::from_secs(1))).await
    }

    /// `it is running`, and where, if that is another node than before.
    fn now(&self, after: &After) -> String {
        let word = State::of(&after.current).word();
        if after.node == self.scene.found.guest.node {
            format!("it is {word}")
        } else {
            format!("it is {word} on {} now", label(after.node.as_str()))
        }
    }

    fn is_done(&self, after: Option<&After>) -> bool {
        after.is_some_and(|after| self.action.is_done(&self.scene.current, &after.current))
    }

    /// Whether the state itself says that it was done, whatever is known of the task.
    fn is_shown(&self, after: Option<&After>) -> bool {
        self.action.shows() && self.is_done(after)
    }

    /// What came of a task of which nothing is known but that it began.
    fn by_state(&self, upid: &Upid, after: Option<&After>) -> Outcome {
        let word = if self.is_shown(after) { "done" } else { "unknown" };
        Outcome::new(self.scene, word).with_task(upid).with_state(after)
    }

    fn judged(&self, after: Option<&After>, otherwise: &'static str) -> &'static str {
        if self.is_done(after) { "done" } else { otherwise }
    }

    /// What shows that it is done.
    fn sign(&self) -> &'static str {
        match self.action {
            Action::Reboot(_) => "a new run (another process, a smaller uptime)",
            _ => "what it should have become",
        }
    }

    /// The lines of a task's log that are wanted, at most five.
    async fn log(&self, upid: &Upid, wanted: fn(&str) -> bool) -> Vec<String> {
        let end =
            (Instant::now() + Time::from_secs(5)).min(self.call.deadline - Time::from_secs(1));
        let log = task_log::log(upid, 0, LOG_LINES);
        let lines = self.pve.until(end).get(log).await.unwrap_or_default();
        let lines = lines.into_iter().filter_map(|line| Some(line.t?.text));
        let lines: Vec<String> =
            lines.filter(|line| wanted(line)).map(|line| sentence(&line)).collect();
        let cut = lines.len().saturating_sub(5);
        lines.into_iter().skip(cut).collect()
    }

    fn tell(&self, what: &str) {
        let tenths = |time: Time| (time.as_secs_f64() * 10.0).round() / 10.0;
        let done = tenths(self.began.elapsed());
        let all = (self.until - self.began).as_secs_f64().round();
        let message = format!(
            "{}: {what} ({})",
            self.action.verb(),
            Duration(self.began.elapsed().as_secs())
        );
        self.call.progress.report(1.0 + done, Some(1.0 + all.max(done)), message);
    }
}

/// Pauses that grow, so that quick tasks are seen at once and slow ones cost PVE little.
struct Pause(Time);

impl Pause {
    fn new() -> Self {
        Self(Time::from_millis(100))
    }

    /// Pauses, and says whether there is time left.
    async fn before(&mut self, end: Instant) -> bool {
        if Instant::now() >= end {
            return false;
        }
        let pause = self.0;
        self.0 = (pause * 3 / 2).min(Time::from_secs(2));
        timeout_at(end, sleep(pause)).await.ok();
        true
    }
}
