//! `get_vm_console`: the text on a guest's console.
//!
//! A terminal shows only what comes while somebody listens, and QEMU's serial port serves one reader
//! at a time: so it listens for a few seconds and lets go. **It types nothing**: the connection that a
//! [`Reader`] opens cannot.

use pve_client::{Kind, Observer, Reader, access, console::SerialPort, guest, task};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{Bytes, clean::label},
    call::Call,
    catalog::{Tool, Toolset},
    console::{
        self, SIZE, TASK_SECONDS,
        listen::{Heard, Until},
        text::{self, Text, Wanted},
    },
    failure::Failure,
    lookup::guest::{Found, find, real_name},
    tier::Reads,
};

/// How many lines are shown where nothing else is asked for.
const LINES: usize = 60;
/// How long the token's privileges may take, in seconds.
const RIGHTS_SECONDS: u64 = 8;

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

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let found = find(&pve, &input.vm).await?;
        let part = pve.until(call.part(RIGHTS_SECONDS));
        let (current, permissions, version) = tokio::join!(
            pve.get(guest::current(&found.guest)),
            part.get(access::permissions_on(found.guest.vmid)),
            console::version_of(&pve),
        );
        let current = current.map_err(|error| {
            Failure::from_pve(&format!("read the state of {}", found.guest.vmid), &error)
        })?;
        console::refuse_in_words(&found, &current, version)?;
        console::refuse_without_right(&found, &permissions)?;
        console::refuse_missing_port(&pve, call, &found, input.serial).await?;
        let serial = input.serial.and_then(SerialPort::new);
        let terminal = match pve.watch_terminal(&found.guest, serial, SIZE).await {
            Ok(terminal) => terminal,
            Err(error) => {
                return Err(console::not_opened(&pve, call, &found, &error, version).await);
            }
        };
        call.progress.report(1.0, None, "listening");
        let mut heard = Heard::begin();
        let until = input.until_pattern.as_deref().map_or(Until::TimeIsOver, Until::Text);
        heard.listen(terminal, call, input.listen_seconds.unwrap_or(3), until).await;
        let wanted = Wanted {
            serial: input.serial,
            pattern: input.pattern.as_deref(),
            lines: input.lines.unwrap_or(LINES),
            more: ": ask for more with `lines`",
        };
        let (text, said) = Text::of(&found, &current, &heard, wanted);
        let mut notes: Vec<String> = found.note.iter().cloned().collect();
        if found.guest.kind == Kind::Lxc && input.serial.is_some() {
            notes.push("a container has no serial ports: `serial` was ignored".to_owned());
        }
        notes.extend(said);
        if text::is_silent(found.guest.kind, &heard) {
            match console::standstill(&current) {
                // To listen longer or to press Enter would bring nothing.
                Some(_) => notes.push("nothing came".to_owned()),
                None => notes.extend(silent(&pve, call, &found, heard.received()).await),
            }
        }
        Ok(Output {
            vmid: found.guest.vmid.get(),
            name: real_name(&found.listed).map(label),
            r#type: found.guest.kind.as_str(),
            node: label(found.guest.node.as_str()),
            console: text.console,
            listened_seconds: text.listened_seconds,
            received: text.received,
            shows: text.shows,
            pattern_came: input.until_pattern.is_some().then_some(heard.came),
            cursor: text.cursor,
            earlier: text.earlier,
            screen: text.screen,
            notes,
        })
    }
}

/// What to say of a console on which nothing came.
async fn silent(pve: &Reader, call: &Call, found: &Found, received: u64) -> Vec<String> {
    let what = if received > 0 { "only PVE's clearing of the screen" } else { "nothing" };
    let mut notes = vec![format!(
        "{what} came: a console is silent while nobody types, and what stood on it before is not replayed; that says nothing about the guest. \
         Listen longer, or while it boots; send_vm_keys (write tier) can wake it with `enter`; get_vm_screenshot shows a display's present state"
    )];
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
