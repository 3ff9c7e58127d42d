//! `get_vm_console`: the text on a guest's console.
//!
//! A terminal shows only what comes while somebody listens, and QEMU's serial port serves one reader
//! at a time: so it listens for a few seconds and lets go. **It types nothing**: the connection that a
//! [`Reader`] opens cannot.

mod display;
mod kind;

use pve_client::{
    Error, Kind, Reader, Upid,
    console::{ConsoleError, ConsoleProblem, SerialPort, Size, WatchedTerminal},
    guest::{self, Current},
    task, version,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::{Duration, Instant};

use super::console::{named, refused};
use crate::{
    answer::{Bytes, clean::label, clean::sentence},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    lookup::guest::{Found, find, real_name},
    tier::Reads,
};
use display::Display;

/// The size that the terminal is told, as a browser's window may have it.
const SIZE: Size = Size { columns: 100, rows: 30 };
/// More is not listened to in one call.
const MOST_BYTES: u64 = 4 << 20;
/// How long the list of open consoles may take, in seconds.
const TASK_SECONDS: u64 = 4;
/// How many lines are shown where nothing else is asked for.
const LINES: usize = 60;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetVmConsole;

/// What to listen to, and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Vmid or unique name.
    vm: String,
    /// Serial port of a VM (default: the first).
    #[schemars(range(min = 0, max = 3))]
    serial: Option<u8>,
    /// Default 3.
    #[schemars(range(min = 1, max = 40))]
    listen_seconds: Option<u64>,
    /// Stop at this text.
    until_pattern: Option<String>,
    /// Only lines with this text.
    pattern: Option<String>,
    /// Last lines (default 60).
    #[schemars(range(min = 1, max = 500))]
    lines: Option<usize>,
}

/// What was on it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    vmid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    r#type: &'static str,
    node: String,
    /// `serial0` or `tty`.
    console: String,
    listened_seconds: f64,
    received: Bytes,
    /// `login prompt`, `kernel panic`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shows: Vec<&'static str>,
    /// Whether the text that was waited for came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern_came: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// What came and is not on the screen any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<String>,
    screen: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetVmConsole {
    const NAME: &'static str = "get_vm_console";
    const TITLE: &'static str = "Console text";
    const DESCRIPTION: &'static str = "Text on the console of a VM (serial port) or container (tty): what comes while listening, as screen and \
        lines; nothing is replayed, nothing typed. A serial port serves one reader at a time. For a VM's display use get_vm_screenshot.";
    const TOOLSET: Toolset = Toolset::Console;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Reader, call: &Call, input: Input) -> Result<Output, Failure> {
        let found = find(&pve, &input.vm).await?;
        let (current, version) =
            tokio::join!(pve.get(guest::current(&found.guest)), pve.get(version::version()));
        let current = current.map_err(|error| {
            Failure::from_pve(&format!("read the state of {}", found.guest.vmid), &error)
        })?;
        // Without a version nothing is known to be missing.
        let version = version.map_or((u32::MAX, 0), |version| {
            let (major, minor, _) = version.numbers();
            (major, minor)
        });
        refuse_in_words(&found, &current, version)?;
        let serial = input.serial.and_then(SerialPort::new);
        let opened = pve.watch_terminal(&found.guest, serial, SIZE).await;
        let terminal = match opened {
            Ok(terminal) => terminal,
            Err(error) => return Err(not_opened(&pve, call, &found, &error, version).await),
        };
        call.progress.report(1.0, None, "listening");
        let heard = listen(terminal, call, &input).await;
        let mut output = Output::of(&found, &input, &heard, &current);
        if heard.display.received <= u64::from(greeting(found.guest.kind)) && heard.broke.is_none()
        {
            output.notes.extend(silent(&pve, call, &found).await);
        }
        Ok(output)
    }
}

/// What was heard.
struct Heard {
    display: Display,
    seconds: f64,
    came: bool,
    ended: bool,
    broke: Option<ConsoleProblem>,
}

