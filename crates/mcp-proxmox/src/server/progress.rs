//! Progress of a call, as the client gets it.
//!
//! **It is told seldom**: four times a second at most, and never twice in the same words. A tool may report
//! whenever it knows more.

use std::convert::Infallible;

use rmcp::{RoleServer, model::ProgressNotificationParam, service::RequestContext};
use tokio::{
    sync::mpsc,
    time::{Duration, Instant, sleep_until},
};

use crate::call::Progress;

/// How long it is quiet after something was told. What comes meanwhile is told once, as it is then.
const PAUSE: Duration = Duration::from_millis(250);

/// How much is done, of how much if that is known, and a word on it.
type Report = (f64, Option<f64>, String);

/// What is reported, as far as it is news.
struct News {
    reports: mpsc::UnboundedReceiver<Report>,
    last: String,
    /// When something may be told again.
    quiet_until: Instant,
}

/// Progress as the client gets it, and the work of telling it, which has to be polled beside the call.
/// Where the client did not ask for progress, there is nothing to tell.
pub(super) fn of(
    context: &RequestContext<RoleServer>,
) -> (Progress, impl Future<Output = Infallible> + use<>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let token = context.meta.get_progress_token();
    let progress = match &token {
        None => Progress::default(),
        Some(_) => {
            Progress::new(move |done, total, message| drop(sender.send((done, total, message))))
        }
    };
    let peer = context.peer.clone();
    let telling = async move {
        if let Some(token) = token {
            let mut news = News::of(receiver);
            while let Some((done, total, message)) = news.next().await {
                let mut told = ProgressNotificationParam::new(token.clone(), done);
                told.total = total;
                // A client that is gone is noticed elsewhere.
                let _ = peer.notify_progress(told.with_message(message)).await;
            }
        }
        std::future::pending().await
    };
    (progress, telling)
}

impl News {
    fn of(reports: mpsc::UnboundedReceiver<Report>) -> Self {
        Self { reports, last: String::new(), quiet_until: Instant::now() }
    }

    /// The newest report, as soon as there is one in other words than the last.
    async fn next(&mut self) -> Option<Report> {
        sleep_until(self.quiet_until).await;
        loop {
            let mut report = self.reports.recv().await?;
            while let Ok(newer) = self.reports.try_recv() {
                report = newer;
            }
            // Numbers alone are no news.
            if report.2 != self.last {
                self.last.clone_from(&report.2);
                self.quiet_until = Instant::now() + PAUSE;
                return Some(report);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_many_reports_the_newest_is_told_and_none_twice() {
        let (sender, reports) = mpsc::unbounded_channel();
        let mut news = News::of(reports);
        let report = |done: u32, words: &str| {
            sender.send((f64::from(done), None, words.to_owned())).unwrap();
        };
        for step in 1..=100 {
            report(step, &format!("step {step}"));
        }
        let began = Instant::now();
        assert_eq!(news.next().await.unwrap().2, "step 100");
        report(101, "step 101");
        assert_eq!(news.next().await.unwrap().2, "step 101");
        assert!(began.elapsed() >= PAUSE, "told too soon");
        report(102, "step 101");
        drop(sender);
        assert!(news.next().await.is_none(), "told twice");
    }
}
