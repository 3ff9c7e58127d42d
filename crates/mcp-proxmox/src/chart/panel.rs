//! One panel: its axes, its lines, its legend.

use super::{
    INK, Line, PALE_INK, Panel, WIDTH,
    canvas::{Canvas, Colour},
    scale::Scale,
    time::Tick,
};
use crate::history::Sample;

const LEFT: f64 = 84.0;
const RIGHT: f64 = 18.0;
const ABOVE: f64 = 32.0;
const HEIGHT: f64 = 106.0;
const SMALL: f64 = 12.0;

const GRID: Colour = Colour::rgb(0xe6, 0xe9, 0xec);
const AXIS: Colour = Colour::rgb(0x8c, 0x95, 0x9f);
const GAP: Colour = Colour::rgb(0xf1, 0xf2, 0xf4);
/// Apart for people who see colours differently, too (Okabe and Ito).
const LINES: [Colour; 4] = [
    Colour::rgb(0x00, 0x72, 0xb2),
    Colour::rgb(0xd5, 0x5e, 0x00),
    Colour::rgb(0x00, 0x9e, 0x73),
    Colour::rgb(0xb0, 0x5a, 0x8c),
];

/// Where things are in a panel.
struct Frame {
    from: i64,
    to: i64,
    bottom: f64,
    scale: Scale,
}

impl Frame {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a share of a time span is as exact as pixels need"
    )]
    fn x(&self, time: i64) -> f64 {
        let whole = self.to.saturating_sub(self.from).max(1) as f64;
        let share = time.saturating_sub(self.from) as f64 / whole;
        LEFT + share.clamp(0.0, 1.0) * (f64::from(WIDTH) - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.scale.share(value).clamp(0.0, 1.0) * HEIGHT
    }
}

/// Draws a panel whose upper edge is at `top`.
pub(super) fn draw(
    canvas: &mut Canvas,
    panel: &Panel<'_>,
    (from, to): (i64, i64),
    ticks: &[Tick],
    top: f64,
) {
    let frame = Frame { from, to, bottom: top + ABOVE + HEIGHT, scale: Scale::of(panel) };
    let (left, right) = (LEFT, f64::from(WIDTH) - RIGHT);
    for (begin, end) in gaps(&panel.lines, (from, to)) {
        let (x, width) = (frame.x(begin), frame.x(end) - frame.x(begin));
        canvas.fill(x, frame.bottom - HEIGHT, width, HEIGHT, GAP);
    }
    for tick in ticks {
        let x = frame.x(tick.time).round() + 0.5;
        canvas.line(&[(x, frame.bottom - HEIGHT), (x, frame.bottom)], 1.0, GRID);
    }
    for value in frame.scale.ticks() {
        let y = frame.y(value).round() + 0.5;
        canvas.line(&[(left, y), (right, y)], 1.0, GRID);
        canvas.text_right(&frame.scale.label(value), left - 8.0, y + 4.0, SMALL, PALE_INK);
    }
    for (begin, end) in gaps(&panel.lines, (from, to)) {
        gap_label(canvas, &frame, (begin, end));
    }
    for (line, colour) in panel.lines.iter().zip(LINES) {
        for run in runs(line.peaks) {
            let points = frame.points(run);
            canvas.line(&points, 1.0, colour.with_alpha(0x66));
        }
        for run in runs(line.samples) {
            let points = frame.points(run);
            if panel.lines.len() == 1 && !panel.is_enlarged {
                canvas.area(&points, frame.bottom, colour.with_alpha(0x20));
            }
            // Noise in a thick line would be a block.
            let width = if is_dense(&points) { 1.1 } else { 1.8 };
            canvas.line(&points, width, colour);
        }
    }
    if let Some(limit) = panel.limit.filter(|limit| frame.scale.shows(*limit)) {
        let y = frame.y(limit).round() + 0.5;
        canvas.dashes(&[(left, y), (right, y)], AXIS);
    }
    canvas.line(&[(left, frame.bottom + 0.5), (right, frame.bottom + 0.5)], 1.0, AXIS);
    legend(canvas, panel, top);
}

