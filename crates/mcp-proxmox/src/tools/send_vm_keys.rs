//! `send_vm_keys`: types into a guest's display, serial terminal or tty.
//!
//! It goes the way of every write: look, ask, alone, record, send once, say what is so. **What is typed
//! goes out once**: where the connection breaks, it is said how far it came, and nothing is sent again.
//! **Text may be a password**: it is neither recorded nor repeated, only its length is.

mod look;
mod typist;

use pve_client::Operator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::Duration;

use crate::{
    answer::clean::{keystrokes, label},
    audit,
    call::Call,
    catalog::{Tool, Toolset},
    console::{keys::Typing, named},
    failure::Failure,
    lookup::guest::real_name,
    person::{Agreed, Consent, Question},
    power::{run_of, still_the_run},
    tier::HardChange,
};
use look::Scene;
use typist::Typed;

/// What is kept of a call's time for the answer, when another call acts on the guest.
const KEPT: Duration = Duration::from_secs(20);

/// See the module's documentation.
#[derive(Debug)]
pub struct SendVmKeys;

/// What is typed, and where.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Vmid or unique name.
    vm: String,
    /// Typed first; a line break is Enter.
    #[schemars(length(max = 500))]
    text: Option<String>,
    /// Pressed after it: `enter`, `f2`, `ctrl-c`, `ctrl-alt-del`.
    keys: Option<Vec<String>>,
    /// Serial port of a VM; left out: its display.
    #[schemars(range(max = 3))]
    serial: Option<u8>,
    /// Then listen to a terminal (default 2).
    #[schemars(range(min = 1, max = 20))]
    listen_seconds: Option<u64>,
    /// Only check.
    #[serde(default)]
    dry_run: bool,
    /// The user agreed.
    #[serde(default)]
    confirm: bool,
}

/// What came of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    vmid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    node: String,
    /// `sent`, `lost` (the connection broke), `unconfirmed`, `declined`, `unanswered`, `dry_run`.
    outcome: &'static str,
    to: String,
    /// What was to be typed: its length, and the names of keys.
    typing: String,
    /// `12 of 12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys_sent: Option<String>,
    /// What the terminal shows: `login prompt`, …
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shows: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    screen: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for SendVmKeys {
    const NAME: &'static str = "send_vm_keys";
    const TITLE: &'static str = "Type into a console";
    const DESCRIPTION: &'static str = "Type text and keys into a VM's display or serial port, or a container's tty. A terminal's text comes back; \
        for a display use get_vm_screenshot. The user has to agree.";
    const TOOLSET: Toolset = Toolset::Console;
    const IDEMPOTENT: bool = false;

    type Effect = HardChange;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Operator, call: &Call, input: Input) -> Result<Output, Failure> {
        let mut scene = look::at(pve.reader(), call, &input.vm, input.serial).await?;
        let typing = scene.typing(input.text.as_deref(), input.keys.as_deref())?;
        let must_ask = call.policy.asks_before(true);
        if input.dry_run {
            return Ok(Output::dry_run(&scene, &typing, must_ask));
        }
        let agreed = if must_ask {
            match ask(call, &input, &scene, &typing).await? {
                Consent::Given(agreed) => agreed,
                Consent::Refused(refusal) => {
                    let mut output = Output::new(&scene, &typing, refusal.word());
                    output.notes.push(refusal.told("nothing was typed"));
                    return Ok(output);
                }
            }
        } else {
            Agreed::NotAsked
        };
        let vmid = scene.found.guest.vmid;
        let latest = call.deadline - KEPT;
        let Some(alone) = call.policy.turns.alone_with(vmid.get(), latest).await else {
            let what = format!(
                "another call of this server acts on {vmid} and has not ended; nothing was typed"
            );
            return Err(
                Failure::new(what).hint("see its state with get_vm_status, then call again")
            );
        };
        if alone.is_after_another || must_ask {
            // The guest may be another one by now.
            let before = scene;
            scene = look::at(pve.reader(), call, &vmid.to_string(), input.serial).await?;
            if must_ask {
                still_the_run(&named(&scene.found), &before.current, &scene.current)?;
            }
        }
        let open = match call.policy.audit() {
            Some(audit) => {
                let about = about(&pve, call, &input, &scene, (&typing, agreed));
                Some(audit.open(about, call.sent.clone()).await?)
            }
            None => None,
        };
        let (what, guest) = (typing.in_words(), &scene.found.guest);
        call.sent.begins(format!("type {what} into {} of {guest}", scene.to));
        call.progress.report(1.0, None, "typing");
        let seconds = input.listen_seconds.unwrap_or(2);
        let result = typist::carry_out(&pve, call, &scene, &typing, seconds).await;
        let (outcome, details) = match &result {
            Ok(typed) => (typed.outcome(), vec![("keys_sent", Some(typed.count()))]),
            Err(failure) => ("failed", vec![("why", Some(failure.what().to_owned()))]),
        };
        let unwritten = match open {
            Some(open) => open.close(outcome, &details).await,
            None => None,
        };
        let mut output = Output::of(&scene, &typing, result?);
        output.notes.extend(unwritten);
        Ok(output)
    }
}

