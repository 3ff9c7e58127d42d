//! What a console showed, as answers say it.

use pve_client::{Kind, guest::Current};

use super::{
    kind,
    listen::{Heard, MOST_BYTES},
    standstill,
};
use crate::{
    answer::{
        Bytes,
        clean::sentence,
        cost::{self, Room},
    },
    lookup::guest::Found,
};

/// How many tokens are shown at most, also of more lines.
const TOKENS: usize = 8_500;

/// What a console showed.
#[derive(Debug)]
pub struct Text {
    /// `serial0` or `tty`.
    pub console: String,
    /// For how long somebody listened.
    pub listened_seconds: f64,
    /// How much came.
    pub received: Bytes,
    /// `login prompt`, `kernel panic`, …
    pub shows: Vec<&'static str>,
    /// Where the cursor is, where that means something.
    pub cursor: Option<String>,
    /// What came and is not on the screen any more.
    pub earlier: Vec<String>,
    /// The screen as a person sees it.
    pub screen: Vec<String>,
}

/// What of it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The serial port that was asked for.
    pub serial: Option<u8>,
    /// Only lines with this text.
    pub pattern: Option<&'a str>,
    /// So many of the last lines.
    pub lines: usize,
    /// How to see more than that, behind a colon.
    pub more: &'static str,
}

impl Text {
    /// What was heard, and what has to be said about it.
    pub fn of(
        found: &Found,
        current: &Current,
        heard: &Heard,
        wanted: Wanted<'_>,
    ) -> (Self, Vec<String>) {
        let drawn = heard.display.draw();
        let shows = kind::of(&drawn);
        let mut notes = Vec::new();
        let asked = wanted.serial.map(|number| format!("serial{number}"));
        let console = match found.guest.kind {
            Kind::Lxc => "tty".to_owned(),
            Kind::Qemu => heard.port.clone().or(asked).unwrap_or_else(|| "serial0".to_owned()),
        };
        notes.extend(standstill(current));
        if heard.ended {
            notes.push("the console ended by itself".to_owned());
        }
        if let Some(problem) = &heard.broke {
            notes.push(format!("the console broke off: {}", sentence(&problem.to_string())));
        }
        if heard.received() >= MOST_BYTES {
            notes.push("more than 4 MiB came, so listening was ended".to_owned());
        }
        let (mut earlier, mut screen) = (drawn.earlier, drawn.screen);
        if let Some(pattern) = wanted.pattern {
            let pattern = pattern.to_lowercase();
            for lines in [&mut earlier, &mut screen] {
                lines.retain(|line| line.to_lowercase().contains(&pattern));
            }
        }
        let most = fitting(&earlier, &screen, wanted.lines);
        let surplus = (earlier.len() + screen.len()).saturating_sub(most);
        if surplus > 0 {
            let from_earlier = surplus.min(earlier.len());
            earlier.drain(..from_earlier);
            screen.drain(..(surplus - from_earlier).min(screen.len()));
            let more = wanted.more;
            notes.push(format!(
                "the last {most} lines are shown; {surplus} before them are not{more}"
            ));
        }
        let cursor = drawn
            .cursor
            .filter(|_| wanted.pattern.is_none() && surplus == 0 && !screen.is_empty())
            .map(|(row, column)| format!("row {row}, column {column}"));
        let text = Self {
            console,
            listened_seconds: heard.seconds,
            received: Bytes(heard.received()),
            shows,
            cursor,
            earlier,
            screen,
        };
        (text, notes)
    }
}

/// How many of the last lines are shown: so many as are wanted, and as fit.
fn fitting(earlier: &[String], screen: &[String], wanted: usize) -> usize {
    let mut room = Room::of(TOKENS);
    let newest = screen.iter().rev().chain(earlier.iter().rev());
    newest.take(wanted).take_while(|line| room.takes(cost::of_text(line) + 3)).count()
}

/// Whether nothing came of the guest itself.
pub fn is_silent(kind: Kind, heard: &Heard) -> bool {
    let greeting = match kind {
        Kind::Qemu => 0,
        // PVE clears the screen.
        Kind::Lxc => 6,
    };
    heard.received() <= greeting && heard.broke.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_of_the_last_lines_are_shown_as_are_wanted_and_fit() {
        let lines = |n: usize, width: usize| vec!["1".repeat(width); n];
        assert_eq!(fitting(&lines(100, 9), &lines(20, 9), 60), 60);
        assert_eq!(fitting(&lines(3, 9), &lines(2, 9), 60), 5);
        assert_eq!(fitting(&lines(500, 300), &lines(30, 90), 500), 30 + (TOKENS - 990) / 103);
        assert_eq!(fitting(&[], &lines(9, 3 * TOKENS), 9), 0);
    }
}
