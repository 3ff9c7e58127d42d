//! Types, once, and says how far it came.
//!
//! Keys go out one by one, with a pause between them: the keyboard of a VM holds few that were not read
//! yet. What a terminal writes meanwhile is read.

use pve_client::{
    Operator,
    console::{ConsoleError, ConsoleProblem, OpenTerminal},
};
use tokio::time::{Duration, Instant, error::Elapsed, sleep, timeout_at};

use super::look::Scene;
use crate::{
    answer::clean::sentence,
    call::Call,
    console::{
        self, SIZE,
        keys::{Into, Stroke, Typing},
        listen::{Heard, Until},
        text::{self, Text, Wanted},
    },
    failure::Failure,
};

/// The pause between two keys of a keyboard, of which a VM's keeps sixteen.
const KEYBOARD: Duration = Duration::from_millis(20);
/// The pause between two keys of a terminal. Firmware looks at its serial port 18 times a second, and keeps fifteen
/// keys too.
const TERMINAL: Duration = Duration::from_millis(10);
/// How long a screen may take to say that it took everything.
const SETTLING: u64 = 4;
/// How many lines of a terminal are shown.
const LINES: usize = 60;

/// What was typed.
pub(super) struct Typed {
    n_sent: usize,
    n_all: usize,
    /// Whether the connection broke before everything was sent.
    is_lost: bool,
    /// Whether it is unknown if what was sent was taken.
    is_unconfirmed: bool,
    pub(super) text: Option<Text>,
    pub(super) notes: Vec<String>,
}

impl Typed {
    fn new(typing: &Typing) -> Self {
        Self {
            n_sent: 0,
            n_all: typing.strokes.len(),
            is_lost: false,
            is_unconfirmed: false,
            text: None,
            notes: Vec::new(),
        }
    }

    pub(super) fn outcome(&self) -> &'static str {
        match (self.is_lost, self.is_unconfirmed) {
            (true, _) => "lost",
            (_, true) => "unconfirmed",
            _ => "sent",
        }
    }

    pub(super) fn count(&self) -> String {
        format!("{} of {}", self.n_sent, self.n_all)
    }

    /// Counts a key that went out; `false` says that no other may follow it.
    fn took(&mut self, sent: Result<Result<(), ConsoleProblem>, Elapsed>) -> bool {
        match sent {
            Ok(Ok(())) => self.n_sent += 1,
            Ok(Err(problem)) => {
                let said = sentence(&problem.to_string());
                self.lost(&format!("the connection broke ({said})"));
            }
            Err(_) => self.lost("time ran out"),
        }
        !self.is_lost
    }

    /// The connection broke, or time ran out, before everything was sent.
    fn lost(&mut self, why: &str) {
        self.is_lost = true;
        self.notes.push(format!(
            "{why} after {} keys went out, of which the last may not have arrived; the rest was not sent, and nothing is sent again: \
             see what is on the console before you go on",
            self.count()
        ));
    }
}

pub(super) async fn carry_out(
    pve: &Operator,
    call: &Call,
    scene: &Scene,
    typing: &Typing,
    listen_seconds: u64,
) -> Result<Typed, Failure> {
    match scene.into {
        Into::Keyboard => on_display(pve, call, scene, typing).await,
        Into::Terminal => on_terminal(pve, call, scene, typing, listen_seconds).await,
    }
}

/// When typing has to be over, so that time is left for the answer.
fn latest(call: &Call) -> Instant {
    call.deadline.checked_sub(Duration::from_secs(10)).unwrap_or_else(Instant::now)
}

async fn on_display(
    pve: &Operator,
    call: &Call,
    scene: &Scene,
    typing: &Typing,
) -> Result<Typed, Failure> {
    let opened = pve.open_screen(&scene.found.guest).await;
    let mut screen = match opened {
        Ok(screen) => screen,
        Err(error) => {
            let said = console::task_end(pve.reader(), call, &scene.found, &error).await;
            return Err(not_opened(scene, &error, said.as_deref()));
        }
    };
    let mut typed = Typed::new(typing);
    let end = latest(call);
    for stroke in &typing.strokes {
        if typed.n_sent > 0 {
            sleep(KEYBOARD).await;
        }
        if !typed.took(timeout_at(end, screen.press(&stroke.chord())).await) {
            break;
        }
    }
    if !typed.is_lost && screen.settle(call.part(SETTLING)).await.is_err() {
        typed.is_unconfirmed = true;
        typed.notes.push(
            "everything was sent, but the screen did not say that it took it; nothing is sent again"
                .to_owned(),
        );
    }
    screen.close().await;
    if typing.n_characters > 0 {
        typed.notes.push(
            "letters come out as the guest's keyboard layout has them, here sent as on a US keyboard"
                .to_owned(),
        );
    }
    typed.notes.push("get_vm_screenshot shows what came of it".to_owned());
    Ok(typed)
}

async fn on_terminal(
    pve: &Operator,
    call: &Call,
    scene: &Scene,
    typing: &Typing,
    listen_seconds: u64,
) -> Result<Typed, Failure> {
    let found = &scene.found;
    let mut terminal = match pve.open_terminal(&found.guest, scene.port(), SIZE).await {
        Ok(terminal) => terminal,
        Err(error) => {
            let failure =
                console::not_opened(pve.reader(), call, found, &error, scene.version).await;
            return Err(Failure::new(format!("{}; nothing was typed", failure.what()))
                .hint("get_vm_status tells how the guest is"));
        }
    };
    let mut typed = Typed::new(typing);
    let mut heard = Heard::begin();
    let end = latest(call);
    for sequence in typing.strokes.iter().filter_map(Stroke::sequence) {
        // The first one too: what PVE itself says comes before.
        hear(&mut terminal, &mut heard, TERMINAL).await;
        if heard.is_over() {
            typed.lost("the console ended");
            break;
        }
        if !typed.took(timeout_at(end, terminal.send(&sequence)).await) {
            break;
        }
    }
    heard.listen(terminal.into_watched(), call, listen_seconds, Until::TimeIsOver).await;
    let wanted = Wanted { serial: scene.serial, pattern: None, lines: LINES, more: "" };
    let (text, notes) = Text::of(found, &scene.current, &heard, wanted);
    typed.notes.extend(notes);
    if text::is_silent(found.guest.kind, &heard) {
        typed.notes.push(
            "nothing came back: whatever is there does not echo, or somebody else holds the serial port, which serves one at a time"
                .to_owned(),
        );
    }
    typed.text = Some(text);
    Ok(typed)
}

/// Hears what comes within a pause.
async fn hear(terminal: &mut OpenTerminal, heard: &mut Heard, pause: Duration) {
    let end = Instant::now() + pause;
    while !heard.is_over() && Instant::now() < end {
        let Ok(came) = timeout_at(end, terminal.next()).await else { return };
        heard.take(came);
    }
}

fn not_opened(scene: &Scene, error: &ConsoleError, said: Option<&str>) -> Failure {
    let asked = format!("open {}", scene.place());
    let failure = console::not_shown(&asked, error, said);
    Failure::new(format!("{}; nothing was typed", failure.what()))
        .hint("a VM without a display (`vga: none`) may have a serial port: `serial: 0`; get_vm_status tells how the guest is")
}
