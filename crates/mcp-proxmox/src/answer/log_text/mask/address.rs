//! Logins in addresses: `https://user:password@host`, `https://token@host`.

use std::borrow::Cow;

use super::HIDDEN;

/// What ends an address.
const ENDS: [char; 8] = [' ', '⏎', '"', '\'', '<', '>', '|', '`'];

/// The text without the logins of its addresses.
pub(super) fn without_logins(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return text.into();
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at_checked(at + 3).unwrap_or((rest, ""));
        let scheme = before.trim_end_matches("://");
        masked.push_str(before);
        let (address, next) = after.split_at_checked(end(after)).unwrap_or((after, ""));
        match login(scheme, address) {
            Some((user, length)) => {
                masked.push_str(user);
                masked.push_str(HIDDEN);
                masked.push_str(address.get(length..).unwrap_or_default());
            }
            None => masked.push_str(address),
        }
        rest = next;
    }
    masked.push_str(rest);
    masked.into()
}

/// Where an address ends: before a blank, a quote, or the next address. Nothing behind the next address is
/// looked at, so that a line of many is read in one pass.
fn end(text: &str) -> usize {
    let next = text.find("://");
    let within = next.and_then(|next| text.get(..next)).unwrap_or(text);
    if let Some(end) = within.find(ENDS) {
        return end;
    }
    if next.is_none() {
        return text.len();
    }
    let scheme = within.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "+.-".contains(c));
    scheme.len()
}

/// What of an address is shown of its login, and how long the login is without its `@`. A password may
/// have any character, `/` and `@` among them.
fn login<'a>(scheme: &str, address: &'a str) -> Option<(&'a str, usize)> {
    let host = address.find(['/', '?', '#']).unwrap_or(address.len());
    let in_path = address.get(..host)?;
    // Everything up to the last `@` that stands before what is asked of the page.
    let most = address.split('?').next().unwrap_or(address);
    let at = most.rfind('@').or_else(|| in_path.rfind('@')).or_else(|| address.rfind('@'))?;
    let login = address.get(..at)?;
    let user = login.split(':').next().unwrap_or_default();
    let is_within = !in_path.contains('@');
    match login.split_once(':') {
        Some((_, password)) if !user.contains(['/', '?', '#']) => {
            // `host:8006/path@2` has a port and no password. Where that is not certain, a password is hidden.
            let port = password.split(['/', '?', '#']).next().unwrap_or_default();
            let is_port = is_within && port.parse::<u16>().is_ok_and(|port| port > 0);
            let host = address.get(at + 1..).unwrap_or_default();
            let is_host = host.starts_with(|c: char| c.is_ascii_alphabetic());
            (!is_port || is_host && !login.ends_with('/'))
                .then(|| (address.get(..=user.len()).unwrap_or_default(), at))
        }
        _ if is_within => None,
        // A token alone. Elsewhere than on the web it is the name of a user.
        _ => {
            (scheme.to_ascii_lowercase().contains("http") || login.len() >= 20).then_some(("", at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_go_and_hosts_stay() {
        for (text, wanted) in [
            (
                "mount https://bob:hunter2@nas/share failed",
                "mount https://bob:***@nas/share failed",
            ),
            ("https://TOKEN@host/x", "https://***@host/x"),
            ("https://bob:hun/ter2@host/x", "https://bob:***@host/x"),
            ("https://bob:hun@ter2@host", "https://bob:***@host"),
            ("a=ftp://a:b1@c,ftp://d:e2@f", "a=ftp://a:***@c,ftp://d:***@f"),
            ("'https://a:b1@c' ssh://git@github.com/x", "'https://a:***@c' ssh://git@github.com/x"),
            ("https://a:b?c#d@host/x", "https://a:***@host/x"),
            ("ftp://u:000/)0x9q@h/p", "ftp://u:***@h/p"),
            ("ftp://u:123/)0x9q@h/p", "ftp://u:***@h/p"),
            ("ssh://0123456789abcdef0123@h", "ssh://***@h"),
            ("ftp://a:b1@c\u{e9}ftp://d:e2@f?g@h", "ftp://a:***@c\u{e9}ftp://d:***@f?g@h"),
        ] {
            assert_eq!(without_logins(text), wanted);
        }
    }

    #[test]
    fn an_address_without_a_login_stays() {
        for text in [
            "https://host:8006/api2/json",
            "https://host:8006/pkg@2",
            "https://host:443/@scope/pkg",
            "https://host/pkg@2?mail=a@b",
            "http://[::1]:80/",
            "://",
            "x:// y",
        ] {
            assert_eq!(without_logins(text), text);
        }
    }
}
