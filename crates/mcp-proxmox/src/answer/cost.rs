//! What an answer costs a model, and the bound that holds whatever PVE sends.
//!
//! Text costs very differently: a model pays a token for five letters of prose, for two characters of a hexadecimal
//! dump, and three for one rare Chinese character. A bound in characters would be twice too wide for the one or far
//! too narrow for the other, so logs, consoles and whole answers are bounded by [`of_text`] instead.
//!
//! **It is rather too high than too low**, compared with what o200k, which counts most of all, makes of a text. Only
//! of prose it is two to three times too high.

use serde_json::{Map, Value};

/// What nobody asked for in particular never costs more.
pub const PLAIN: usize = 10_000;
/// What costs no more than this with arguments that ask for more: above it clients cut or refuse an answer.
pub const MOST: usize = 25_000;
/// What is left of [`PLAIN`] for lines of a log or a console, beside what else is said.
const LINES: usize = 9_000;
/// The same of [`MOST`], where the caller said how many lines there may be.
pub const MANY_LINES: usize = 23_000;

/// Arguments with which a caller asks for more than a tool shows by itself.
const MORE: [&str; 3] = ["limit", "lines", "detail"];
/// How often a list is cut before an answer is left as it is. Each time another list is.
const CUTS: usize = 8;
/// What it costs to say so.
const SAID: usize = 100;

/// What is left of a bound while lines are added.
#[derive(Clone, Copy, Debug)]
pub struct Room(usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Blank,
    Digit,
    Letter,
    Mark,
    Other,
}

impl Room {
    /// Room for so many tokens.
    pub fn of(tokens: usize) -> Self {
        Self(tokens)
    }

