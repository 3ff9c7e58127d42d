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

/// What is known of the times of an answer, in seconds since 1970.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// When its first line was written.
    pub first: Option<i64>,
    /// When its last line was written.
    pub last: Option<i64>,
    /// When the line after its last one was written.
    pub next: Option<i64>,
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

/// When lines were written, in seconds since 1970, from their stamps, the oldest first.
pub fn times(stamps: &[Option<Stamp>], known: Known, now: i64) -> Vec<Option<i64>> {
    let Some(some) = stamps.iter().flatten().next().copied() else {
        return vec![None; stamps.len()];
    };
    let at = |stamp: Option<&Option<Stamp>>, utc: Option<i64>| (*stamp?)?.against(utc?);
    let (first, last) = (at(stamps.first(), known.first), at(stamps.last(), known.last));
    let (year, offset) = match (first, last) {
        (Some(first), _) => first,
        (None, Some((year, offset))) => {
            let month = stamps.last().copied().flatten().map_or(12, |last| last.month);
            (if some.month > month { year - 1 } else { year }, offset)
        }
        (None, None) => {
            let year = i16::try_from(1970 + now.div_euclid(31_556_952)).unwrap_or(1970);
            let is_ahead = some.in_year(year).is_some_and(|time| time > now + DAY);
            (year - i16::from(is_ahead), 0)
        }
    };
    let locals = in_years(stamps, year);
    let later = match (first, last) {
        (Some(_), Some((_, later))) => later,
        (Some(_), None) => supposed(&locals, offset, known.next),
        _ => offset,
    };
    let change = change(&locals, later - offset).unwrap_or(locals.len());
    let time = |(nth, local): (usize, Option<i64>)| {
        Some(local? - if nth < change { offset } else { later })
    };
    locals.into_iter().enumerate().map(time).collect()
}

/// Local times, of which December is followed by January.
fn in_years(stamps: &[Option<Stamp>], mut year: i16) -> Vec<Option<i64>> {
    let mut previous: Option<i64> = None;
    let mut local = |stamp: Stamp| {
        let mut local = stamp.in_year(year)?;
        if previous.is_some_and(|previous| local < previous - 180 * DAY) {
            year += 1;
            local = stamp.in_year(year)?;
        }
        previous = Some(local);
        Some(local)
    };
    stamps.iter().map(|stamp| local((*stamp)?)).collect()
}

/// Steps from a line to the next: the place of the later one, and both local times.
fn steps(locals: &[Option<i64>]) -> Vec<(usize, i64, i64)> {
    let known = locals.iter().enumerate().filter_map(|(nth, local)| Some((nth, (*local)?)));
    let known: Vec<(usize, i64)> = known.collect();
    known
        .iter()
        .zip(known.iter().skip(1))
        .map(|((_, before), (nth, at))| (*nth, *before, *at))
        .collect()
}

/// The offset at the end where only the line after it is known: the clocks go by an hour.
fn supposed(locals: &[Option<i64>], offset: i64, next: Option<i64>) -> i64 {
    let goes_back = steps(locals).iter().any(|(_, before, at)| is_back(*before, *at));
    let last = locals.iter().rev().flatten().next();
    let is_ahead = last.zip(next).is_some_and(|(last, next)| last - offset > next + 60);
    match (goes_back, is_ahead) {
        (true, _) => offset - 3600,
        (_, true) => offset + 3600,
        _ => offset,
    }
}

fn is_back(before: i64, at: i64) -> bool {
    at < before - 600
}

