//! Time as the API and HTTP write it.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;

/// Seconds since 1970, now.
pub(crate) fn unix_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The present time as HTTP writes it: `Mon, 30 Nov 2026 06:26:10 GMT`.
pub(crate) fn http_date() -> String {
    let now = OffsetDateTime::now_utc();
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        short(&now.weekday().to_string()),
        now.day(),
        short(&now.month().to_string()),
        now.year(),
        now.hour(),
        now.minute(),
        now.second()
    )
}

/// A time as the HA manager writes it into its texts: `Mon Nov 30 06:26:10 2026`.
pub(crate) fn ctime(unix: u64) -> String {
    let at = i64::try_from(unix).ok().and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
    let at = at.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!(
        "{} {} {:>2} {:02}:{:02}:{:02} {}",
        short(&at.weekday().to_string()),
        short(&at.month().to_string()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second(),
        at.year()
    )
}

/// A time as the journal's lines begin: `Nov 30 06:26:41`. The caller has added the zone's offset.
pub(crate) fn short_local(unix: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(unix).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    format!(
        "{} {:02} {:02}:{:02}:{:02}",
        short(&at.month().to_string()),
        at.day(),
        at.hour(),
        at.minute(),
        at.second()
    )
}

fn short(name: &str) -> String {
    name.chars().take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ha_managers_time_is_that_of_ctime() {
        assert_eq!(ctime(1_796_019_970), "Mon Nov 30 06:26:10 2026");
    }

    #[test]
    fn the_date_header_has_its_fixed_length() {
        assert_eq!(http_date().len(), "Mon, 30 Nov 2026 06:26:10 GMT".len());
    }
}
