//! What these tools answer.

use pve_client::Upid;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    action::Plan,
    after::After,
    look::{Scene, managed},
    state::State,
};
use crate::{
    answer::{
        Duration,
        clean::{label, sentence},
    },
    person::Refusal,
};

/// What came of it.
#[expect(clippy::struct_field_names, reason = "clients read the field under this name")]
#[derive(Debug, Serialize, JsonSchema)]
pub struct Outcome {
    vmid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    node: String,
    /// `done`, `already`, `sent` (not waited for), `running` (not over yet), `requested` (of the HA manager),
    /// `unconfirmed`, `unknown`, `declined`, `unanswered` (by the user), `dry_run`.
    pub(super) outcome: &'static str,
    before: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
    /// For how long it is up then, in seconds.
    #[serde(skip)]
    pub(super) uptime: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_result: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) took: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_send: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ha: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
}

impl Outcome {
    pub(super) fn new(scene: &Scene, outcome: &'static str) -> Self {
        let guest = &scene.found.guest;
        Self {
            vmid: guest.vmid.get(),
            name: scene.name(),
            node: label(guest.node.as_str()),
            outcome,
            before: scene.state.word().into_owned(),
            after: None,
            uptime: None,
            task: None,
            task_result: None,
            warnings: Vec::new(),
            took: None,
            would_send: None,
            ha: scene.managed(),
            notes: scene.found.note.iter().cloned().collect(),
        }
    }

    /// It was so before.
    pub(super) fn already(scene: &Scene, note: Option<String>) -> Self {
        let mut outcome = Self::new(scene, "already");
        outcome.notes.push("nothing was sent".to_owned());
        outcome.notes.extend(note);
        outcome
    }

    /// A person did not agree, or did not answer.
    pub(super) fn without_consent(scene: &Scene, refusal: &Refusal) -> Self {
        let mut outcome = Self::new(scene, refusal.word());
        outcome.notes.push(refusal.told("nothing was sent"));
        outcome
    }

    /// Nothing was to be done.
    pub(super) fn dry_run(
        scene: &Scene,
        plan: &Plan,
        must_ask: bool,
        dependants: Option<String>,
    ) -> Self {
        let mut outcome = Self::new(scene, "dry_run");
        let request = plan.request(&scene.found.guest);
        outcome.would_send = Some(match request.form() {
            "" => format!("POST {}", request.path()),
            form => format!("POST {} {form}", request.path()),
        });
        outcome.notes.extend(plan.action.meaning(scene));
        outcome.notes.extend(dependants);
        if plan.overrules {
            outcome.notes.push("a shutdown that still waits is ended by it".to_owned());
        }
        if must_ask {
            outcome.notes.push("consent is asked for first".to_owned());
        }
        outcome.notes.push("checked only; nothing was sent".to_owned());
        outcome
    }

    pub(super) fn with_task(mut self, upid: &Upid) -> Self {
        self.task = Some(sentence(&upid.to_string()));
        self
    }

    /// How and where the guest is now; `None` where it could not be read.
    pub(super) fn with_state(mut self, after: Option<&After>) -> Self {
        let Some(After { current, node }) = after else {
            self.ha = None;
            return self.with_note("its state afterwards could not be read: see get_vm_status");
        };
        let ha = managed(current);
        if ha != self.ha {
            let word = |ha: &Option<String>| match ha {
                Some(state) => format!("`{state}`"),
                None => "not HA-managed".to_owned(),
            };
            let note = format!("its HA state was {} and is {} now", word(&self.ha), word(&ha));
            self.notes.push(note);
        }
        self.ha = ha;
        self.uptime = current.uptime;
        self.after = Some(State::of(current).word().into_owned());
        let node = label(node.as_str());
        if node != self.node {
            let note = format!("it is on {node} now; before, it was on {}", self.node);
            self.notes.push(note);
            self.node = node;
        }
        self
    }

    pub(super) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// What the audit log says of it.
    pub(super) fn details(&self) -> Vec<(&'static str, Option<String>)> {
        vec![
            ("node", Some(self.node.clone())),
            ("upid", self.task.clone()),
            ("result", self.task_result.clone()),
            ("after", self.after.clone()),
            ("notes", Some(self.notes.join("; ")).filter(|notes| !notes.is_empty())),
        ]
    }
}
