//! Which series a node, a guest and a storage have, under which names and in which units they are shown.

use pve_client::rrd::{Point, Target};

use super::{History, Sample};
use crate::answer::Bytes;

/// What a figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Percent.
    Percent,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// A number without a unit, such as the load.
    Number,
}

/// One series.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name under which it is shown.
    pub name: &'static str,
    /// What it is measured in.
    pub unit: Unit,
    /// How much of it there is at most, where that is known.
    pub limit: Option<f64>,
    /// The figures that are known, in the order of their times.
    pub samples: Vec<Sample>,
}

/// How a series is taken from a point.
struct Recipe {
    name: &'static str,
    unit: Unit,
    /// PVE's name for it.
    key: &'static str,
    /// PVE's name for its limit, or nothing.
    limit: &'static str,
}

const fn recipe(name: &'static str, unit: Unit, key: &'static str, limit: &'static str) -> Recipe {
    Recipe { name, unit, key, limit }
}

const NODE: [Recipe; 11] = [
    recipe("cpu", Unit::Percent, "cpu", ""),
    recipe("iowait", Unit::Percent, "iowait", ""),
    recipe("load", Unit::Number, "loadavg", "maxcpu"),
    recipe("memory", Unit::Bytes, "memused", "memtotal"),
    recipe("swap", Unit::Bytes, "swapused", "swaptotal"),
    recipe("root_disk", Unit::Bytes, "rootused", "roottotal"),
    recipe("net_in", Unit::BytesPerSecond, "netin", ""),
    recipe("net_out", Unit::BytesPerSecond, "netout", ""),
    recipe("cpu_pressure", Unit::Percent, "pressurecpusome", ""),
    recipe("io_pressure", Unit::Percent, "pressureiosome", ""),
    recipe("memory_pressure", Unit::Percent, "pressurememorysome", ""),
];

const GUEST: [Recipe; 11] = [
    recipe("cpu", Unit::Percent, "cpu", ""),
    recipe("memory", Unit::Bytes, "mem", "maxmem"),
    recipe("memory_on_host", Unit::Bytes, "memhost", ""),
    recipe("disk", Unit::Bytes, "disk", "maxdisk"),
    recipe("net_in", Unit::BytesPerSecond, "netin", ""),
    recipe("net_out", Unit::BytesPerSecond, "netout", ""),
    recipe("disk_read", Unit::BytesPerSecond, "diskread", ""),
    recipe("disk_write", Unit::BytesPerSecond, "diskwrite", ""),
    recipe("cpu_pressure", Unit::Percent, "pressurecpusome", ""),
    recipe("io_pressure", Unit::Percent, "pressureiosome", ""),
    recipe("memory_pressure", Unit::Percent, "pressurememorysome", ""),
];

const STORAGE: [Recipe; 1] = [recipe("used", Unit::Bytes, "used", "total")];

/// The series of a history that hold anything.
pub fn of(target: &Target, history: &History) -> Vec<Series> {
    let recipes = match target {
        Target::Node(_) => &NODE[..],
        Target::Guest(_) => &GUEST[..],
        Target::Storage(..) => &STORAGE[..],
    };
    let is_vm = matches!(target, Target::Guest(guest) if guest.kind == pve_client::Kind::Qemu);
    let series = recipes.iter().map(|recipe| {
        let samples = history.samples(|point| recipe.pick(point));
        let limit = history.samples(|point| point.get(recipe.limit).copied());
        let limit = limit.last().map(|sample| sample.value).filter(|limit| *limit > 0.0);
        Series { name: recipe.name, unit: recipe.unit, limit, samples }
    });
    series
        .filter(|series| !series.samples.is_empty())
        // What a VM fills of its disks is known inside it; PVE's 0 says nothing.
        .filter(|series| !(is_vm && series.name == "disk"))
        // Of nothing, nothing is used.
        .filter(|series| !matches!(series.name, "swap" | "used") || series.limit.is_some())
        .collect()
}

impl Recipe {
    fn pick(&self, point: &Point) -> Option<f64> {
        let value = *point.get(self.key)?;
        // Shares are from 0 to 1, and pressure is in percent already.
        let is_share = matches!(self.key, "cpu" | "iowait");
        Some(if is_share { value * 100.0 } else { value })
    }
}

impl Series {
    /// Whether it is zero all the time.
    pub fn is_zero(&self) -> bool {
        self.samples.iter().all(|sample| sample.value == 0.0)
    }
}

impl Unit {
    /// A figure as people say it.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Percent => format!("{value:.1}%"),
            Self::Bytes => bytes(value),
            Self::BytesPerSecond => format!("{}/s", bytes(value)),
            Self::Number => format!("{value:.2}"),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, and not below 0"
)]
fn bytes(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", Bytes(value.abs().round() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_shown_in_their_units() {
        assert_eq!(Unit::Percent.show(3.327), "3.3%");
        assert_eq!(Unit::Bytes.show(-3_435_973_836.8), "-3.2 GiB");
        assert_eq!(Unit::BytesPerSecond.show(1536.4), "1.5 KiB/s");
        assert_eq!(Unit::Number.show(0.0922), "0.09");
    }
}
