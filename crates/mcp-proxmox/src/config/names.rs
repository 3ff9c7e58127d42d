//! Names of variables that look like settings and are none: a slip there goes unnoticed.
//!
//! **A name that was meant to guard writes is a mistake where writes are possible.** Others are told: most clients hide
//! what a server says on standard error, and a server with a misspelt guard would write everywhere. Other programs have
//! variables with the same beginning, so a name counts as a guard by its words alone, and not where these are about
//! something else.

use super::settings::{self, Setting};
use crate::{
    answer::clean::label,
    arguments::{distance, nearest},
};

const PREFIX: &str = "PVE_";

/// What guards writes.
pub const GUARDS: &[&Setting] = &[
    &settings::ALLOW_VMS,
    &settings::PROTECT_VMS,
    &settings::CONFIRM,
    &settings::EXCLUDE_TOOLS,
    &settings::TOOLS,
    &settings::AUDIT_LOG,
    &settings::ACCESS_TIER,
];

/// Words of permissions that are about connections, pages and accounts, and so another program's.
const ELSEWHERE: &[&str] = &[
    "SSL",
    "TLS",
    "CERT",
    "INSECURE",
    "SELFSIGNED",
    "SIGNED",
    "UNVERIFIED",
    "HTTP",
    "REDIRECT",
    "CORS",
    "ORIGIN",
    "HOST",
    "NETWORK",
    "USER",
    "AUDITOR",
];

/// Warnings about variables that look like ours, and are none of them.
pub fn misspelt<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let known = || settings::ALL.iter().filter_map(|setting| setting.variable.strip_prefix(PREFIX));
    let warning = |name: &'a str| {
        let meant = if let Some(setting) = guard(name) {
            setting.variable.to_owned()
        } else {
            let rest = name.strip_prefix(PREFIX)?;
            if is_known(name) {
                return None;
            }
            let swapped = known().find(|known| has_letters_of(rest, known));
            format!("{PREFIX}{}", swapped.or_else(|| nearest(rest, known()))?)
        };
        Some(format!("there is no setting `{}`: did you mean `{meant}`?", label(name)))
    };
    names.filter_map(warning).collect()
}

/// What is wrong with a variable, where it was meant to guard writes and does not.
pub(super) fn guards_nothing(name: &str) -> Option<String> {
    let meant = guard(name)?.variable;
    Some(format!(
        "there is no such setting, so it guards nothing, and the tier is `write`: did you mean `{meant}`? If it is \
         another program's, start this one without it"
    ))
}

/// Where variables are the same in capitals and small letters, so are ours.
fn is_known(name: &str) -> bool {
    settings::ALL.iter().any(|setting| {
        name == setting.variable || cfg!(windows) && name.eq_ignore_ascii_case(setting.variable)
    })
}

/// The setting that somebody means who guards writes with a variable of this name, which is none of ours.
fn guard(name: &str) -> Option<&'static Setting> {
    // First what most names of an environment are not: this is done at every start.
    let (prefix, rest) = name.split_at_checked(PREFIX.len())?;
    if !prefix.eq_ignore_ascii_case(PREFIX) || rest.len() > 64 || is_known(name) {
        return None;
    }
    let rest = rest.to_ascii_uppercase();
    if rest.split('_').any(|word| ELSEWHERE.iter().any(|other| word.starts_with(other))) {
        return None;
    }
    let written = |setting: &&&Setting| {
        is_nearly(&rest, setting.variable.strip_prefix(PREFIX).unwrap_or_default())
    };
    GUARDS.iter().find(written).copied().or_else(|| by_words(&rest))
}

/// Whether this is the other name with a slip. Short names are too near to each other for more than one.
fn is_nearly(name: &str, wanted: &str) -> bool {
    let slips = match wanted.len() {
        ..6 => 0,
        6..9 => 1,
        _ => 2,
    };
    distance(name, wanted) <= slips || has_letters_of(name, wanted)
}

/// Whether one has the letters of the other, in whatever order.
fn has_letters_of(name: &str, other: &str) -> bool {
    let [mut name, mut other] = [name, other].map(|name| name.as_bytes().to_vec());
    name.sort_unstable();
    other.sort_unstable();
    name == other
}

fn by_words(name: &str) -> Option<&'static Setting> {
    let words: Vec<&str> = name.split('_').collect();
    let has = |beginnings: &[&str]| {
        words.iter().any(|word| beginnings.iter().any(|beginning| word.starts_with(beginning)))
    };
    let is_of_tools = has(&["TOOL"]);
    let of = |tools, guests| Some(if is_of_tools { tools } else { guests });
    if has(&["PROTECT", "DENY", "DENIED", "FORBID", "BLOCKED", "BLOCKLIST", "BLACKLIST", "EXCLU"]) {
        of(&settings::EXCLUDE_TOOLS, &settings::PROTECT_VMS)
    } else if has(&["ALLOW", "WHITELIST"]) {
        of(&settings::TOOLS, &settings::ALLOW_VMS)
    } else if has(&["DISABLE"]) && is_of_tools {
        Some(&settings::EXCLUDE_TOOLS)
    } else if words
        .last()
        .is_some_and(|last| ["TOOL", "TOOLS", "TOOLSET", "TOOLSETS"].contains(last))
    {
        Some(&settings::TOOLS)
    } else if has(&["CONFIRM"]) {
        Some(&settings::CONFIRM)
    } else if has(&["AUDIT"]) {
        Some(&settings::AUDIT_LOG)
    } else if has(&["READONLY"])
        || name.contains("READ_ONLY")
        || ["TIER", "MCP_TIER"].contains(&name)
    {
        Some(&settings::ACCESS_TIER)
    } else {
        None
    }
}
