//! What numbers say of a series: the usual figures, each weighted by time, and whether it rises.

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
const EXPLAINED: f64 = 0.3;
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
    if explained >= EXPLAINED && whole.abs() >= mean.abs() * NOTHING {
        return Trend::Change { whole, a_second };
    }
    let spread = (values / weight).sqrt();
    if spread <= mean.abs() * FLAT { Trend::Steady } else { Trend::None }
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

    proptest! {
        #[test]
        fn figures_are_in_order_whatever_comes(values in prop::collection::vec(-1e15_f64..1e15, 1..60)) {
            let figures = Figures::of(&series(&values)).unwrap();
            let slack = figures.max.abs().max(figures.min.abs()) * 1e-9 + 1e-9;
            prop_assert!(figures.min <= figures.mean + slack && figures.mean <= figures.max + slack);
            prop_assert!(figures.min <= figures.p95 && figures.p95 <= figures.max);
        }
    }
}
