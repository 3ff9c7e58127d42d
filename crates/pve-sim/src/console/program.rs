//! A small program at a terminal: a login, a shell with a handful of harmless commands, a full-screen
//! list with colours, and a menu that is moved through with the arrow keys.
//!
//! It is no real shell and does nothing but answer. **What is typed is really read**: echoed as a
//! terminal echoes it, edited, and answered after Enter; a password is not echoed. What somebody leaves
//! behind, logged in or with half a line typed, the next one finds, as at a real tty.

use std::fmt::Write as _;

use crate::cluster::Program;

/// The longest line that is kept.
const LINE: usize = 1000;

const TOP: &str = "\x1b[?1049h\x1b[2J\x1b[1;1H\x1b[1mtop - 08:14:02 up 23 days,  1 user,  load average: 0.41, 0.38, 0.35\x1b[m\
    \x1b[2;1HTasks:  31 total,   1 running,  30 sleeping\
    \x1b[4;1H\x1b[7m  PID USER      %CPU  %MEM COMMAND            \x1b[m\
    \x1b[5;1H  211 www-data   \x1b[1;31m8.6\x1b[m   5.2 nginx\x1b[6;1H  188 root       \x1b[32m0.3\x1b[m   0.4 systemd-journald\x1b[?25l";

const UPTIME: &str = " 08:14:02 up 23 days,  1 user,  load average: 0.41, 0.38, 0.35\r\n";

const ITEMS: [&str; 3] = ["keyboard", "network", "quit"];

/// Where somebody is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum At {
    Login,
    Password(String),
    Shell(String),
    Top(String),
    Menu(String, usize),
}

/// A program that goes on between connections.
#[derive(Debug, Clone)]
pub(crate) struct State {
    program: Program,
    at: At,
    line: String,
    last: String,
    /// The begin of a sequence, such as that of an arrow key.
    sequence: Vec<u8>,
}

impl State {
    pub(crate) fn new(program: &Program) -> Self {
        let at = match &program.logged_in {
            Some(user) => At::Shell(user.clone()),
            None => At::Login,
        };
        let program = program.clone();
        Self { program, at, line: String::new(), last: String::new(), sequence: Vec::new() }
    }

    /// What it waits with.
    pub(crate) fn prompt(&self) -> String {
        let host = &self.program.host;
        match &self.at {
            At::Login => format!("{host} login: "),
            At::Password(_) => "Password: ".to_owned(),
            At::Shell(user) if user == "root" => format!("root@{host}:~# "),
            At::Shell(user) => format!("{user}@{host}:~$ "),
            At::Top(_) | At::Menu(..) => String::new(),
        }
    }

    /// Reads what was typed, and says what appears.
    pub(crate) fn feed(&mut self, typed: &[u8]) -> String {
        let mut out = String::new();
        for character in String::from_utf8_lossy(typed).chars() {
            self.character(character, &mut out);
        }
        out
    }

    fn character(&mut self, character: char, out: &mut String) {
        if !self.sequence.is_empty() || character == '\x1b' {
            self.sequence.extend(u8::try_from(character));
            let is_whole = self.sequence.len() > 2 && character.is_ascii_alphabetic()
                || character == '~'
                || self.sequence.len() > 8;
            if is_whole {
                let sequence = std::mem::take(&mut self.sequence);
                self.arrow(sequence.last().copied().unwrap_or_default(), out);
            }
            return;
        }
        match (self.at.clone(), character) {
            (At::Top(user), 'q' | '\x03') => self.leave(user, out),
            (At::Menu(user, chosen), '\r') => {
                self.leave(user, out);
                let item = ITEMS.get(chosen).copied().unwrap_or_default();
                let at = out.rfind(&self.prompt()).unwrap_or_default();
                out.insert_str(at, &format!("chosen: {item}\r\n"));
            }
            (At::Top(_) | At::Menu(..), _) => {}
            (_, '\r' | '\n') => self.enter(out),
            (_, '\x7f' | '\x08') => {
                if self.line.pop().is_some() && !matches!(self.at, At::Password(_)) {
                    out.push_str("\x08 \x08");
                }
            }
            (_, '\x03') => {
                self.line.clear();
                self.at = if let At::Shell(user) = &self.at {
                    At::Shell(user.clone())
                } else {
                    At::Login
                };
                let _ = write!(out, "^C\r\n{}", self.prompt());
            }
            (At::Shell(_), '\x04') if self.line.is_empty() => self.log_out(out),
            (At::Shell(_), '\x0c') => {
                let _ = write!(out, "\x1b[H\x1b[2J{}{}", self.prompt(), self.line);
            }
            (_, other) if other.is_control() => {}
            (at, other) => {
                if self.line.len() < LINE {
                    self.line.push(other);
                }
                if !matches!(at, At::Password(_)) {
                    out.push(other);
                }
            }
        }
    }

    fn arrow(&mut self, last: u8, out: &mut String) {
        match (&mut self.at, last) {
            (At::Menu(_, chosen), b'A') => *chosen = chosen.saturating_sub(1),
            (At::Menu(_, chosen), b'B') => *chosen = (*chosen + 1).min(ITEMS.len() - 1),
            (At::Shell(_), b'A') if self.line.is_empty() => {
                self.line.clone_from(&self.last);
                out.push_str(&self.last);
            }
            _ => return,
        }
        if let At::Menu(_, chosen) = self.at {
            menu(chosen, out);
        }
    }