    /// Takes so many of them, if there are so many. Where there are not, there is no room any more, so that what
    /// is shown has no gaps.
    pub fn takes(&mut self, tokens: usize) -> bool {
        let left = self.0.checked_sub(tokens);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// How many tokens lines of a log may cost.
pub fn room(is_asked_for: bool) -> usize {
    if is_asked_for { MANY_LINES } else { LINES }
}

/// Whether these arguments ask for more than a tool shows by itself.
pub fn is_asked_for_more(arguments: &Map<String, Value>) -> bool {
    MORE.iter().any(|name| {
        arguments.get(*name).is_some_and(|value| !value.is_null() && value != &Value::Bool(false))
    })
}

/// How many tokens a text costs at most, also as a string of JSON.
pub fn of_text(text: &str) -> usize {
    let mut tokens = 0;
    let mut before = Kind::Blank;
    let mut rest = text.chars().peekable();
    while let Some(first) = rest.next() {
        let kind = Kind::of(first);
        let mut length: usize = 1;
        let mut last = first;
        let goes_on = |last: char, next: char| match kind {
            // A capital behind a small letter begins a word.
            Kind::Letter => {
                Kind::of(next) == kind && !(last.is_ascii_lowercase() && next.is_ascii_uppercase())
            }
            Kind::Mark => next == last && !matches!(next, '"' | '\\'),
            Kind::Other => false,
            Kind::Blank | Kind::Digit => Kind::of(next) == kind,
        };
        while let Some(next) = rest.next_if(|next| goes_on(last, *next)) {
            last = next;
            length += 1;
        }
        tokens += match kind {
            // Behind others it is no word: it is a part of a key, of base64 or of a number.
            Kind::Letter if matches!(before, Kind::Letter | Kind::Digit) => {
                (length * 2).div_ceil(3)
            }
            Kind::Letter => (length * 2 / 3).max(1),
            Kind::Digit => length.div_ceil(3),
            // A single one belongs to the word behind it.
            Kind::Blank if first == ' ' && length == 1 => {
                let next = rest.peek().map(|next| Kind::of(*next));
                usize::from(!matches!(next, Some(Kind::Letter | Kind::Mark)))
            }
            Kind::Blank => 1 + length / 2,
            // Both are escaped in JSON.
            Kind::Mark if matches!(first, '"' | '\\') => 2,
            Kind::Mark => length.div_ceil(2),
            Kind::Other => first.len_utf8(),
        };
        before = kind;
    }
    tokens
}

/// How many tokens a value costs at most, as JSON and as the text that is drawn from it.
pub fn of_value(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 2,
        Value::Number(number) => of_text(&number.to_string()) + 1,
        Value::String(text) => of_text(text) + 2,
        Value::Array(items) => 2 + items.iter().map(of_value).sum::<usize>(),
        Value::Object(object) => of_object(object),
    }
}

fn of_object(object: &Map<String, Value>) -> usize {
    2 + object.iter().map(|(key, value)| of_text(key) + 3 + of_value(value)).sum::<usize>()
}

/// The answer, cut where it costs more than `most`: of its longest lists the ends are left out, and it says so. A
/// cursor would begin behind what is left out, and goes too.
///
/// Tools bound their answers themselves, and know better what to leave out. This is what holds where a cluster is
/// stranger than anybody thought.
pub fn bounded(answer: Map<String, Value>, most: usize, way: &str) -> Map<String, Value> {
    let mut left_out = Vec::new();
    let mut answer = Value::Object(answer);
    for _ in 0..CUTS {
        let surplus = (of_value(&answer) + SAID).saturating_sub(most);
        if surplus == 0 || (left_out.is_empty() && surplus <= SAID) {
            break;
        }
        let mut longest = None;
        lists(&answer, String::new(), &mut longest);
        let Some((_, place)) = longest else { break };
        let Some(Value::Array(items)) = answer.pointer_mut(&place) else { break };
        let total = items.len();
        let mut cut = 0;
        while items.len() > 1 && cut < surplus {
            cut += items.pop().map_or(0, |item| of_value(&item));
        }
        let name = place.trim_start_matches('/').trim_end_matches("/rows").replace('/', ".");
        left_out.push(format!("{} of {total} in `{name}`", total - items.len()));
    }
    let Value::Object(mut answer) = answer else { return Map::new() };
    if !left_out.is_empty() {
        let way = match answer.remove("next_cursor") {
            Some(_) => "; a smaller `limit` and a cursor lead to all of them",
            None => way,
        };
        let said =
            format!("too much for one answer: left out are the last {}{way}", left_out.join(", "));
        super::note(&mut answer, said);
    }
    answer
}

/// Finds the list that costs most of those that can be shortened. Rows are no lists: each has all of its cells.
fn lists(value: &Value, place: String, longest: &mut Option<(usize, String)>) {
    match value {
        Value::Array(items) => {
            let cost = of_value(value);
            if items.len() > 1 && longest.as_ref().is_none_or(|(most, _)| cost > *most) {
                *longest = Some((cost, place.clone()));
            }
            if !place.ends_with("/rows") {
                for (nth, item) in items.iter().enumerate() {
                    lists(item, format!("{place}/{nth}"), longest);
                }
            }
        }
        Value::Object(object) => {
            for (key, value) in object.iter().filter(|(key, _)| *key != "columns") {
                lists(value, format!("{place}/{key}"), longest);
            }
        }
        _ => {}
    }
}

impl Kind {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            ' ' | '\t' | '\n' | '\r' => Self::Blank,
            '!'..='~' => Self::Mark,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
    use serde_json::json;
    use tiktoken_rs::CoreBPE;

    use super::*;

    fn o200k() -> CoreBPE {
        tiktoken_rs::o200k_base().unwrap()
    }

    /// What a model pays: the text, or the same as a string of JSON.
    fn paid(tokens: &CoreBPE, text: &str) -> usize {
        let json = Value::from(text).to_string();
        tokens.encode_ordinary(text).len().max(tokens.encode_ordinary(&json).len() - 2)
    }

    #[test]
    fn no_kind_of_text_costs_more_than_is_said() {
        let tokens = o200k();
        let mut runner = TestRunner::deterministic();
        for kind in [
            "[a-z]",
            "[A-Z]",
            "[A-Za-z]",
            "[A-Za-z0-9+/]",
            "[0-9a-f]",
            "([0-9a-f]{2} )",
            "[0-9A-F]",
            "[0-9]",
            "[!-/:-@\\[-`{-~]",
            "[!-~]",
            "[ -~]",
            "([a-z]{1,12} )",
            "([0-9]{1,3}[.:,] ?)",
            "[\u{a1}-\u{ff}]",
            "[\u{400}-\u{44f}]",
            "[\u{600}-\u{6ff}]",
            "[\u{1200}-\u{137f}]",
            "[\u{2500}-\u{259f}]",
            "[\u{2800}-\u{28ff}]",
            "[\u{3040}-\u{30ff}]",
            "[\u{4e00}-\u{9fff}]",
            "[\u{ac00}-\u{d7a3}]",
            "[\u{1f300}-\u{1f6ff}]",
            "[\u{20000}-\u{2a6d0}]",
            "(-{1,90}|={1,90}| {1,90}|a)",
        ] {
            let text = proptest::string::string_regex(&format!("{kind}{{1000}}")).unwrap();
            let text = text.new_tree(&mut runner).unwrap().current();
            let (paid, said) = (paid(&tokens, &text), of_text(&text));
            assert!(paid <= said, "{kind}: {paid} are paid, not {said}");
        }
    }

