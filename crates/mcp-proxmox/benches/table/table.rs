//! The figures, each beside its bound.

use std::{fmt, time::Duration};

/// Rows in groups.
#[derive(Default)]
pub struct Table {
    rows: Vec<[String; 4]>,
}

impl Table {
    /// Begins a group.
    pub fn group(&mut self, title: &str) {
        println!("measuring: {title}");
        self.rows.push([format!("\n{title}"), String::new(), String::new(), String::new()]);
    }

    /// A figure that has no bound.
    pub fn tell(&mut self, what: &str, figure: impl fmt::Display) {
        self.rows.push([what.to_owned(), figure.to_string(), String::new(), String::new()]);
    }

    /// A figure beside the largest that it should be.
    pub fn hold(&mut self, what: &str, figure: f64, bound: f64, unit: &str) {
        let verdict = if figure <= bound { "holds" } else { "OVER" };
        let shown = |figure: f64| {
            let decimals = if figure < 10.0 { 2 } else { usize::from(figure < 1000.0) };
            format!("{figure:.decimals$} {unit}")
        };
        self.rows.push([
            what.to_owned(),
            shown(figure),
            format!("at most {}", shown(bound)),
            verdict.to_owned(),
        ]);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |nth: usize| {
            let shown = self.rows.iter().filter(|row| !row[1].is_empty());
            shown.map(|row| row[nth].chars().count()).max().unwrap_or_default()
        };
        let (what, figure, bound) = (width(0), width(1), width(2));
        for row in &self.rows {
            let line =
                format!("{:what$}  {:>figure$}  {:bound$}  {}", row[0], row[1], row[2], row[3]);
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The middle one of some times.
pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// In milliseconds, for figures with a bound.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Short, for figures without one.
pub fn short(time: Duration) -> String {
    match milliseconds(time) {
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms if ms < 1000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.2} s", ms / 1000.0),
    }
}
