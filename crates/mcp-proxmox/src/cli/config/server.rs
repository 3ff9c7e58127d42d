//! The server as a client starts it: a command, its arguments, its environment.

use std::{path::PathBuf, str::FromStr};

use serde_json::{Map, Value, json};

use crate::config::{
    at_home,
    settings::{self, Setting},
};

/// The image that `--via docker` runs.
const IMAGE: &str = concat!("ghcr.io/drmfar/mcp-proxmox:", env!("CARGO_PKG_VERSION"));
/// The package that `--via npx` runs. Its version is fixed: what starts tomorrow is what was tried today.
const PACKAGE: &str = concat!("@drmfar/mcp-proxmox@", env!("CARGO_PKG_VERSION"));

/// What a client calls the server unless it is told another name.
pub(super) const USUAL_NAME: &str = "proxmox";

/// What the server of this name calls something of its own: two servers may be of two clusters, and what is for one of them
/// must not reach the other.
pub(super) fn of_server(name: &str, what: &str) -> String {
    if name == USUAL_NAME { what.to_owned() } else { format!("{what}-{name}") }
}

/// How the program is got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// This very program.
    Binary,
    /// npm's runner.
    Npx,
    /// The container image.
    Docker,
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "binary" => Ok(Self::Binary),
            "npx" => Ok(Self::Npx),
            "docker" => Ok(Self::Docker),
            _ => Err("it must be binary, npx or docker".to_owned()),
        }
    }
}

impl Via {
    /// The way in which this very program was started. What `npx` fetched lies in a cache that is cleared.
    pub(super) fn of_this_run() -> Self {
        let program = std::env::current_exe().unwrap_or_default();
        if program.components().any(|part| part.as_os_str() == "_npx") {
            Self::Npx
        } else {
            Self::Binary
        }
    }
}

/// The server as a client starts it.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// What the client calls it.
    pub(super) name: String,
    /// The program.
    pub(super) command: String,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
    /// Its environment, without a secret that the client fills in.
    pub(super) environment: Vec<(&'static str, String)>,
    /// The client is to fill in `PVE_TOKEN_SECRET`.
    pub(super) fills_in_secret: bool,
    /// The first start may have to download it.
    pub(super) starts_slowly: bool,
}

impl Server {
    /// The file that its secret is read from, where one is named.
    pub(super) fn secret_file(&self) -> Option<&str> {
        let named = |(name, _): &&(&str, String)| *name == settings::TOKEN_SECRET_FILE.variable;
        self.environment.iter().find(named).map(|(_, file)| file.as_str())
    }

    /// Puts it together. `environment` holds what the user set; paths in it are made absolute, since nobody
    /// knows in which folder a client starts.
    pub(super) fn new(
        name: &str,
        via: Via,
        is_demo: bool,
        mut environment: Vec<(&'static str, String)>,
        fills_in_secret: bool,
    ) -> Self {
        for (variable, value) in &mut environment {
            if PATHS.iter().any(|setting| setting.variable == *variable)
                && let Ok(path) = std::path::absolute(at_home(value))
            {
                *value = path.to_string_lossy().into_owned();
            }
        }
        let own: &[&str] = if is_demo { &["--demo"] } else { &[] };
        let (command, before) = match via {
            Via::Binary => (this_program(), Vec::new()),
            // Windows cannot start the script that npx is there without its shell.
            Via::Npx if cfg!(windows) => ("cmd".to_owned(), words(&["/c", "npx", "-y", PACKAGE])),
            Via::Npx => ("npx".to_owned(), words(&["-y", PACKAGE])),
            Via::Docker => ("docker".to_owned(), container(&mut environment, fills_in_secret)),
        };
        let arguments = before.into_iter().chain(words(own)).collect();
        let starts_slowly = via != Via::Binary;
        Self {
            name: name.to_owned(),
            command,
            arguments,
            environment,
            fills_in_secret,
            starts_slowly,
        }
    }

    /// Whether the token's secret itself is in it.
    pub(super) fn holds_secret(&self) -> bool {
        self.environment.iter().any(|(name, _)| *name == settings::TOKEN_SECRET.variable)
    }

    /// The environment as JSON, where `reference` is how this client writes a variable of its own.
    pub(super) fn environment(&self, reference: &str) -> Map<String, Value> {
        let secret = (settings::TOKEN_SECRET.variable, reference.to_owned());
        let all = self.environment.iter().cloned().chain(self.fills_in_secret.then_some(secret));
        all.map(|(variable, value)| (variable.to_owned(), value.into())).collect()
    }

    /// The entry that most clients read.
    pub(super) fn entry(&self, reference: &str) -> Value {
        json!({
            "command": self.command,
            "args": self.arguments,
            "env": self.environment(reference),
        })
    }

    /// The same for clients that also want to know that it is a program and not an address.
    pub(super) fn typed_entry(&self, reference: &str) -> Value {
        json!({
            "type": "stdio",
            "command": self.command,
            "args": self.arguments,
            "env": self.environment(reference),
        })
    }
}

/// The settings that are paths.
const PATHS: &[Setting] =
    &[settings::TOKEN_SECRET_FILE, settings::TLS_CA_FILE, settings::AUDIT_LOG];

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The path of this program, or its name where that is not known.
fn this_program() -> String {
    let path = std::env::current_exe().ok();
    path.map_or_else(|| "mcp-proxmox".to_owned(), |path| path.to_string_lossy().into_owned())
}

/// The arguments of `docker`. A container does not see the files of its machine, so those that are named are
/// handed in, and named as the container sees them.
fn container(environment: &mut [(&'static str, String)], fills_in_secret: bool) -> Vec<String> {
    let mut arguments = words(&["run", "--rm", "--interactive"]);
    let mut has_files = false;
    for (variable, value) in environment.iter_mut() {
        arguments.extend(words(&["--env", variable]));
        if !PATHS.iter().any(|setting| setting.variable == *variable) {
            continue;
        }
        has_files = true;
        let outside = PathBuf::from(&*value);
        let name = outside.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (folder, more) = if *variable == settings::AUDIT_LOG.variable {
            ("/audit", "")
        } else {
            ("/run/mcp-proxmox", ",readonly")
        };
        let inside = format!("{folder}/{name}");
        // Each alone, since its folder may hold anything. Of one that is not there, `--volume` would make a folder
        // that belongs to root; this is refused, and the engine says why.
        arguments.extend(words(&["--mount", &mount(&outside.to_string_lossy(), &inside, more)]));
        *value = inside;
    }
    if fills_in_secret {
        arguments.extend(words(&["--env", settings::TOKEN_SECRET.variable]));
    }
    if let Some(user) = user().filter(|_| has_files) {
        // The secret's file is readable for its owner alone, so the container has to be them.
        arguments.extend(words(&["--user", &user]));
    }
    arguments.push(IMAGE.to_owned());
    arguments
}

/// What `--mount` takes, whose fields are those of a line of CSV: one with a comma or a quote stands in quotes.
fn mount(outside: &str, inside: &str, more: &str) -> String {
    let field = |field: String| {
        if field.contains([',', '"']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    };
    let (source, target) = (field(format!("source={outside}")), field(format!("target={inside}")));
    format!("type=bind,{source},{target}{more}")
}

/// Who runs this program, as the container is to be told.
#[cfg(target_os = "linux")]
fn user() -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;

    let own = std::fs::metadata("/proc/self").ok()?;
    Some(format!("{}:{}", own.uid(), own.gid()))
}

/// Elsewhere the engine's virtual machine takes care of it.
#[cfg(not(target_os = "linux"))]
fn user() -> Option<String> {
    None
}
