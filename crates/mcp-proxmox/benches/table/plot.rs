//! Draws lines over two logarithmic axes, as SVG: proportional growth is a straight line that climbs one decade for
//! each that it goes to the right.

use std::fmt::Write as _;

/// One line with its name.
pub struct Line {
    pub name: String,
    /// Its place among the lines, which decides its colour.
    pub nth: usize,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 48.0;
/// Told apart by people who see few colours too.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// An axis from one power of ten to another.
struct Axis {
    low: f64,
    high: f64,
    begin: f64,
    end: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone, begin: f64, end: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10().floor();
        let high = values.fold(0.0, f64::max).log10().ceil().max(low + 1.0);
        Self { low, high, begin, end }
    }

    fn at(&self, value: f64) -> f64 {
        self.begin + (value.log10() - self.low) / (self.high - self.low) * (self.end - self.begin)
    }

    fn decades(&self) -> impl Iterator<Item = f64> + use<> {
        (self.low as i32..=self.high as i32).map(|power| 10_f64.powi(power))
    }
}

/// The picture.
pub fn draw(title: &str, across: &str, up: &str, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|line| line.points.iter());
    let x = Axis::over(points().map(|(x, _)| *x), LEFT, WIDTH - RIGHT);
    let y = Axis::over(points().map(|(_, y)| *y), HEIGHT - BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{title}</text>\n"
    );
    for value in x.decades() {
        let (at, bottom) = (x.at(value), HEIGHT - BOTTOM);
        writeln!(svg, "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value}</text>", bottom + 18.0).unwrap();
    }
    for value in y.decades() {
        let (at, right) = (y.at(value), WIDTH - RIGHT);
        writeln!(svg, "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>", LEFT - 6.0, at + 4.0).unwrap();
    }
    writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{across}</text>\n\
         <text transform=\"translate(16 {:.1}) rotate(-90)\" text-anchor=\"middle\">{up}</text>",
        f64::midpoint(LEFT, WIDTH - RIGHT),
        HEIGHT - 10.0,
        f64::midpoint(TOP, HEIGHT - BOTTOM),
    )
    .unwrap();
    // Names stand beside the ends of their lines, one below the other where these are close.
    let mut ends: Vec<(f64, &Line)> =
        lines.iter().filter_map(|line| Some((y.at(line.points.last()?.1), line))).collect();
    ends.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let mut lowest = TOP;
    for (end, line) in ends {
        let colour = COLOURS[line.nth % COLOURS.len()];
        let path: Vec<String> = line
            .points
            .iter()
            .map(|(across, up)| format!("{:.1},{:.1}", x.at(*across), y.at(*up)))
            .collect();
        let beside = end.max(lowest);
        lowest = beside + 15.0;
        writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            path.join(" "),
            WIDTH - RIGHT + 8.0,
            beside + 4.0,
            line.name,
        )
        .unwrap();
    }
    svg.push_str("</svg>\n");
    svg
}
