//! What clients leave in settings that they were to fill in.

/// A client that did not fill in a placeholder hands it on as it is: `${X}`, `${env:X}`, `{env:X}`, `$PVE_X`, `%PVE_X%`.
pub(super) fn is_placeholder(text: &str) -> bool {
    let is_name = |name: &str| {
        name.starts_with("PVE_") && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let is_braced = text.starts_with("${") || text.starts_with("{env:");
    is_braced && text.ends_with('}')
        || text.strip_prefix('$').is_some_and(is_name)
        || text.strip_prefix('%').and_then(|text| text.strip_suffix('%')).is_some_and(is_name)
}

/// The first placeholder within a text: `${X}`, `{env:X}`, `$NAME`, `%NAME%`. No setting has such a thing of its own.
pub(super) fn placeholder_in(text: &str) -> Option<&str> {
    text.char_indices().find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let braced = ["${", "{env:"].iter().any(|start| rest.starts_with(start));
        if braced {
            return rest.find('}').and_then(|end| rest.get(..=end));
        }
        let mark = rest.chars().next().filter(|mark| ['$', '%'].contains(mark))?;
        let name = rest.get(1..)?;
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
        let name = name.get(..end).filter(|name| is_variable(name))?;
        let is_closed = mark == '$' || rest.get(name.len() + 1..)?.starts_with('%');
        let length = name.len() + if mark == '$' { 1 } else { 2 };
        is_closed.then(|| rest.get(..length)).flatten()
    })
}

/// Whether this may be the name of a variable: capitals, and not a digit first.
fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_')
        && name.len() >= 2
        && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_stand_for_nothing_are_text() {
        for plain in ["100%", "a$b", "C:\\$Recycle.Bin", "$", "%%", "${", "50%A", "é$", "$A"] {
            assert_eq!(placeholder_in(plain), None, "{plain}");
        }
        assert_eq!(placeholder_in("é${X}y"), Some("${X}"));
    }
}
