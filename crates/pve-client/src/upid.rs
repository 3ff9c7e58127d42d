//! Task identifiers: `UPID:NODE:PID:PSTART:STARTTIME:TYPE:ID:USER:`.
//!
//! **Invariant:** a [`Upid`] stays within one path segment, and is written with its final colon,
//! with which alone Proxmox VE knows it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ids::{InvalidId, NodeName};

/// The identifier of one task. Read with and without its final colon.
///
/// Seen in PVE 9.2.11: `UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:ops@pve!rw:`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Upid {
    /// The node that runs the task, and keeps its log.
    pub node: NodeName,
    /// The worker's process.
    pub pid: u32,
    /// When that process started, in the kernel's ticks since boot.
    pub pstart: u64,
    /// When the task started, in seconds since 1970.
    pub starttime: u64,
    /// What it does, such as `qmstart` or `vzdump`.
    pub kind: String,
    /// What it is done to: often a guest's number, and often nothing.
    pub id: String,
    /// Who asked, with the token's name: `ops@pve!rw`.
    pub user: String,
}

impl Upid {
    /// The guest that the task is about, where its `id` is a guest's number.
    pub fn vmid(&self) -> Option<crate::VmId> {
        self.id.parse().ok()
    }
}

impl FromStr for Upid {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        parse(text).ok_or_else(|| InvalidId::Upid(text.to_owned()))
    }
}

impl fmt::Display for Upid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, pid, pstart, starttime, kind, id, user } = self;
        write!(f, "UPID:{node}:{pid:08X}:{pstart:08X}:{starttime:08X}:{kind}:{id}:{user}:")
    }
}

impl Serialize for Upid {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Upid {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn parse(text: &str) -> Option<Upid> {
    let rest = text.strip_prefix("UPID:")?;
    let rest = rest.strip_suffix(':').unwrap_or(rest);
    let mut parts = rest.split(':');
    let upid = Upid {
        node: parts.next()?.parse().ok()?,
        pid: u32::try_from(hexadecimal(parts.next()?, 8..=8)?).ok()?,
        // Eight digits run over after 497 days, and then there are nine.
        pstart: hexadecimal(parts.next()?, 8..=9)?,
        starttime: hexadecimal(parts.next()?, 8..=8)?,
        kind: word(parts.next()?)?,
        id: subject(parts.next()?)?,
        user: user(parts.next()?)?,
    };
    parts.next().is_none().then_some(upid)
}

fn hexadecimal(digits: &str, length: std::ops::RangeInclusive<usize>) -> Option<u64> {
    let is_hexadecimal =
        length.contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hexadecimal { u64::from_str_radix(digits, 16).ok() } else { None }
}

fn word(text: &str) -> Option<String> {
    let is_word = !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    is_word.then(|| text.to_owned())
}

/// The `id` part. It may be a guest, a storage, a disk or a volume with `\x` escapes of systemd, so
/// that only what could leave the segment is refused.
fn subject(text: &str) -> Option<String> {
    (text.len() <= 256 && text.chars().all(is_harmless)).then(|| text.to_owned())
}

fn user(text: &str) -> Option<String> {
    let (name, realm) = text.rsplit_once('@')?;
    let is_user =
        !name.is_empty() && !realm.is_empty() && text.len() <= 256 && text.chars().all(is_harmless);
    is_user.then(|| text.to_owned())
}

fn is_harmless(c: char) -> bool {
    // What stands in for one of these in other scripts may become it again in a proxy that folds them.
    let stands_in =
        ('\u{2024}'..='\u{2026}').contains(&c) || "⁄∕⧵⧸﹒﹟﹠﹨﹪＃％＆．／；？＼".contains(c);
    !c.is_control() && !c.is_whitespace() && !stands_in && !"/?#%\\;&".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::segment;

    const RECORDED: &str = "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:ops@pve!rw:";

    #[test]
    fn a_recorded_one_is_taken_apart_and_put_together_again() {
        let upid: Upid = RECORDED.parse().unwrap();
        assert_eq!(upid.node, "pve1");
        assert_eq!(upid.pid, 0x1AC5);
        assert_eq!(upid.pstart, 0x000B_E8D7);
        assert_eq!(upid.starttime, 1_796_020_035);
        assert_eq!((upid.kind.as_str(), upid.id.as_str()), ("qmstart", "107"));
        assert_eq!(upid.user, "ops@pve!rw");
        assert_eq!(upid.vmid().unwrap().get(), 107);
        assert_eq!(upid.to_string(), RECORDED);
    }

    #[test]
    fn the_final_colon_may_be_missing_and_is_written_all_the_same() {
        let upid: Upid = RECORDED.trim_end_matches(':').parse().unwrap();
        assert_eq!(upid.to_string(), RECORDED);
    }

    #[test]
    fn the_subject_may_be_empty_and_pstart_may_have_nine_digits() {
        let text = "UPID:pve1:0000189D:1000B97B8:6B0D1674:vncshell::root@pam!lab:";
        let upid: Upid = text.parse().unwrap();
        assert_eq!(upid.id, "");
        assert_eq!(upid.vmid(), None);
        assert_eq!(upid.to_string(), text);
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in [
            "",
            "nonsense",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:root@pam:more:",
            "UPID:pve1:1AC5:000BE8D7:6B0D1743:qmstart:107:root@pam:",
            "UPID:pve1:+0001AC5:000BE8D7:6B0D1743:qmstart:107:root@pam:",
            "UPID:../..:00001AC5:000BE8D7:6B0D1743:qmstart:107:root@pam:",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107/../..:root@pam:",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107%2F:root@pam:",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:..\u{ff0f}..:root@pam:",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:..\u{2215}..@pam:",
            "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qm/start:107:root@pam:",
        ] {
            assert!(bad.parse::<Upid>().is_err(), "accepted {bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_accepted_one_can_leave_its_path_segment(
            node in "[a-z./%-]{1,6}",
            kind in "[a-z/%._-]{1,6}",
            id in r"[ -~é]{0,8}",
            user in r"[ -~é]{1,6}@[a-z/.]{1,4}",
        ) {
            let text = format!("UPID:{node}:00001AC5:000BE8D7:6B0D1743:{kind}:{id}:{user}:");
            if let Ok(upid) = text.parse::<Upid>() {
                let upid = upid.to_string();
                prop_assert!(!upid.contains(['/', '?', '#', '%', '\\', ' ', ';', '&']));
                let encoded = segment(&upid).to_string();
                prop_assert!(encoded.bytes().all(|b| b.is_ascii_graphic() && !b"/?#\\".contains(&b)));
                prop_assert_eq!(upid.parse::<Upid>().unwrap().to_string(), upid);
            }
        }
    }
}
