//! Every request that arrives, as a line of JSON in the file that the environment variable `SIM_REQUESTS_FILE`
//! names, so that a check can hold all of them against a description of the API.
//!
//! **Invariants:** it is part of no release; nothing is written unless that variable is set, and never a token.
//! A line is one write, so that simulators of several processes can share the file. Whoever does not say what it
//! is (`User-Agent`) is a test that speaks to the simulator itself, and may ask anything.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::PathBuf,
    sync::{Mutex, OnceLock},
};

use serde_json::json;

use crate::{http::Request, shared::lock, sim::Seen};

/// The variable that names the file.
const VARIABLE: &str = "SIM_REQUESTS_FILE";

/// Notes a request, where that is wanted.
pub(crate) fn note(seen: &Seen, request: &Request) {
    static FILE: OnceLock<Option<Mutex<File>>> = OnceLock::new();
    if request.header("user-agent").is_some()
        && let Some(file) = FILE.get_or_init(open)
    {
        // What cannot be written is missing in a check that says what it did not see.
        let _ = lock(file).write_all(line(seen).as_bytes());
    }
}

fn open() -> Option<Mutex<File>> {
    let path = PathBuf::from(std::env::var_os(VARIABLE)?);
    OpenOptions::new().create(true).append(true).open(path).ok().map(Mutex::new)
}

fn line(seen: &Seen) -> String {
    let Seen { method, path, body, .. } = seen;
    format!("{}\n", json!({ "method": method, "path": path, "body": body }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_was_asked_and_not_by_whom() {
        let seen = Seen {
            method: "POST".to_owned(),
            path: "/nodes/pve1/qemu/100/status/start".to_owned(),
            token: Some("root@pam!demo".to_owned()),
            body: "timeout=5".to_owned(),
        };
        let line = line(&seen);
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.contains("status/start") && line.contains("timeout=5"), "{line}");
        assert!(!line.contains("root@pam"), "{line}");
    }
}
