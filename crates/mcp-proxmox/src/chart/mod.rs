//! Pictures of histories: panels below each other, one for what is measured in the same unit.
//!
//! **The background is opaque**, so that a picture reads the same in light and dark clients, and everything
//! in it is drawn here: the font is compiled in, nothing of the system is used. **A gap is a gap**: the line
//! breaks where nothing is known, and the place is shaded.

mod canvas;
mod panel;
mod scale;
mod time;

use jiff::tz::TimeZone;

use self::canvas::{Canvas, Colour};
use crate::history::{Sample, Unit};

/// How wide a picture is, in pixels.
pub const WIDTH: u32 = 800;
const HEAD: f64 = 58.0;
const PANEL: f64 = 152.0;
const FOOT: f64 = 34.0;

const INK: Colour = Colour::rgb(0x1f, 0x23, 0x28);
const PALE_INK: Colour = Colour::rgb(0x57, 0x60, 0x6a);
const PAPER: Colour = Colour::rgb(0xff, 0xff, 0xff);
const FRAME: Colour = Colour::rgb(0xd0, 0xd7, 0xde);

/// What a picture shows.
#[derive(Debug)]
pub struct Chart<'a> {
    /// What it is the history of.
    pub title: String,
    /// From when to when, in words.
    pub subtitle: String,
    /// When it begins, in seconds since 1970.
    pub from: i64,
    /// When it ends.
    pub to: i64,
    /// What is below the last panel.
    pub foot: String,
    /// The panels, from the top.
    pub panels: Vec<Panel<'a>>,
}

/// What is measured in one unit.
#[derive(Debug)]
pub struct Panel<'a> {
    /// What it shows.
    pub title: &'static str,
    /// What it is measured in.
    pub unit: Unit,
    /// How much of it there is, where that is worth a line.
    pub limit: Option<f64>,
    /// Whether the scale begins at the smallest figure and not at zero.
    pub is_enlarged: bool,
    /// The lines, of which there are at most four.
    pub lines: Vec<Line<'a>>,
}

/// One line.
#[derive(Debug)]
pub struct Line<'a> {
    /// Its name in the legend.
    pub name: String,
    /// Its figures.
    pub samples: &'a [Sample],
    /// The largest figures behind averages, drawn paler.
    pub peaks: &'a [Sample],
}

/// Draws a chart as PNG. `None` where it has no panel, or is too large to be drawn.
pub fn draw(chart: &Chart<'_>, zone: &TimeZone) -> Option<Vec<u8>> {
    let panels: Vec<&Panel<'_>> = chart.panels.iter().filter(|panel| panel.has_figures()).collect();
    let n_panels =
        u32::try_from(panels.len()).ok().filter(|n_panels| (1..=8).contains(n_panels))?;
    let height = HEAD + PANEL * f64::from(n_panels) + FOOT;
    let mut canvas = Canvas::new(f64::from(WIDTH), height, PAPER)?;
    canvas.frame(0.5, 0.5, f64::from(WIDTH) - 1.0, height - 1.0, FRAME);
    canvas.text(&chart.title, 18.0, 28.0, 17.0, INK);
    canvas.text(&chart.subtitle, 18.0, 47.0, 12.5, PALE_INK);
    let ticks = time::ticks(chart.from, chart.to, zone);
    let mut top = HEAD;
    for panel in &panels {
        panel::draw(&mut canvas, panel, (chart.from, chart.to), &ticks, top);
        top += PANEL;
    }
    panel::time_labels(&mut canvas, (chart.from, chart.to), &ticks, top);
    canvas.text_right(&chart.foot, f64::from(WIDTH) - 16.0, height - 8.0, 11.5, PALE_INK);
    canvas.png()
}

impl Panel<'_> {
    fn has_figures(&self) -> bool {
        self.lines.iter().any(|line| !line.samples.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: &[f64]) -> Vec<Sample> {
        let sample =
            |(nth, value): (i64, &f64)| Sample { time: nth * 60, seconds: 60.0, value: *value };
        (1..).zip(values).map(sample).collect()
    }

    fn chart(samples: &[Sample], n_panels: usize) -> Chart<'_> {
        let panel = || Panel {
            title: "CPU",
            unit: Unit::Percent,
            limit: None,
            is_enlarged: false,
            lines: vec![Line { name: "cpu".to_owned(), samples, peaks: &[] }],
        };
        Chart {
            title: "node pve1".to_owned(),
            subtitle: "last hour".to_owned(),
            from: 0,
            to: 3600,
            foot: String::new(),
            panels: (0..n_panels).map(|_| panel()).collect(),
        }
    }

    #[test]
    fn a_picture_is_a_png_of_the_width_that_clients_show() {
        let samples = samples(&[1.0, 5.0, 3.0]);
        let png = draw(&chart(&samples, 2), &TimeZone::UTC).unwrap();
        let decoder = png::Decoder::new(std::io::Cursor::new(&png));
        let info = decoder.read_info().unwrap();
        assert_eq!((info.info().width, info.info().height), (800, 396));
        assert_eq!(info.info().color_type, png::ColorType::Rgb, "no transparency");
    }

    #[test]
    fn odd_figures_draw_something_or_nothing_and_never_panic() {
        for values in [
            &[][..],
            &[0.0],
            &[0.0, 0.0],
            &[f64::MAX, f64::MIN],
            &[1e-300, 1e300],
            &[5.0; 3],
            &[-3.0, -1.0],
        ] {
            let samples = samples(values);
            assert_eq!(draw(&chart(&samples, 1), &TimeZone::UTC).is_some(), !values.is_empty());
        }
        let samples = samples(&[1.0]);
        let mut odd = chart(&samples, 1);
        for (from, to) in [(0, 0), (5, -5), (i64::MIN, i64::MAX), (i64::MAX, i64::MAX)] {
            (odd.from, odd.to) = (from, to);
            drop(draw(&odd, &TimeZone::UTC));
        }
        assert!(draw(&chart(&samples, 0), &TimeZone::UTC).is_none());
    }
}
