//! Hides secrets that are printed into logs: passwords in addresses, tokens, tickets, keys.
//!
//! It is better to hide a word too many than a secret too few, but what an administrator looks for (task
//! identifiers, names of tokens, addresses) stays.

use std::borrow::Cow;

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// Names after which a secret comes, with `=` or `:`. A name may have more in front.
const NAMES: [&str; 19] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "privatekey",
    "private_key",
    "private-key",
    "ticket",
    "authcookie",
    "preventiontoken",
    "csrftoken",
    "authtoken",
    "authorization",
];
/// Names that are such only as a whole or after `_` or `-`.
const SHORT: [&str; 4] = ["token", "pass", "pwd", "pw"];
/// What begins a ticket.
const TICKETS: [&str; 8] =
    ["PVE:", "PVEVNC:", "PVETUNNEL:", "PVESPICE:", "PMG:", "PBS:", "PVE%3A", "PVEVNC%3A"];

/// The text with its secrets hidden.
pub(super) fn mask(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut is_secret = false;
    for piece in text.split_inclusive([' ', '⏎']) {
        let word = piece.trim_end_matches([' ', '⏎']);
        let after = piece.get(word.len()..).unwrap_or_default();
        if is_secret && !word.is_empty() && !is_scheme(word) {
            masked.push_str(HIDDEN);
            is_secret = false;
        } else {
            masked.push_str(&word_without_secrets(word));
            is_secret = announces(word) || (is_secret && is_scheme(word));
        }
        masked.push_str(after);
        if word.ends_with("-----BEGIN") {
            // A key in letters: nothing of what follows has to be read.
            masked.push_str(HIDDEN);
            break;
        }
    }
    masked
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "=", ":", "is"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Whether the next word is a secret: `--password`, `Password:`, `Bearer`.
fn announces(word: &str) -> bool {
    let bare = word.trim_matches(['"', '\'', '(', '[', '{', ',']);
    match bare.strip_suffix([':', '=']) {
        Some(name) => is_name(name.trim_matches(['"', '\''])),
        None => bare.strip_prefix("--").is_some_and(is_name) || bare.eq_ignore_ascii_case("bearer"),
    }
}

fn is_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_short = |short: &&str| {
        name.strip_suffix(*short)
            .is_some_and(|before| before.is_empty() || before.ends_with(['_', '-']))
    };
    NAMES.iter().any(|long| name.ends_with(long)) || SHORT.iter().any(|short| is_short(&short))
}

fn word_without_secrets(word: &str) -> Cow<'_, str> {
    if !word.contains([':', '=', '%']) {
        return word.into();
    }
    let word = in_address(word);
    let word = map(word, in_ticket);
    let word = map(word, in_api_token);
    map(word, in_pairs)
}

fn map<'a>(text: Cow<'a, str>, change: impl Fn(&str) -> Option<String>) -> Cow<'a, str> {
    match change(&text) {
        Some(changed) => Cow::Owned(changed),
        None => text,
    }
}

/// `https://user:password@host`.
fn in_address(word: &str) -> Cow<'_, str> {
    let found = word.split_once("://").and_then(|(scheme, rest)| {
        let (login, host) = rest.split('/').next()?.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        let path = rest.get(login.len() + 1 + host.len()..)?;
        Some(format!("{scheme}://{user}:{HIDDEN}@{host}{path}"))
    });
    found.map_or(Cow::Borrowed(word), Cow::Owned)
}

/// `PVE:root@pam:6B0D1766::signature`, which is as good as a password for two hours.
fn in_ticket(word: &str) -> Option<String> {
    TICKETS.iter().find_map(|mark| {
        let at = word.find(mark)?;
        let (before, ticket) = word.split_at_checked(at)?;
        let rest = ticket.strip_prefix(mark)?;
        // `UPID:PVE:…` is the task of a node of that name.
        let is_part = before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == ':');
        let end = rest.find(['"', '\'', '&', ';', ',', ')', '<', '>']).unwrap_or(rest.len());
        let (secret, after) = rest.split_at_checked(end)?;
        (!is_part && secret.len() >= 16).then(|| format!("{before}{mark}{HIDDEN}{after}"))
    })
}

