//! What differs between clients: where their file is, how they write a server, how they fill in a secret.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{jsonc::Document, place::Places, server::Server};

/// A client. Each has a file of its own beside this one.
pub(super) struct Client {
    /// Its name on our command line.
    pub(super) name: &'static str,
    /// Its name for people.
    pub(super) title: &'static str,
    /// Where the user's configuration is.
    pub(super) file: fn(&Places<'_>) -> Option<PathBuf>,
    /// Where it takes a secret from that its file must not hold.
    pub(super) secret: Secret,
    /// Merges a server into the text of its file.
    pub(super) merge: fn(&str, &Server, Existing) -> Result<Merged, String>,
    /// What the user has to do so that the client sees it.
    pub(super) then: &'static str,
    /// The file of a project, where the client has such.
    pub(super) project: Option<&'static str>,
}

impl Client {
    /// What is to be done next, now that a file has this server. Whoever named a file knows of those of projects, and
    /// may have named one that the client does not read.
    pub(super) fn next(
        &self,
        server: &Server,
        named: Option<&Path>,
        usual: Option<&Path>,
    ) -> String {
        let is_its_own = |file: &Path| {
            usual == Some(file) || self.project.is_some_and(|project| file.ends_with(project))
        };
        let read = match named {
            Some(file) if !is_its_own(file) => format!("where {} reads this file: ", self.title),
            _ => String::new(),
        };
        let asks = self.secret == Secret::Asked && server.fills_in_secret;
        let asks = if asks { ", and asks for the secret" } else { "" };
        let project = self
            .project
            .filter(|_| named.is_none())
            .map(|project| format!(". A project's own file is {project}: --file {project}"));
        format!("{read}{}{asks}{}", self.then, project.unwrap_or_default())
    }
}

/// Where a client takes a secret from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secret {
    /// From the environment in which it was started.
    Environment,
    /// It asks the user, and keeps the answer.
    Asked,
    /// From nowhere: only a file can be named.
    File,
}

/// What becomes of a server of the same name that is there already and is not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existing {
    /// It stays, and nothing is merged.
    Keep,
    /// It is replaced.
    Replace,
}

/// What a merge comes to.
#[derive(Debug)]
pub(super) enum Merged {
    /// The new text.
    Changed(String),
    /// The server is there already, exactly so.
    Same,
    /// Another server of that name is there, and is to be kept.
    Taken,
}

/// Merges an entry into a JSON file at `path`. **Of an entry that is there, only what says how the server is started or
/// reached is replaced**: whether it is switched on, what the client may do without asking, and comments are the user's.
pub(super) fn merge_json(
    text: &str,
    path: &[&str],
    entry: &Value,
    existing: Existing,
) -> Result<Merged, String> {
    let mut document = Document::new(text)?;
    let there = document.get(path)?;
    match &there {
        None => document.set(path, entry)?,
        Some(there) => update(&mut document, path, there, entry, starts_otherwise)?,
    }
    if there.is_some() && document.get(path)? == there {
        return Ok(Merged::Same);
    }
    if there.is_some() && existing == Existing::Keep {
        return Ok(Merged::Taken);
    }
    Ok(Merged::Changed(document.into_text()))
}

/// Whether this would start or reach another server than the entry that is merged, which does not have it.
fn starts_otherwise(key: &str, value: &Value) -> bool {
    match key {
        "type" => value != "stdio",
        "envFile" | "url" | "serverUrl" | "httpUrl" | "headers" | "oauth" => true,
        _ => false,
    }
}

/// Changes what differs, and takes out what is not to stay.
fn update(
    document: &mut Document,
    path: &[&str],
    there: &Value,
    entry: &Value,
    goes: fn(&str, &Value) -> bool,
) -> Result<(), String> {
    let (Value::Object(before), Value::Object(after)) = (there, entry) else {
        return if there == entry { Ok(()) } else { document.set(path, entry) };
    };
    let below = |key| [path, &[key]].concat();
    for (key, value) in before {
        if !after.contains_key(key) && goes(key, value) {
            document.remove(&below(key))?;
        }
    }
    for (key, value) in after {
        match before.get(key) {
            // What is within, such as the environment, is the server's alone.
            Some(old) => update(document, &below(key), old, value, |_, _| true)?,
            None => document.set(&below(key), value)?,
        }
    }
    Ok(())
}
