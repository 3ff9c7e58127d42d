//! Watches the console of a guest while it boots, beside the request that lets it.
//!
//! **It holds nothing up and changes nothing**: what is done to the guest goes its usual way, and a
//! console that does not open is a note. It attaches as soon as the guest runs, since nothing is replayed.

use futures_util::future::{Either, select};
use pve_client::{
    Error, Kind, Operator, Reader, RefusalKind,
    console::WatchedTerminal,
    guest::{self, Current},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::time::{Duration, Instant, sleep};

use super::{Order, Outcome, Own, action::is_another_run, carry_out};
use crate::{
    call::Call,
    console::{
        self, SIZE,
        listen::{Heard, Until},
        named,
        text::{self, Text, Wanted},
    },
    failure::Failure,
    lookup::guest::{Found, find},
};

/// How many lines of a boot are shown.
const LINES: usize = 80;
/// How often a console is opened that did not open at once.
const TRIES: u32 = 3;
/// What is kept of a call's time, so that there is some left for the console.
const KEPT: Duration = Duration::from_secs(8);

/// The arguments of a tool after which a guest boots.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
pub struct Watching<T> {
    /// The arguments that it takes besides.
    #[serde(flatten)]
    pub rest: T,
    /// Seconds to show the boot's console text.
    #[schemars(range(max = 40))]
    watch_console: Option<u64>,
}

/// What came of it, and what the guest wrote while it booted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Booted {
    #[serde(flatten)]
    outcome: Outcome,
    /// How far it came: `login prompt`, `kernel panic`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shows: Vec<&'static str>,
    /// What it wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    boot: Vec<String>,
}

/// What was seen of a boot.
#[derive(Default)]
struct Boot {
    shows: Vec<&'static str>,
    lines: Vec<String>,
    notes: Vec<String>,
}

impl<T: DeserializeOwned + Serialize + JsonSchema + Send> Own for Watching<T> {
    type Output = Booted;

    /// Watches beside the work, where that is wanted.
    async fn carry_out(self, pve: Operator, call: &Call, order: Order) -> Result<Booted, Failure> {
        let seconds = self.watch_console.unwrap_or_default();
        if seconds == 0 || order.dry_run {
            return carry_out(pve, call, order).await.map(Booted::unwatched);
        }
        if !call.limits.may_use("get_vm_console") {
            let mut booted = carry_out(pve, call, order).await.map(Booted::unwatched)?;
            let note = "its console was not watched: get_vm_console is left out of what this server offers";
            booted.outcome.notes.push(note.to_owned());
            return Ok(booted);
        }
        let reader = pve.reader().clone();
        let vm = order.vm.clone();
        // Whatever is wrong with the guest, the other way says it better.
        let Ok(found) = find(&reader, &vm).await else {
            return carry_out(pve, call, order).await.map(Booted::unwatched);
        };
        let before = reader.get(guest::current(&found.guest)).await.ok();
        let work = Box::pin(carry_out(pve, call, order));
        let watching = Box::pin(watch(&reader, call, found, before, seconds));
        let (mut outcome, boot) = match select(work, watching).await {
            Either::Left((outcome, watching)) => {
                let outcome = outcome?;
                let boot = if outcome.has_begun() { watching.await } else { Boot::none(&outcome) };
                (outcome, boot)
            }
            Either::Right((boot, work)) => (work.await?, boot),
        };
        outcome.notes.extend(boot.notes);
        Ok(Booted { outcome, shows: boot.shows, boot: boot.lines })
    }
}

impl Booted {
    fn unwatched(outcome: Outcome) -> Self {
        Self { outcome, shows: Vec::new(), boot: Vec::new() }
    }
}

impl Boot {
    fn only_note(note: impl Into<String>) -> Self {
        Self { notes: vec![note.into()], ..Self::default() }
    }

    fn none(outcome: &Outcome) -> Self {
        match outcome.outcome {
            "already" => Self::only_note("no boot was watched, since none began: get_vm_console"),
            _ => Self::default(),
        }
    }
}

