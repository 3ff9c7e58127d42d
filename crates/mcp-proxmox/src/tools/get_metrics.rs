//! `get_metrics`: what the history of a node, a guest or a storage says, in numbers.
//!
//! From a day on, PVE keeps averages of many minutes, which hide every peak: the largest figure is then
//! taken from the largest that PVE has kept beside the averages.

use futures_util::join;
use pve_client::{
    Error, Observer, Reader,
    rrd::{self, Consolidation, Target},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answer::{Duration, Table},
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    history::{self, Figures, Gaps, History, Sample, Series, Trend, Unit},
    lookup::{self, target::Found},
    tier::Reads,
};

/// How long the largest figures may take, in seconds: the averages do without.
const PEAK_SECONDS: u64 = 12;

/// See the module's documentation.
#[derive(Debug)]
pub struct GetMetrics;

/// Of what, and how far back.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// A VM or container: vmid or name.
    vm: Option<String>,
    /// A node.
    node: Option<String>,
    /// A storage (and `node` unless shared).
    storage: Option<String>,
    /// How far back.
    #[serde(default)]
    timeframe: Timeframe,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Timeframe {
    #[default]
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// The figures.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// What it is the history of.
    of: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The time that one point stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution: Option<String>,
    points: usize,
    /// What is not known of that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    gaps: Option<String>,
    series: Table,
    /// What was zero all the time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    always_zero: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for GetMetrics {
    const NAME: &'static str = "get_metrics";
    const TITLE: &'static str = "Metrics";
    const DESCRIPTION: &'static str = "History of a VM or container, node or storage over an hour, day, week, month or year: min, mean, 95th \
        percentile, max, last and trend of CPU, memory, disk, network and pressure. As a picture: get_metrics_chart.";
    const TOOLSET: Toolset = Toolset::Metrics;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let past = Past::read(&pve, call, &input).await?;
        let mut output = Output::of(&past, call);
        if input.vm.is_some() && output.series.is_empty() && output.points > 0 {
            // One of two ways to say the same.
            output.gaps = None;
            output.notes.push(
                "no figures, as of a guest that did not run in this time (a template never does); get_vm_status tells its state"
                    .to_owned(),
            );
        }
        Ok(output)
    }
}

/// The history that was asked for.
#[derive(Debug)]
pub(super) struct Past {
    /// What it is the history of.
    pub(super) title: String,
    /// The same, as failures name it.
    pub(super) told: String,
    /// How far back, in words.
    pub(super) timeframe: &'static str,
    /// The points.
    pub(super) history: History,
    /// The series that hold anything.
    pub(super) series: Vec<Series>,
    peaks: Vec<Series>,
    notes: Vec<String>,
}

impl Past {
    /// Finds what was named and reads its history.
    pub(super) async fn read(pve: &Reader, call: &Call, input: &Input) -> Result<Self, Failure> {
        let (vm, node) = (input.vm.as_deref(), input.node.as_deref());
        let Found { target, title, told, note } =
            lookup::target::find(pve, vm, node, input.storage.as_deref()).await?;
        let timeframe = input.timeframe.pve();
        let (average, peaks) = join!(
            pve.get(rrd::history(&target, timeframe, Consolidation::Average)),
            peaks(pve, call, &target, input.timeframe),
        );
        let average = average
            .map_err(|error| Failure::from_pve(&format!("read the history of {told}"), &error))?;
        let history = History::new(average);
        let series = history::of(&target, &history);
        let mut notes: Vec<String> = note.into_iter().collect();
        let peaks = match peaks {
            Ok(points) => history::of(&target, &History::new(points)),
            Err(error) => {
                let failure = Failure::from_pve("read the peaks", &error);
                notes.push(format!("max is that of averages: {}", failure.what()));
                Vec::new()
            }
        };
        Ok(Self { title, told, timeframe: timeframe.as_str(), history, series, peaks, notes })
    }

    /// The figures of a series, with the true peak.
    pub(super) fn figures(&self, series: &Series) -> Option<Figures> {
        let mut figures = Figures::of(&series.samples)?;
        let peak = self.peaks.iter().find(|peak| peak.name == series.name);
        if let Some(peak) = peak.and_then(|peak| Figures::of(&peak.samples)) {
            figures.max = figures.max.max(peak.max);
        }
        Some(figures)
    }

