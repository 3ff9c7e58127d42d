//! How many rows a caller wants, within what a tool shows.

/// So many rows, and a word on it where it is not what was asked for.
pub fn rows(wanted: Option<u32>, usual: usize, most: usize) -> (usize, Option<String>) {
    let Some(wanted) = wanted else { return (usual, None) };
    let limit = usize::try_from(wanted).unwrap_or(most).clamp(1, most);
    let said = u32::try_from(limit) != Ok(wanted);
    (limit, said.then(|| format!("`limit` {wanted} was taken as {limit}: 1 to {most} is possible")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_possible_is_said() {
        assert_eq!(rows(None, 20, 200), (20, None));
        assert_eq!(rows(Some(200), 20, 200), (200, None));
        for (wanted, limit) in [(0, 1), (100_000, 200)] {
            let (taken, said) = rows(Some(wanted), 20, 200);
            assert_eq!(taken, limit);
            assert!(said.unwrap().contains(&format!("taken as {limit}")));
        }
    }
}