/// Asks the person, where there is one.
async fn ask(
    call: &Call,
    input: &Input,
    scene: &Scene,
    typing: &Typing,
) -> Result<Consent, Failure> {
    let place = scene.place();
    let run = run_of(&scene.current);
    let subject = format!("type into {} of {}{run}", scene.to, scene.found.guest);
    // Whoever agrees has to know to what.
    let shown = match input.text.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => format!(": {}", keystrokes(&text.replace("\r\n", "\n").replace('\r', "\n"))),
        None => String::new(),
    };
    let text = format!(
        "Type {} into {place}{shown}? Whatever has the keyboard there acts on it.",
        typing.in_words()
    );
    let what = format!("to type into {place}");
    let question = Question { subject, text };
    call.person.consents(question, &what, input.confirm).await
}

/// What the audit log says of it: of the text its length.
fn about(
    pve: &Operator,
    call: &Call,
    input: &Input,
    scene: &Scene,
    (typing, agreed): (&Typing, Agreed),
) -> Map<String, Value> {
    let arguments = json!({
        "vm": label(&input.vm),
        "console": scene.to,
        "text": format!("{} characters, which are not recorded", typing.n_characters),
        "keys": typing.names,
    });
    audit::about(pve.reader(), call, SendVmKeys::NAME, &arguments, &scene.found, agreed)
}

impl Output {
    fn new(scene: &Scene, typing: &Typing, outcome: &'static str) -> Self {
        let found = &scene.found;
        Self {
            vmid: found.guest.vmid.get(),
            name: real_name(&found.listed).map(label),
            node: label(found.guest.node.as_str()),
            outcome,
            to: scene.to.to_owned(),
            typing: typing.in_words(),
            keys_sent: None,
            shows: Vec::new(),
            cursor: None,
            earlier: Vec::new(),
            screen: None,
            notes: found.note.iter().cloned().collect(),
        }
    }

    fn dry_run(scene: &Scene, typing: &Typing, must_ask: bool) -> Self {
        let mut output = Self::new(scene, typing, "dry_run");
        if must_ask {
            output.notes.push("consent is asked for first".to_owned());
        }
        output.notes.push("checked only; nothing was typed".to_owned());
        output
    }

    fn of(scene: &Scene, typing: &Typing, typed: Typed) -> Self {
        let mut output = Self::new(scene, typing, typed.outcome());
        output.keys_sent = Some(typed.count());
        if let Some(text) = typed.text {
            (output.shows, output.cursor) = (text.shows, text.cursor);
            (output.earlier, output.screen) = (text.earlier, Some(text.screen));
        }
        output.notes.extend(typed.notes);
        output
    }
}
