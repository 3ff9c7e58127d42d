//! What looks like a token's secret, and what cannot be one.
//!
//! **Nothing of what looks like one is shown**, whatever it was written into. Proxmox VE's secrets have the form of a UUID;
//! in a path a UUID is the name of a disk or a folder.

/// What is said where something else than the secret's own setting holds one.
pub(super) const LOOKS: &str = "this looks like a token's secret, and so it is not shown: it belongs in PVE_TOKEN_SECRET, or in a \
    file that PVE_TOKEN_SECRET_FILE names";

/// How long one is, and where its hyphens stand.
const LENGTH: usize = 36;
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

/// The bytes at which something begins that looks like a secret.
fn places(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let is_one = |window: &[u8]| {
        window.iter().enumerate().all(|(at, byte)| {
            if HYPHENS.contains(&at) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
        })
    };
    let is_in_path = |at: usize| {
        let before = bytes.get(..at).unwrap_or_default();
        before.ends_with(b"\\") || before.ends_with(b"/") && !before.ends_with(b"://")
    };
    let windows = bytes.windows(LENGTH).enumerate().filter(move |(_, window)| is_one(window));
    windows.map(|(at, _)| at).filter(move |at| !is_in_path(*at))
}

/// Whether something in a text looks like a secret.
pub(super) fn is_in(text: &str) -> bool {
    places(text).next().is_some()
}

/// Whether a text is one, by itself or behind the token's id.
pub(super) fn is_one(text: &str) -> bool {
    let text = text.trim();
    places(text).any(|at| {
        let before = text.get(..at).unwrap_or_default();
        at + LENGTH == text.len() && (before.is_empty() || before.ends_with('='))
    })
}

/// A complaint without it.
pub(super) fn hidden(text: &str) -> String {
    let (mut shown, mut from) = (String::new(), 0);
    for at in places(text).filter(|at| text.is_char_boundary(*at)) {
        // One that begins within another goes with it.
        if let Some(between) = text.get(from..at) {
            shown += between;
            shown.push('…');
        }
        from = at + LENGTH;
    }
    shown + text.get(from..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UUID: &str = "AAAAAAAA-bbbb-4ccc-8ddd-eeeeeeeeeeee";

    #[test]
    fn one_is_found_alone_and_behind_its_id_and_not_in_a_path() {
        for (text, expected) in [
            (UUID.to_owned(), "…"),
            (format!("`{UUID}`: no"), "`…`: no"),
            (format!("{UUID}{UUID}é"), "……é"),
        ] {
            assert!(is_in(&text));
            assert_eq!(hidden(&text), expected);
        }
        assert!(
            is_one(UUID) && is_one(&format!("a@b!c={UUID}")) && !is_one(&format!("tag:{UUID}"))
        );
        for path in
            [format!("/dev/disk/by-uuid/{UUID}"), format!("D:\\{UUID}"), UUID.replace('-', "_")]
        {
            assert!(!is_in(&path) && hidden(&path) == path, "{path}");
        }
    }

    proptest! {
        #[test]
        fn none_is_left_in_any_text(around in proptest::collection::vec("[a-f0-9=!é -]{0,9}", 1..4)) {
            let text = around.join(UUID);
            let shown = hidden(&text);
            prop_assert!(!shown.contains(UUID), "{}", shown);
            prop_assert_eq!(shown == text, !is_in(&text));
        }
    }
}