/// The first line after the clocks were changed by so much. They are changed in the night to a Sunday,
/// which decides where several gaps are wide enough.
fn change(locals: &[Option<i64>], by: i64) -> Option<usize> {
    if by == 0 {
        return None;
    }
    let steps = steps(locals);
    if by < 0
        && let Some((nth, ..)) = steps.iter().find(|(_, before, at)| is_back(*before, *at))
    {
        return Some(*nth);
    }
    // The first of January 1970 was a Thursday.
    let covers = |before: i64, at: i64, (from, to): (i64, i64)| {
        let begin = (before - 3 * DAY).rem_euclid(7 * DAY);
        let end = begin + at - before;
        [0, 7 * DAY].iter().any(|week| begin < to + week && end >= from + week)
    };
    let likely = |before: i64, at: i64| {
        let (at_two, that_night) = ((7200, 7201), (0, 4 * 3600));
        (covers(before, at, at_two), covers(before, at, that_night), at - before)
    };
    let wide = steps.iter().filter(|(_, before, at)| at - before >= by.max(0));
    wide.max_by_key(|(_, before, at)| likely(*before, *at)).map(|(nth, ..)| *nth)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    fn read(lines: &[&str], known: Known) -> Vec<i64> {
        let stamps: Vec<_> = lines.iter().map(|line| Some(stamp(line))).collect();
        times(&stamps, known, 0).into_iter().flatten().collect()
    }

    fn ends(first: i64, last: i64) -> Known {
        Known { first: Some(first), last: Some(last), next: None }
    }

    #[test]
    fn the_year_and_the_zone_come_from_the_cursor() {
        // 06:26:41 UTC on 30 November 2026, on a node in Berlin.
        let first = Known { first: Some(1_796_020_001), ..Known::default() };
        assert_eq!(
            read(&["Nov 30 07:26:41", "Nov 30 07:26:46"], first),
            [1_796_020_001, 1_796_020_006]
        );
    }

    #[test]
    fn december_is_followed_by_january() {
        let times =
            read(&["Dec 31 23:59:59", "Jan 01 00:00:01"], ends(1_798_761_599, 1_798_761_601));
        assert_eq!(times, [1_798_761_599, 1_798_761_601]);
    }

    #[test]
    fn clocks_may_be_put_back_between_two_lines() {
        // Berlin, 25 October 2026: 03:00 summer time is followed by 02:00 winter time.
        let lines = ["Oct 24 22:00:00", "Oct 25 02:59:00", "Oct 25 02:10:00", "Oct 25 09:00:00"];
        let wanted = [1_792_872_000, 1_792_889_940, 1_792_890_600, 1_792_915_200];
        assert_eq!(read(&lines, ends(wanted[0], wanted[3])), wanted);
        // Only what comes next is known.
        let known = Known { first: Some(wanted[0]), last: None, next: Some(wanted[3] + 5) };
        assert_eq!(read(&lines, known), wanted);
    }

    #[test]
    fn clocks_may_be_put_forward_in_a_night_without_entries() {
        // Berlin, 29 March 2026: 02:00 winter time is followed by 03:00 summer time. A quiet Saturday
        // has gaps of hours before it.
        let lines = [
            "Mar 28 10:00:00",
            "Mar 28 18:00:00",
            "Mar 29 01:00:00",
            "Mar 29 06:00:00",
            "Mar 29 12:00:00",
        ];
        let wanted = [1_774_688_400, 1_774_717_200, 1_774_742_400, 1_774_756_800, 1_774_778_400];
        assert_eq!(read(&lines, ends(wanted[0], wanted[4])), wanted);
        let known = Known { first: Some(wanted[0]), last: None, next: Some(wanted[4] + 5) };
        assert_eq!(read(&lines, known), wanted);
        // Without a change the gaps say nothing.
        let plain: Vec<i64> = [0, 28_800, 54_000, 72_000, 93_600].map(|s| wanted[0] + s).to_vec();
        assert_eq!(read(&lines, ends(plain[0], plain[4])), plain);
    }

    #[test]
    fn without_a_cursor_a_line_is_not_in_the_future() {
        let now = 1_796_020_000;
        // A cursor that makes no sense is none.
        for (line, first) in [("Dec 24 12:00:00", None), ("Jan 09 02:00:00", Some(0))] {
            let known = Known { first, last: first, next: None };
            let time = times(&[Some(stamp(line))], known, now)[0].unwrap();
            assert!(time < now && time > now - 366 * DAY, "{time}");
        }
        assert_eq!(times(&[None, None], Known::default(), now), [None, None]);
    }

    proptest! {
        #[test]
        fn any_lines_have_a_time_or_none(lines in proptest::collection::vec(".{0,30}|[A-Z][a-z]{2} [0-9 ]{2} [0-9:]{8} .{0,9}", 0..6), now: i32, known: Option<i64>) {
            let stamps: Vec<_> = lines.iter().map(|line| Some(Stamp::read(line)?.0)).collect();
            let known = Known { first: known, last: known, next: None };
            prop_assert_eq!(times(&stamps, known, now.into()).len(), lines.len());
        }
    }
}
