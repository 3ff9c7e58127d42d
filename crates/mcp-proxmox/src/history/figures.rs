//! What numbers say of a series: the usual figures, each weighted by time, and whether it rises.

use std::ops::RangeInclusive;

use super::Sample;
use crate::in_order::InOrder as _;

/// The figures of one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// The smallest.
    pub min: f64,
    /// The average over the time that is known.
    pub mean: f64,
    /// 95% of the time it was not above this.
    pub p95: f64,
    /// The largest.
    pub max: f64,
    /// The newest.
    pub last: f64,
    /// Where it goes.
    pub trend: Trend,
}

/// Where a series goes, by a straight line through it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trend {
    /// By so much from the beginning to the end, and by so much a second.
    Change {
        /// From the beginning to the end.
        whole: f64,
        /// In a second.
        a_second: f64,
    },
    /// It stays where it is.
    Steady,
    /// It goes up and down, and no line tells where to.
    None,
}

/// A line explains at least this much of the ups and downs, or there is no trend.
const EXPLAINED: f64 = 0.5;
/// Of fewer samples than this it explains more, since chance alone makes lines of few.
const FEW: usize = 24;
/// How much it explains of few.
const EXPLAINED_OF_FEW: f64 = 0.75;
/// This part of the time, at the beginning and at the end, shows whether the line tells the truth.
const END: i64 = 8;
/// How much of the change that the line tells of has to be there from one end to the other, at least and at
/// most. Of one whole wave a line explains up to 61%, but the ends differ by less than half of what it tells;
/// after a jump they differ by three quarters of it.
const AT_THE_ENDS: RangeInclusive<f64> = 0.65..=1.5;
/// A change below this share of the average is none, however straight the line is.
const NOTHING: f64 = 0.005;
/// What differs from its average by less than this share of it stays where it is.
const FLAT: f64 = 0.03;
/// How many samples a trend takes.
const ENOUGH: usize = 8;

impl Figures {
    /// The figures of these samples, which are in the order of their times. `None` where there are none.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let last = samples.last()?.value;
        let (mut seconds, mut sum) = (0.0, 0.0);
        let (mut min, mut max) = (last, last);
        for sample in samples {
            seconds += sample.seconds;
            sum += sample.value * sample.seconds;
            min = min.min(sample.value);
            max = max.max(sample.value);
        }
        let mean = if seconds > 0.0 { sum / seconds } else { last };
        let p95 = percentile(samples, seconds * 0.95).unwrap_or(max);
        Some(Self { min, mean, p95, max, last, trend: trend(samples, mean) })
    }
}

/// The value below which the series was for so many seconds.
fn percentile(samples: &[Sample], seconds: f64) -> Option<f64> {
    let mut by_value: Vec<&Sample> = samples.iter().collect();
    by_value.order_by(|a, b| a.value.total_cmp(&b.value));
    let mut passed = 0.0;
    by_value.into_iter().find_map(|sample| {
        passed += sample.seconds;
        (passed >= seconds).then_some(sample.value)
    })
}

#[expect(clippy::cast_precision_loss, reason = "times are whole seconds of this century")]
fn trend(samples: &[Sample], mean: f64) -> Trend {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Trend::None };
    if samples.len() < ENOUGH || first.time == last.time {
        return Trend::None;
    }
    let at = |sample: &Sample| sample.time.saturating_sub(first.time) as f64;
    let weight: f64 = samples.iter().map(|sample| sample.seconds).sum();
    let middle = samples.iter().map(|sample| at(sample) * sample.seconds).sum::<f64>() / weight;
    let (mut times, mut values, mut both) = (0.0, 0.0, 0.0);
    for sample in samples {
        let (time, value) = (at(sample) - middle, sample.value - mean);
        times += time * time * sample.seconds;
        values += value * value * sample.seconds;
        both += time * value * sample.seconds;
    }
    if times <= 0.0 {
        return Trend::None;
    }
    let a_second = both / times;
    let whole = a_second * at(last);
    let explained = if values > 0.0 { both * both / (times * values) } else { 0.0 };
    let needed = if samples.len() < FEW { EXPLAINED_OF_FEW } else { EXPLAINED };
    let is_line = explained >= needed && is_at_the_ends(samples, a_second);
    if is_line && whole.abs() >= mean.abs() * NOTHING {
        return Trend::Change { whole, a_second };
    }
    let spread = (values / weight).sqrt();
    if spread <= mean.abs() * FLAT { Trend::Steady } else { Trend::None }
}

