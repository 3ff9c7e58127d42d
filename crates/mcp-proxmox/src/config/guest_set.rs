//! Reads `PVE_ALLOW_VMS` and `PVE_PROTECT_VMS`: `100-199,205,tag:ai,pool:dev`, `all`, `none`.

use std::{fmt, str::FromStr};

use super::list::each;

/// A set of VMs and containers, by vmid, tag or pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestSet {
    members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Member {
    All,
    Vmids(u32, u32),
    Tag(String),
    Pool(String),
}

impl GuestSet {
    /// Whether the guest with this vmid, these tags and this pool belongs to the set.
    pub fn contains<'a>(
        &self,
        vmid: u32,
        tags: impl Iterator<Item = &'a str> + Clone,
        pool: Option<&str>,
    ) -> bool {
        self.members.iter().any(|member| match member {
            Member::All => true,
            Member::Vmids(first, last) => (first..=last).contains(&&vmid),
            // PVE shows tags in lower case unless it is told otherwise, and compares them so.
            Member::Tag(tag) => tags.clone().any(|other| other.eq_ignore_ascii_case(tag)),
            Member::Pool(name) => pool == Some(name),
        })
    }
}

impl GuestSet {
    /// Its members one by one, as sets of their own.
    pub fn parts(&self) -> impl Iterator<Item = Self> {
        self.members.iter().map(|member| Self { members: vec![member.clone()] })
    }

    /// Whether nothing belongs to it.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }
}

impl fmt::Display for GuestSet {
    /// As the user writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.members.is_empty() {
            return f.write_str("none");
        }
        let mut separator = "";
        for member in &self.members {
            f.write_str(separator)?;
            match member {
                Member::All => f.write_str("all")?,
                Member::Vmids(first, last) if first == last => write!(f, "{first}")?,
                Member::Vmids(first, last) => write!(f, "{first}-{last}")?,
                Member::Tag(tag) => write!(f, "tag:{tag}")?,
                Member::Pool(pool) => write!(f, "pool:{pool}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

impl FromStr for GuestSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(Self::default());
        }
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let members = each(parts, member)?;
        if members.is_empty() && !text.trim().is_empty() {
            return Err("it names no VM or container".to_owned());
        }
        Ok(Self { members })
    }
}

fn member(part: &str) -> Result<Member, String> {
    if part.eq_ignore_ascii_case("all") {
        return Ok(Member::All);
    }
    if let Some((kind, name)) = part.split_once(':') {
        let name = name.trim();
        let is_name = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_+./".contains(&b));
        return match kind.trim() {
            _ if !is_name => Err(format!("`{part}` names no tag or pool")),
            "tag" => Ok(Member::Tag(name.to_owned())),
            "pool" => Ok(Member::Pool(name.to_owned())),
            _ => Err(format!(
                "`{part}` must begin with `tag:` or `pool:`, or be a vmid or a range such as 100-199"
            )),
        };
    }
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (vmid(first)?, vmid(last)?);
    if first > last {
        return Err(format!("the range `{part}` is the wrong way round"));
    }
    Ok(Member::Vmids(first, last))
}

fn vmid(text: &str) -> Result<u32, String> {
    let number = text.trim().parse().ok().filter(|vmid| (100..=999_999_999).contains(vmid));
    number.ok_or_else(|| format!("`{text}` is not a vmid (100 to 999999999), a range such as 100-199, `tag:NAME` or `pool:NAME`"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holds(set: &str, vmid: u32, tags: &[&str], pool: Option<&str>) -> bool {
        set.parse::<GuestSet>().unwrap().contains(vmid, tags.iter().copied(), pool)
    }

    #[test]
    fn members_are_vmids_ranges_tags_and_pools() {
        let set = "100-199, 205,tag:ai,pool:dev";
        assert!(
            holds(set, 100, &[], None) && holds(set, 199, &[], None) && holds(set, 205, &[], None)
        );
        assert!(holds(set, 300, &["db", "AI"], None));
        assert!(holds(set, 300, &[], Some("dev")));
        assert!(!holds(set, 200, &["a"], Some("prod")));
    }

    #[test]
    fn all_and_none_are_words_for_themselves() {
        assert!(holds("all", 100, &[], None) && holds("All, 205", 300, &[], None));
        assert!(!holds("none", 100, &["a"], Some("dev")));
        for (text, shown) in [("ALL", "all"), (" None ", "none"), ("100-100, tag:a", "100,tag:a")] {
            assert_eq!(text.parse::<GuestSet>().unwrap().to_string(), shown);
        }
        assert!("none,100".parse::<GuestSet>().is_err(), "nothing and something");
    }

    #[test]
    fn mistakes_are_told() {
        for bad in ["99", "abc", "199-100", "tag:", "label:x", "100-", "-5", "1e3", ",", " , ,"] {
            assert!(bad.parse::<GuestSet>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_range_holds_exactly_what_lies_in_it(first in 100_u32..5000, length in 0_u32..5000, vmid in 100_u32..12000) {
            let set = format!("{first}-{}", first + length);
            prop_assert_eq!(holds(&set, vmid, &[], None), vmid >= first && vmid <= first + length);
        }

        #[test]
        fn any_text_is_answered(text in any::<String>()) {
            let _ = text.parse::<GuestSet>();
        }

        #[test]
        fn what_looks_like_a_list_is_answered_and_what_is_read_is_written_so_that_it_is_read_alike(text in near()) {
            if let Ok(set) = text.parse::<GuestSet>() {
                prop_assert_eq!(set.to_string().parse::<GuestSet>(), Ok(set));
            }
        }

        #[test]
        fn every_list_of_right_parts_is_read_and_every_list_with_a_wrong_one_is_not(
            parts in proptest::collection::vec(right(), 1..6),
            wrong in prop::sample::select(WRONG),
            at in any::<prop::sample::Index>(),
        ) {
            let set: GuestSet = parts.join(",").parse().unwrap();
            prop_assert_eq!(set.members.len(), parts.len());
            prop_assert_eq!(set.to_string().parse::<GuestSet>(), Ok(set));
            let mut parts = parts;
            parts.insert(at.index(parts.len() + 1), wrong.to_owned());
            prop_assert!(parts.join(",").parse::<GuestSet>().is_err(), "{:?}", parts);
        }
    }

    const WRONG: &[&str] = &[
        "1",
        "99",
        "1000000000",
        "200-100",
        "100-",
        "-100",
        "100-200-300",
        "web",
        "tag:",
        "pool: ",
        "tag:a b",
        "label:x",
        "0x64",
        "+",
        "100;101",
        "１００",
    ];

    /// A part of a list as people write it.
    fn right() -> impl Strategy<Value = String> {
        prop_oneof![
            " ?[1-9][0-9]{2,8} ?",
            (100_u32..2000, 0_u32..2000, " ?")
                .prop_map(|(first, more, blank)| format!("{first}{blank}-{blank}{}", first + more)),
            " ?tag: ?[a-zA-Z0-9_.+-]{1,6} ?",
            "pool: ?[a-zA-Z0-9_./-]{1,6}",
        ]
    }

    /// Text of the letters that lists are made of, right or wrong.
    fn near() -> impl Strategy<Value = String> {
        "((tag|pool|[0-9]{1,4}|[-:, ]|[a-z./+]){0,12})"
    }
}
