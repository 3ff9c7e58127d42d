//! Private keys in letters that go over several lines of a log, each of which is an entry of its own.

use super::HIDDEN;

/// How many lines a key has at most. One of 16384 bits has 200.
const LINES: usize = 400;
/// The shortest line of letters that is taken for a part of a key though neither its beginning nor its
/// end is seen. All lines of a key but the last have 64 or more.
const ALONE: usize = 60;

/// Hides the lines of keys among lines that follow each other, the oldest first.
pub fn hide_keys<T>(lines: &mut [T], text: impl Fn(&mut T) -> &mut String) {
    let mut left = 0usize;
    for nth in 0..lines.len() {
        let Some(line) = lines.get_mut(nth).map(&text) else { break };
        if line.contains("-----BEGIN ") && line.contains("PRIVATE KEY") {
            left = if line.contains("-----END ") { 0 } else { LINES };
        } else if line.contains("-----END ") && line.contains("PRIVATE KEY") {
            let is_open = std::mem::take(&mut left) > 0;
            // The beginning was not seen: what stands directly in front is of the key.
            let before = lines.get_mut(..nth).unwrap_or_default().iter_mut().rev().map(&text);
            for line in before.take(LINES).take_while(|line| !is_open && is_letters(line, 1)) {
                HIDDEN.clone_into(line);
            }
        } else if is_letters(line, if left > 0 { 1 } else { ALONE }) {
            HIDDEN.clone_into(line);
        }
        left = left.saturating_sub(1);
    }
}

/// Whether a line has so many characters of base64 and nothing else.
fn is_letters(line: &str, least: usize) -> bool {
    let line = line.trim();
    let is_letter = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    let is_mixed = line.bytes().any(|b| b.is_ascii_uppercase());
    line.len() >= least
        && line.bytes().all(is_letter)
        && (least == 1 || (is_mixed && line.bytes().any(|b| b.is_ascii_lowercase())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(lines: &[&str]) -> Vec<String> {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        hide_keys(&mut lines, |line| line);
        lines
    }

    #[test]
    fn a_key_over_several_lines_is_hidden_and_what_is_around_it_stays() {
        let long = "MIIEowIBAAKCAQEAx0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL";
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let end = "-----END RSA PRIVATE KEY-----";
        let whole =
            hidden(&["before", begin, long, "another service speaks", "Kw==", end, "after"]);
        assert_eq!(whole, ["before", begin, "***", "another service speaks", "***", end, "after"]);
        // Its beginning is on another page, or its end, or both.
        assert_eq!(hidden(&[long, "Kw==", end, "after"]), ["***", "***", end, "after"]);
        assert_eq!(hidden(&[begin, long, "Kw=="]), [begin, "***", "***"]);
        assert_eq!(hidden(&["a b", long, "c"]), ["a b", "***", "c"]);
    }

    #[test]
    fn sums_and_words_are_no_keys() {
        let sum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
        let lines = ["ok", sum, "-----END CERTIFICATE----- seen", "done"];
        assert_eq!(hidden(&["done it", sum, "x y"])[1], sum);
        assert_eq!(hidden(&lines)[3], "done");
    }
}
