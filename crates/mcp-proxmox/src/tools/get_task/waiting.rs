//! Follows a task that runs, to its end or to the end of the time.

use std::time::Duration;

use pve_client::{Reader, Upid, task_log::Status};
use tokio::time::{Instant, sleep_until};

use super::percent::{is_end_of_guest, latest};
use crate::{call::Call, failure::Failure, logs::task_log};

/// How long to wait before the first look, and between two.
const FIRST: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(1500);
/// How many lines of the log are looked at first, and then at most each time.
const FIRST_LINES: u32 = 50;
const LINES: u32 = 1000;
/// What is left of the call's time for reading the log.
const RESERVE: Duration = Duration::from_secs(4);

/// Looks again and again, and says why it stopped looking where that was not the task's end.
pub(super) async fn wait(
    pve: &Reader,
    call: &Call,
    upid: &Upid,
    seconds: u32,
    status: &mut Status,
) -> Option<String> {
    let began = Instant::now();
    let latest = (began + Duration::from_secs(seconds.into())).min(call.deadline - RESERVE);
    let mut pause = FIRST;
    let mut way = Way::default();
    while status.is_running() {
        let now = Instant::now();
        if now >= latest {
            let waited = latest.saturating_duration_since(began).as_secs_f64().round();
            return Some(format!(
                "it still runs after {waited} s of waiting: call again with wait_seconds to go on"
            ));
        }
        // The last look is at the end of the time that was asked for, also where a pause would go beyond it.
        sleep_until((now + pause).min(latest)).await;
        pause = PAUSE;
        match pve.get(pve_client::task_log::status(upid)).await {
            Ok(now) => *status = now,
            Err(error) => {
                return Some(Failure::from_pve("go on following it", &error).what().to_owned());
            }
        }
        if status.is_running() {
            way.tell(pve, call, upid, began).await;
        }
    }
    None
}

/// How far the task is, as the client was told.
#[derive(Default)]
struct Way {
    /// How many lines of the log were looked at.
    n_seen: u64,
    /// How many guests of a backup were seen to end.
    n_guests: u32,
    /// The percentage of what runs, where the log tells one.
    percent: Option<f64>,
    /// Whether a percentage was told, so that the time no longer counts.
    has_told: bool,
}

impl Way {
    /// Tells the client how far the task is: by the percentage that its log shows, or by the time. A
    /// backup begins at 0 with each guest, and nobody knows how many there will be: each that ended
    /// counts as a hundred, without a total.
    async fn tell(&mut self, pve: &Reader, call: &Call, upid: &Upid, began: Instant) {
        let part = if self.n_seen == 0 {
            task_log::tail(pve, upid, FIRST_LINES).await
        } else {
            task_log::read(pve, upid, self.n_seen, LINES).await
        };
        let part = part.ok().unwrap_or_default();
        let ended = part.lines.iter().filter(|line| is_end_of_guest(&line.text)).count();
        self.n_guests += u32::try_from(ended).unwrap_or(0);
        let news = latest(part.lines.iter().map(|line| line.text.as_str()));
        self.percent = news.or(self.percent.filter(|_| ended == 0));
        self.n_seen = part.lines.last().map_or(self.n_seen, |line| line.n);
        let last = part.lines.last().map(task_log::Line::shown).unwrap_or_default();
        let is_one = upid.kind != "vzdump" || upid.id.parse::<u32>().is_ok();
        match self.percent {
            Some(percent) if is_one => call.progress.report(percent, Some(100.0), last),
            Some(percent) => {
                let done = f64::from(self.n_guests) * 100.0 + percent;
                call.progress.report(done, None, last);
            }
            None if self.has_told => {}
            None => call.progress.report(began.elapsed().as_secs_f64(), None, last),
        }
        self.has_told |= self.percent.is_some();
    }
}
