//! What the figures were: the past that round-robin databases would have kept.
//!
//! **Invariants:** the past of a world that does not move is flat, at the figures that its description
//! names; the same moment has the same figures whenever and at whatever resolution it is asked for, up to
//! noise.

use crate::cluster::Version;

/// The points of one answer: when the last one is, how far they are apart, and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) step: u64,
    pub(crate) count: u64,
}

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

impl Grid {
    /// The grid of a time frame. Hour and day of PVE 9 are recorded; the others, and those of PVE 8, are
    /// read in Proxmox's source.
    pub(crate) fn of(timeframe: &str, version: &Version) -> Self {
        let (step, count) = match (timeframe, version.at_least(9, 0)) {
            ("hour", true) => (MINUTE, 60),
            ("day", true) => (MINUTE, 1440),
            ("week", true) => (30 * MINUTE, 336),
            ("month", true) => (30 * MINUTE, 1440),
            ("year", true) => (6 * HOUR, 1460),
            ("decade", _) => (7 * DAY, 520),
            ("hour", false) => (MINUTE, 70),
            ("day", false) => (30 * MINUTE, 70),
            ("week", false) => (3 * HOUR, 70),
            ("month", false) => (12 * HOUR, 70),
            _ => (7 * DAY, 70),
        };
        Self { step, count }
    }

    /// The times of the points, the oldest first.
    pub(crate) fn times(self, now: u64) -> impl Iterator<Item = u64> {
        let last = now - now % self.step;
        (0..self.count).rev().map(move |back| last.saturating_sub(back * self.step))
    }
}

/// By what a figure with this seed differed from the present one at a time: busier by day than at night,
/// busier in the middle of the week, with some noise. 1 in a world that does not move.
pub(crate) fn factor(moves: bool, seed: u32, time: u64, step: u64) -> f64 {
    if !moves {
        return 1.0;
    }
    let phase = |period: u64| {
        let shifted = time + u64::from(seed) * 977 % (period / 6);
        part(shifted % period, period) * std::f64::consts::TAU
    };
    let noise = part(mixed(u64::from(seed) << 32 ^ (time / step.max(1))) % 1000, 1000) - 0.5;
    // Long averages are smooth.
    let noise = noise * 0.35 / (part(step, MINUTE)).sqrt().max(1.0);
    (1.0 - 0.28 * phase(DAY).cos() - 0.08 * phase(7 * DAY).cos() + noise).max(0.05)
}

/// What was used of something that has grown by so much a day up to now.
pub(crate) fn grown_to(used: u64, a_day: u64, age: u64) -> f64 {
    let before = u128::from(a_day) * u128::from(age) / u128::from(DAY);
    precise(u64::try_from(before).map_or(0, |before| used.saturating_sub(before)))
}

/// Bytes as a round-robin database keeps them.
#[expect(clippy::cast_precision_loss, reason = "the databases keep doubles too")]
pub(crate) fn precise(bytes: u64) -> f64 {
    bytes as f64
}

fn part(of: u64, whole: u64) -> f64 {
    precise(of) / precise(whole)
}

fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_ends_now_and_is_that_of_the_version() {
        let grid = Grid::of("day", &Version::v9_2());
        let times: Vec<u64> = grid.times(1_796_019_999).collect();
        assert_eq!((times.len(), times[0], times[1439]), (1440, 1_795_933_620, 1_796_019_960));
        assert_eq!(Grid::of("day", &Version::v8_4()), Grid { step: 1800, count: 70 });
    }

    #[test]
    fn the_past_of_a_still_world_is_flat_and_of_another_it_is_not() {
        let at = |moves, time| factor(moves, 3, time, 60);
        assert!((at(false, 1_796_000_000) - 1.0).abs() < f64::EPSILON);
        let day: Vec<f64> = (0..24).map(|hour| at(true, 1_796_000_000 + hour * 3600)).collect();
        let (least, most) =
            day.iter().fold((9.0_f64, 0.0_f64), |(least, most), x| (least.min(*x), most.max(*x)));
        assert!(least > 0.0 && most / least > 1.3, "{day:?}");
    }

    #[test]
    fn what_grows_was_less_and_never_below_nothing() {
        assert!((grown_to(1000, 10, 2 * DAY) - 980.0).abs() < 0.1);
        assert!(grown_to(1000, 900, 2 * DAY).abs() < 0.1);
    }
}
