//! PVE's property strings: `local:100/vm-100-disk-0.qcow2,size=1G,cache=none`.
//!
//! The first part may lack its key; what it means depends on the option.

use crate::answer::{Bytes, clean::label};

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

    /// Whether a switch is on. It is taken out.
    pub(super) fn take_flag(&mut self, key: &str) -> Option<bool> {
        self.take(key).map(is_on)
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

/// PVE's spellings of yes.
pub(super) fn is_on(value: &str) -> bool {
    matches!(value.trim(), "1" | "on" | "yes" | "true" | "enabled")
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
    let mut bytes = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    let mut part = factor;
    for digit in fraction.chars() {
        part /= 10;
        bytes = bytes.checked_add(u64::from(digit.to_digit(10)?) * part)?;
    }
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
        assert_eq!(disk.take_flag("ssd"), Some(true));
        assert_eq!(disk.rest().as_deref(), Some("cache=none"));
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
