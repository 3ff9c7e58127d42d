//! Hides secrets that are printed into logs: passwords in addresses, tokens, tickets, keys.
//!
//! It is better to hide a word too many than a secret too few, but what an administrator looks for (task
//! identifiers, names of tokens, addresses) stays.

mod address;
mod key;

use std::borrow::Cow;

pub use key::hide_keys;

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
/// What stands between such a name and its secret.
const SCHEMES: [&str; 5] = ["bearer", "basic", "token", "digest", "negotiate"];
/// What begins a ticket.
const TICKETS: [&str; 8] =
    ["PVE:", "PVEVNC:", "PVETUNNEL:", "PVESPICE:", "PMG:", "PBS:", "PVE%3A", "PVEVNC%3A"];
/// What ends a word: blanks, and the mark of a line's end.
const BLANKS: [char; 2] = [' ', '⏎'];
const QUOTES: [&str; 4] = ["\\\"", "\\'", "\"", "'"];

/// The text with its secrets hidden.
pub(super) fn mask(text: &str) -> String {
    let text = address::without_logins(text);
    let text = map(text, in_pairs);
    let text = map(text, after_announcements);
    text.into_owned()
}

fn map(text: Cow<'_, str>, change: impl Fn(&str) -> Option<String>) -> Cow<'_, str> {
    match change(&text) {
        Some(changed) => Cow::Owned(changed),
        None => text,
    }
}

/// Whether anything in it may belong to a secret that [`after_announcements`] knows.
fn may_announce(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b':', b'=', b'%', bytes).is_some()
        || memchr::memmem::find(bytes, b"--").is_some()
        || memchr::memchr2_iter(b'b', b'B', bytes).any(|at| {
            bytes.get(at..at + 6).is_some_and(|word| word.eq_ignore_ascii_case(b"bearer"))
        })
}

/// `password=x`, `"token": "a b"`, `password = x`, `?vncticket=x&port=1`, `Authorization: Bearer x`.
fn in_pairs(text: &str) -> Option<String> {
    let mut masked = String::new();
    let mut rest = text;
    let mut is_changed = false;
    while let Some(at) = memchr::memchr2(b'=', b':', rest.as_bytes()) {
        let (before, after) = rest.split_at_checked(at)?;
        let key = before.trim_end_matches([' ', '"', '\'', '\\']);
        let is_key = key.rsplit(|c: char| !is_of_name(c)).next().is_some_and(is_name);
        if !is_key {
            masked.push_str(before);
            masked.push_str(after.get(..1)?);
            rest = after.get(1..)?;
            continue;
        }
        let opening = after.len() - after.trim_start_matches(['=', ':', '>', ' ', '⏎']).len();
        let (separator, mut value) = after.split_at_checked(opening)?;
        masked.push_str(before);
        masked.push_str(separator);
        if let Some(scheme) = scheme(value) {
            masked.push_str(value.get(..scheme)?);
            value = value.get(scheme..)?;
        }
        rest = hide_value(value, &mut masked);
        is_changed |= rest.len() < value.len();
    }
    masked.push_str(rest);
    is_changed.then_some(masked)
}

/// The length of the word that says of what kind the secret after it is, with the blank.
fn scheme(value: &str) -> Option<usize> {
    let (word, _) = value.split_once(' ')?;
    SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme)).then_some(word.len() + 1)
}

/// Writes a mark in place of the value at the beginning of a text, and hands back what follows it.
fn hide_value<'a>(value: &'a str, masked: &mut String) -> &'a str {
    if value.is_empty() || value.starts_with(HIDDEN) {
        return value;
    }
    if let Some(quote) = QUOTES.iter().find(|quote| value.starts_with(**quote)) {
        let inside = value.get(quote.len()..).unwrap_or_default();
        let after = closing(inside, quote).and_then(|at| inside.get(at..)).unwrap_or_default();
        masked.push_str(quote);
        masked.push_str(HIDDEN);
        return after;
    }
    let end = value.find(BLANKS).unwrap_or(value.len());
    let word = value.get(..end).unwrap_or(value);
    // `&` separates what comes with the address of a page; whatever else may be a part of it.
    let end =
        next_pair(word).unwrap_or_else(|| word.trim_end_matches([',', ';', ')', ']', '}']).len());
    if end == 0 {
        return value;
    }
    masked.push_str(HIDDEN);
    value.get(end..).unwrap_or_default()
}

