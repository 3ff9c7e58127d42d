//! Listens to a terminal for a while.
//!
//! **Bounded** in time and in bytes, whatever comes.

use pve_client::console::{ConsoleProblem, WatchedTerminal};
use tokio::time::{Duration, Instant};

use super::{SIZE, TASK_SECONDS, display::Display, kind};
use crate::call::Call;

/// More is not listened to in one call.
pub const MOST_BYTES: u64 = 4 << 20;

/// How often what came is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What was heard.
pub struct Heard {
    pub(super) display: Display,
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
            Ok(Some(bytes)) => self.display.feed(bytes.as_ref()),
            Ok(None) => self.ended = true,
            Err(problem) => self.broke = Some(problem),
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
