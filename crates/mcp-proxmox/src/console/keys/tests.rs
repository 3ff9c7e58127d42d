//! What is typed, by examples and for whatever a caller writes.

use proptest::prelude::*;

use super::*;

fn sequences(text: &str, keys: &[&str]) -> Vec<String> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let typing = Typing::read(text, &keys, Into::Terminal).unwrap();
    typing.strokes.iter().filter_map(Stroke::sequence).collect()
}

fn chord(key: &str) -> Vec<u32> {
    of_name(key).unwrap().chord().iter().map(|key| key.0).collect()
}

#[test]
fn a_terminal_gets_what_a_terminal_sends() {
    assert_eq!(sequences("a\u{e9}\r\nb", &[]), ["a", "\u{e9}", "\r", "b"]);
    assert_eq!(
        sequences(
            "",
            &[
                "enter",
                "up",
                "F1",
                "f5",
                "ctrl-c",
                "Alt+x",
                "shift-tab",
                "ctrl-left",
                "page-up",
                "esc"
            ]
        ),
        [
            "\r",
            "\u{1b}[A",
            "\u{1b}OP",
            "\u{1b}[15~",
            "\u{3}",
            "\u{1b}x",
            "\u{1b}[Z",
            "\u{1b}[1;5D",
            "\u{1b}[5~",
            "\u{1b}"
        ]
    );
}

#[test]
fn a_keyboard_gets_keys_with_what_is_held_down() {
    assert_eq!(chord("ctrl-alt-del"), [0xffe3, 0xffe9, 0xffff]);
    assert_eq!(chord("ctrl-alt-f2"), [0xffe3, 0xffe9, 0xffbf]);
    assert_eq!(chord("super-r"), [0xffeb, u32::from('r')]);
    let typing = Typing::read("aA?\n", &[], Into::Keyboard).unwrap();
    let chords: Vec<Vec<u32>> = typing
        .strokes
        .iter()
        .map(|stroke| stroke.chord().iter().map(|key| key.0).collect())
        .collect();
    assert_eq!(chords, [vec![0x61], vec![0xffe1, 0x41], vec![0xffe1, 0x3f], vec![0xff0d]]);
}

#[test]
fn every_named_key_has_a_sequence_and_a_number_of_its_own() {
    let mut numbers: Vec<u32> = NAMED.iter().map(|(_, number, _)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), NAMED.len());
    for name in NAMED.iter().flat_map(|(names, ..)| *names) {
        assert!(of_name(name).unwrap().sequence().is_some(), "{name}");
    }
}

#[test]
fn what_cannot_be_typed_is_told_without_the_text() {
    let read = |text: &str, keys: &[&str], into| {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        Typing::read(text, &keys, into).unwrap_err().join("\n")
    };
    assert!(read("se\u{1b}cret", &[], Into::Terminal).starts_with("character 3 of `text`"));
    assert!(read("caf\u{e9}", &[], Into::Keyboard).contains("US keyboard"));
    assert!(read("", &["ctrl-alt-del"], Into::Terminal).contains("means nothing to a terminal"));
    assert!(read("", &["hyper-x"], Into::Keyboard).contains("is no key"));
    // A password in pieces would be recorded as names of keys.
    let pieces = read("", &["p", "shift-w"], Into::Keyboard);
    assert!(pieces.contains("belongs into `text`") && !pieces.contains('w'), "{pieces}");
}

#[test]
fn what_is_typed_is_told_by_its_length_and_the_names_of_keys() {
    let keys = ["Enter".to_owned(), "ctrl-alt-F2".to_owned()];
    let typing = Typing::read("hunter2", &keys, Into::Keyboard).unwrap();
    assert_eq!(typing.in_words(), "7 characters, then enter, ctrl-alt-f2");
    assert_eq!(Typing::read("", &keys[..1], Into::Keyboard).unwrap().in_words(), "enter");
}

/// Names of keys, and what is near them.
fn name() -> impl Strategy<Value = String> {
    let key = NAMED.iter().flat_map(|(names, ..)| *names).copied().collect::<Vec<_>>();
    prop_oneof![
        ("((ctrl|alt|shift|super|c|hyper)[-+]){0,4}", prop::sample::select(key))
            .prop_map(|(held, key)| format!("{held}{key}")),
        "((ctrl|alt|shift|super)[-+ ]){0,3}([!-~]|\\PC)",
        "([a-zA-Z0-9+-]|\\PC|[\\x00`]){0,50}",
    ]
}

fn into() -> impl Strategy<Value = Into> {
    prop::sample::select(vec![Into::Terminal, Into::Keyboard])
}

proptest! {
    #[test]
    fn whatever_is_wanted_is_typed_or_refused_in_a_few_words(
        text in "([a-z]|\\PC|[\\x00-\\x1f]){0,20}",
        keys in proptest::collection::vec(name(), 0..8),
        into in into(),
    ) {
        match Typing::read(&text, &keys, into) {
            Ok(typing) => {
                prop_assert!(typing.n_characters <= text.chars().count());
                prop_assert_eq!(typing.strokes.len(), typing.n_characters + keys.len());
                prop_assert_eq!(typing.names.len(), keys.len());
                prop_assert!(typing.names.iter().all(|name| name.chars().count() <= NAME && !name.contains(['`', '\0'])));
                for stroke in &typing.strokes {
                    prop_assert!((1..=5).contains(&stroke.chord().len()));
                    prop_assert!(into == Into::Keyboard || stroke.sequence().is_some_and(|sequence| !sequence.is_empty()));
                }
            }
            Err(misfits) => {
                prop_assert!((1..=6).contains(&misfits.len()));
                for misfit in misfits {
                    prop_assert!(misfit.chars().count() < 300 && !misfit.contains(char::is_control), "{misfit:?}");
                }
            }
        }
    }

    #[test]
    fn a_text_reaches_a_terminal_as_it_is(text in "[ -~\\t\\n\u{e9}\u{4e2d}]{0,40}") {
        let sent = sequences(&text, &[]).concat();
        prop_assert_eq!(sent, text.replace('\n', "\r"));
    }

    #[test]
    fn no_word_of_a_text_is_told_whatever_becomes_of_it(secret in "[\u{c0}-\u{ff}]{3,12}", control in "[\\x00-\\x08]?", into in into()) {
        let told = match Typing::read(&format!("{secret}{control}"), &["enter".to_owned()], into) {
            Ok(typing) => typing.in_words(),
            Err(misfits) => misfits.join(" "),
        };
        prop_assert!(secret.chars().all(|c| !told.contains(c)), "{told}");
    }

    #[test]
    fn what_is_held_down_may_be_written_in_any_order_and_case(
        order in Just(["ctrl", "alt", "shift"]).prop_shuffle(), sign in "[-+]", key in prop::sample::select(vec!["f2", "DEL", "Page-Up", "x"]),
    ) {
        let written = format!("{}{sign}{key}", order.join(&sign));
        let usual = format!("ctrl-alt-shift-{}", key.to_lowercase());
        prop_assert_eq!(of_name(&written), of_name(&usual));
        prop_assert!(of_name(&written.to_uppercase()).is_ok());
    }
}
