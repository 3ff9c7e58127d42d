//! How answers look: the vocabulary that every tool's output is made of.
//!
//! A tool fills an output type from these parts and serialises it once. The structured content that
//! clients get is that value; the text is drawn from the same value by [`text::draw`], so that **the
//! two always say the same**.
//!
//! **Unknown is absent or `null`, never zero**: a part that cannot be computed is an `Option`.

pub mod clean;
pub mod cost;
pub mod log_text;
pub mod measure;
pub mod pressure;
pub mod table;
pub mod text;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::schema;

pub use measure::{Bytes, Duration, Number, Percent, Share};
pub use pressure::Pressure;
pub use table::{Cell, Table};

/// Adds a line to the notes of an answer.
fn note(answer: &mut Map<String, Value>, line: String) {
    match answer.entry("notes").or_insert_with(|| Value::Array(Vec::new())) {
        Value::Array(notes) => notes.push(line.into()),
        other => *other = line.into(),
    }
}

/// What a tool hands back.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An object, from which the text is drawn too.
    Structured(Map<String, Value>),
    /// A picture. Clients that get structured content drop pictures, so it has none.
    Picture(Picture),
}

/// A picture with a line on what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// What it shows, with its size. Never the picture itself in letters.
    pub text: String,
    /// The picture, as PNG.
    pub png: Vec<u8>,
}

/// What a tool's answer may be.
pub trait Output {
    /// The schema of the structured content, if there is any.
    fn schema() -> Option<Map<String, Value>>;
    /// The answer. `None` where it is no object, which is a bug.
    fn into_answer(self) -> Option<Answer>;
}

impl<T: Serialize + JsonSchema> Output for T {
    fn schema() -> Option<Map<String, Value>> {
        Some(schema::of_output::<T>())
    }

    fn into_answer(self) -> Option<Answer> {
        match serde_json::to_value(self) {
            Ok(Value::Object(answer)) => Some(Answer::Structured(answer)),
            _ => None,
        }
    }
}

impl Output for Picture {
    fn schema() -> Option<Map<String, Value>> {
        None
    }

    fn into_answer(self) -> Option<Answer> {
        Some(Answer::Picture(self))
    }
}

impl Answer {
    /// The answer with these notes too.
    #[must_use]
    pub fn noting(mut self, notes: Vec<String>) -> Self {
        match &mut self {
            Self::Structured(answer) => notes.into_iter().for_each(|line| note(answer, line)),
            Self::Picture(picture) => {
                for line in notes {
                    picture.text.push('\n');
                    picture.text.push_str(&line);
                }
            }
        }
        self
    }

    /// The answer in words.
    pub fn text(&self) -> String {
        match self {
            Self::Structured(answer) => text::draw(answer),
            Self::Picture(picture) => picture.text.clone(),
        }
    }
}
