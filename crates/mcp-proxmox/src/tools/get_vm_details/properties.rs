//! PVE's property strings: `local:100/vm-100-disk-0.qcow2,size=1G,cache=none`.
//!
//! The first part may lack its key; what it means depends on the option.

use pve_client::guest::Config;

use crate::answer::{Bytes, clean::label};

/// Something is set, and nobody can tell to what: it is neither the default nor anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Odd;

/// The parts of a property string.
#[derive(Debug, Default)]
pub(super) struct Properties<'a> {
    parts: Vec<(Option<&'a str>, &'a str)>,
}

impl<'a> Properties<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let pair = |part: &'a str| match part.split_once('=') {
            Some((key, value)) => (Some(key), value),
            None => (None, part),
        };
        Self { parts: parts.map(pair).collect() }
    }

    /// Takes a part out.
    pub(super) fn take(&mut self, key: &str) -> Option<&'a str> {
        let index = self.parts.iter().position(|(name, _)| *name == Some(key))?;
        Some(self.parts.remove(index).1)
    }

    /// Takes out a part that is written with this key, or without one.
    pub(super) fn take_or_first(&mut self, key: &str) -> Option<&'a str> {
        self.take(key).or_else(|| {
            let index = self.parts.iter().position(|(name, _)| name.is_none())?;
            Some(self.parts.remove(index).1)
        })
    }

    /// Takes out the first part whose key is one of these: its key and its value.
    pub(super) fn take_any(&mut self, keys: &[&str]) -> Option<(&'a str, &'a str)> {
        let is_one = |name: Option<&str>| name.is_some_and(|name| keys.contains(&name));
        let index = self.parts.iter().position(|(name, _)| is_one(*name))?;
        let (name, value) = self.parts.remove(index);
        Some((name?, value))
    }

    /// Whether a switch is on, which is off where nothing is said. It is taken out.
    pub(super) fn take_flag(&mut self, key: &str) -> Result<bool, Odd> {
        self.take(key).map_or(Ok(false), |text| flag(text).ok_or(Odd))
    }

    /// What has not been taken, as it is written.
    pub(super) fn rest(&self) -> Option<String> {
        let rest = self.parts.iter().map(|(name, value)| match name {
            Some(name) => format!("{name}={value}"),
            None => (*value).to_owned(),
        });
        let rest = rest.collect::<Vec<_>>().join(" ");
        (!rest.is_empty()).then(|| label(&rest))
    }
}

/// PVE's spellings of yes and no. `None` for what is neither.
pub(super) fn flag(value: &str) -> Option<bool> {
    match value.trim() {
        "1" | "on" | "yes" | "true" | "enabled" => Some(true),
        "0" | "off" | "no" | "false" | "disabled" => Some(false),
        _ => None,
    }
}

/// The value of a key, read by `read`. `Ok(None)` where it is not set.
pub(super) fn read<'a, T>(
    config: &'a Config,
    key: &str,
    read: impl FnOnce(&'a str) -> Option<T>,
) -> Result<Option<T>, Odd> {
    match config.get(key) {
        Some(text) => read(text.trim()).map(Some).ok_or(Odd),
        None if config.is_unreadable(key) => Err(Odd),
        None => Ok(None),
    }
}

/// Whether the guest agent is enabled, and what else is set about it.
pub(super) fn agent(text: &str) -> Option<(bool, Option<String>)> {
    let mut agent = Properties::read(text);
    let is_on = agent.take_or_first("enabled").and_then(flag)?;
    Some((is_on, agent.rest()))
}

/// A count of processors and the like. None has more than PVE's bounds by far.
pub(super) fn count(text: &str) -> Option<u64> {
    text.parse().ok().filter(|count| (1..=1 << 20).contains(count))
}

/// An amount of memory in MiB, below the 2^60 bytes that nothing has.
pub(super) fn mib(text: &str) -> Option<u64> {
    text.parse().ok().filter(|mib| *mib < 1 << 40)
}

/// `32G` as bytes. `None` for what has no size: `0T` stands for a volume without a limit.
pub(super) fn size(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: u64 = match text.get(digits.len()..)? {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return None,
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    // In parts of the last digit, so that `1.5T` is exactly one and a half.
    let parts: u64 = format!("{whole}{fraction}").parse().ok()?;
    let in_one = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let bytes = u64::try_from(u128::from(parts) * u128::from(factor) / in_one).ok()?;
    (bytes > 0).then_some(Bytes(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parts_are_taken_by_name_and_the_rest_is_shown() {
        let mut disk = Properties::read("local:100/a.qcow2,size=1G,cache=none,ssd=1");
        assert_eq!(disk.take_or_first("file"), Some("local:100/a.qcow2"));
        assert_eq!(disk.take("size").and_then(size), Some(Bytes(1 << 30)));
        assert_eq!(disk.take_flag("ssd"), Ok(true));
        assert_eq!(disk.rest().as_deref(), Some("cache=none"));
    }

    #[test]
    fn what_is_neither_yes_nor_no_is_told_apart_from_what_is_not_set() {
        let mut nic = Properties::read("link_down=1,firewall=perhaps,queues=-1");
        let taken = ["link_down", "firewall", "queues", "mtu"].map(|key| nic.take_flag(key));
        assert_eq!(taken, [Ok(true), Err(Odd), Err(Odd), Ok(false)]);
        let config = [("cores", "x"), ("onboot", " 0 ")].map(|(key, it)| (key.into(), it.into()));
        let config = Config::from_iter(config);
        let found = ["cores", "onboot", "numa"].map(|key| read(&config, key, flag));
        assert_eq!(found, [Err(Odd), Ok(Some(false)), Ok(None)]);
    }

    #[test]
    fn sizes_are_powers_of_1024_and_zero_is_none() {
        assert_eq!(size("528K"), Some(Bytes(528 << 10)));
        assert_eq!(size("1.5T"), Some(Bytes(3 << 39)));
        for none in ["0T", "", "G", "-1G", "99999999999T", "1X", "1é"] {
            assert_eq!(size(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in ".{0,60}") {
            let mut properties = Properties::read(&text);
            let _ = (properties.take_or_first("file"), properties.rest(), size(&text));
        }
    }
}
