//! How severe an entry is: syslog's levels, and a guess where the data have none.

use schemars::JsonSchema;
use serde::Deserialize;

/// What a caller asks for: this severe, and worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Levels 0 to 2.
    Critical,
    /// Levels 0 to 3.
    Error,
    /// Levels 0 to 4.
    Warning,
    /// Levels 0 to 6.
    Info,
}

impl Severity {
    /// The least severe level that is meant.
    pub fn level(self) -> u8 {
        match self {
            Self::Critical => 2,
            Self::Error => 3,
            Self::Warning => 4,
            Self::Info => 6,
        }
    }
}

/// The word for a level.
pub fn word(level: u8) -> &'static str {
    match level {
        0 => "emergency",
        1 => "alert",
        2 => "critical",
        3 => "error",
        4 => "warning",
        5 => "notice",
        6 => "info",
        _ => "debug",
    }
}

/// Words that errors are written with. A part of a word counts: `failed`, `failure`.
const ERRORS: [&str; 22] = [
    "error",
    "fail",
    "fatal",
    "panic",
    "segfault",
    "critical",
    "emerg",
    "cannot ",
    "can't ",
    "unable to",
    "not online",
    "denied",
    "refused",
    "no space left",
    "out of memory",
    "oom-kill",
    "i/o failure",
    "corrupt",
    "call trace",
    "aborted",
    "not responding",
    "bug:",
];
/// Words that warnings are written with.
const WARNINGS: [&str; 9] = [
    "warn",
    "timeout",
    "timed out",
    "deprecated",
    "uninitialized",
    "degraded",
    "retry",
    "reset by peer",
    "exceeded",
];

/// The level that the words of an entry suggest: 3, 4 or 6. A guess, and to be called one.
pub fn guessed(text: &str) -> u8 {
    let text = text.to_lowercase();
    // What says that there were none is no error.
    let text = text.replace("no error", "").replace("0 errors", "").replace("errors: 0", "");
    if ERRORS.iter().any(|word| text.contains(word)) {
        3
    } else if WARNINGS.iter().any(|word| text.contains(word)) {
        4
    } else {
        6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_guessed_from_words() {
        assert_eq!(guessed("storage 'nas' is not online"), 3);
        assert_eq!(guessed("VM 107 qga command failed - received interrupt"), 3);
        assert_eq!(guessed("nvme0: I/O 12 QID 3 timeout, completion polled"), 4);
        assert_eq!(guessed("scrub finished with 0 errors"), 6);
        assert_eq!(guessed("systemd-timedated.service: Deactivated successfully."), 6);
    }

    #[test]
    fn worse_is_a_lower_level() {
        assert!(Severity::Error.level() < Severity::Warning.level());
        assert_eq!((word(3), word(7), word(200)), ("error", "debug", "debug"));
    }
}
