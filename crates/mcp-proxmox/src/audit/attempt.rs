//! A write that was asked for and not sent: the user's settings or the token's privileges refuse it, or the person
//! who was asked did not agree.
//!
//! **One line, and nothing of it is a secret**: of arguments, numbers and switches are recorded and the guest's name;
//! any other text may be a password that was to be typed. A dry run is no attempt.

use std::sync::{Arc, OnceLock};

use pve_client::Reader;
use serde_json::{Map, Value};

use super::{Audit, target, who};
use crate::{
    answer::{Answer, clean::label},
    call::Call,
    failure::Failure,
    lookup::guest::Found,
    person::Refusal,
};

/// The guest that a call is about, once it is found. All clones of one tell the same.
#[derive(Clone, Debug, Default)]
pub struct Aim(Arc<OnceLock<Map<String, Value>>>);

impl Aim {
    /// It is this guest. What is found first counts: it is what the caller meant.
    pub fn is(&self, found: &Found) {
        let _ = self.0.set(target(found));
    }
}

/// A call of a tool that writes, before it is known what becomes of it.
#[derive(Debug)]
pub struct Attempt<'a> {
    audit: &'a Audit,
    call: &'a Call,
    about: Map<String, Value>,
}

impl<'a> Attempt<'a> {
    /// Takes note of it. `None` where nothing is recorded, and of a dry run.
    pub fn of(
        pve: &Reader,
        call: &'a Call,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Option<Self> {
        let audit = call.policy.audit()?;
        let is_dry = |value: &Value| value == true || value == "true";
        if arguments.get("dry_run").is_some_and(is_dry) {
            return None;
        }
        let shown = arguments.iter().filter_map(|(name, value)| {
            let value = match value {
                Value::String(vm) if name == "vm" => label(vm).into(),
                Value::Number(_) | Value::Bool(_) => value.clone(),
                _ => return None,
            };
            Some((label(name), value))
        });
        let mut about = who(pve, call, tool);
        about.insert("arguments".to_owned(), Value::Object(shown.collect()));
        Some(Self { audit, call, about })
    }

    /// Records what it came to, where that is a refusal. What was sent has lines of its own. Where the line cannot be
    /// written, that is told as well.
    ///
    /// # Errors
    /// Those of the call.
    pub async fn came_to(self, result: Result<Answer, Failure>) -> Result<Answer, Failure> {
        let (outcome, why) = match &result {
            Err(failure) if failure.is_refused() => ("refused", Some(failure.what().to_owned())),
            Ok(Answer::Structured(answer)) => match answer.get("outcome").and_then(Value::as_str) {
                Some(outcome @ ("declined" | "unanswered")) => {
                    let notes = answer.get("notes").and_then(Value::as_array).into_iter().flatten();
                    let why = notes.filter_map(Value::as_str).find_map(Refusal::why);
                    (outcome, why.map(str::to_owned))
                }
                _ => return result,
            },
            _ => return result,
        };
        let mut line = self.about;
        line.extend(self.call.aim.0.get().cloned().unwrap_or_default());
        line.insert("outcome".to_owned(), outcome.into());
        line.extend(why.map(|why| ("why".to_owned(), why.into())));
        let Err(error) = self.audit.note("attempt", line).await else { return result };
        let unwritten = format!("this is not in the audit log, which cannot be written: {error}");
        match result {
            Err(failure) => Err(failure.besides(&unwritten)),
            Ok(mut answer) => {
                if let Answer::Structured(answer) = &mut answer
                    && let Some(Value::Array(notes)) = answer.get_mut("notes")
                {
                    notes.push(unwritten.into());
                }
                Ok(answer)
            }
        }
    }
}
