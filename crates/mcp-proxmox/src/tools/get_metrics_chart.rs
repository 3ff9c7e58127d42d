//! `get_metrics_chart`: the history of a node, a guest or a storage as a picture.
//!
//! What it shows is what `get_metrics` says; the text beside the picture has the figures that matter, for
//! clients and models that see no pictures.

use pve_client::Observer;

use super::get_metrics::{Input, Past};
use crate::{
    answer::Picture,
    call::Call,
    catalog::{Tool, Toolset},
    chart::{self, Chart, Line, Panel},
    failure::Failure,
    history::{Sample, Series, Unit},
    tier::Reads,
};

/// See the module's documentation.
#[derive(Debug)]
pub struct GetMetricsChart;

impl Tool for GetMetricsChart {
    const NAME: &'static str = "get_metrics_chart";
    const TITLE: &'static str = "Metrics chart";
    const DESCRIPTION: &'static str = "The history of a VM or container, node or storage as a picture (PNG): CPU, memory, disk, network over an hour, \
        day, week, month or year. For exact numbers use get_metrics.";
    const TOOLSET: Toolset = Toolset::Metrics;

    type Effect = Reads;
    type Input = Input;
    type Output = Picture;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Picture, Failure> {
        let past = Past::read(&pve, call, &input).await?;
        let nothing = || {
            Failure::new(format!("nothing is known of {} in the last {}", past.told, past.timeframe))
                .hint("it did not run, its node was off, or PVE has just begun to count; a longer `timeframe` may show more")
        };
        let (from, to) = past.history.span().ok_or_else(nothing)?;
        let chart = Chart {
            title: past.title.clone(),
            subtitle: subtitle(&past, call, (from, to)),
            from,
            to,
            foot: foot(&past),
            panels: panels(&past),
        };
        let png = chart::draw(&chart, &call.zone).ok_or_else(nothing)?;
        Ok(Picture { text: in_words(&past, call, chart.panels.len()), png })
    }
}

fn subtitle(past: &Past, call: &Call, (from, to): (i64, i64)) -> String {
    let time = |time: i64| {
        let moment = jiff::Timestamp::from_second(time).ok()?.to_zoned_datetime(call.zone.clone());
        Some(moment.strftime("%-d %b %Y %H:%M").to_string())
    };
    let zone = call.zone.iana_name().unwrap_or("local time");
    match (time(from), time(to)) {
        (Some(from), Some(to)) => format!("last {}: {from} to {to} ({zone})", past.timeframe),
        _ => format!("last {}", past.timeframe),
    }
}

fn foot(past: &Past) -> String {
    let step = past.history.resolutions().last().map(|seconds| crate::answer::Duration(*seconds));
    match step {
        Some(step) if past.has_peaks() => {
            format!("averages over {step}; pale: the largest figure within each")
        }
        Some(step) => format!("averages over {step}"),
        None => String::new(),
    }
}

/// Which series are in which panel, from the top.
const PANELS: [(&str, &[&str]); 8] = [
    ("CPU", &["cpu", "iowait"]),
    ("Load", &["load"]),
    ("Memory", &["memory", "memory_on_host", "swap"]),
    ("Disk use", &["root_disk", "disk", "used"]),
    ("Network", &["net_in", "net_out"]),
    ("Disk I/O", &["disk_read", "disk_write"]),
    ("Pressure", &["cpu_pressure", "io_pressure", "memory_pressure"]),
    ("Use, enlarged", &["used"]),
];
/// More panels than this are not read.
const MOST: usize = 5;

fn panels(past: &Past) -> Vec<Panel<'_>> {
    let panel = |(title, names): &(&'static str, &[&str])| {
        let series: Vec<&Series> = names
            .iter()
            .filter_map(|name| past.series.iter().find(|series| series.name == *name))
            .collect();
        let first = series.first()?;
        // A line at zero says nothing where there is another.
        let is_told = |series: &&&Series| !series.is_zero() || series.name == first.name;
        let lines = series.iter().filter(is_told).map(|series| Line {
            name: legend(past, series),
            samples: &series.samples,
            peaks: past.peaks_of(series.name),
        });
        let is_enlarged = *title == "Use, enlarged";
        if is_enlarged && !is_small(past, first) {
            return None;
        }
        Some(Panel {
            title,
            unit: first.unit,
            // The load goes beyond the processors, so that their number is no limit.
            limit: first.limit.filter(|_| first.unit == Unit::Bytes && !is_enlarged),
            is_enlarged,
            lines: lines.collect(),
        })
    };
    let mut panels: Vec<Panel<'_>> = PANELS.iter().filter_map(panel).collect();
    let is_quiet = |panel: &Panel<'_>| {
        panel
            .lines
            .iter()
            .all(|line| line.samples.iter().all(|sample: &Sample| sample.value == 0.0))
    };
    // What was zero all the time needs no picture, unless everything was.
    if !panels.iter().all(&is_quiet) {
        panels.retain(|panel| !is_quiet(panel));
    }
    panels.truncate(MOST);
    panels
}

/// Whether a series moves so little that it is a straight line on a scale that shows all there is.
fn is_small(past: &Past, series: &Series) -> bool {
    let moves = past.figures(series).map(|figures| figures.max - figures.min);
    moves.zip(series.limit).is_some_and(|(moves, limit)| moves > 0.0 && moves < limit * 0.25)
}

fn legend(past: &Past, series: &Series) -> String {
    let name = series.name.replace('_', " ");
    let Some(figures) = past.figures(series) else { return name };
    let show = |value| series.unit.show(value);
    match series.limit {
        Some(limit) if series.unit == Unit::Bytes => {
            format!("{name} last {} of {}", show(figures.last), show(limit))
        }
        _ => format!("{name} mean {}, max {}", show(figures.mean), show(figures.max)),
    }
}

fn in_words(past: &Past, call: &Call, n_panels: usize) -> String {
    let figures = past.series.iter().filter(|series| !series.is_zero()).filter_map(|series| {
        let figures = past.figures(series)?;
        let show = |value| series.unit.show(value);
        Some(format!(
            "{}: mean {}, max {}, last {}",
            series.name,
            show(figures.mean),
            show(figures.max),
            show(figures.last)
        ))
    });
    let figures = figures.collect::<Vec<_>>().join("\n");
    let gaps = past.gaps(call).map(|gaps| format!("\ngaps: {gaps}")).unwrap_or_default();
    format!(
        "{}, last {}: a chart {} pixels wide, panels: {n_panels}.\n{figures}{gaps}",
        past.told,
        past.timeframe,
        chart::WIDTH
    )
}
