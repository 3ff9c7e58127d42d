//! Addresses of resources: a fixed text, or one with a variable as a whole segment.

use std::fmt::Write as _;

/// The name of the variable in a template.
pub(super) fn variable(template: &'static str) -> Option<&'static str> {
    template.split('/').find_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
}

/// The value of the variable, where `uri` is an address of this template. Empty where there is no variable.
pub(super) fn value(template: &str, uri: &str) -> Option<String> {
    let mut value = String::new();
    let (mut wanted, mut given) = (template.split('/'), uri.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return Some(value),
            (Some(wanted), Some(given)) if wanted.starts_with('{') => {
                value = decoded(given).filter(|value| !value.is_empty())?;
            }
            (Some(wanted), Some(given)) if wanted == given => {}
            _ => return None,
        }
    }
}

/// The address with this value.
pub(super) fn expand(template: &str, value: &str) -> String {
    let segments = template
        .split('/')
        .map(|segment| if segment.starts_with('{') { encoded(value) } else { segment.to_owned() });
    segments.collect::<Vec<_>>().join("/")
}

/// The text behind the percent signs, decoded once.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            let is_hexadecimal = digits.bytes().all(|b| b.is_ascii_hexdigit());
            bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

fn encoded(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        // What RFC 3986 allows in a segment and task identifiers have.
        if byte.is_ascii_alphanumeric() || b"-._~:@!".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_expanded_is_read_again(text in "[ -~é]{1,20}") {
            let uri = expand("pve://tasks/{upid}/log", &text);
            prop_assert!(uri.bytes().all(|b| b.is_ascii_graphic()));
            prop_assert_eq!(value("pve://tasks/{upid}/log", &uri), Some(text));
        }

        #[test]
        fn any_text_is_taken_or_refused(uri in any::<String>()) {
            if let Some(value) = value("pve://vms/{vmid}", &uri) {
                prop_assert!(uri.starts_with("pve://vms/") && !value.is_empty());
            }
        }
    }
}
