//! The keyboard and the letters of a display: keys go to the program of a guest, and what that writes
//! stands below the text of the screen.
//!
//! **Invariant:** every viewer of a guest sees the same; a version tells whether something is new.

use super::{What, program};
use crate::{
    cluster::Program,
    shared::{Shared, lock},
};

/// How many lines of a program are kept.
const LINES: usize = 16;

/// A program, and what it has written on a display.
#[derive(Debug)]
pub(crate) struct Running {
    pub(super) state: program::State,
    pub(super) written: Vec<String>,
    pub(super) version: u64,
}

/// The display of one guest, as one viewer has it.
pub(super) struct Display<'a> {
    pub(super) shared: &'a Shared,
    pub(super) vmid: u32,
    pub(super) ends: Option<usize>,
}

impl Running {
    pub(super) fn new(program: &Program) -> Self {
        let state = program::State::new(program);
        let written = vec![state.prompt()];
        Self { state, written, version: 0 }
    }

    /// Letters come one after the other, as on a printer; colours and places are left out.
    fn write(&mut self, text: &str) {
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match (character, self.written.last_mut()) {
                ('\r', _) => {}
                ('\n', _) => self.written.push(String::new()),
                ('\x1b', _) => {
                    let _ = characters.by_ref().find(char::is_ascii_alphabetic);
                }
                ('\x08', Some(line)) => drop(line.pop()),
                (other, Some(line)) => line.push(other),
                (other, None) => self.written.push(other.to_string()),
            }
        }
        let surplus = self.written.len().saturating_sub(LINES);
        self.written.drain(..surplus);
        self.version += 1;
    }
}

impl Display<'_> {
    /// A key went down or up. `None` when the connection is to end.
    pub(super) fn key(&self, number: u32, down: bool, program: Option<&Program>) -> Option<()> {
        let mut pressed = lock(&self.shared.pressed);
        let control = pressed.iter().rev().find(|(key, _)| *key == 0xffe3);
        let with_control = control.is_some_and(|(_, down)| *down);
        pressed.push((number, down));
        let n_pressed = pressed.iter().filter(|(_, down)| *down).count();
        drop(pressed);
        if self.ends.is_some_and(|most| n_pressed > most) {
            return None;
        }
        if let (true, Some(program), Some(typed)) = (down, program, bytes(number, with_control)) {
            let mut programs = lock(&self.shared.programs);
            let place = (self.vmid, What::Screen);
            let running = programs.entry(place).or_insert_with(|| Running::new(program));
            let answer = running.state.feed(&typed);
            running.write(&answer);
            drop(programs);
            self.shared.drawn.notify_waiters();
        }
        Some(())
    }

    /// What stands below the text of the screen, and its version.
    pub(super) fn written(&self, program: Option<&Program>) -> (Vec<String>, u64) {
        let Some(program) = program else { return (Vec::new(), 0) };
        let mut programs = lock(&self.shared.programs);
        let place = (self.vmid, What::Screen);
        let running = programs.entry(place).or_insert_with(|| Running::new(program));
        (running.written.clone(), running.version)
    }
}

/// What a keyboard's driver makes of a key.
fn bytes(number: u32, with_control: bool) -> Option<Vec<u8>> {
    Some(match number {
        0x20..=0x7e if with_control => vec![u8::try_from(number).ok()? & 0x1f],
        0x20..=0x7e => vec![u8::try_from(number).ok()?],
        0xff0d => vec![b'\r'],
        0xff09 => vec![b'\t'],
        0xff08 => vec![0x7f],
        0xff1b => vec![0x1b],
        0xff52 => b"\x1b[A".to_vec(),
        0xff54 => b"\x1b[B".to_vec(),
        0xff53 => b"\x1b[C".to_vec(),
        0xff51 => b"\x1b[D".to_vec(),
        _ => return None,
    })
}