/// `root@pam!monitor=12345678-1234-…`, with or without `PVEAPIToken=` in front.
fn in_api_token(word: &str) -> Option<String> {
    let at = word.find('!')?;
    let (before, token) = word.split_at_checked(at)?;
    let (name, secret) = token.split_once(['=', ':'])?;
    let separator = token.get(name.len()..=name.len())?;
    let is_uuid = |text: &str| {
        text.len() >= 36 && text.bytes().take(36).all(|b| b.is_ascii_hexdigit() || b == b'-')
    };
    let is_token = before.contains('@') && (is_uuid(secret) || before.contains("PVEAPIToken"));
    is_token.then(|| {
        let end = secret.find(['"', '\'', '&', ';', ',', ')']).unwrap_or(secret.len());
        format!("{before}{name}{separator}{HIDDEN}{}", secret.get(end..).unwrap_or_default())
    })
}

/// `password=x`, `"token":"x"`, `?vncticket=x&port=1`.
fn in_pairs(word: &str) -> Option<String> {
    let mut masked = String::new();
    let mut rest = word;
    let mut is_changed = false;
    while let Some(at) = rest.find(['=', ':']) {
        let (before, after) = rest.split_at_checked(at)?;
        let separator = after.get(..1)?;
        let value = after.get(1..)?;
        let key = before.trim_end_matches(['"', '\'']);
        let key =
            key.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').next()?;
        masked.push_str(before);
        masked.push_str(separator);
        let opening = value.len() - value.trim_start_matches(['"', '\'', '\\']).len();
        let (quotes, bare) = value.split_at_checked(opening)?;
        let end = bare.find(['"', '\'', '&', ';', ',', ')', '}', '\\']).unwrap_or(bare.len());
        if is_name(key) && end > 0 && !bare.starts_with(HIDDEN) {
            masked.push_str(quotes);
            masked.push_str(HIDDEN);
            rest = bare.get(end..)?;
            is_changed = true;
        } else {
            rest = value;
        }
    }
    masked.push_str(rest);
    is_changed.then_some(masked)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_what_is_around_them_stays() {
        for (text, wanted) in [
            (
                "mount https://bob:hunter2@nas/share failed",
                "mount https://bob:***@nas/share failed",
            ),
            ("curl --password hunter2 -k", "curl --password *** -k"),
            ("login password=hunter2, user=bob", "login password=***, user=bob"),
            ("Authorization: Bearer abc.def next", "Authorization: Bearer *** next"),
            (
                "PVEAPIToken=root@pam!mon=de300000-0000-4000-8000-000000000000",
                "PVEAPIToken=root@pam!mon=***",
            ),
            ("root@pam!mon=de300000-0000-4000-8000-000000000000 ok", "root@pam!mon=*** ok"),
            (
                "GET /x?port=1&vncticket=PVEVNC%3A6B0D%3A%3Aabc&y=2",
                "GET /x?port=1&vncticket=***&y=2",
            ),
            ("ticket PVE:root@pam:6B0D1766::c2lnbmF0dXJl end", "ticket PVE:*** end"),
            (r#"{"user":"a","password":"b c"}"#, r#"{"user":"a","password":"*** c"}"#),
            ("CSRFPreventionToken: 6B0D:xyz", "CSRFPreventionToken: ***"),
            ("Cookie: PVEAuthCookie=PVE:a@pam:6B::zz", "Cookie: PVEAuthCookie=***"),
            ("x -----BEGIN RSA PRIVATE KEY-----⏎MIIE", "x -----BEGIN ***"),
            ("--set DB_PASS=x SMTP_TOKEN=y", "--set DB_PASS=*** SMTP_TOKEN=***"),
        ] {
            assert_eq!(mask(text), wanted);
        }
    }

    #[test]
    fn what_is_no_secret_is_left_alone() {
        for text in [
            "<ops@pve!rw> starting task UPID:PVE:00001873:000B9479:6B0D166B:qmstart:107:ops@pve!rw:",
            "Failed password for root from 192.168.1.5 port 22 ssh2",
            "authentication failure; rhost=::ffff:10.0.0.1 user=root@pam msg=no such user",
            "root=UUID=de300000-0000-4000-8000-000000000000 ro quiet",
            "status update time (5.169 seconds)",
            "tokenid=monitor bypass=1 compass: north",
            "größe=1 ü:é",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_masked_and_twice_is_once(text in "[ -~é⏎]{0,80}") {
            let once = mask(&text);
            prop_assert!(once.len() <= text.len() + 200);
        }

        #[test]
        fn no_password_gets_through(secret in "[a-zA-Z0-9]{6,20}x9q", name in "(db_|my-|)(password|token|secret|api_key)") {
            for text in [
                format!("{name}={secret}"),
                format!("--{name} {secret}"),
                format!("\"{name}\":\"{secret}\""),
                format!("{name}: {secret}"),
                format!("ftp://u:{secret}@h/p"),
            ] {
                prop_assert!(!mask(&text).contains(&secret), "{}", mask(&text));
            }
        }
    }
}