async fn listen(mut terminal: WatchedTerminal, call: &Call, input: &Input) -> Heard {
    let began = Instant::now();
    let seconds = Duration::from_secs(input.listen_seconds.unwrap_or(3));
    // What is left has to be enough to say farewell and to look for others.
    let latest = call.deadline.checked_sub(Duration::from_secs(TASK_SECONDS + 2)).unwrap_or(began);
    let until = (began + seconds).min(latest);
    let mut heard = Heard {
        display: Display::new(SIZE.columns, SIZE.rows),
        seconds: 0.0,
        came: false,
        ended: false,
        broke: None,
    };
    while heard.display.received < MOST_BYTES {
        match tokio::time::timeout_at(until, terminal.next()).await {
            Ok(Ok(Some(bytes))) => heard.display.feed(&bytes),
            Ok(Ok(None)) => heard.ended = true,
            Ok(Err(problem)) => heard.broke = Some(problem),
            Err(_time_is_over) => break,
        }
        heard.came = input.until_pattern.as_deref().is_some_and(|text| heard.display.shows(text));
        if heard.came || heard.ended || heard.broke.is_some() {
            break;
        }
    }
    terminal.close().await;
    heard.seconds = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    heard
}

/// Says in words what opening a console would only fail at.
fn refuse_in_words(found: &Found, current: &Current, version: (u32, u32)) -> Result<(), Failure> {
    let who = named(found);
    if current.status.as_deref() == Some("stopped") {
        return Err(Failure::new(format!(
            "{who} does not run, so there is nothing on its console"
        ))
        .hint("start_vm starts it, if this server may; get_vm_status tells more"));
    }
    if version < (9, 0) {
        return Err(Failure::new(format!(
            "PVE {}.{} lets no API token into text consoles; that came with about 9.1",
            version.0, version.1
        ))
        .hint("get_vm_screenshot works with every version, and shows a container's terminal too"));
    }
    // Only newer versions say whether there is one, and those always do.
    if found.guest.kind == Kind::Qemu && current.serial != Some(true) {
        return Err(Failure::new(format!("{who} has no serial port, so it has no text console"))
            .hint(format!(
                "get_vm_screenshot shows its display. An administrator can add a port with `qm set {} --serial0 socket`: it is there \
                 after the VM was stopped and started, and its Linux writes to it with `console=ttyS0` on the kernel's command line",
                found.guest.vmid
            )));
    }
    Ok(())
}

/// Why a console did not open. The task behind it often says more than the connection.
async fn not_opened(
    pve: &Reader,
    call: &Call,
    found: &Found,
    error: &ConsoleError,
    version: (u32, u32),
) -> Failure {
    let asked = format!("open the console of {}", named(found));
    if let (ConsoleProblem::NotOpened(error), None) = (&error.problem, &error.task) {
        return refused(&asked, error);
    }
    let said = match &error.task {
        Some(upid) => task_end(pve, call, found, upid).await,
        None => None,
    };
    let why = match (&error.problem, said) {
        (_, Some(said)) => format!("its task ended with: {said}"),
        (problem, None) => sentence(&problem.to_string()),
    };
    let failure = Failure::new(format!("could not {asked}: {why}"));
    match &error.problem {
        ConsoleProblem::LoginFailed if version < (9, 2) => failure.hint(
            "before about PVE 9.1 (its access control 9.0.5) an API token cannot log in to a text console; get_vm_screenshot works with every version",
        ),
        ConsoleProblem::NotOpened(Error::Unsent(_)) => {
            failure.hint("nothing was opened; try again")
        }
        _ => failure.hint("get_vm_screenshot may work; get_vm_status tells how the guest is"),
    }
}

/// What the task of a console ended with, if it ended badly.
async fn task_end(pve: &Reader, call: &Call, found: &Found, upid: &Upid) -> Option<String> {
    let filter =
        task::Filter { vmid: Some(found.guest.vmid), limit: Some(10), ..task::Filter::default() };
    let tasks = pve
        .until(call.part(TASK_SECONDS))
        .get(task::list(&found.guest.node, &filter))
        .await
        .ok()?;
    let ours = tasks.iter().find(|task| task.upid.as_ref() == Some(upid))?;
    ours.exit().filter(|exit| *exit != "OK").map(sentence)
}