/// Where a value in quotes ends: at a quote after which nothing of it can come.
fn closing(inside: &str, quote: &str) -> Option<usize> {
    let ends = inside.match_indices(quote).map(|(at, _)| at);
    ends.filter(|at| !inside.get(..*at).unwrap_or_default().ends_with('\\')).find(|at| {
        let after = inside.get(at + quote.len()..).unwrap_or_default();
        !after.starts_with(|c: char| c.is_alphanumeric())
    })
}

/// Where `&name=` begins.
fn next_pair(word: &str) -> Option<usize> {
    word.match_indices('&').map(|(at, _)| at).find(|at| {
        let after = word.get(at + 1..).unwrap_or_default();
        let name = after.find(|c| !is_of_name(c)).filter(|length| *length > 0);
        name.is_some_and(|length| after.get(length..).is_some_and(|rest| rest.starts_with('=')))
    })
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_name(name: &str) -> bool {
    if name.len() < 2 || name.len() > 64 {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let is_short = |short: &&str| {
        name.strip_suffix(*short)
            .is_some_and(|before| before.is_empty() || before.ends_with(['_', '-']))
    };
    NAMES.iter().any(|long| name.ends_with(long)) || SHORT.iter().any(is_short)
}

/// `--password x`, `Bearer x`, and what is a secret by its form: tickets, tokens, keys in letters.
fn after_announcements(text: &str) -> Option<String> {
    if !may_announce(text) {
        return None;
    }
    let mut masked = String::with_capacity(text.len());
    let mut is_secret = false;
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(BLANKS).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end)?;
        if is_secret && !word.is_empty() {
            is_secret = false;
            rest = hide_value(rest, &mut masked);
            if rest.len() == word.len() + after.len() {
                masked.push_str(word);
                rest = after;
            }
            continue;
        }
        // Most words are none, and lines are long.
        let may_be_secret = word.len() > 16 && word.contains([':', '=', '%']);
        if may_be_secret {
            masked.push_str(&map(map(word.into(), in_ticket), in_api_token));
        } else {
            masked.push_str(word);
        }
        is_secret |= announces(word);
        let blank = after.chars().next().map_or(0, char::len_utf8);
        if word.ends_with("-----BEGIN") {
            // A key in letters: nothing of what follows has to be read.
            masked.push(' ');
            masked.push_str(HIDDEN);
            break;
        }
        masked.push_str(after.get(..blank)?);
        rest = after.get(blank..)?;
    }
    (masked != text).then_some(masked)
}

/// Whether the next word is a secret: `--password`, `Bearer`.
fn announces(word: &str) -> bool {
    let bare = word.trim_matches(['"', '\'', '(', '[', '{', ',']);
    bare.strip_prefix("--").is_some_and(is_name) || bare.eq_ignore_ascii_case("bearer")
}

/// `PVE:root@pam:6B0D1766::signature`, which is as good as a password for two hours.
fn in_ticket(word: &str) -> Option<String> {
    let at_of = |mark: &&str| {
        word.match_indices(*mark).map(|(at, _)| at).find(|at| {
            // `UPID:PVE:…` is the task of a node of that name.
            let before = word.get(..*at).unwrap_or_default();
            !before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == ':')
        })
    };
    TICKETS.iter().find_map(|mark| {
        let (before, ticket) = word.split_at_checked(at_of(mark)?)?;
        let rest = ticket.strip_prefix(mark)?;
        let end = rest.find(['"', '\'', '&', ';', ',', ')', '<', '>']).unwrap_or(rest.len());
        let (secret, after) = rest.split_at_checked(end)?;
        (secret.len() >= 16).then(|| format!("{before}{mark}{HIDDEN}{after}"))
    })
}

