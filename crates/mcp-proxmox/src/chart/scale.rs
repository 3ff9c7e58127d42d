//! The scale of figures: from where to where, and which figures are written beside it.

use super::Panel;
use crate::history::Unit;

/// About so many figures are written beside a panel.
const TICKS: f64 = 4.0;

/// A scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    least: f64,
    most: f64,
    step: f64,
    unit: Unit,
}

impl Scale {
    /// The scale that shows everything in a panel.
    pub(super) fn of(panel: &Panel<'_>) -> Self {
        let figures = panel.lines.iter().flat_map(|line| line.samples.iter().chain(line.peaks));
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        // What is absurdly large would only break the arithmetic.
        for value in figures.map(|sample| sample.value.clamp(-1e18, 1e18)) {
            (least, most) = (least.min(value), most.max(value));
        }
        if !panel.is_enlarged {
            least = least.min(0.0);
            most = most.max(panel.limit.unwrap_or(0.0)).max(smallest(panel.unit));
        }
        if !(least.is_finite() && most.is_finite()) {
            return Self::nothing();
        }
        if most - least < most.abs() * 1e-9 + 1e-9 {
            // A flat line, in the middle.
            let around = most.abs() * 0.05 + smallest(panel.unit);
            (least, most) = (least - around, most + around);
        }
        // Nothing is above all of something, but a percentage may only look so.
        if panel.unit == Unit::Percent && !panel.is_enlarged && most > 60.0 {
            most = most.max(100.0);
        }
        let step = step((most - least) / TICKS, panel.unit, most);
        let least = (least / step + 1e-6).floor() * step;
        let is_fixed = panel.limit.is_some_and(|limit| limit >= most * 0.999) && !panel.is_enlarged;
        // A limit is the upper edge, with a little room for its line.
        let most = if is_fixed { most * 1.04 } else { (most / step - 1e-6).ceil() * step };
        Self { least, most, step, unit: panel.unit }
    }

    /// A scale for where nothing is measured.
    pub(super) fn nothing() -> Self {
        Self { least: 0.0, most: 1.0, step: 1.0, unit: Unit::Number }
    }

    /// Where a figure is, from 0 at the bottom to 1 at the top.
    pub(super) fn share(&self, value: f64) -> f64 {
        (value - self.least) / (self.most - self.least)
    }

    /// Whether a figure is on the scale.
    pub(super) fn shows(&self, value: f64) -> bool {
        (0.0..=1.0).contains(&self.share(value))
    }

    /// The figures that are written beside it.
    pub(super) fn ticks(self) -> impl Iterator<Item = f64> {
        (0..12_u32)
            .map(move |nth| self.least + self.step * f64::from(nth))
            .take_while(move |value| *value <= self.most + self.step * 1e-6)
    }

    /// How a figure is written beside it: all in one unit, with the digits that tell them apart.
    pub(super) fn label(&self, value: f64) -> String {
        let (size, unit) = match self.unit {
            Unit::Percent => (1.0, "%"),
            Unit::Number => (1.0, ""),
            Unit::Bytes | Unit::BytesPerSecond => binary(self.most.max(-self.least)),
        };
        let second = if self.unit == Unit::BytesPerSecond { "/s" } else { "" };
        format!("{:.*}{unit}{second}", digits(self.step / size), value / size)
    }
}

/// The largest unit of which there is at least one.
fn binary(most: f64) -> (f64, &'static str) {
    let units = [" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"];
    let sizes = std::iter::successors(Some(1.0_f64), |size| Some(size * 1024.0));
    let fitting = sizes.zip(units).take_while(|(size, _)| *size <= most.max(1.0));
    fitting.last().unwrap_or((1.0, " B"))
}

/// How many digits after the point tell figures apart that differ by this.
fn digits(step: f64) -> usize {
    let is_whole = |step: f64| (step - step.round()).abs() < 1e-6;
    let scales = [1.0, 10.0, 100.0];
    scales.iter().position(|scale| is_whole(step * scale)).unwrap_or(3)
}

/// Below this a scale does not go, so that noise around zero does not look like a load.
fn smallest(unit: Unit) -> f64 {
    match unit {
        Unit::Percent => 2.0,
        Unit::Bytes => 1024.0 * 1024.0,
        Unit::BytesPerSecond => 1024.0,
        Unit::Number => 0.2,
    }
}

/// The round number at or above `rough`, round in the unit that figures up to `most` are written in: for
/// bytes a power of two where it is whole, and otherwise 1, 2, 2.5 or 5 times a power of ten.
fn step(rough: f64, unit: Unit, most: f64) -> f64 {
    let is_bytes = matches!(unit, Unit::Bytes | Unit::BytesPerSecond);
    let size = if is_bytes { binary(most).0 } else { 1.0 };
    let rough = rough / size;
    if is_bytes && rough > 1.0 {
        let mut step = 2.0;
        while step < rough * 0.999 && step < 1e18 {
            step *= 2.0;
        }
        return step * size;
    }
    let mut magnitude = 1.0;
    while rough > magnitude * 10.0 && magnitude < 1e18 {
        magnitude *= 10.0;
    }
    while rough <= magnitude && magnitude > 1e-6 {
        magnitude /= 10.0;
    }
    let found =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|step| magnitude * step >= rough * 0.999);
    magnitude * found.unwrap_or(10.0) * size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chart::Line, history::Sample};

    const GIB: f64 = 1_073_741_824.0;
    const TIB: f64 = 1024.0 * GIB;

    fn scale(values: &[f64], unit: Unit, limit: Option<f64>, is_enlarged: bool) -> Vec<String> {
        let samples: Vec<Sample> =
            values.iter().map(|value| Sample { time: 0, seconds: 60.0, value: *value }).collect();
        let lines = vec![Line { name: String::new(), samples: &samples, peaks: &[] }];
        let scale = Scale::of(&Panel { title: "", unit, limit, is_enlarged, lines });
        scale.ticks().map(|value| scale.label(value)).collect()
    }

    #[test]
    fn figures_beside_a_scale_are_round() {
        assert_eq!(
            scale(&[3.3, 17.0], Unit::Percent, None, false),
            ["0%", "5%", "10%", "15%", "20%"]
        );
        assert_eq!(scale(&[91.0], Unit::Percent, None, false), ["0%", "25%", "50%", "75%", "100%"]);
        assert_eq!(scale(&[0.3], Unit::Number, None, false), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(
            scale(&[26.0 * GIB], Unit::Bytes, Some(32.0 * GIB), false),
            ["0 GiB", "8 GiB", "16 GiB", "24 GiB", "32 GiB"]
        );
        assert_eq!(
            scale(&[1_500_000.0], Unit::BytesPerSecond, None, false),
            ["0.0 MiB/s", "0.5 MiB/s", "1.0 MiB/s", "1.5 MiB/s"]
        );
        assert_eq!(
            scale(&[0.0], Unit::Percent, None, false),
            ["0.0%", "0.5%", "1.0%", "1.5%", "2.0%"]
        );
    }

    #[test]
    fn an_enlarged_scale_begins_near_the_smallest_figure() {
        let labels = scale(&[1000.0, 1010.0], Unit::Number, None, true);
        assert_eq!(labels.first().map(String::as_str), Some("1000.0"), "{labels:?}");
        let labels = scale(&[11.26 * TIB, 11.39 * TIB], Unit::Bytes, None, true);
        assert_eq!(labels, ["11.25 TiB", "11.30 TiB", "11.35 TiB", "11.40 TiB"]);
    }
}
