//! What the user decided about writes: which guests, whether a person is asked, what is recorded. And whose turn
//! it is on a guest.

use std::path::PathBuf;

use pve_client::guest::Current;

use crate::{
    audit::Audit,
    config::{Config, Confirm, GuestSet},
    failure::Failure,
    lookup::{self, guest::Found},
    turns::Turns,
};

/// What the user decided about writes.
#[derive(Debug, Default)]
pub struct Policy {
    allow: Option<GuestSet>,
    protect: GuestSet,
    confirm: Confirm,
    audit: Option<Audit>,
    /// Whose turn it is on which guest.
    pub turns: Turns,
}

/// What the lists tell guests apart by.
#[derive(Clone, Copy, Debug)]
pub struct Marks<'a> {
    /// Its number.
    pub vmid: u32,
    /// Its tags, with anything of `;`, `,` and blanks between them.
    pub tags: Option<&'a str>,
    /// Its pool.
    pub pool: Option<&'a str>,
}

impl Policy {
    /// What the configuration says.
    pub fn of(config: &Config) -> Self {
        let Config { allow, protect, confirm, audit_log, .. } = config;
        Self::new(allow.clone(), protect.clone(), *confirm, audit_log.clone())
    }

    /// The guests that writes may touch (`None` for all), those that they may not, when a person is asked,
    /// and where writes are recorded.
    pub fn new(
        allow: Option<GuestSet>,
        protect: GuestSet,
        confirm: Confirm,
        audit_log: Option<PathBuf>,
    ) -> Self {
        Self { allow, protect, confirm, audit: audit_log.map(Audit::new), turns: Turns::default() }
    }

    /// The guests that writes may touch; `None` for all.
    pub fn allow(&self) -> Option<&GuestSet> {
        self.allow.as_ref()
    }

    /// The guests that no write may touch.
    pub fn protect(&self) -> &GuestSet {
        &self.protect
    }

    /// The record of writes, if the user wants one.
    pub fn audit(&self) -> Option<&Audit> {
        self.audit.as_ref()
    }

    /// Whether a person has to agree before a write that is `destructive` or not.
    pub fn asks_before(&self, destructive: bool) -> bool {
        match self.confirm {
            Confirm::Never => false,
            Confirm::Destructive => destructive,
            Confirm::Always => true,
        }
    }

    /// Whether writes may touch this guest, as it was found and as it is now.
    ///
    /// # Errors
    /// Which of the lists forbids it.
    pub fn lets(&self, found: &Found, current: &Current) -> Result<(), Failure> {
        let listed = &found.listed;
        // The list may be older than the guest's own word: what either says counts.
        let both = [listed.tags.as_deref(), current.tags.as_deref()];
        let tags = both.into_iter().flatten().collect::<Vec<_>>().join(";");
        let vmid = found.guest.vmid.get();
        self.may_touch(Marks { vmid, tags: Some(&tags), pool: listed.pool.as_deref() })
    }

    /// Whether writes may touch a guest of these marks. `PVE_PROTECT_VMS` wins over `PVE_ALLOW_VMS`.
    ///
    /// # Errors
    /// Which of the lists forbids it.
    pub fn may_touch(&self, marks: Marks<'_>) -> Result<(), Failure> {
        let Marks { vmid, tags, pool } = marks;
        let tags = || lookup::guest::tags(tags);
        let refused = |variable: &str, why: &str| {
            let what = format!("{vmid} {why} {variable}, so nothing was sent");
            Err(Failure::new(what)
                .hint("only the user can change that setting; do not try a way around it")
                .refused())
        };
        if self.protect.contains(vmid, tags(), pool) {
            return refused("PVE_PROTECT_VMS", "is protected by");
        }
        match &self.allow {
            Some(allow) if !allow.contains(vmid, tags(), pool) => {
                refused("PVE_ALLOW_VMS", "is not among the guests of")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policy(allow: Option<&str>, protect: &str) -> Policy {
        let allow = allow.map(|text| text.parse().unwrap());
        Policy::new(allow, protect.parse().unwrap(), Confirm::Never, None)
    }

    fn may(policy: &Policy, vmid: u32, tags: &str, pool: Option<&str>) -> bool {
        policy.may_touch(Marks { vmid, tags: Some(tags), pool }).is_ok()
    }

    #[test]
    fn protection_wins_over_permission_and_says_which_setting_it_is() {
        let policy = policy(Some("100-199,pool:dev"), "150,tag:prod");
        assert!(may(&policy, 100, "web", None) && may(&policy, 300, "", Some("dev")));
        assert!(!may(&policy, 150, "", None) && !may(&policy, 100, "web;Prod", None));
        let marks = |vmid| Marks { vmid, tags: None, pool: None };
        let told = |vmid| policy.may_touch(marks(vmid)).unwrap_err().to_string();
        assert!(told(150).contains("PVE_PROTECT_VMS") && told(200).contains("PVE_ALLOW_VMS"));
    }

    proptest! {
        #[test]
        fn a_guest_may_be_touched_exactly_where_it_is_allowed_and_not_protected(
            allowed in proptest::option::of(proptest::collection::vec(member(), 0..5)),
            protected in proptest::collection::vec(member(), 0..5),
            vmid in 100_u32..130,
            tags in proptest::collection::vec("[a-cA-C]", 0..3),
            between in proptest::sample::select(vec![";", ",", " ", "; "]),
            pool in proptest::option::of("[a-cA-C]"),
        ) {
            let text = |members: &[Member]| members.iter().map(Member::text).collect::<Vec<_>>().join(",");
            let holds = |members: &[Member]| {
                members.iter().any(|member| member.holds(vmid, &tags, pool.as_deref()))
            };
            let policy = policy(allowed.as_deref().map(text).as_deref(), &text(&protected));
            let expected = allowed.as_deref().is_none_or(holds) && !holds(&protected);
            prop_assert_eq!(may(&policy, vmid, &tags.join(between), pool.as_deref()), expected);
        }
    }

    /// A second, simpler reading of the lists.
    #[derive(Clone, Debug)]
    enum Member {
        Range(u32, u32),
        Tag(String),
        Pool(String),
    }

    fn member() -> impl Strategy<Value = Member> {
        prop_oneof![
            (100_u32..130, 0_u32..10).prop_map(|(first, more)| Member::Range(first, first + more)),
            "[a-cA-C]".prop_map(Member::Tag),
            "[a-cA-C]".prop_map(Member::Pool),
        ]
    }

    impl Member {
        fn text(&self) -> String {
            match self {
                Self::Range(first, last) if first == last => format!(" {first}"),
                Self::Range(first, last) => format!("{first}-{last}"),
                Self::Tag(name) => format!("tag:{name}"),
                Self::Pool(name) => format!("pool:{name} "),
            }
        }

        fn holds(&self, vmid: u32, tags: &[String], pool: Option<&str>) -> bool {
            match self {
                Self::Range(first, last) => (*first..=*last).any(|member| member == vmid),
                // Tags are the same in capitals, pools are not.
                Self::Tag(name) => tags.iter().any(|tag| tag.to_lowercase() == name.to_lowercase()),
                Self::Pool(name) => pool == Some(name),
            }
        }
    }
}
