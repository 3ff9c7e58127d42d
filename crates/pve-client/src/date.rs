//! The `Date` header: Proxmox VE's clock, by which a skew against ours is seen.

use std::time::{Duration, SystemTime};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Reads `Mon, 30 Nov 2026 06:25:58 GMT`, the one form that HTTP allows to be sent.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let (_, rest) = text.split_once(", ")?;
    let mut parts = rest.strip_suffix(" GMT")?.split([' ', ':']);
    let mut next = || parts.next();
    let day: u64 = next()?.parse().ok()?;
    let name = next()?;
    let month = 1 + u64::try_from(MONTHS.iter().position(|&month| month == name)?).ok()?;
    let year: u64 = next()?.parse().ok()?;
    let hour: u64 = next()?.parse().ok()?;
    let minute: u64 = next()?.parse().ok()?;
    let second: u64 = next()?.parse().ok()?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !in_range {
        return None;
    }
    let days = days_since_1970(year, month, day)?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Counts days in years that begin in March, so that the day of the leap year is the last.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = if month <= 2 { year - 1 } else { year };
    let months_since_march = (month + 9) % 12;
    let days_of_years = year * 365 + year / 4 - year / 100 + year / 400;
    let days_of_months = (months_since_march * 153 + 2) / 5;
    // 719,468 days lie between 1 March of the year 0 and 1 January 1970.
    (days_of_years + days_of_months + day - 1).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(text: &str) -> Option<u64> {
        parse(text).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn a_recorded_date_is_read() {
        assert_eq!(seconds("Mon, 30 Nov 2026 06:25:58 GMT"), Some(1_796_019_958));
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(seconds("Fri, 01 Mar 2024 00:00:00 GMT"), Some(1_709_251_200));
        assert_eq!(seconds("Sun, 01 Jan 2023 00:00:00 GMT"), Some(1_672_531_200));
    }

    #[test]
    fn anything_else_is_no_date() {
        for bad in ["", "now", "Mon, 30 Nov 2026 06:25 GMT", "Mon, 30 Foo 2026 06:25:58 GMT"] {
            assert_eq!(seconds(bad), None, "{bad:?}");
        }
        assert_eq!(seconds("Mon, 99 Nov 2026 06:25:58 GMT"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_date_or_none(text in ".{0,40}", junk in "[A-Za-z0-9 :,+-]{0,40}") {
            let _ = (parse(&text), parse(&junk), parse(&format!("Mon, {junk} GMT")));
        }

        #[test]
        fn what_is_later_is_read_as_later(day in 1..28_u64, month in 0..12_usize, year in 1970..9999_u64) {
            let read = |day| seconds(&format!("Mon, {day:02} {} {year} 00:00:00 GMT", MONTHS[month]));
            prop_assert_eq!(read(day + 1), read(day).map(|seconds| seconds + 86_400));
        }
    }
}
