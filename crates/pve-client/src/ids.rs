//! Names that are safe to put into the path of a URL.
//!
//! Proxmox VE decodes `%2F` before it routes a request (recorded from PVE 9.2.11), so encoding alone
//! protects nothing: `100%2Fstatus%2Fstop` would reach another endpoint. Each type here is checked
//! against a pattern when it is made, and encoded when it is put into a path.
//!
//! **Invariant:** no accepted value can be empty, can be `.` or `..`, or can hold `/`, `?`, `#`, `%`,
//! `\`, a blank or a control character.

use std::{fmt, str::FromStr};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Text;

/// What stays as it is in a path segment: the unreserved characters of RFC 3986, and the two that
/// every task identifier has.
const SEGMENT: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':').remove(b'@');

/// The name of a cluster node: one DNS label, whose case matters.
///
/// A name of digits only is legal, and `01` is not `1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeName(Text);

/// The number of a guest, 100 to 999999999, unique in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VmId(u32);

/// The name of a storage.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageId(String);

/// The name of a network interface, such as `vmbr0`, `eno1.42` or `tap100i0`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IfaceName(String);

/// Why a name was refused. The message shows what was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidId {
    /// Not a DNS label.
    #[error(
        "`{}` is not a node name: letters, digits and inner hyphens, at most 63 of them",
        shown(.0)
    )]
    Node(String),
    /// Not a number in the range that Proxmox VE uses.
    #[error("`{}` is not a guest ID: a number from 100 to 999999999", shown(.0))]
    Guest(String),
    /// Not a storage name.
    #[error(
        "`{}` is not a storage name: it starts with a letter, ends with a letter or digit and has \
         letters, digits, `-`, `_` and `.` between them",
        shown(.0)
    )]
    Storage(String),
    /// Not an interface name.
    #[error(
        "`{}` is not an interface name: it starts with a letter or digit and has letters, digits, \
         `-`, `_`, `.` and `:` after it, at most 32",
        shown(.0)
    )]
    Iface(String),
    /// Not a task identifier.
    #[error(
        "`{}` is not a task ID: `UPID:NODE:PID:PSTART:STARTTIME:TYPE:ID:USER:` with hexadecimal \
         numbers",
        shown(.0)
    )]
    Upid(String),
}

impl NodeName {
    /// The name as PVE writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl StorageId {
    /// The name as PVE writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl IfaceName {
    /// The name as PVE writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl VmId {
    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl FromStr for NodeName {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_label = text.len() <= 63
            && starts_and_ends_alphanumeric(text)
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if is_label { Ok(Self(text.into())) } else { Err(InvalidId::Node(text.to_owned())) }
    }
}

impl FromStr for StorageId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_name = (2..=100).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphabetic())
            && starts_and_ends_alphanumeric(text)
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
        if is_name { Ok(Self(text.to_owned())) } else { Err(InvalidId::Storage(text.to_owned())) }
    }
}

impl FromStr for IfaceName {
    type Err = InvalidId;

    /// More generous than PVE's own pattern for new interfaces, since the lists also show devices
    /// that the kernel or an administrator has named.
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let is_name = text.len() <= 32
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b));
        if is_name { Ok(Self(text.to_owned())) } else { Err(InvalidId::Iface(text.to_owned())) }
    }
}

impl FromStr for VmId {
    type Err = InvalidId;

    /// Digits only: no sign, no blank, no leading zero, since `0100` is never what PVE means.
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId::Guest(text.to_owned());
        if text.starts_with('0') || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        let number: u64 = text.parse().map_err(|_| invalid())?;
        Self::try_from(number)
    }
}

impl TryFrom<u32> for VmId {
    type Error = InvalidId;

    fn try_from(number: u32) -> Result<Self, InvalidId> {
        Self::try_from(u64::from(number))
    }
}

impl TryFrom<u64> for VmId {
    type Error = InvalidId;

    fn try_from(number: u64) -> Result<Self, InvalidId> {
        match u32::try_from(number) {
            Ok(id) if (100..=999_999_999).contains(&id) => Ok(Self(id)),
            _ => Err(InvalidId::Guest(number.to_string())),
        }
    }
}

impl From<VmId> for u32 {
    fn from(id: VmId) -> u32 {
        id.0
    }
}

impl fmt::Display for VmId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for VmId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(self.0)
    }
}

macro_rules! text_id {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0.as_str() == *other
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = String::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id!(NodeName);
text_id!(StorageId);
text_id!(IfaceName);

/// One segment of a path, encoded. Only for text that a type of this crate has checked.
pub(crate) fn segment(checked: &str) -> PercentEncode<'_> {
    utf8_percent_encode(checked, SEGMENT)
}

