//! What prompts are made of: checked arguments, and steps that each belong to a tool.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, Value};

use super::Entry;
use crate::{
    answer::clean::{quoted, sentence},
    arguments::nearest,
    failure::Failure,
};

/// What people filled in. Whatever it is, it is one bounded line that cannot end the quotes around it.
#[derive(Debug, Default)]
pub struct Given(BTreeMap<&'static str, String>);

/// Steps of work, numbered. Those whose tool is not offered are left out.
#[derive(Debug)]
pub struct Steps<'a> {
    offered: &'a [&'static str],
    lines: Vec<String>,
}

impl Given {
    /// The arguments of a prompt, or everything that is wrong with them.
    pub(super) fn check(entry: &Entry, arguments: &Map<String, Value>) -> Result<Self, Failure> {
        let mut given = Self::default();
        let mut misfits = Vec::new();
        for (name, value) in arguments {
            let Some(known) = entry.arguments.iter().find(|known| known.name == name) else {
                let near = nearest(name, entry.arguments.iter().map(|known| known.name));
                let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
                misfits.push(format!("{} is not an argument of this prompt{near}", quoted(name)));
                continue;
            };
            // Clients send an empty text for what was left empty.
            match value {
                Value::Null => {}
                Value::String(text) if text.trim().is_empty() => {}
                Value::String(text) => {
                    given.0.insert(known.name, sentence(text));
                }
                Value::Number(number) => {
                    given.0.insert(known.name, number.to_string());
                }
                _ => misfits.push(format!("`{}` must be a text", known.name)),
            }
        }
        for known in entry.arguments {
            if known.is_required && !given.0.contains_key(known.name) {
                misfits.push(format!("`{}` is required: {}", known.name, known.description));
            }
        }
        misfits.truncate(12);
        if misfits.is_empty() {
            Ok(given)
        } else {
            Err(Failure::new(format!(
                "the arguments of the prompt `{}` do not fit: {}",
                entry.name,
                misfits.join("; ")
            )))
        }
    }

    /// What was filled in for an argument.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// What was filled in, or what is meant where nothing was.
    pub fn or<'a>(&'a self, name: &str, meant: &'a str) -> &'a str {
        self.get(name).unwrap_or(meant)
    }

    /// `, NAME VALUE` for a step, where it was filled in.
    pub fn and(&self, name: &str) -> String {
        self.get(name).map(|value| format!(", {name} `{value}`")).unwrap_or_default()
    }
}

impl<'a> Steps<'a> {
    pub(super) fn of(offered: &'a [&'static str]) -> Self {
        Self { offered, lines: Vec::new() }
    }

    /// Whether a tool is offered.
    pub fn has(&self, tool: &str) -> bool {
        self.offered.contains(&tool)
    }

    /// A step with one tool: `what` says with which arguments, and what to look for.
    pub fn with(&mut self, tool: &'static str, what: impl fmt::Display) -> &mut Self {
        if self.has(tool) {
            self.lines.push(format!("`{tool}` {what}"));
        }
        self
    }
}

impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = (1..).zip(&self.lines).map(|(nth, line)| format!("{nth}. {line}"));
        f.write_str(&lines.collect::<Vec<_>>().join("\n"))
    }
}
