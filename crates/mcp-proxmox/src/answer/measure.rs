//! Sizes, shares and times as people say them.
//!
//! Sizes are powers of 1024 with one decimal (`3.2 GiB`), percentages are numbers with one decimal,
//! times are the two largest units (`3d 4h`). All of them serialise to what is shown.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// A number of bytes; serialises as `3.2 GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A percentage; serialises as a number with one decimal.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Percent(f64);

/// A number that is mostly whole, such as a count of processors; serialises without a fraction where it
/// has none.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Number(pub f64);

/// A time span in whole seconds; serialises as `3d 4h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(pub u64);

/// How much of something is used. Serialises as `1.2 of 4.0 GiB (30.0%)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// What is used, in bytes.
    pub used: u64,
    /// What there is, in bytes.
    pub total: u64,
}

impl Bytes {
    const UNITS: [&'static str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    fn scaled(self) -> (f64, &'static str) {
        let mut number = self.0 as f64;
        let mut units = Self::UNITS.into_iter().peekable();
        let mut unit = units.next().unwrap_or_default();
        // 1023.95 would be rounded up to `1024.0`.
        while number >= 1023.95
            && let Some(next) = units.next()
        {
            number /= 1024.0;
            unit = next;
        }
        (number, unit)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scaled() {
            (number, "B") => write!(f, "{number} B"),
            (number, unit) => write!(f, "{number:.1} {unit}"),
        }
    }
}

impl Percent {
    /// A part of a whole, where there is a whole.
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    pub fn of(part: u64, whole: u64) -> Option<Self> {
        (whole > 0).then(|| Self::new(part as f64 * 100.0 / whole as f64))
    }

    /// A fraction such as PVE's `cpu`, where 1 is everything. `None` for what is not a number.
    pub fn from_fraction(fraction: f64) -> Option<Self> {
        fraction.is_finite().then(|| Self::new(fraction * 100.0))
    }

    fn new(percent: f64) -> Self {
        Self((percent * 10.0).round() / 10.0)
    }

    /// The rounded number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}%", self.0)
    }
}

impl Share {
    /// A share, where both figures are known and there is something to use.
    pub fn new(used: Option<u64>, total: Option<u64>) -> Option<Self> {
        match (used, total) {
            (Some(used), Some(total)) if total > 0 => Some(Self { used, total }),
            _ => None,
        }
    }

    /// The share in percent.
    pub fn percent(self) -> Option<Percent> {
        Percent::of(self.used, self.total)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (used, total) = (Bytes(self.used).to_string(), Bytes(self.total).to_string());
        // `1.2 of 4.0 GiB` reads better, and costs less, than the unit twice.
        let unit = total.rsplit(' ').next().unwrap_or_default();
        let used = used.strip_suffix(unit).map_or(used.as_str(), str::trim_end);
        write!(f, "{used} of {total}")?;
        self.percent().map_or(Ok(()), |percent| write!(f, " ({percent})"))
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0;
        let units = [
            ("d", seconds / 86_400),
            ("h", seconds / 3600 % 24),
            ("m", seconds / 60 % 60),
            ("s", seconds % 60),
        ];
        let first = units.iter().position(|(_, n)| *n > 0).unwrap_or(3);
        let mut separator = "";
        for (unit, number) in units.iter().skip(first).take(2) {
            if *number > 0 || separator.is_empty() {
                write!(f, "{separator}{number}{unit}")?;
                separator = " ";
            }
        }
        Ok(())
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl Serialize for Number {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the fraction is zero and the size was looked at"
    )]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.fract() == 0.0 && self.0.abs() < 9e15 {
            serializer.serialize_i64(self.0 as i64)
        } else {
            serializer.serialize_f64(self.0)
        }
    }
}

macro_rules! has_schema {
    ($($name:ident is $kind:literal),*) => {$(
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": $kind })
            }
        }
    )*};
}

has_schema!(Bytes is "string", Duration is "string", Share is "string", Percent is "number", Number is "number");

macro_rules! serialises_as_shown {
    ($($name:ident),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
    )*};
}

serialises_as_shown!(Bytes, Duration, Share);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal_and_the_unit_that_fits() {
        let shown =
            [0, 512, 1024, 1_048_576, 3_435_973_836, u64::MAX].map(|n| Bytes(n).to_string());
        assert_eq!(shown, ["0 B", "512 B", "1.0 KiB", "1.0 MiB", "3.2 GiB", "16.0 EiB"]);
    }

    #[test]
    fn a_share_of_nothing_is_unknown() {
        assert_eq!(Share::new(Some(0), Some(0)), None);
        assert_eq!(Share::new(None, Some(7)), None);
        assert_eq!(Percent::of(1, 0), None);
    }

    #[test]
    fn a_share_names_the_unit_once_where_it_is_the_same() {
        let gib = 1 << 30;
        assert_eq!(Share { used: gib, total: 4 * gib }.to_string(), "1.0 of 4.0 GiB (25.0%)");
        assert_eq!(Share { used: 1 << 20, total: gib }.to_string(), "1.0 MiB of 1.0 GiB (0.1%)");
    }

    #[test]
    fn times_show_their_two_largest_units() {
        let shown = [0, 59, 60, 3601, 90_061, 864_000].map(|n| Duration(n).to_string());
        assert_eq!(shown, ["0s", "59s", "1m", "1h", "1d 1h", "10d"]);
    }

    #[test]
    fn what_is_not_a_number_is_unknown() {
        assert_eq!(Percent::from_fraction(f64::NAN), None);
        assert_eq!(Percent::from_fraction(0.033_278).map(Percent::value), Some(3.3));
    }
}