fn starts_and_ends_alphanumeric(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.ends_with(|c: char| c.is_ascii_alphanumeric())
}

/// What was read, short enough for a message, and with nothing in it that is not seen or ends its quotation.
fn shown(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || c == ' ' || (c.is_ascii_graphic() && c != '`');
    let mut shown: String =
        text.chars().take(60).map(|c| if is_plain(c) { c } else { '\u{fffd}' }).collect();
    if text.chars().nth(60).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a reader of a URL takes for more, or less, than one segment.
    pub(crate) fn stays_in_its_segment(name: &str) -> bool {
        let encoded = segment(name).to_string();
        !encoded.is_empty()
            && encoded != "."
            && encoded != ".."
            && !name.contains(|c: char| "/?#%\\ ;&".contains(c) || c.is_control())
            && encoded.bytes().all(|b| b.is_ascii_graphic() && !b"/?#\\;&".contains(&b))
    }

    #[test]
    fn a_node_name_is_one_label() {
        for bad in ["", "a/b", "..", "a.b", "a?b", "-a", "a-", "é", "a b", "a%2Fb", &"a".repeat(64)]
        {
            assert!(bad.parse::<NodeName>().is_err(), "accepted {bad:?}");
        }
        for good in ["pve-1", "01", "PVE", "a", "2024"] {
            assert_eq!(good.parse::<NodeName>().unwrap(), good);
        }
    }

    #[test]
    fn a_guest_id_is_a_number_from_100_on() {
        for bad in ["", "99", "0100", "+100", "-100", " 100", "1000000000", "1e3", "١٠٠", "100/x"]
        {
            assert!(bad.parse::<VmId>().is_err(), "accepted {bad:?}");
        }
        assert_eq!("100".parse::<VmId>().unwrap().get(), 100);
        assert_eq!(VmId::try_from(999_999_999_u64).unwrap().to_string(), "999999999");
        assert!(VmId::try_from(u64::MAX).is_err());
    }

    #[test]
    fn a_storage_name_starts_with_a_letter() {
        for bad in ["", "a", "1nas", "nas/x", "nas.", "..", "n s", ".nas"] {
            assert!(bad.parse::<StorageId>().is_err(), "accepted {bad:?}");
        }
        for good in ["local", "local-lvm", "nas_2.old", "PBS"] {
            assert_eq!(good.parse::<StorageId>().unwrap(), good);
        }
    }

    #[test]
    fn an_interface_name_may_have_a_vlan_or_an_alias() {
        for bad in ["", ".", "..", "-a", "a/b", "a b", &"a".repeat(33)] {
            assert!(bad.parse::<IfaceName>().is_err(), "accepted {bad:?}");
        }
        for good in ["vmbr0", "eno1.42", "eth0:1", "enx001122334455", "bond-lan"] {
            assert_eq!(good.parse::<IfaceName>().unwrap(), good);
        }
    }

    #[test]
    fn a_refusal_shows_what_was_read_but_not_all_of_a_novel() {
        let message = "x\u{1b}[2J".parse::<NodeName>().unwrap_err().to_string();
        assert!(message.starts_with("`x\u{fffd}[2J` is not a node name"), "{message}");
        let message = "x`\u{202e}\u{200b}é".parse::<NodeName>().unwrap_err().to_string();
        assert!(
            message.starts_with("`x\u{fffd}\u{fffd}\u{fffd}é` is not a node name"),
            "{message}"
        );
        let message = "y ".repeat(500).parse::<StorageId>().unwrap_err().to_string();
        assert!(message.chars().count() < 300, "{message}");
    }

    proptest! {
        #[test]
        fn no_accepted_name_can_leave_its_path_segment(text in r"[ -~é\x00-\x1f]{0,12}|[a-zA-Z0-9./%:_@-]{0,40}") {
            if let Ok(name) = text.parse::<NodeName>() {
                prop_assert!(stays_in_its_segment(name.as_str()));
            }
            if let Ok(name) = text.parse::<StorageId>() {
                prop_assert!(stays_in_its_segment(name.as_str()));
            }
            if let Ok(name) = text.parse::<IfaceName>() {
                prop_assert!(stays_in_its_segment(name.as_str()));
            }
            if let Ok(id) = text.parse::<VmId>() {
                prop_assert!(stays_in_its_segment(&id.to_string()));
            }
        }
    }
}
