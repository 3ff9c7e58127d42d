//! The times at which lines of a journal were written, which the text form gives without year and zone.
//!
//! The cursors at the ends of an answer hold the exact time of an entry, and so tell the year and the
//! node's offset from UTC; nothing has to be asked for and no privilege is needed. Where they tell
//! nothing the line is taken for the newest that it can be, in UTC.

use jiff::civil;

const DAY: i64 = 86_400;
/// The largest offset that any zone has had.
const FAR: i64 = 15 * 3600;

/// The time in front of a line, and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    month: i8,
    /// Seconds since the beginning of that month.
    seconds: i64,
}

/// Turns the stamps of one answer into times, from the oldest to the newest.
#[derive(Debug)]
pub struct Clock {
    year: i16,
    offset: i64,
    /// The offset at the end of the answer, where it is another: the clocks were changed within it.
    later: Option<i64>,
    previous: Option<i64>,
}

impl Stamp {
    /// Reads `Nov 30 06:26:41 ` in front of a line, and hands back the rest.
    pub fn read(line: &str) -> Option<(Self, &str)> {
        let (stamp, rest) = line.split_at_checked(15)?;
        let rest = rest.strip_prefix(' ')?;
        let mut words = stamp.split_ascii_whitespace();
        let name = words.next()?;
        let month = MONTHS.iter().position(|month| *month == name)?;
        let day: i64 = words.next()?.parse().ok()?;
        let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
        let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
        let is_time = (1..=31).contains(&day)
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..=60).contains(&second);
        let seconds = (day - 1) * DAY + hour * 3600 + minute * 60 + second;
        is_time.then_some((Self { month: i8::try_from(month).ok()? + 1, seconds }, rest))
    }

    /// The local time as if it were UTC.
    fn in_year(self, year: i16) -> Option<i64> {
        let first = civil::Date::new(year, self.month, 1).ok()?;
        let days = first.since(civil::date(1970, 1, 1)).ok()?.get_days();
        Some(i64::from(days) * DAY + self.seconds)
    }

    /// The offset by which this stamp is that time, with the year. `None` where they do not belong
    /// together.
    fn against(self, utc: i64) -> Option<(i16, i64)> {
        let year = i16::try_from(1970 + utc.div_euclid(31_556_952)).ok()?;
        let candidates =
            (year - 1..=year + 1).filter_map(|year| Some((year, self.in_year(year)? - utc)));
        let (year, offset) = candidates.min_by_key(|(_, offset)| offset.abs())?;
        // Offsets are whole quarters of an hour.
        (offset.abs() <= FAR).then(|| (year, (offset + 450).div_euclid(900) * 900))
    }
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl Clock {
    /// The clock for lines of which the first and the last were written at these times, where known.
    pub fn new(first: (Stamp, Option<i64>), last: (Stamp, Option<i64>), now: i64) -> Self {
        let at = |(stamp, utc): (Stamp, Option<i64>)| utc.and_then(|utc| stamp.against(utc));
        match (at(first), at(last)) {
            (Some((year, offset)), later) => Self {
                year,
                offset,
                later: later.map(|(_, later)| later).filter(|later| *later != offset),
                previous: None,
            },
            (None, Some((year, offset))) => {
                let year = if first.0.month > last.0.month { year - 1 } else { year };
                Self { year, offset, later: None, previous: None }
            }
            (None, None) => {
                let year = i16::try_from(1970 + now.div_euclid(31_556_952)).unwrap_or(1970);
                let is_ahead = first.0.in_year(year).is_some_and(|time| time > now + DAY);
                Self { year: year - i16::from(is_ahead), offset: 0, later: None, previous: None }
            }
        }
    }

    /// The time of the next line, in seconds since 1970.
    pub fn time(&mut self, stamp: Stamp) -> Option<i64> {
        let mut local = stamp.in_year(self.year)?;
        if let Some(previous) = self.previous {
            // December is followed by January.
            if local < previous - 180 * DAY {
                self.year += 1;
                local = stamp.in_year(self.year)?;
            }
            let is_changed = local < previous - 600 || local >= previous + 3600;
            if is_changed && let Some(later) = self.later.take() {
                self.offset = later;
            }
        }
        self.previous = Some(local);
        Some(local - self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(line: &str) -> Stamp {
        Stamp::read(&format!("{line} pve1 x: y")).unwrap().0
    }

    #[test]
    fn only_a_time_is_read_as_one() {
        let (stamp, rest) = Stamp::read("Nov 30 06:26:41 pve1 cron[7]: x").unwrap();
        assert_eq!((stamp.month, rest), (11, "pve1 cron[7]: x"));
        assert!(Stamp::read("Jan  2 03:04:05 pve1 kernel: x").is_some());
        for line in [
            "",
            "Nov 30",
            "Foo 30 06:26:41 x",
            "Nov 30 26:26:41 x",
            "Nov 30 06:26:41",
            "ééééééééééééé",
        ] {
            assert!(Stamp::read(line).is_none(), "{line}");
        }
    }

    #[test]
    fn the_year_and_the_zone_come_from_the_cursor() {
        // 06:26:41 UTC on 30 November 2026, on a node in Berlin.
        let mut clock = Clock::new(
            (stamp("Nov 30 07:26:41"), Some(1_796_020_001)),
            (stamp("Nov 30 07:26:46"), None),
            0,
        );
        assert_eq!(clock.time(stamp("Nov 30 07:26:41")), Some(1_796_020_001));
        assert_eq!(clock.time(stamp("Nov 30 07:26:46")), Some(1_796_020_006));
    }

    #[test]
    fn december_is_followed_by_january() {
        let mut clock = Clock::new(
            (stamp("Dec 31 23:59:59"), Some(1_798_761_599)),
            (stamp("Jan 01 00:00:01"), Some(1_798_761_601)),
            0,
        );
        assert_eq!(clock.time(stamp("Dec 31 23:59:59")), Some(1_798_761_599));
        assert_eq!(clock.time(stamp("Jan 01 00:00:01")), Some(1_798_761_601));
    }

    #[test]
    fn clocks_may_be_changed_between_two_lines() {
        // Berlin, 25 October 2026: 03:00 summer time is followed by 02:00 winter time.
        let mut clock = Clock::new(
            (stamp("Oct 25 02:59:00"), Some(1_792_889_940)),
            (stamp("Oct 25 02:10:00"), Some(1_792_890_600)),
            0,
        );
        assert_eq!(clock.time(stamp("Oct 25 02:59:00")), Some(1_792_889_940));
        assert_eq!(clock.time(stamp("Oct 25 02:10:00")), Some(1_792_890_600));
    }

    #[test]
    fn without_a_cursor_a_line_is_not_in_the_future() {
        let now = 1_796_020_000;
        let line = (stamp("Dec 24 12:00:00"), None);
        let time = Clock::new(line, line, now).time(line.0).unwrap();
        assert!(time < now && time > now - 366 * DAY, "{time}");
        // A cursor that makes no sense is none.
        let line = (stamp("Jan 09 02:00:00"), Some(0));
        let time = Clock::new(line, line, now).time(line.0).unwrap();
        assert!(time < now && time > now - 366 * DAY, "{time}");
    }
}
