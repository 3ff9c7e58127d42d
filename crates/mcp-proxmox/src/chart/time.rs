//! The scale of time: round times of the user's own clock.

use jiff::{Timestamp, ToSpan as _, tz::TimeZone};

/// A time that is written below a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tick {
    /// In seconds since 1970.
    pub(super) time: i64,
    /// How it is written.
    pub(super) label: String,
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// About so many times are written.
const TICKS: i64 = 9;

/// Times between two, few enough to be read.
pub(super) fn ticks(from: i64, to: i64, zone: &TimeZone) -> Vec<Tick> {
    let span = to.saturating_sub(from);
    if span <= 0 || span > 4000 * DAY {
        return Vec::new();
    }
    if span > 120 * DAY {
        return months(from, to, zone);
    }
    let steps = [
        5 * MINUTE,
        10 * MINUTE,
        15 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        3 * HOUR,
        6 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        4 * DAY,
        7 * DAY,
        14 * DAY,
    ];
    let step = steps.into_iter().find(|step| span / step <= TICKS).unwrap_or(14 * DAY);
    // Round is what the user's clock calls so.
    let offset =
        Timestamp::from_second(from).map_or(0, |from| i64::from(zone.to_offset(from).seconds()));
    let first = (from + offset).div_euclid(step) * step - offset;
    let format = if step < DAY { "%H:%M" } else { "%a %-d %b" };
    let times = (0..=span / step + 1).map(|nth| first + nth * step);
    let within = times.filter(|time| (from..=to).contains(time));
    within.filter_map(|time| tick(time, format, zone)).collect()
}

/// The first day of each month, or of every second or third one.
fn months(from: i64, to: i64, zone: &TimeZone) -> Vec<Tick> {
    let Ok(begin) = Timestamp::from_second(from) else { return Vec::new() };
    let begin = begin.to_zoned_datetime(zone.clone());
    let Ok(mut month) = begin.first_of_month().and_then(|day| day.start_of_day()) else {
        return Vec::new();
    };
    let every = (to - from) / (31 * DAY) / 13 + 1;
    let mut ticks = Vec::new();
    while month.timestamp().as_second() <= to && ticks.len() < 24 {
        let time = month.timestamp().as_second();
        if time >= from {
            // A year is long enough without its number at each month.
            let format = if month.month() == 1 { "%Y" } else { "%b" };
            ticks.extend(tick(time, format, zone));
        }
        match month.checked_add(every.months()) {
            Ok(next) => month = next,
            Err(_) => break,
        }
    }
    ticks
}

fn tick(time: i64, format: &str, zone: &TimeZone) -> Option<Tick> {
    let moment = Timestamp::from_second(time).ok()?.to_zoned_datetime(zone.clone());
    Some(Tick { time, label: moment.strftime(format).to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(from: i64, to: i64, zone: &str) -> Vec<String> {
        let zone = TimeZone::get(zone).unwrap();
        ticks(from, to, &zone).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn times_are_round_on_the_users_clock() {
        let from = 1_796_016_400;
        let hour = labels(from, from + 3600, "UTC");
        assert_eq!(hour, ["05:30", "05:40", "05:50", "06:00", "06:10", "06:20"]);
        let kathmandu = labels(from, from + 3600, "Asia/Kathmandu");
        assert!(kathmandu.contains(&"11:30".to_owned()), "{kathmandu:?}");
        let week = labels(from, from + 7 * DAY, "Europe/Berlin");
        assert_eq!(week.first().map(String::as_str), Some("Tue 1 Dec"));
        assert_eq!(week.len(), 7);
    }

    #[test]
    fn a_year_shows_its_months() {
        let year = labels(1_764_500_000, 1_796_000_000, "UTC");
        assert_eq!(year[..3], ["Dec", "2026", "Feb"]);
        assert!((10..=13).contains(&year.len()), "{year:?}");
    }

    #[test]
    fn an_impossible_span_has_no_times() {
        assert!(ticks(5, 5, &TimeZone::UTC).is_empty());
        assert!(ticks(i64::MIN, i64::MAX, &TimeZone::UTC).is_empty());
    }
}