/// `root@pam!monitor=12345678-1234-…`, with or without `PVEAPIToken=` in front. A name has no `!`, so that a word
/// of many is read in one pass.
fn in_api_token(word: &str) -> Option<String> {
    let is_uuid = |text: &str| {
        text.len() >= 36 && text.bytes().take(36).all(|b| b.is_ascii_hexdigit() || b == b'-')
    };
    let user = word.find('@');
    let header = word.find("PVEAPIToken");
    let mut masked = String::new();
    let mut done = 0;
    for (at, _) in word.match_indices('!') {
        if at < done || user.is_none_or(|user| at < user) {
            continue;
        }
        let name = word.get(at + 1..)?;
        let Some(length) = name.find(['=', ':', '!']) else { break };
        let (_, rest) = name.split_at_checked(length)?;
        let Some(secret) = rest.strip_prefix(['=', ':']) else { continue };
        let is_named = header.is_some_and(|header| header < at) && !secret.is_empty();
        if !is_uuid(secret) && !is_named {
            continue;
        }
        let start = word.len() - secret.len();
        masked.push_str(word.get(done..start)?);
        masked.push_str(HIDDEN);
        done = if is_uuid(secret) { start + 36 } else { word.len() };
    }
    masked.push_str(word.get(done..)?);
    (done > 0).then_some(masked)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_what_is_around_them_stays() {
        for (text, wanted) in [
            ("curl --password hunter2 -k", "curl --password *** -k"),
            ("curl --password 'hunter 2' -k", "curl --password '***' -k"),
            ("login password=hunter2, user=bob", "login password=***, user=bob"),
            ("login (password=hunter2)", "login (password=***)"),
            ("password = hunter2 x", "password = *** x"),
            ("password : hunter2 x", "password : *** x"),
            ("'password' => 'a b' x", "'password' => '***' x"),
            ("password=a,b;c)d}e&f g", "password=*** g"),
            ("Authorization: Bearer abc.def next", "Authorization: Bearer *** next"),
            ("Authorization: Basic Ym9i next", "Authorization: Basic *** next"),
            (
                "PVEAPIToken=root@pam!mon=de300000-0000-4000-8000-000000000000",
                "PVEAPIToken=root@pam!mon=***",
            ),
            ("root@pam!mon=de300000-0000-4000-8000-000000000000 ok", "root@pam!mon=*** ok"),
            (
                "a@b!c=de300000-0000-4000-8000-000000000000,a@b!d=de300000-0000-4000-8000-000000000001;",
                "a@b!c=***,a@b!d=***;",
            ),
            (
                "GET /x?port=1&vncticket=PVEVNC%3A6B0D%3A%3Aabc&y=2",
                "GET /x?port=1&vncticket=***&y=2",
            ),
            ("ticket PVE:root@pam:6B0D1766::c2lnbmF0dXJl end", "ticket PVE:*** end"),
            (r#"{"user":"a","password":"b c"}"#, r#"{"user":"a","password":"***"}"#),
            (r#"{"password":"b \" c","x":1}"#, r#"{"password":"***","x":1}"#),
            (r#"{\"password\":\"b c\",\"x\":1}"#, r#"{\"password\":\"***\",\"x\":1}"#),
            (r#"password="never closed at all"#, r#"password="***"#),
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
            "password:",
        ] {
            assert_eq!(mask(text), text);
        }
    }

    #[test]
    fn a_line_that_is_made_to_be_slow_is_read_as_quickly_as_any() {
        let begin = std::time::Instant::now();
        for part in
            ["://", "a://b:c@", "!", "a@b!", "!=", "&", "password=&", "PVE:", "\"\\\"", "=:"]
        {
            for end in ["", "=", "@", "\""] {
                let line = format!("{}{end}", part.repeat(16_384 / part.len()));
                assert!(mask(&line).len() < 40_000, "{part}");
            }
        }
        // One pass over each takes a hundredth of this, on a machine that does nothing else; before, every line took 20 s.
        assert!(begin.elapsed() < std::time::Duration::from_secs(120), "{:?}", begin.elapsed());
    }

    proptest! {
        #[test]
        fn any_text_is_masked_without_growing_much(text in "[ -~é⏎]{0,80}") {
            prop_assert!(mask(&text).len() <= text.len() + 200);
        }

        #[test]
        fn no_password_gets_through(
            secret in "[a-zA-Z0-9]{3}[a-zA-Z0-9,;&)}/]{3,20}x9q",
            name in "(db_|my-|)(password|token|secret|api_key)",
        ) {
            for text in [
                format!("{name}={secret}"),
                format!("{name} = {secret}"),
                format!("--{name} {secret}"),
                format!("\"{name}\":\"{secret} {secret}\""),
                format!("{name}: {secret}"),
                format!("ftp://u:{secret}@h/p"),
                format!("x,ftp://u:{secret}@h/p,ftp://u:{secret}@h/p"),
                format!("https://{}@h/p", secret.replace('/', "")),
            ] {
                let masked = mask(&text);
                prop_assert!(!masked.contains(&secret), "{masked}");
                prop_assert!(!masked.contains("x9q"), "{masked}");
            }
        }
    }
}