impl Outcome {
    /// Whether the guest boots now, or may do so soon.
    fn has_begun(&self) -> bool {
        matches!(self.outcome, "done" | "sent" | "running" | "requested" | "unconfirmed")
    }
}

/// Waits until the guest runs anew, listens to its console, and says what came.
async fn watch(
    pve: &Reader,
    call: &Call,
    mut found: Found,
    before: Option<Current>,
    seconds: u64,
) -> Boot {
    let version = console::version_of(pve).await;
    let end = call.deadline.checked_sub(KEPT).unwrap_or_else(Instant::now);
    let Some(current) = runs(pve, &mut found, before.as_ref(), end).await else {
        return Boot::only_note("it did not run in time, so its boot was not watched");
    };
    if found.guest.kind == Kind::Qemu && current.serial != Some(true) {
        return Boot::only_note(format!(
            "{} has no serial port, so its boot has no text: get_vm_screenshot shows its display",
            named(&found)
        ));
    }
    if let Err(failure) = console::refuse_in_words(&found, &current, version) {
        return Boot::only_note(format!("the boot was not watched: {}", failure.what()));
    }
    let terminal = match open(pve, call, &found, version, end).await {
        Ok(terminal) => terminal,
        Err(failure) => {
            return Boot::only_note(format!("the boot was not watched: {}", failure.what()));
        }
    };
    call.progress.report(2.0, None, "it runs: listening to its console");
    let mut heard = Heard::begin();
    heard.listen(terminal, call, seconds, Until::BootEnds).await;
    let wanted = Wanted { serial: None, pattern: None, lines: LINES, more: "" };
    let (text, mut notes) = Text::of(&found, &current, &heard, wanted);
    if text::is_silent(found.guest.kind, &heard) {
        notes.push(
            "nothing came on its console: it may write to its display only, see get_vm_screenshot"
                .to_owned(),
        );
    } else if !heard.came {
        notes.push(format!(
            "no prompt came on {} while it was watched for {} s; get_vm_console listens on",
            text.console, text.listened_seconds
        ));
    }
    // A boot is a log: what a reset or a full screen took away belongs to it.
    let lines = text.earlier.into_iter().chain(text.screen).collect();
    Boot { shows: text.shows, lines, notes }
}

/// How the guest is as soon as it runs, and in another run than before.
async fn runs(
    pve: &Reader,
    found: &mut Found,
    before: Option<&Current>,
    end: Instant,
) -> Option<Current> {
    let mut pause = Duration::from_millis(100);
    loop {
        match pve.until(end).get(guest::current(&found.guest)).await {
            Ok(current) if is_new(before, &current) => return Some(current),
            // The HA manager may start it elsewhere.
            Err(Error::Refused(refusal)) if refusal.kind() == RefusalKind::NoSuchGuest => {
                *found = find(&pve.until(end), &found.guest.vmid.to_string()).await.ok()?;
            }
            _ => {}
        }
        if Instant::now() + pause >= end {
            return None;
        }
        sleep(pause).await;
        // What a guest writes before somebody listens is lost, so that the pauses stay short.
        pause = (pause * 3 / 2).min(Duration::from_millis(700));
    }
}

fn is_new(before: Option<&Current>, now: &Current) -> bool {
    let is_up = |current: &Current| current.status.as_deref() == Some("running");
    let is_other = before.is_none_or(|before| !is_up(before) || is_another_run(before, now));
    is_up(now) && is_other
}

/// Opens the console. A guest that has only just begun may not have one yet.
async fn open(
    pve: &Reader,
    call: &Call,
    found: &Found,
    version: (u32, u32),
    end: Instant,
) -> Result<WatchedTerminal, Failure> {
    let mut tries = 1;
    loop {
        match pve.watch_terminal(&found.guest, None, SIZE).await {
            Ok(terminal) => return Ok(terminal),
            Err(error) if error.task.is_some() && tries < TRIES && Instant::now() < end => {
                tries += 1;
                sleep(Duration::from_millis(500)).await;
            }
            Err(error) => return Err(console::not_opened(pve, call, found, &error, version).await),
        }
    }
}
