//! Figures that can be. What is beyond these bounds is damaged or made up, and says as little as nothing at all.
//!
//! The bounds are generous: no cluster comes near them.

use serde::{Deserialize as _, Deserializer, de::SeqAccess};

use super::{FromPerl, Lenient};

/// Sizes and all other whole numbers are below this: an exbibyte.
pub(super) const WHOLE: u64 = 1 << 60;
/// The same as a number with a fraction.
pub(super) const LARGEST: f64 = 1_152_921_504_606_846_976.0;

/// A share of something, where 1 is all of it. Bursts make it more.
pub(crate) fn share<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    below(from, 100.0)
}

/// A number of processors, which may have a fraction.
pub(crate) fn processors<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    below(from, 1e6)
}

/// A percentage.
pub(crate) fn percent<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    below(from, 1000.0)
}

/// A time span in seconds, of less than three centuries.
pub(crate) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let Lenient(seconds) = Lenient::<u64>::deserialize(from)?;
    Ok(seconds.filter(|seconds| *seconds < 1 << 33))
}

/// The load over several spans of time, which are told apart by their places: all of them or none.
pub(crate) fn loads<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let Lenient(loads) = Lenient::<Loads>::deserialize(from)?;
    Ok(loads.map(|Loads(loads)| loads).unwrap_or_default())
}

fn below<'de, D: Deserializer<'de>>(from: D, bound: f64) -> Result<Option<f64>, D::Error> {
    let Lenient(number) = Lenient::<f64>::deserialize(from)?;
    Ok(number.filter(|number| *number <= bound))
}

struct Loads(Vec<f64>);

impl FromPerl for Loads {
    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Option<Self>, A::Error> {
        let (mut loads, mut is_odd) = (Vec::new(), false);
        while let Some(Lenient(load)) = seq.next_element::<Lenient<f64>>()? {
            match load.filter(|load| *load < 1e6) {
                Some(load) => loads.push(load),
                None => is_odd = true,
            }
        }
        Ok((!is_odd).then_some(Self(loads)))
    }
}

#[cfg(test)]
mod tests {
    use crate::perl::answer;

    answer! {
        struct Sample {
            cpu: Option<f64> as "crate::perl::bounds::share",
            cores: Option<f64> as "crate::perl::bounds::processors",
            pressure: Option<f64> as "crate::perl::bounds::percent",
            uptime: Option<u64> as "crate::perl::bounds::seconds",
            loads: Vec<f64> as "crate::perl::bounds::loads",
            bytes: Option<u64>,
            rate: Option<f64>,
        }
    }

    #[test]
    fn what_can_be_is_read_and_what_cannot_is_not_known() {
        let read: Sample = serde_json::from_str(
            r#"{"cpu":"1.5","cores":0.5,"pressure":"100.00","uptime":"31536000","loads":["0.1",2,3],
                "bytes":1152921504606846975,"rate":1e12}"#,
        )
        .unwrap();
        let figures = (read.cpu, read.cores, read.pressure, read.rate);
        assert_eq!(figures, (Some(1.5), Some(0.5), Some(100.0), Some(1e12)));
        assert_eq!((read.uptime, read.bytes), (Some(31_536_000), Some((1 << 60) - 1)));
        assert_eq!(read.loads, [0.1, 2.0, 3.0]);
        for odd in ["1e300", "-1", "\"-0.5\"", "18446744073709551615", "1.8e19", "\"inf\"", "{}"] {
            let json = ["cpu", "cores", "pressure", "uptime", "bytes", "rate"]
                .map(|key| format!("\"{key}\":{odd}"));
            let json = format!("{{{},\"loads\":[0.1,{odd},3]}}", json.join(","));
            assert_eq!(serde_json::from_str::<Sample>(&json).unwrap(), Sample::default(), "{odd}");
        }
    }
}