    /// The largest figures behind the averages of this series, where they were read.
    pub(super) fn peaks_of(&self, name: &str) -> &[Sample] {
        let peaks = self.peaks.iter().find(|peaks| peaks.name == name);
        // Where a point is a minute, the largest is the average.
        peaks.filter(|_| self.has_peaks()).map_or(&[], |peaks| &peaks.samples)
    }

    /// Whether points stand for more than a minute, so that averages hide peaks.
    pub(super) fn has_peaks(&self) -> bool {
        let is_coarse = self.history.resolutions().last().is_some_and(|step| *step > 60);
        is_coarse && !self.peaks.is_empty()
    }

    /// What is not known, in words.
    pub(super) fn gaps(&self, call: &Call) -> Option<String> {
        let Some(gaps) = self.history.gaps() else {
            return Some("nothing is known of this time".to_owned());
        };
        gaps_in_words(&gaps, &self.history, call)
    }
}

async fn peaks(
    pve: &Reader,
    call: &Call,
    target: &Target,
    timeframe: Timeframe,
) -> Result<Vec<rrd::Point>, Error> {
    // In an hour each point is a minute, which is as fine as PVE measures.
    if timeframe == Timeframe::Hour {
        return Ok(Vec::new());
    }
    let request = rrd::history(target, timeframe.pve(), Consolidation::Max);
    pve.until(call.part(PEAK_SECONDS)).get(request).await
}

fn gaps_in_words(gaps: &Gaps, history: &History, call: &Call) -> Option<String> {
    let (begin, end) = history.span()?;
    let step = i64::try_from(*history.resolutions().first()?).ok()?;
    let mut words = Vec::new();
    // The first and the newest point are often not complete.
    if gaps.since > begin + step * 2 {
        words.push(format!("nothing before {}", call.time(gaps.since)?));
    }
    if gaps.until < end - step * 3 {
        words.push(format!("nothing after {}", call.time(gaps.until)?));
    }
    if gaps.inner > 0 {
        let longest = Duration(gaps.longest);
        words.push(format!(
            "{} points in between are missing, at most {longest} at once",
            gaps.inner
        ));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

impl Timeframe {
    fn pve(self) -> rrd::Timeframe {
        match self {
            Self::Hour => rrd::Timeframe::Hour,
            Self::Day => rrd::Timeframe::Day,
            Self::Week => rrd::Timeframe::Week,
            Self::Month => rrd::Timeframe::Month,
            Self::Year => rrd::Timeframe::Year,
        }
    }
}

impl Output {
    fn of(past: &Past, call: &Call) -> Self {
        let mut table = Table::new(&["series", "min", "mean", "p95", "max", "last", "of", "trend"]);
        let mut always_zero = Vec::new();
        for series in &past.series {
            let Some(figures) = past.figures(series) else { continue };
            if series.is_zero() && figures.max == 0.0 {
                always_zero.push(series.name);
                continue;
            }
            let show = |value| series.unit.show(value);
            table.push([
                series.name.into(),
                show(figures.min).into(),
                show(figures.mean).into(),
                show(figures.p95).into(),
                show(figures.max).into(),
                show(figures.last).into(),
                series.limit.map(show).into(),
                trend(figures.trend, series.unit).into(),
            ]);
        }
        let span = past.history.span();
        let resolutions: Vec<String> = past
            .history
            .resolutions()
            .into_iter()
            .map(|seconds| Duration(seconds).to_string())
            .collect();
        Self {
            of: format!("{}, last {}", past.told, past.timeframe),
            from: span.and_then(|(from, _)| call.time(from)),
            to: span.and_then(|(_, to)| call.time(to)),
            resolution: (!resolutions.is_empty()).then(|| resolutions.join(", then ")),
            points: past.history.len(),
            gaps: past.gaps(call),
            series: table,
            always_zero,
            notes: past.notes.clone(),
        }
    }
}

/// Where a series goes, in words. `None` where it only goes up and down.
pub(super) fn trend(trend: Trend, unit: Unit) -> Option<String> {
    let Trend::Change { whole, .. } = trend else {
        return (trend == Trend::Steady).then(|| "steady".to_owned());
    };
    let word = if whole > 0.0 { "rising" } else { "falling" };
    let change = match unit {
        // Percent of percent would be another thing.
        Unit::Percent => format!("{:.1} points", whole.abs()),
        _ => unit.show(whole.abs()),
    };
    Some(format!("{word} by {change}"))
}