/// Whether the series ends about as far from where it began as the line says. A wave that goes down first and
/// comes back has a line that falls, and ends where it began.
#[expect(clippy::cast_precision_loss, reason = "times are whole seconds of this century")]
fn is_at_the_ends(samples: &[Sample], a_second: f64) -> bool {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return false };
    let part = last.time.saturating_sub(first.time) / END;
    let middle = |is_in: &dyn Fn(i64) -> bool| {
        let end: Vec<Sample> =
            samples.iter().filter(|sample| is_in(sample.time)).copied().collect();
        let seconds: f64 = end.iter().map(|sample| sample.seconds).sum();
        let times = end.iter().map(|sample| sample.time.saturating_sub(first.time) as f64);
        let time = times.zip(&end).map(|(time, sample)| time * sample.seconds).sum::<f64>();
        Some((time / seconds, percentile(&end, seconds * 0.5)?))
    };
    let begin = middle(&|time| time <= first.time.saturating_add(part));
    let end = middle(&|time| time >= last.time.saturating_sub(part));
    let (Some((from, before)), Some((to, after))) = (begin, end) else { return false };
    // A share below zero is another direction; NaN, of no time at all, is in no range.
    AT_THE_ENDS.contains(&((after - before) / (a_second * (to - from))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(values: &[f64]) -> Vec<Sample> {
        let sample =
            |(nth, value): (i64, &f64)| Sample { time: nth * 60, seconds: 60.0, value: *value };
        (1..).zip(values).map(sample).collect()
    }

    #[test]
    fn the_figures_of_known_numbers_are_known() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let figures = Figures::of(&series(&hundred)).unwrap();
        assert_eq!((figures.min, figures.max, figures.last), (1.0, 100.0, 100.0));
        assert_eq!((figures.mean, figures.p95), (50.5, 95.0));
        let Trend::Change { whole, a_second } = figures.trend else { panic!("{figures:?}") };
        assert!((whole - 99.0).abs() < 1e-9 && (a_second - 1.0 / 60.0).abs() < 1e-9);
        assert_eq!(Figures::of(&[]), None);
    }

    #[test]
    fn what_lasts_longer_weighs_more() {
        let old = Sample { time: 10_800, seconds: 10_800.0, value: 1.0 };
        let new = Sample { time: 12_600, seconds: 1800.0, value: 8.0 };
        assert!((Figures::of(&[old, new]).unwrap().mean - 2.0).abs() < 1e-9);
    }

    #[test]
    fn up_and_down_is_no_trend_and_a_flat_line_is_steady() {
        let waves: Vec<f64> =
            (0..200).map(|nth| 10.0 + 5.0 * (f64::from(nth) / 8.0).sin()).collect();
        assert_eq!(Figures::of(&series(&waves)).unwrap().trend, Trend::None);
        assert_eq!(Figures::of(&series(&[7.0; 20])).unwrap().trend, Trend::Steady);
        assert_eq!(Figures::of(&series(&[0.0; 20])).unwrap().trend, Trend::Steady);
        assert_eq!(Figures::of(&series(&[1.0, 9.0])).unwrap().trend, Trend::None);
    }

    /// Figures between -1 and 1 that follow from a seed and have no order.
    fn noise(seed: u64, n: usize) -> impl Iterator<Item = f64> {
        let mut state = seed;
        let next = move || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            f64::from(u32::try_from(mixed >> 32).unwrap()) / f64::from(u32::MAX) * 2.0 - 1.0
        };
        std::iter::repeat_with(next).take(n)
    }

    /// So many samples of whole waves around 30, the phase in turns.
    fn waves(n: u32, periods: u32, phase: f64) -> Vec<f64> {
        let turns = |nth: u32| f64::from(nth * periods) / f64::from(n) + phase;
        (0..n).map(|nth| 30.0 + 9.0 * (turns(nth) * std::f64::consts::TAU).sin()).collect()
    }

    fn share_of_trends(series: impl Iterator<Item = Vec<Sample>>) -> (u32, u32) {
        series.fold((0, 0), |(told, all), samples| {
            let is_told = matches!(Figures::of(&samples).unwrap().trend, Trend::Change { .. });
            (told + u32::from(is_told), all + 1)
        })
    }

    #[test]
    fn figures_without_order_have_hardly_ever_a_trend() {
        let of =
            |n: usize| (0..2000).map(move |seed| series(&noise(seed << 20, n).collect::<Vec<_>>()));
        for n in [ENOUGH, 12, FEW] {
            let (told, all) = share_of_trends(of(n));
            assert!(told * 100 < all, "{told} of {all} of {n} samples");
        }
        assert_eq!(share_of_trends(of(60)).0, 0);
    }

    #[test]
    fn a_line_with_some_noise_and_a_jump_are_told() {
        let line = |seed: u64| -> Vec<f64> {
            let noise = noise(seed << 20, 60);
            (0..).zip(noise).map(|(nth, noise)| f64::from(nth) / 6.0 + noise).collect()
        };
        let lines = (0..500).map(|seed| series(&line(seed)));
        assert_eq!(share_of_trends(lines), (500, 500));
        let jump: Vec<f64> = (0..60).map(|nth| if nth < 30 { 10.0 } else { 20.0 }).collect();
        let Trend::Change { whole, .. } = Figures::of(&series(&jump)).unwrap().trend else {
            panic!()
        };
        assert!(whole > 0.0);
    }

    proptest! {
        #[test]
        fn a_line_is_told_with_its_size(
            (n, from, by) in (8_u32..300, -1e6_f64..1e6, prop_oneof![-1e6_f64..-1.0, 1.0..1e6]),
        ) {
            prop_assume!(by.abs() > from.abs() * 0.05);
            let line = (0..n).map(|nth| from + by * f64::from(nth) / f64::from(n - 1));
            let trend = Figures::of(&series(&line.collect::<Vec<_>>())).unwrap().trend;
            let Trend::Change { whole, .. } = trend else { panic!("{trend:?}") };
            prop_assert!((whole - by).abs() < by.abs() * 1e-6, "{} {}", whole, by);
        }

        #[test]
        fn whole_waves_have_no_trend_wherever_they_begin(
            (n, periods, phase, seed) in (24_u32..400, 1_u32..6, 0.0_f64..1.0, any::<u64>()),
        ) {
            let waves = waves(n, periods, phase);
            prop_assert_eq!(Figures::of(&series(&waves)).unwrap().trend, Trend::None);
            let noisy = waves.iter().zip(noise(seed, waves.len())).map(|(wave, noise)| wave + noise / 2.0);
            let noisy = series(&noisy.collect::<Vec<_>>());
            prop_assert_eq!(Figures::of(&noisy).unwrap().trend, Trend::None);
        }

        #[test]
        fn figures_are_in_order_whatever_comes(values in prop::collection::vec(-1e15_f64..1e15, 1..60)) {
            let figures = Figures::of(&series(&values)).unwrap();
            let slack = figures.max.abs().max(figures.min.abs()) * 1e-9 + 1e-9;
            prop_assert!(figures.min <= figures.mean + slack && figures.mean <= figures.max + slack);
            prop_assert!(figures.min <= figures.p95 && figures.p95 <= figures.max);
        }
    }
}
