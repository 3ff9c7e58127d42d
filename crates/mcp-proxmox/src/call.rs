//! What a tool knows of the call that it serves, beside its arguments.

use jiff::{Timestamp, tz::TimeZone};
use tokio::time::{Duration, Instant};

/// The whole time of one call, in seconds, for all its requests, checks and waits. Some clients give up
/// after 60 s.
pub const CALL_SECONDS: u64 = 50;

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// When the call must have been answered.
    pub deadline: Instant,
    /// The time zone in which times are shown.
    pub zone: TimeZone,
    /// The time of the call by this machine's clock.
    pub now: Timestamp,
}

impl Call {
    /// A call that begins now.
    pub fn begin(zone: TimeZone) -> Self {
        Self {
            deadline: Instant::now() + Duration::from_secs(CALL_SECONDS),
            zone,
            now: Timestamp::now(),
        }
    }

    /// The deadline of an optional part, which must not hold up the rest.
    pub fn part(&self, seconds: u64) -> Instant {
        self.deadline.min(Instant::now() + Duration::from_secs(seconds))
    }

    /// A moment in the user's time zone, as ISO 8601 with offset. `None` where it is out of range.
    pub fn time(&self, unix_seconds: i64) -> Option<String> {
        let time = Timestamp::from_second(unix_seconds).ok()?.to_zoned_datetime(self.zone.clone());
        Some(time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
    }
}
