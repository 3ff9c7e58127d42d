//! Listens to a terminal for a while.
//!
//! **Bounded** in time and in bytes, whatever comes.

use pve_client::console::{ConsoleProblem, WatchedTerminal};
use tokio::time::{Duration, Instant};

use super::{SIZE, TASK_SECONDS, display::Display, kind};
use crate::{answer::clean::label, call::Call};

/// More is not listened to in one call.
pub const MOST_BYTES: u64 = 4 << 20;

/// What PVE writes to whoever opens a serial port, before anything of the guest comes.
const GREETING: &[u8] = b"starting serial terminal on interface ";
/// The longest greeting.
const GREETED: usize = 80;

/// How often what came is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What was heard.
pub struct Heard {
    pub(super) display: Display,
    /// What came first, until it is known whether PVE or the guest said it.
    first: Option<Vec<u8>>,
    /// The port that PVE named.
    pub(super) port: Option<String>,
    began: Instant,
    pub(super) seconds: f64,
    /// Whether what was waited for came.
    pub came: bool,
    /// Whether the console ended by itself.
    pub ended: bool,
    /// What broke it.
    pub broke: Option<ConsoleProblem>,
}

/// What ends listening before its time.
#[derive(Clone, Copy, Debug)]
pub enum Until<'a> {
    /// Nothing.
    TimeIsOver,
    /// This text, wherever it stands.
    Text(&'a str),
    /// The end of a boot: a prompt, or a panic.
    BootEnds,
}

impl Heard {
    /// Nothing yet, from now on.
    pub fn begin() -> Self {
        Self {
            display: Display::new(SIZE.columns, SIZE.rows),
            first: Some(Vec::new()),
            port: None,
            began: Instant::now(),
            seconds: 0.0,
            came: false,
            ended: false,
            broke: None,
        }
    }

    /// How many bytes came.
    pub fn received(&self) -> u64 {
        self.display.received
    }

    /// Whether nothing more will come.
    pub fn is_over(&self) -> bool {
        self.ended || self.broke.is_some() || self.display.received >= MOST_BYTES
    }

    /// Takes what came, or why nothing more comes.
    pub fn take(&mut self, came: Result<Option<impl AsRef<[u8]>>, ConsoleProblem>) {
        match came {
            Ok(Some(bytes)) => self.feed(bytes.as_ref()),
            Ok(None) => self.ended = true,
            Err(problem) => self.broke = Some(problem),
        }
    }

    /// Draws what the guest wrote. PVE's greeting is not the guest's, and has no row on its screen.
    fn feed(&mut self, bytes: &[u8]) {
        let Some(mut first) = self.first.take() else { return self.display.feed(bytes) };
        first.extend_from_slice(bytes);
        let compared = first.len().min(GREETING.len());
        let may_be = GREETING.get(..compared) == first.get(..compared);
        let end = first.windows(2).position(|two| two == b"\r\n");
        match end.and_then(|end| first.get(GREETING.len()..end)) {
            Some(port) if may_be => {
                self.port = Some(label(&String::from_utf8_lossy(port)));
                let behind = first.get(end.unwrap_or_default() + 2..).unwrap_or_default();
                self.display.feed(behind);
            }
            _ if may_be && end.is_none() && first.len() < GREETED => self.first = Some(first),
            _ => self.display.feed(&first),
        }
    }

    /// Listens for at most so many seconds, as far as the call has time, and lets go.
    pub async fn listen(
        &mut self,
        mut terminal: WatchedTerminal,
        call: &Call,
        seconds: u64,
        until: Until<'_>,
    ) {
        let now = Instant::now();
        // What is left has to be enough to say farewell and to look for others.
        let latest = call.deadline.checked_sub(Duration::from_secs(TASK_SECONDS + 2));
        let end = latest.unwrap_or(now).min(now + Duration::from_secs(seconds));
        let mut looked = now;
        let mut is_new = false;
        while !self.came && !self.is_over() && Instant::now() < end {
            // Drawing costs more than receiving, so that it is not done for every byte.
            let wake = if is_new { end.min(looked + LOOK) } else { end };
            if let Ok(came) = tokio::time::timeout_at(wake, terminal.next()).await {
                self.take(came);
                is_new = true;
            }
            if is_new && (self.is_over() || Instant::now() >= looked + LOOK) {
                self.look(until);
                (looked, is_new) = (Instant::now(), false);
            }
        }
        // A greeting that broke off is text.
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            self.display.feed(&first);
        }
        if is_new {
            self.look(until);
        }
        terminal.close().await;
        self.seconds = (self.began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    }

    fn look(&mut self, until: Until<'_>) {
        self.came = match until {
            Until::TimeIsOver => false,
            Until::Text(text) => self.display.shows(text),
            Until::BootEnds => kind::ends_boot(&self.display.draw()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[&str]) -> Heard {
        let mut heard = Heard::begin();
        for piece in pieces {
            heard.take(Ok(Some(piece)));
        }
        heard
    }

    #[test]
    fn the_greeting_of_pve_names_the_port_and_is_no_text_of_the_guest() {
        for pieces in [
            &["starting serial terminal on interface serial1\r\nlogin:"][..],
            &["start", "ing serial terminal on interface ser", "ial1\r", "\nlogin:"],
        ] {
            let heard = heard(pieces);
            assert_eq!(heard.port.as_deref(), Some("serial1"));
            assert_eq!(
                (heard.display.draw().screen, heard.received()),
                (vec!["login:".to_owned()], 6)
            );
        }
        let other =
            heard(&["starting services\r\nstarting serial terminal on interface serial1\r\n"]);
        assert_eq!((other.port, other.display.draw().screen.len()), (None, 2));
    }
}