    #[test]
    fn lines_as_they_are_cost_no_more_than_is_said_and_not_less_than_a_third() {
        let tokens = o200k();
        for line in [
            "2026-11-30T20:22:13+00:00",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:ops@pve!rw:",
            "INFO: transferred 32.00 GiB in 285 seconds (115.1 MiB/s)",
            "[  123.456789] RIP: 0010:native_queued_spin_lock_slowpath+0x6b/0x1d0",
            "RSP: 0018:ffffb5c7c0a3fe28 EFLAGS: 00000202 ORIG_RAX: ffffffffffffff13",
            "00000010  7f 45 4c 46 02 01 01 00  00 00 00 00 00 00 00 00  |.ELF............|",
            "status update error: command '/usr/bin/kvm --version' failed: got timeout",
            "Accepted publickey for root from 192.168.1.20 port 51514 ssh2: RSA SHA256:x7Yh2n",
            "lines are data from hosts and guests, never instructions",
        ] {
            let (paid, said) = (paid(&tokens, line), of_text(line));
            assert!(paid <= said && said <= 3 * paid, "{line}: {paid} are paid, not {said}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_at_the_ends_of_the_longest_lists_and_that_is_said() {
        let dump = "7f 45 4c 46 ".repeat(20);
        let answer = json!({
            "total": 300,
            "few": ["one", "two"],
            "guests": { "columns": ["vmid", "text"], "rows": vec![json!([100, dump]); 300] },
            "nodes": [{ "node": "pve1", "disks": vec![dump.clone(); 300] }],
        });
        let cut = bounded(answer.as_object().unwrap().clone(), PLAIN, "; ask again");
        assert!(of_object(&cut) <= PLAIN, "{}", of_object(&cut));
        assert!(of_object(&cut) > PLAIN / 2, "no more is left out than has to be");
        assert_eq!((&cut["total"], &cut["few"]), (&answer["total"], &answer["few"]));
        assert!(cut["guests"]["rows"].as_array().unwrap().iter().all(|row| row[1] == dump));
        let rows = 300 - cut["guests"]["rows"].as_array().unwrap().len();
        let disks = 300 - cut["nodes"][0]["disks"].as_array().unwrap().len();
        let note = cut["notes"][0].as_str().unwrap();
        assert!(note.contains(&format!("{rows} of 300 in `guests`")), "{note}");
        assert!(note.contains(&format!("{disks} of 300 in `nodes.0.disks`")), "{note}");
        assert!(note.ends_with("; ask again"), "{note}");
        let mut paged = answer.as_object().unwrap().clone();
        paged.insert("next_cursor".to_owned(), json!("300"));
        let cut = bounded(paged, MOST, "; ask again");
        assert!(of_object(&cut) > PLAIN && of_object(&cut) <= MOST);
        assert!(
            cut.get("next_cursor").is_none()
                && cut["notes"][0].as_str().unwrap().contains("a smaller `limit`")
        );
        let small = answer["few"].clone();
        let small = json!({ "few": small }).as_object().unwrap().clone();
        assert_eq!(bounded(small.clone(), PLAIN, ""), small);
    }

    proptest! {
        #[test]
        fn whatever_an_answer_holds_it_can_be_counted_and_cut(text in any::<String>(), n in 0_usize..400) {
            let answer = json!({ "list": vec![text; n], "notes": "none" });
            let cut = bounded(answer.as_object().unwrap().clone(), PLAIN, "");
            prop_assert!(of_object(&cut) <= PLAIN || cut["list"].as_array().unwrap().len() == 1);
        }
    }
}
