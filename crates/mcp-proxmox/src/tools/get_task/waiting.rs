//! Follows a task that runs, to its end or to the end of the time.

use std::time::Duration;

use pve_client::{Reader, Upid, task_log::Status};
use tokio::time::{Instant, sleep_until};

use super::telling::percent;
use crate::{call::Call, failure::Failure, logs::task_log};

/// How long to wait before the first look, and between two.
const FIRST: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(1500);
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
    while status.is_running() {
        let next = Instant::now() + pause;
        if next > latest {
            return Some(format!(
                "it still runs after {} s of waiting: call again with wait_seconds to go on",
                began.elapsed().as_secs()
            ));
        }
        sleep_until(next).await;
        pause = PAUSE;
        match pve.get(pve_client::task_log::status(upid)).await {
            Ok(now) => *status = now,
            Err(error) => {
                return Some(Failure::from_pve("go on following it", &error).what().to_owned());
            }
        }
        if status.is_running() {
            tell(pve, call, upid, began).await;
        }
    }
    None
}

/// Tells the client how far the task is: by the percentage that its log shows, or by the time.
async fn tell(pve: &Reader, call: &Call, upid: &Upid, began: Instant) {
    let ending = task_log::tail(pve, upid, 20).await.ok().unwrap_or_default();
    let last = ending.lines.last().map(task_log::Line::shown).unwrap_or_default();
    match ending.lines.iter().rev().find_map(|line| percent(&line.text)) {
        Some(percent) => call.progress.report(percent, Some(100.0), last),
        None => call.progress.report(began.elapsed().as_secs_f64(), None, last),
    }
}
