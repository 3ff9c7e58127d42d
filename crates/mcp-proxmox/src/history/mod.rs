//! Histories: points of PVE's round-robin databases as series, and what numbers say of them.
//!
//! **The time of each point counts, not its place**: after an upgrade from PVE 8 to 9 points that stand for
//! three hours are followed by points that stand for thirty minutes, so that every figure weighs as much
//! as the time that it stands for. **A point that is not known is a gap**, never a zero.

mod figures;
mod series;

pub use figures::{Figures, Trend};
pub use series::{Series, Unit, of};

use pve_client::rrd::Point;

use crate::in_order::InOrder as _;

/// The points of a history in the order of their times, each with the seconds that it stands for.
#[derive(Clone, Debug, Default)]
pub struct History {
    points: Vec<(i64, f64, Point)>,
}

/// One known figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When, in seconds since 1970: the end of the span that it stands for.
    pub time: i64,
    /// For how many seconds it stands.
    pub seconds: f64,
    /// The figure.
    pub value: f64,
}

/// What is known of a time span, and what is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gaps {
    /// How many points are not known between the first and the last that are.
    pub inner: usize,
    /// The longest of these gaps, in seconds.
    pub longest: u64,
    /// Since when there is anything.
    pub since: i64,
    /// Until when there is anything.
    pub until: i64,
}

impl History {
    /// Puts the points in order.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "times are whole seconds of this century"
    )]
    pub fn new(points: Vec<Point>) -> Self {
        let mut timed: Vec<(i64, f64, Point)> = points
            .into_iter()
            .filter_map(|point| {
                let time = *point.get("time")?;
                (time > 0.0 && time < 1e11).then_some((time as i64, 0.0, point))
            })
            .collect();
        timed.order_by_key(|(time, ..)| *time);
        timed.dedup_by_key(|(time, ..)| *time);
        let times: Vec<i64> = timed.iter().map(|(time, ..)| *time).collect();
        let steps: Vec<i64> =
            times.windows(2).filter_map(|pair| Some(pair.get(1)? - pair.first()?)).collect();
        // The first point has none before it; it stands for as long as the second.
        let first = steps.first().copied().unwrap_or(60);
        for ((_, seconds, _), step) in timed.iter_mut().zip([first].iter().chain(&steps)) {
            *seconds = *step as f64;
        }
        Self { points: timed }
    }

    /// How many points there are, known or not.
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// When the first and the last point are.
    pub fn span(&self) -> Option<(i64, i64)> {
        Some((self.points.first()?.0, self.points.last()?.0))
    }

    /// The seconds between points, from the longest to the shortest; there are several after an upgrade.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "made of whole seconds"
    )]
    pub fn resolutions(&self) -> Vec<u64> {
        let mut steps: Vec<u64> =
            self.points.iter().map(|(_, seconds, _)| *seconds as u64).collect();
        steps.sort_unstable_by(|a, b| b.cmp(a));
        steps.dedup();
        steps
    }

    /// The figures that are known, as `pick` takes them from a point.
    pub fn samples(&self, pick: impl Fn(&Point) -> Option<f64>) -> Vec<Sample> {
        let known = self.points.iter().filter_map(|(time, seconds, point)| {
            let value = pick(point).filter(|value| value.is_finite())?;
            Some(Sample { time: *time, seconds: *seconds, value })
        });
        known.collect()
    }

    /// What is not known. `None` where nothing is known at all.
    pub fn gaps(&self) -> Option<Gaps> {
        // What is constant, such as a guest's limits, is there although the guest did not run.
        let is_known = |point: &Point| {
            point.keys().any(|key| key != "time" && !key.starts_with("max") && key != "total")
        };
        let known: Vec<bool> = self.points.iter().map(|(_, _, point)| is_known(point)).collect();
        let first = known.iter().position(|known| *known)?;
        let last = known.iter().rposition(|known| *known)?;
        let (mut inner, mut run, mut longest) = (0, 0.0_f64, 0.0_f64);
        for ((_, seconds, _), known) in
            self.points.iter().zip(&known).skip(first).take(last - first)
        {
            if *known {
                run = 0.0;
            } else {
                inner += 1;
                run += seconds;
                longest = longest.max(run);
            }
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "made of whole seconds"
        )]
        let longest = longest as u64;
        let time = |at: usize| self.points.get(at).map(|(time, ..)| *time);
        Some(Gaps { inner, longest, since: time(first)?, until: time(last)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(time: f64, figures: &[(&str, f64)]) -> Point {
        let figures = figures.iter().map(|(name, value)| ((*name).to_owned(), *value));
        figures.chain([("time".to_owned(), time)]).collect()
    }

    #[test]
    fn a_point_stands_for_the_time_since_the_one_before() {
        let cpu = |time, value| point(time, &[("cpu", value)]);
        let history =
            History::new(vec![cpu(21_600.0, 0.2), cpu(10_800.0, 0.1), cpu(23_400.0, 0.3)]);
        let samples = history.samples(|point| point.get("cpu").copied());
        let spans: Vec<f64> = samples.iter().map(|sample| sample.seconds).collect();
        assert_eq!(spans, [10_800.0, 10_800.0, 1800.0]);
        assert_eq!(history.resolutions(), [10_800, 1800]);
        assert_eq!(history.span(), Some((10_800, 23_400)));
    }

    #[test]
    fn gaps_inside_are_counted_and_those_at_the_ends_are_no_gaps() {
        let history = History::new(vec![
            point(60.0, &[]),
            point(120.0, &[("cpu", 0.1)]),
            point(180.0, &[("maxcpu", 2.0)]),
            point(240.0, &[]),
            point(300.0, &[("cpu", 0.1)]),
            point(360.0, &[]),
        ]);
        let gaps = history.gaps().unwrap();
        assert_eq!((gaps.inner, gaps.longest, gaps.since, gaps.until), (2, 120, 120, 300));
        assert_eq!(History::new(vec![point(60.0, &[])]).gaps(), None);
    }
}
