//! Keys: what a caller wants to be typed, and what that is on a keyboard and on a terminal.
//!
//! **Text and named keys are kept apart**: text may be a password and is never repeated; a named key says
//! nothing but its name, since a single character counts as one only together with Ctrl, Alt or Super.

use pve_client::console::KeySym;

const SHIFT: KeySym = KeySym(0xffe1);
const CTRL: KeySym = KeySym(0xffe3);
const ALT: KeySym = KeySym(0xffe9);
const SUPER: KeySym = KeySym(0xffeb);

/// What is on a keyboard of the United States only together with Shift.
const SHIFTED: &str = "~!@#$%^&*()_+{}|:\"<>?";

/// How many characters the longest name of a key has, of those that are shown.
const NAME: usize = 30;

/// What a terminal sends for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    /// This, whatever is held down with it.
    Plain(&'static str),
    /// `ESC [ X`, an arrow or one of its kind.
    Letter(char),
    /// `ESC O X`, and with something held down as an arrow.
    Function(char),
    /// `ESC [ N ~`.
    Number(u8),
}

/// Names, the number of the key, and what a terminal sends for it.
const NAMED: &[(&[&str], u32, Code)] = &[
    (&["enter", "return"], 0xff0d, Code::Plain("\r")),
    (&["tab"], 0xff09, Code::Plain("\t")),
    (&["esc", "escape"], 0xff1b, Code::Plain("\u{1b}")),
    (&["backspace"], 0xff08, Code::Plain("\u{7f}")),
    (&["space"], 0x20, Code::Plain(" ")),
    (&["up"], 0xff52, Code::Letter('A')),
    (&["down"], 0xff54, Code::Letter('B')),
    (&["right"], 0xff53, Code::Letter('C')),
    (&["left"], 0xff51, Code::Letter('D')),
    (&["home"], 0xff50, Code::Letter('H')),
    (&["end"], 0xff57, Code::Letter('F')),
    (&["insert", "ins"], 0xff63, Code::Number(2)),
    (&["delete", "del"], 0xffff, Code::Number(3)),
    (&["pageup", "pgup"], 0xff55, Code::Number(5)),
    (&["pagedown", "pgdn"], 0xff56, Code::Number(6)),
    (&["f1"], 0xffbe, Code::Function('P')),
    (&["f2"], 0xffbf, Code::Function('Q')),
    (&["f3"], 0xffc0, Code::Function('R')),
    (&["f4"], 0xffc1, Code::Function('S')),
    (&["f5"], 0xffc2, Code::Number(15)),
    (&["f6"], 0xffc3, Code::Number(17)),
    (&["f7"], 0xffc4, Code::Number(18)),
    (&["f8"], 0xffc5, Code::Number(19)),
    (&["f9"], 0xffc6, Code::Number(20)),
    (&["f10"], 0xffc7, Code::Number(21)),
    (&["f11"], 0xffc8, Code::Number(23)),
    (&["f12"], 0xffc9, Code::Number(24)),
];

/// Where keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// A terminal, which knows characters and sequences.
    Terminal,
    /// A keyboard below a display, which knows keys.
    Keyboard,
}

/// What is held down with a key.
#[expect(clippy::struct_excessive_bools, reason = "each is a key of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    shift: bool,
    ctrl: bool,
    alt: bool,
    win: bool,
}

/// One press.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stroke {
    held: Held,
    key: Key,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Key {
    Character(char),
    Named(u32, Code),
}

/// What is to be typed: first the text, then the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typing {
    /// Every press, in order.
    pub strokes: Vec<Stroke>,
    /// How many characters of text are among them.
    pub n_characters: usize,
    /// The names of the others.
    pub names: Vec<String>,
}

impl Typing {
    /// Reads what a caller wants.
    ///
    /// # Errors
    /// In words, without the text, whatever cannot be typed there.
    pub fn read(text: &str, keys: &[String], into: Into) -> Result<Self, Vec<String>> {
        let mut misfits = Vec::new();
        let mut strokes = Vec::new();
        // A line of a file may end in two characters, which are one key.
        let text = text.replace("\r\n", "\n");
        for (nth, character) in text.chars().enumerate() {
            match of_character(character, into) {
                Some(stroke) => strokes.push(stroke),
                None => {
                    misfits.push(format!("character {} of `text` {}", nth + 1, untypable(into)));
                }
            }
        }
        let n_characters = strokes.len();
        for key in keys {
            match of_name(key) {
                Ok(stroke) if into == Into::Terminal && stroke.sequence().is_none() => {
                    misfits.push(format!("`{}` means nothing to a terminal", shown(key)));
                }
                Ok(stroke) => strokes.push(stroke),
                Err(why) => misfits.push(why),
            }
        }
        misfits.truncate(6);
        if misfits.is_empty() {
            let names = keys.iter().map(|key| shown(key)).collect();
            Ok(Self { strokes, n_characters, names })
        } else {
            Err(misfits)
        }
    }

    /// In words, without the text: `12 characters, then enter`.
    pub fn in_words(&self) -> String {
        let text = match self.n_characters {
            0 => None,
            1 => Some("1 character".to_owned()),
            many => Some(format!("{many} characters")),
        };
        let keys = (!self.names.is_empty()).then(|| self.names.join(", "));
        match (text, keys) {
            (Some(text), Some(keys)) => format!("{text}, then {keys}"),
            (text, keys) => text.or(keys).unwrap_or_else(|| "nothing".to_owned()),
        }
    }
}