/// Whether there is more than a point in two pixels.
fn is_dense(points: &[(f64, f64)]) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "some thousand points")]
    let n_points = points.len() as f64;
    let reach = points.first().zip(points.last()).map_or(0.0, |(first, last)| last.0 - first.0);
    n_points > reach / 2.0
}

fn gap_label(canvas: &mut Canvas, frame: &Frame, (begin, end): (i64, i64)) {
    let (left, right) = (frame.x(begin), frame.x(end));
    let (label, width) = ("no data", canvas.width("no data", SMALL));
    if right - left > width + 24.0 {
        let (x, y) = ((left + right - width) / 2.0, frame.bottom - HEIGHT / 2.0);
        canvas.fill(x - 4.0, y - 11.0, width + 8.0, 16.0, GAP);
        canvas.text(label, x, y, SMALL, AXIS);
    }
}

/// The title on the left, the names of the lines on the right.
fn legend(canvas: &mut Canvas, panel: &Panel<'_>, top: f64) {
    let y = top + 16.0;
    canvas.text(panel.title, 18.0, y, 13.5, INK);
    let mut x = f64::from(WIDTH) - RIGHT;
    for (line, colour) in panel.lines.iter().zip(LINES).rev() {
        x -= canvas.width(&line.name, SMALL);
        canvas.text(&line.name, x, y, SMALL, INK);
        x -= 20.0;
        canvas.line(&[(x + 1.0, y - 4.0), (x + 14.0, y - 4.0)], 3.0, colour);
        x -= 16.0;
    }
}

/// The times, below the last panel.
pub(super) fn time_labels(canvas: &mut Canvas, (from, to): (i64, i64), ticks: &[Tick], top: f64) {
    let frame = Frame { from, to, bottom: top, scale: Scale::nothing() };
    let mut free_from = 0.0;
    for tick in ticks {
        let width = canvas.width(&tick.label, SMALL);
        let x = (frame.x(tick.time) - width / 2.0).min(f64::from(WIDTH) - 6.0 - width);
        if x >= free_from {
            canvas.text(&tick.label, x, top + 2.0, SMALL, PALE_INK);
            free_from = x + width + 8.0;
        }
    }
}

impl Frame {
    fn points(&self, run: &[Sample]) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> =
            run.iter().map(|sample| (self.x(sample.time), self.y(sample.value))).collect();
        // One point alone would not be seen.
        if let [(x, y)] = points.as_slice() {
            points.push((x + 2.0, *y));
        }
        points
    }
}

/// The parts of a series between which something is missing.
fn runs(samples: &[Sample]) -> impl Iterator<Item = &[Sample]> {
    samples.chunk_by(|before, after| {
        #[expect(clippy::cast_precision_loss, reason = "a few seconds more or less do not matter")]
        let passed = after.time.saturating_sub(before.time) as f64;
        passed <= after.seconds.max(before.seconds) * 1.6
    })
}

/// The spans in which no line is known.
fn gaps(lines: &[Line<'_>], (from, to): (i64, i64)) -> Vec<(i64, i64)> {
    let mut known: Vec<(i64, i64)> = lines
        .iter()
        .flat_map(|line| runs(line.samples))
        .filter_map(|run| Some((run.first()?.time, run.last()?.time)))
        .collect();
    known.sort_unstable();
    let whole = to.saturating_sub(from);
    let mut gaps = Vec::new();
    let mut reached = from;
    for (begin, end) in known.into_iter().chain([(to, to)]) {
        // What is narrower than a few pixels is no gap to look at.
        if begin.saturating_sub(reached) > whole / 60 {
            gaps.push((reached, begin));
        }
        reached = reached.max(end);
    }
    gaps
}
