//! Lists of settings: their parts, and all that is wrong with them at once.

/// The parts of a list, of which there must be one at least. `what` is what a part is.
pub(super) fn parts<'a>(
    text: &'a str,
    separators: &[char],
    what: &str,
) -> Result<Vec<&'a str>, String> {
    let parts: Vec<_> = text.split(separators).filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { Err(format!("it names no {what}")) } else { Ok(parts) }
}

/// What the parts of a list mean, or what is wrong with each of them, as far as somebody reads on.
pub(super) fn each<'a, T>(
    parts: impl IntoIterator<Item = &'a str>,
    read: impl Fn(&'a str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    const TOLD: usize = 5;
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for part in parts {
        match read(part) {
            Ok(meant) => found.push(meant),
            Err(mistake) => wrong.push(mistake),
        }
    }
    if wrong.is_empty() {
        return Ok(found);
    }
    let more = wrong.len().saturating_sub(TOLD);
    wrong.truncate(TOLD);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Err(wrong.join("; ") + &more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_that_is_wrong_is_told_up_to_what_somebody_reads() {
        let read = |part: &str| part.parse::<u8>().map_err(|_| format!("`{part}`"));
        assert_eq!(each(["1", "2"], read), Ok(vec![1, 2]));
        assert_eq!(each(["a", "1", "b"], read).unwrap_err(), "`a`; `b`");
        let told = each(["a", "b", "c", "d", "e", "f", "g"], read).unwrap_err();
        assert_eq!(told, "`a`; `b`; `c`; `d`; `e`; and 2 more");
    }
}
