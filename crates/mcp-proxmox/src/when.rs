//! Times as callers write them: ISO 8601, `2h` for two hours ago, `yesterday`, or Unix seconds.
//!
//! **A time without a zone is in the user's zone**, which is also the one in which answers show times.

use jiff::{Timestamp, ToSpan as _, civil};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{answer::clean::quoted, call::Call, failure::Failure};

/// The latest time that is taken for one: the end of the year 9999.
const LATEST: i64 = 253_402_300_799;

/// A time that a caller gave as `argument`, in seconds since 1970.
pub fn optional(call: &Call, argument: &str, text: Option<&str>) -> Result<Option<i64>, Failure> {
    text.map(|text| required(call, argument, text)).transpose()
}

/// A time range as callers write it, among the arguments of a tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Range {
    /// `2h` ago or ISO 8601.
    since: Option<String>,
    /// Likewise.
    until: Option<String>,
}

impl Range {
    /// Whether it reaches back without end.
    pub fn is_without_begin(&self) -> bool {
        self.since.is_none()
    }

    /// Its bounds.
    pub fn read(&self, call: &Call) -> Result<(Option<i64>, Option<i64>), Failure> {
        range(call, self.since.as_deref(), self.until.as_deref())
    }
}

/// The bounds of a time range, of which the first has to be the earlier.
pub fn range(
    call: &Call,
    since: Option<&str>,
    until: Option<&str>,
) -> Result<(Option<i64>, Option<i64>), Failure> {
    let since = optional(call, "since", since)?;
    let until = optional(call, "until", until)?;
    if let (Some(since), Some(until)) = (since, until)
        && since >= until
    {
        return Err(Failure::new("`since` is not before `until`")
            .hint("exchange them: since is the earlier one"));
    }
    Ok((since, until))
}

fn required(call: &Call, argument: &str, text: &str) -> Result<i64, Failure> {
    let seconds = parse(call, text.trim()).filter(|seconds| (0..=LATEST).contains(seconds));
    seconds.ok_or_else(|| {
        Failure::new(format!("`{argument}`: {} is not a time", quoted(text))).hint(
            "write 2h or 3d for so long ago, today, yesterday, 2026-11-30T06:00 (your time zone), 2026-11-30T06:00:00Z, 2026-11-30, or Unix seconds",
        )
    })
}

fn parse(call: &Call, text: &str) -> Option<i64> {
    let now = call.now.as_second();
    if text.eq_ignore_ascii_case("now") {
        return Some(now);
    }
    let days_ago = match text.to_ascii_lowercase().as_str() {
        "today" => Some(0),
        "yesterday" => Some(1),
        _ => None,
    };
    if let Some(days) = days_ago {
        let begin =
            call.now.to_zoned_datetime(call.zone.clone()).date().checked_sub(days.days()).ok()?;
        return begin
            .to_datetime(civil::Time::midnight())
            .to_zoned_datetime(call.zone.clone())
            .ok()
            .map(|time| time.timestamp().as_second());
    }
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // Fewer digits are no time of Proxmox VE's: a forgotten unit is more likely.
        return match text.len() {
            9..=11 => text.parse().ok(),
            13 => text.parse().ok().map(|milliseconds: i64| milliseconds / 1000),
            _ => None,
        };
    }
    if let Some(seconds) = span(text) {
        return now.checked_sub(seconds);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_second());
    }
    let time = text.parse::<civil::DateTime>().ok()?;
    time.to_zoned_datetime(call.zone.clone()).ok().map(|time| time.timestamp().as_second())
}

/// `2h`, `90m`, `1d12h`, `2h ago`.
fn span(text: &str) -> Option<i64> {
    let text = text.to_ascii_lowercase();
    let mut rest = text.strip_suffix("ago").unwrap_or(&text).trim().trim_start_matches('-');
    let mut seconds: i64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        let unit = match unit {
            "s" | "sec" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return None,
        };
        seconds = seconds.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        rest = after.trim_start();
    }
    Some(seconds)
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use proptest::prelude::*;

    use super::*;

    fn call() -> Call {
        let mut call = Call::begin(TimeZone::get("Europe/Berlin").unwrap());
        call.now = Timestamp::from_second(1_796_020_000).unwrap();
        call
    }

    fn seconds(text: &str) -> Option<i64> {
        optional(&call(), "since", Some(text)).ok().flatten()
    }

    #[test]
    fn every_way_to_write_a_time_is_read() {
        for (text, wanted) in [
            ("now", 1_796_020_000),
            ("2h", 1_796_020_000 - 7200),
            ("-90m", 1_796_020_000 - 5400),
            ("1d12h", 1_796_020_000 - 129_600),
            ("3 d", 0),
            ("3d ago", 1_796_020_000 - 259_200),
            ("1796000000", 1_796_000_000),
            ("1796000000000", 1_796_000_000),
            ("2026-11-30T06:26:16Z", 1_796_019_976),
            ("2026-11-30T07:26:16+01:00", 1_796_019_976),
            ("2026-11-30T07:26:16", 1_796_019_976),
            ("2026-11-30 07:26", 1_796_019_960),
            ("2026-11-30", 1_795_993_200),
            ("today", 1_795_993_200),
            ("Yesterday", 1_795_906_800),
        ] {
            assert_eq!(seconds(text).unwrap_or_default(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_the_ways_to_write_one() {
        for text in
            ["", "yesterday-ish", "5", "h", "2x", "12345", "99999999999999999999d", "2026-13-01"]
        {
            assert_eq!(seconds(text), None, "{text}");
        }
        let told = optional(&call(), "since", Some("soon")).unwrap_err().to_string();
        assert!(told.contains("`since`: `soon` is not a time") && told.contains("2h"), "{told}");
        assert!(range(&call(), Some("1h"), Some("2h")).is_err());
        assert!(range(&call(), Some("2h"), Some("1h")).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in any::<String>(), odd in "[0-9smhdw T:+-]{0,20}") {
            let _ = (seconds(&text), seconds(&odd));
        }
    }
}