    fn enter(&mut self, out: &mut String) {
        let line = std::mem::take(&mut self.line);
        out.push_str("\r\n");
        match self.at.clone() {
            At::Login if line.trim().is_empty() => {}
            At::Login => self.at = At::Password(line.trim().to_owned()),
            At::Password(user) => {
                if line == self.program.password {
                    let host = &self.program.host;
                    let _ = write!(out, "Linux {host} 6.12.48+deb13-amd64\r\n\r\n");
                    self.at = At::Shell(user);
                } else {
                    let password = &self.program.password;
                    let _ =
                        write!(out, "\r\nLogin incorrect (here the password is `{password}`)\r\n");
                    self.at = At::Login;
                }
            }
            At::Shell(user) => {
                self.command(&user, line.trim(), out);
                if !line.trim().is_empty() {
                    self.last = line;
                }
            }
            At::Top(_) | At::Menu(..) => {}
        }
        out.push_str(&self.prompt());
    }

    fn command(&mut self, user: &str, line: &str, out: &mut String) {
        let host = self.program.host.clone();
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        match name {
            "" => {}
            "echo" => {
                let _ = write!(out, "{rest}\r\n");
            }
            "hostname" => {
                let _ = write!(out, "{host}\r\n");
            }
            "whoami" => {
                let _ = write!(out, "{user}\r\n");
            }
            "uname" => {
                let _ = write!(out, "Linux {host} 6.12.48+deb13-amd64 x86_64 GNU/Linux\r\n");
            }
            "uptime" => out.push_str(UPTIME),
            "ls" => out.push_str("\x1b[01;34mbackups\x1b[0m  notes.txt\r\n"),
            "clear" => out.push_str("\x1b[H\x1b[2J"),
            "seq" => {
                let last: u32 = rest.trim().parse().unwrap_or(0);
                for number in 1..=last.min(10_000) {
                    let _ = write!(out, "{number}\r\n");
                }
            }
            "top" => {
                out.push_str(TOP);
                self.at = At::Top(user.to_owned());
            }
            "menu" => {
                out.push_str("\x1b[?1049h\x1b[44m\x1b[2J");
                menu(0, out);
                self.at = At::Menu(user.to_owned(), 0);
            }
            "exit" | "logout" => self.log_out(out),
            "help" => out.push_str(
                "clear echo exit help hostname ls menu seq top uname uptime whoami\r\n\
                 This terminal is simulated: nothing that you type changes anything.\r\n",
            ),
            "reboot" | "poweroff" | "shutdown" | "rm" => {
                let _ = write!(out, "{name}: not here: this terminal is simulated\r\n");
            }
            other => {
                let _ = write!(out, "-bash: {other}: command not found\r\n");
            }
        }
    }

    fn leave(&mut self, user: String, out: &mut String) {
        self.at = At::Shell(user);
        let _ = write!(out, "\x1b[?25h\x1b[0m\x1b[?1049l{}", self.prompt());
    }

    fn log_out(&mut self, out: &mut String) {
        self.at = At::Login;
        out.push_str("logout\r\n\r\n");
    }
}

/// Draws the menu.
fn menu(chosen: usize, out: &mut String) {
    out.push_str("\x1b[2;3H\x1b[0;30;47m Settings \x1b[0m");
    for (nth, item) in ITEMS.iter().enumerate() {
        let colour = if nth == chosen { "\x1b[1;37;41m>" } else { "\x1b[0;37;44m " };
        let _ = write!(out, "\x1b[{};5H{colour} {item} \x1b[0m", nth + 4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        State::new(&Program::login("web01", "hunter2"))
    }

    #[test]
    fn a_login_lets_in_whoever_knows_the_password_which_is_not_echoed() {
        let mut state = state();
        assert_eq!(state.feed(b"\r"), "\r\nweb01 login: ");
        assert_eq!(state.feed(b"root\r"), "root\r\nPassword: ");
        assert_eq!(
            state.feed(b"wrong\r"),
            "\r\n\r\nLogin incorrect (here the password is `hunter2`)\r\nweb01 login: "
        );
        state.feed(b"root\r");
        assert!(state.feed(b"hunter2\r").ends_with("\r\nroot@web01:~# "));
        let answered = "echo helo\x08 \x08lo\r\nhello\r\nroot@web01:~# ";
        assert_eq!(state.feed(b"echo helo\x7flo\r"), answered);
        assert!(state.feed(b"exit\r").ends_with("web01 login: "));
    }

    #[test]
    fn arrows_move_through_a_menu_and_fetch_the_last_line() {
        let mut state = State::new(&Program::shell("web01", "root"));
        state.feed(b"menu\r");
        state.feed(b"\x1b[B\x1b[B\x1b[A");
        assert!(state.feed(b"\r").contains("chosen: network\r\nroot@web01:~# "));
        state.feed(b"hostname\r");
        assert_eq!(state.feed(b"\x1b[A\r"), "hostname\r\nweb01\r\nroot@web01:~# ");
        assert!(state.feed(b"rm -rf /\r").contains("simulated"));
    }
}
