//! What a tool knows of the call that it serves, beside its arguments.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use jiff::{Timestamp, tz::TimeZone};
use pve_client::LeftOut;
use tokio::time::{Duration, Instant};

use crate::{audit::Aim, person::Person, policy::Policy, sent::Sent, tier::Level};

/// The whole time of one call, in seconds, for all its requests, checks and waits. Some clients give up
/// after 60 s.
pub const CALL_SECONDS: u64 = 50;

/// Of how many answers it is told that not all of them could be read.
const UNREAD: usize = 4;

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// When the call must have been answered.
    pub deadline: Instant,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// The time of the call by this machine's clock.
    pub now: Timestamp,
    /// Tells the client how far the call is, where the client wants to know.
    pub progress: Progress,
    /// What the user decided about writes.
    pub policy: Arc<Policy>,
    /// The person at the client.
    pub person: Person,
    /// The client's name, as it calls itself.
    pub client: Option<String>,
    /// What this server offers.
    pub limits: Arc<Limits>,
    /// What it has sent that changes a guest.
    pub sent: Sent,
    /// The guest that it is to change, once that is found.
    pub aim: Aim,
    /// What of PVE's answers could not be read.
    pub left_out: LeftOut,
}

/// What this server offers: how much may be done, and with which tools. Where, is in the [`Policy`].
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// The tier.
    pub tier: Level,
    /// The tools that are offered.
    pub offered: Vec<&'static str>,
}

impl Limits {
    /// Whether the user lets this tool be used. Where no limits were set, as in a call on the command line, all may.
    pub fn may_use(&self, tool: &str) -> bool {
        self.offered.is_empty() || self.offered.contains(&tool)
    }
}

/// Tells how far a call is. The client gets strictly increasing numbers, whatever is reported.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Mutex<Reporter>>>);

struct Reporter {
    last: f64,
    tell: Box<dyn FnMut(f64, Option<f64>, String) + Send>,
}

impl Progress {
    /// Progress that `tell` passes on: how much is done, of how much if that is known, and a word on it.
    pub fn new(tell: impl FnMut(f64, Option<f64>, String) + Send + 'static) -> Self {
        Self(Some(Arc::new(Mutex::new(Reporter { last: 0.0, tell: Box::new(tell) }))))
    }

    /// Reports that `done` of `total` is done. Steps back are not passed on.
    pub fn report(&self, done: f64, total: Option<f64>, message: impl Into<String>) {
        let Some(reporter) = &self.0 else { return };
        let mut reporter = reporter.lock().unwrap_or_else(PoisonError::into_inner);
        if done > reporter.last {
            reporter.last = done;
            (reporter.tell)(done, total, message.into());
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Progress(wanted)" } else { "Progress(not wanted)" })
    }
}

impl Call {
    /// A call that begins now.
    pub fn begin(zone: TimeZone) -> Self {
        Self {
            deadline: Instant::now() + Duration::from_secs(CALL_SECONDS),
            zone,
            now: Timestamp::now(),
            progress: Progress::default(),
            policy: Arc::default(),
            person: Person::default(),
            client: None,
            limits: Arc::default(),
            sent: Sent::default(),
            aim: Aim::default(),
            left_out: LeftOut::default(),
        }
    }

    /// The same call, within these limits.
    #[must_use]
    pub fn within(self, limits: &Arc<Limits>) -> Self {
        Self { limits: Arc::clone(limits), ..self }
    }

    /// The same call, whose progress is told.
    #[must_use]
    pub fn with_progress(self, progress: Progress) -> Self {
        Self { progress, ..self }
    }

    /// The same call, under what the user decided about writes.
    #[must_use]
    pub fn under(self, policy: Arc<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// The same call, with this person at the client.
    #[must_use]
    pub fn with_person(self, person: Person) -> Self {
        Self { person, ..self }
    }

    /// The same call, from a client of this name.
    #[must_use]
    pub fn from_client(self, client: Option<String>) -> Self {
        Self { client, ..self }
    }

    /// The deadline of an optional part, which must not hold up the rest.
    pub fn part(&self, seconds: u64) -> Instant {
        self.deadline.min(Instant::now() + Duration::from_secs(seconds))
    }

    /// What of PVE's answers could not be read, a line for each of them, so that nobody takes it for what is not there.
    pub fn unread(&self) -> Vec<String> {
        let left_out = self.left_out.by_path();
        let lines = left_out.iter().take(UNREAD).map(|(path, count)| {
            let (entries, are) = if *count == 1 { ("entry", "is") } else { ("entries", "are") };
            format!("{count} {entries} of PVE's answer to `GET {path}` could not be read and {are} left out")
        });
        let more = left_out.len().saturating_sub(UNREAD);
        let more = (more > 0).then(|| format!("so it is with entries of {more} more answers"));
        lines.chain(more).collect()
    }

    /// A moment in the user's time zone, as ISO 8601 with offset. `None` where it is out of range.
    pub fn time(&self, unix_seconds: i64) -> Option<String> {
        let time = Timestamp::from_second(unix_seconds).ok()?.to_zoned_datetime(self.zone.clone());
        Some(time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_only_ever_goes_forward() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let progress = Progress::new({
            let told = Arc::clone(&told);
            move |done, _, _| told.lock().unwrap().push(done)
        });
        for done in [1.0, 3.0, 2.0, 3.0, f64::NAN, 4.0] {
            progress.report(done, Some(5.0), "at work");
        }
        assert_eq!(*told.lock().unwrap(), [1.0, 3.0, 4.0]);
    }

    #[test]
    fn times_are_shown_in_the_users_zone() {
        let berlin = Call::begin(TimeZone::get("Europe/Berlin").unwrap());
        assert_eq!(berlin.time(1_796_020_073).unwrap(), "2026-11-30T07:27:53+01:00");
        let utc = Call::begin(TimeZone::UTC);
        assert_eq!(utc.time(1_796_020_073).unwrap(), "2026-11-30T06:27:53+00:00");
        assert_eq!(utc.time(i64::MAX), None);
    }
}