/// What to say of a console on which nothing came.
async fn silent(pve: &Reader, call: &Call, found: &Found) -> Vec<String> {
    let mut notes = vec![
        "nothing came: a console is silent while nobody types, and what stood on it before is not replayed; that says nothing about the guest. \
         Listen longer, or while it boots; get_vm_screenshot shows a display's present state"
            .to_owned(),
    ];
    if found.guest.kind == Kind::Qemu {
        let filter = task::Filter {
            source: task::Source::Active,
            vmid: Some(found.guest.vmid),
            kind: Some("vncproxy".to_owned()),
            ..task::Filter::default()
        };
        let tasks = pve
            .until(call.part(TASK_SECONDS))
            .get(task::list(&found.guest.node, &filter))
            .await
            .unwrap_or_default();
        // Ours has just been closed, and may still be listed.
        let own = pve.token_id();
        let others: Vec<String> = tasks
            .iter()
            .filter(|task| task.is_running())
            .filter_map(|task| task.who().filter(|who| who != own))
            .map(|who| label(&who))
            .collect();
        if !others.is_empty() {
            notes.push(format!(
                "{} has a console of this VM open: a serial port serves one reader at a time, so that may be why nothing came",
                others.join(", ")
            ));
        }
    }
    notes
}

/// How many bytes PVE itself writes before the guest says anything.
fn greeting(kind: Kind) -> u16 {
    match kind {
        // `starting serial terminal on interface serial0`
        Kind::Qemu => 47,
        // It clears the screen.
        Kind::Lxc => 6,
    }
}

impl Output {
    fn of(found: &Found, input: &Input, heard: &Heard, current: &Current) -> Self {
        let drawn = heard.display.draw();
        let shows = kind::of(&drawn);
        let mut notes: Vec<String> = found.note.iter().cloned().collect();
        let port = drawn.earlier.iter().chain(&drawn.screen).find_map(|line| {
            line.strip_prefix("starting serial terminal on interface ").map(label)
        });
        let asked = input.serial.map(|number| format!("serial{number}"));
        let console = match found.guest.kind {
            Kind::Lxc => "tty".to_owned(),
            Kind::Qemu => port.or(asked).unwrap_or_else(|| "serial0".to_owned()),
        };
        if found.guest.kind == Kind::Lxc && input.serial.is_some() {
            notes.push("a container has no serial ports: `serial` was ignored".to_owned());
        }
        if let Some(state) = current.qmpstatus.as_deref().filter(|state| *state != "running") {
            notes.push(format!("the VM is {}: it writes nothing", label(state)));
        }
        if heard.ended {
            notes.push("the console ended by itself".to_owned());
        }
        if let Some(problem) = &heard.broke {
            notes.push(format!("the console broke off: {}", sentence(&problem.to_string())));
        }
        if heard.display.received >= MOST_BYTES {
            notes.push("more than 4 MiB came, so listening was ended".to_owned());
        }
        let (mut earlier, mut screen) = (drawn.earlier, drawn.screen);
        // PVE's own words are not the guest's.
        for lines in [&mut earlier, &mut screen] {
            lines.retain(|line| !line.starts_with("starting serial terminal on interface serial"));
        }
        let is_filtered = input.pattern.is_some();
        if let Some(pattern) = &input.pattern {
            let pattern = pattern.to_lowercase();
            for lines in [&mut earlier, &mut screen] {
                lines.retain(|line| line.to_lowercase().contains(&pattern));
            }
        }
        let most = input.lines.unwrap_or(LINES);
        let surplus = (earlier.len() + screen.len()).saturating_sub(most);
        if surplus > 0 {
            let from_earlier = surplus.min(earlier.len());
            earlier.drain(..from_earlier);
            screen.drain(..(surplus - from_earlier).min(screen.len()));
            notes.push(format!("the last {most} lines are shown; {surplus} before them are not: ask for more with `lines`"));
        }
        let cursor = drawn
            .cursor
            .filter(|_| !is_filtered && surplus == 0 && !screen.is_empty())
            .map(|(row, column)| format!("row {row}, column {column}"));
        Self {
            vmid: found.guest.vmid.get(),
            name: real_name(&found.listed).map(label),
            r#type: found.guest.kind.as_str(),
            node: label(found.guest.node.as_str()),
            console,
            listened_seconds: heard.seconds,
            received: Bytes(heard.display.received),
            shows,
            pattern_came: input.until_pattern.is_some().then_some(heard.came),
            cursor,
            earlier,
            screen,
            notes,
        }
    }
}