impl Stroke {
    /// What a terminal sends for it. `None` where it has nothing for it.
    pub fn sequence(&self) -> Option<String> {
        let Held { shift, ctrl, alt, win } = self.held;
        if win {
            return None;
        }
        let modifiers = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl);
        let escape = if alt { "\u{1b}" } else { "" };
        Some(match self.key {
            Key::Character(character) if ctrl => {
                let upper = u8::try_from(character.to_ascii_uppercase()).ok()?;
                // Ctrl takes three bits off a character; `?` stands for the one behind them all.
                let control = match upper {
                    b'@'..=b'_' => upper & 0x1f,
                    b' ' => 0,
                    b'?' => 0x7f,
                    _ => return None,
                };
                format!("{escape}{}", char::from(control))
            }
            Key::Character(character) => format!("{escape}{character}"),
            Key::Named(_, Code::Plain("\t")) if shift && !ctrl => format!("{escape}\u{1b}[Z"),
            Key::Named(_, Code::Plain(" ")) if ctrl => format!("{escape}\0"),
            Key::Named(_, Code::Plain(_)) if ctrl => return None,
            Key::Named(_, Code::Plain(plain)) => format!("{escape}{plain}"),
            // Whoever presses it wants more than a terminal can say.
            Key::Named(_, Code::Number(3)) if ctrl && alt => return None,
            Key::Named(_, Code::Letter(letter) | Code::Function(letter)) if modifiers > 1 => {
                format!("\u{1b}[1;{modifiers}{letter}")
            }
            Key::Named(_, Code::Letter(letter)) => format!("\u{1b}[{letter}"),
            Key::Named(_, Code::Function(letter)) => format!("\u{1b}O{letter}"),
            Key::Named(_, Code::Number(number)) if modifiers > 1 => {
                format!("\u{1b}[{number};{modifiers}~")
            }
            Key::Named(_, Code::Number(number)) => format!("\u{1b}[{number}~"),
        })
    }

    /// The keys that are held down together for it.
    pub fn chord(&self) -> Vec<KeySym> {
        let Held { shift, ctrl, alt, win } = self.held;
        let (key, needs_shift) = match self.key {
            Key::Named(number, _) => (KeySym(number), false),
            Key::Character(character) => {
                let needs = character.is_ascii_uppercase() || SHIFTED.contains(character);
                (KeySym(u32::from(character)), needs)
            }
        };
        let held = [(ctrl, CTRL), (alt, ALT), (win, SUPER), (shift || needs_shift, SHIFT)];
        held.into_iter().filter_map(|(is, key)| is.then_some(key)).chain([key]).collect()
    }
}

/// A character of a text. Nothing for what has no key there.
fn of_character(character: char, into: Into) -> Option<Stroke> {
    let key = match character {
        '\n' | '\r' => Key::Named(0xff0d, Code::Plain("\r")),
        '\t' => Key::Named(0xff09, Code::Plain("\t")),
        other if other.is_control() => return None,
        other if into == Into::Keyboard && !other.is_ascii() => return None,
        other => Key::Character(other),
    };
    Some(Stroke { held: Held::default(), key })
}

fn untypable(into: Into) -> &'static str {
    match into {
        Into::Terminal => "is a control character: name it in `keys`, such as `ctrl-c`",
        Into::Keyboard => "is not on a US keyboard, which is what a display has",
    }
}

/// A key by its name, such as `ctrl-alt-del`.
fn of_name(name: &str) -> Result<Stroke, String> {
    let lower = name.trim().to_lowercase();
    let mut held = Held::default();
    let mut rest = lower.as_str();
    while let Some((before, after)) =
        rest.split_once(['-', '+']).filter(|(_, after)| !after.is_empty())
    {
        let place = match before {
            "ctrl" | "control" | "c" => &mut held.ctrl,
            "alt" | "meta" => &mut held.alt,
            "shift" => &mut held.shift,
            "super" | "win" | "windows" => &mut held.win,
            _ => break,
        };
        *place = true;
        rest = after;
    }
    let plain = rest.replace(['-', '_', ' '], "");
    let named = NAMED.iter().find(|(names, ..)| names.contains(&plain.as_str()));
    let mut characters = rest.chars();
    let key = match (named, characters.next(), characters.next()) {
        (Some((_, number, code)), ..) => Key::Named(*number, *code),
        (None, Some(only), None) if only.is_ascii_graphic() => {
            if !(held.ctrl || held.alt || held.win) {
                return Err("a single character in `keys` belongs into `text`".to_owned());
            }
            Key::Character(only)
        }
        _ => {
            return Err(format!(
                "`{}` is no key: enter, tab, esc, space, backspace, delete, insert, up, down, left, right, home, end, pageup, pagedown, \
                 f1 to f12, also behind ctrl-, alt-, shift-, super-",
                shown(name)
            ));
        }
    };
    Ok(Stroke { held, key })
}

/// A name of a key as it is shown and recorded.
fn shown(name: &str) -> String {
    let name = crate::answer::clean::label(&name.trim().to_lowercase());
    name.chars().take(NAME).map(|c| if c == '`' { '\'' } else { c }).collect()
}

#[cfg(test)]
mod tests;
