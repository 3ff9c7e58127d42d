//! Renders what a terminal gets into the screen that a person would see, and the lines that went
//! before it.
//!
//! **What a guest asks the terminal is not answered**: the emulator only draws. What it draws is
//! bounded, however much comes; text that a reset would wipe (firmware does so before the boot loader
//! begins) is kept as lines.

use avt::{Observation, Observer, Operation, ScreenKind, Terminal, parser::Function};

use crate::answer::clean;

/// How many lines above the screen are kept.
const KEPT: usize = 2000;

/// A terminal as a person would see it.
pub(crate) struct Display {
    terminal: Option<Terminal>,
    wiped: Wiped,
    /// The begin of a character whose rest has not come yet.
    half: Vec<u8>,
    /// How many bytes came.
    pub(crate) received: u64,
}

/// Lines that a reset took off the screen.
#[derive(Default)]
struct Wiped(Vec<String>);

/// What was drawn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    /// Lines that are not on the screen any more, the oldest first.
    pub(crate) earlier: Vec<String>,
    /// The rows of the screen, without the empty ones at its end.
    pub(crate) screen: Vec<String>,
    /// Row and column of the cursor, from 1 on, where it is shown.
    pub(crate) cursor: Option<(usize, usize)>,
    /// Whether a full-screen program has the terminal.
    pub(crate) is_full_screen: bool,
}

impl Display {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let terminal = Terminal::with_scrollback(columns.into(), rows.into(), Some(KEPT)).ok();
        Self { terminal, wiped: Wiped::default(), half: Vec::new(), received: 0 }
    }

    /// Draws what came. Bytes that are no UTF-8 become `\u{fffd}`.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.received += bytes.len() as u64;
        let mut all = std::mem::take(&mut self.half);
        all.extend_from_slice(bytes);
        let whole = whole_characters(&all);
        let (whole, half) = all.split_at(whole);
        let text = String::from_utf8_lossy(whole);
        if let Some(terminal) = &mut self.terminal {
            terminal.feed_with(&*text, &mut self.wiped);
        }
        self.half = half.to_vec();
    }

    /// What there is to see now.
    pub(crate) fn draw(&self) -> Drawn {
        let Some(terminal) = &self.terminal else {
            return Drawn {
                earlier: Vec::new(),
                screen: Vec::new(),
                cursor: None,
                is_full_screen: false,
            };
        };
        let mut earlier = self.wiped.0.clone();
        let primary = terminal.primary_screen();
        let above = primary.all_lines().count() - primary.visible_lines().len();
        let mut row = String::new();
        for line in primary.all_lines().take(above) {
            row.push_str(&line.text());
            // A row that goes on in the next one is one line.
            if !line.is_wrapped() {
                earlier.push(clean::screen_line(&row));
                row.clear();
            }
        }
        if !row.is_empty() {
            earlier.push(clean::screen_line(&row));
        }
        let lines = terminal.screen().visible_lines();
        let mut screen: Vec<String> = lines.map(|line| clean::screen_line(&line.text())).collect();
        drop_empty_end(&mut screen);
        drop_empty_end(&mut earlier);
        let cursor = terminal.cursor();
        Drawn {
            earlier,
            screen,
            cursor: cursor.visible.then_some((cursor.row + 1, cursor.col + 1)),
            is_full_screen: terminal.active_screen_kind() == ScreenKind::Alternate,
        }
    }

    /// Whether this text is on the screen or above it. Case does not matter.
    pub(crate) fn shows(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let drawn = self.draw();
        let mut lines = drawn.earlier.iter().chain(&drawn.screen);
        lines.any(|line| line.to_lowercase().contains(&text))
    }
}

impl Observer for Wiped {
    type Output = ();

    fn before(&mut self, context: &mut Observation<'_>, operation: &Operation) {
        if !matches!(operation, Operation::Function(Function::Ris)) {
            return;
        }
        let screen = context.terminal().primary_screen();
        let lines = screen.text().into_iter().map(|line| clean::screen_line(&line));
        self.0.extend(lines.filter(|line| !line.is_empty()));
        let surplus = self.0.len().saturating_sub(KEPT);
        self.0.drain(..surplus);
    }

    fn end(&mut self, _: &mut Observation<'_>) {}
}

/// How many bytes there are until the last character that is whole, or hopeless.
fn whole_characters(bytes: &[u8]) -> usize {
    // A character has at most four bytes, so that only the last three can wait for more.
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needs = match bytes.get(at) {
            Some(0xc2..=0xdf) => 2,
            Some(0xe0..=0xef) => 3,
            Some(0xf0..=0xf4) => 4,
            Some(0x80..=0xbf) => continue,
            _ => 1,
        };
        return if needs > back { at } else { bytes.len() };
    }
    bytes.len()
}

fn drop_empty_end(lines: &mut Vec<String>) {
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(pieces: &[&[u8]]) -> Drawn {
        let mut display = Display::new(20, 5);
        for piece in pieces {
            display.feed(piece);
        }
        display.draw()
    }

    #[test]
    fn a_full_screen_program_is_seen_as_a_person_sees_it() {
        let seen =
            drawn(&[b"login\r\n\x1b[?1049h\x1b[2J\x1b[31m\x1b[2;5Hred\x1b[0m\x1b[4;1H[ ok ]"]);
        assert!(seen.is_full_screen);
        assert_eq!(seen.screen, ["", "    red", "", "[ ok ]"]);
        assert_eq!(seen.cursor, Some((4, 7)));
    }

    #[test]
    fn what_scrolled_off_and_what_was_wiped_is_kept() {
        let seen = drawn(&[b"firmware\r\n\x1bc1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7"]);
        assert_eq!(seen.earlier, ["firmware", "1", "2"]);
        assert_eq!(seen.screen, ["3", "4", "5", "6", "7"]);
        let seen = drawn(&[b"before\x1b[2J\x1b[Hafter"]);
        assert_eq!(
            (seen.earlier, seen.screen),
            (vec!["before".to_owned()], vec!["after".to_owned()])
        );
    }

    #[test]
    fn a_character_that_comes_in_two_halves_is_one() {
        assert_eq!(drawn(&[b"caf\xc3", b"\xa9 \xe2\x82", b"\xac"]).screen, ["caf\u{e9} \u{20ac}"]);
        assert_eq!(drawn(&[b"\xff\xfeok"]).screen, ["\u{fffd}\u{fffd}ok"]);
    }

    #[test]
    fn a_megabyte_leaves_a_bounded_number_of_lines() {
        let mut display = Display::new(100, 30);
        for _ in 0..1000 {
            display.feed("0123456789abcdef0123456789\r\n".repeat(38).as_bytes());
        }
        let seen = display.draw();
        assert!(display.received > 1_000_000);
        assert!(seen.earlier.len() <= KEPT + 1, "{}", seen.earlier.len());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_drawn(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..400) {
            let mut display = Display::new(20, 5);
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            display.feed(first);
            display.feed(second);
            let seen = display.draw();
            prop_assert!(seen.screen.len() <= 5);
        }

        #[test]
        fn whatever_sequence_comes_is_drawn(text in "(\u{1b}\\[[0-9;?]{0,8}[@-~]|\u{1b}[c78DEHM]|[ -~\u{4e00}]|\r|\n){0,80}") {
            let mut display = Display::new(20, 5);
            display.feed(text.as_bytes());
            prop_assert!(display.draw().screen.len() <= 5);
        }
    }
}
