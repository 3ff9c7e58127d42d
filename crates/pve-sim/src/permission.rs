//! Who may do what: privileges, roles, access control lists with propagation, and
//! privilege-separated tokens.
//!
//! As Proxmox VE does it: an entry on a deeper path replaces what comes from above, an entry of a
//! user wins over those of its groups on the same path, a pool's rights hold for its guests too,
//! and the rights of a privilege-separated token are those of its own entries that its user has as
//! well.
//!
//! **Invariant:** `root@pam` needs no entry; everybody else has exactly what entries give.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::cluster::Cluster;

/// All privileges of PVE 9.2, in the order of their bits.
const NAMES: [&str; 47] = [
    "Datastore.Allocate",
    "Datastore.AllocateSpace",
    "Datastore.AllocateTemplate",
    "Datastore.Audit",
    "Group.Allocate",
    "Mapping.Audit",
    "Mapping.Modify",
    "Mapping.Use",
    "Permissions.Modify",
    "Pool.Allocate",
    "Pool.Audit",
    "Realm.Allocate",
    "Realm.AllocateUser",
    "SDN.Allocate",
    "SDN.Audit",
    "SDN.Use",
    "Sys.AccessNetwork",
    "Sys.Audit",
    "Sys.Console",
    "Sys.Incoming",
    "Sys.Modify",
    "Sys.PowerMgmt",
    "Sys.Syslog",
    "User.Modify",
    "VM.Allocate",
    "VM.Audit",
    "VM.Backup",
    "VM.Clone",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Cloudinit",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.Console",
    "VM.GuestAgent.Audit",
    "VM.GuestAgent.FileRead",
    "VM.GuestAgent.FileSystemMgmt",
    "VM.GuestAgent.FileWrite",
    "VM.GuestAgent.Unrestricted",
    "VM.Migrate",
    "VM.PowerMgmt",
    "VM.Replicate",
    "VM.Snapshot",
    "VM.Snapshot.Rollback",
];

/// Paths that `/access/permissions` always names, beside those of entries and of the members of
/// pools.
const ALWAYS_NAMED: [&str; 8] =
    ["/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"];

/// A set of privileges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Privileges(u64);

impl Privileges {
    /// No privilege at all.
    pub const NONE: Self = Self(0);
    /// Every privilege there is.
    pub const ALL: Self = Self((1 << NAMES.len()) - 1);

    /// The privileges of these names. A name that PVE does not know is left out.
    pub fn of(names: &[&str]) -> Self {
        names.iter().fold(Self::NONE, |set, name| Self(set.0 | Self::bit(name)))
    }

    /// Whether the privilege of this name is among them.
    pub fn contains(self, name: &str) -> bool {
        self.0 & Self::bit(name) != 0
    }

    /// Their names, in alphabetical order.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().filter(move |name| self.contains(name))
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn bit(name: &str) -> u64 {
        NAMES.iter().position(|known| *known == name).map_or(0, |bit| 1 << bit)
    }
}

/// A role: a name for a set of privileges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its name. `NoAccess` takes away what other entries on the same path give.
    pub name: String,
    /// What it gives.
    pub privileges: Privileges,
}

impl Role {
    /// A role of one's own.
    pub fn new(name: &str, privileges: &[&str]) -> Self {
        Self { name: name.to_owned(), privileges: Privileges::of(privileges) }
    }

    /// The role `Administrator`: everything.
    pub fn administrator() -> Self {
        Self { name: "Administrator".to_owned(), privileges: Privileges::ALL }
    }

    /// The role `PVEAuditor`: sees nearly everything and changes nothing (recorded from PVE
    /// 9.2.11).
    pub fn auditor() -> Self {
        let privileges = [
            "Datastore.Audit",
            "Mapping.Audit",
            "Pool.Audit",
            "SDN.Audit",
            "Sys.Audit",
            "VM.Audit",
            "VM.GuestAgent.Audit",
        ];
        Self::new("PVEAuditor", &privileges)
    }

    /// The role `PVEVMUser`: uses guests without changing their hardware (recorded from PVE
    /// 9.2.11).
    pub fn vm_user() -> Self {
        let privileges = [
            "VM.Audit",
            "VM.Backup",
            "VM.Config.CDROM",
            "VM.Config.Cloudinit",
            "VM.Console",
            "VM.GuestAgent.Audit",
            "VM.GuestAgent.FileRead",
            "VM.GuestAgent.FileSystemMgmt",
            "VM.GuestAgent.FileWrite",
            "VM.PowerMgmt",
        ];
        Self::new("PVEVMUser", &privileges)
    }

    /// The role `NoAccess`: takes away what is given on the same path.
    pub fn no_access() -> Self {
        Self::new("NoAccess", &[])
    }
}

/// One entry of the access control list.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The object: `/`, `/vms/100`, `/nodes/pve1`, `/storage/local`, `/pool/prod`, …
    pub path: String,
    /// A user (`ops@pve`), a group (`@staff`) or a token (`ops@pve!sep`).
    pub who: String,
    /// What they get.
    pub role: Role,
    /// Whether it holds below the path too.
    pub propagate: bool,
}

/// What one token, or user, may do on one cluster.
#[derive(Debug)]
pub(crate) struct Rights<'a> {
    cluster: &'a Cluster,
    /// The user without the token's name.
    user: &'a str,
    /// The whole id, if the token has rights of its own.
    separated: Option<&'a str>,
    /// The entries that matter to this user and token, by path.
    entries: BTreeMap<&'a str, Vec<&'a Grant>>,
    groups: Vec<String>,
}

/// The privileges on one path, and those of them that hold below it too.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OnPath {
    /// All of them.
    pub(crate) privileges: Privileges,
    /// The part that propagates.
    pub(crate) propagating: Privileges,
}

impl<'a> Rights<'a> {
    /// The rights of the token, or of the user, of this id.
    pub(crate) fn of(cluster: &'a Cluster, id: &'a str) -> Self {
        let user = id.split('!').next().unwrap_or(id);
        let token = cluster.tokens.iter().find(|token| token.id == id);
        // A token that does not exist has no rights of its own, hence none at all.
        let separated =
            (id.contains('!') && token.is_none_or(|token| token.separated)).then_some(id);
        let groups = cluster.users.iter().find(|known| known.id == user);
        let groups: Vec<String> = groups
            .map(|known| known.groups.iter().map(|group| format!("@{group}")).collect())
            .unwrap_or_default();
        let mut entries: BTreeMap<&str, Vec<&Grant>> = BTreeMap::new();
        for grant in &cluster.acl {
            let who = grant.who.as_str();
            if who == user || Some(who) == separated || groups.iter().any(|group| group == who) {
                entries.entry(&grant.path).or_default().push(grant);
            }
        }
        Self { cluster, user, separated, entries, groups }
    }

    /// Whether this privilege is held on this path.
    pub(crate) fn has(&self, path: &str, privilege: &str) -> bool {
        self.on(path).privileges.contains(privilege)
    }

    /// Whether this privilege is held on this guest, through its own path or through its pool.
    pub(crate) fn has_on_guest(&self, vmid: u32, pool: Option<&str>, privilege: &str) -> bool {
        self.on_guest(vmid, pool).privileges.contains(privilege)
    }

    /// What is held on a guest, through its own path or through its pool.
    pub(crate) fn on_guest(&self, vmid: u32, pool: Option<&str>) -> OnPath {
        let own = self.on(&format!("/vms/{vmid}"));
        match pool {
            Some(pool) => own.or(self.on(&format!("/pool/{pool}"))),
            None => own,
        }
    }

    /// What is held on this path.
    pub(crate) fn on(&self, path: &str) -> OnPath {
        let of_user = if self.user == "root@pam" {
            OnPath { privileges: Privileges::ALL, propagating: Privileges::ALL }
        } else {
            self.walk(path, self.user, true)
        };
        match self.separated {
            Some(token) => of_user.and(self.walk(path, token, false)),
            None => of_user,
        }
    }

    /// Every path that `/access/permissions` would name, with what is held there.
    pub(crate) fn everything(&self) -> BTreeMap<String, OnPath> {
        let mut paths: BTreeSet<String> = ALWAYS_NAMED.map(str::to_owned).into();
        for grant in &self.cluster.acl {
            // The list is a tree, so the paths between `/` and an entry are named as well.
            let ends = grant.path.match_indices('/').map(|(at, _)| at).chain([grant.path.len()]);
            paths.extend(ends.filter_map(|end| grant.path.get(..end)).map(ToOwned::to_owned));
        }
        paths.remove("");
        let pools: HashMap<u32, &str> = self
            .cluster
            .guests
            .iter()
            .filter_map(|guest| Some((guest.vmid, guest.pool.as_deref()?)))
            .collect();
        paths.extend(pools.keys().map(|vmid| format!("/vms/{vmid}")));
        let held = paths.into_iter().map(|path| {
            let vmid = path.strip_prefix("/vms/").and_then(|vmid| vmid.parse().ok());
            let on_path = match vmid {
                Some(vmid) => self.on_guest(vmid, pools.get(&vmid).copied()),
                None => self.on(&path),
            };
            (path, on_path)
        });
        held.filter(|(_, on_path)| !on_path.privileges.is_empty()).collect()
    }

    /// Goes from `/` down to `path`; what a deeper entry says replaces what came from above.
    fn walk(&self, path: &str, who: &str, with_groups: bool) -> OnPath {
        let mut held = OnPath::default();
        // The walk visits `/`, `/vms`, `/vms/100`: every place where a slash begins a part, and the
        // end.
        let inner = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let ends = [1].into_iter().chain(inner).chain((path.len() > 1).then_some(path.len()));
        for step in ends.filter_map(|end| path.get(..end)) {
            let Some(entries) = self.entries.get(step) else { continue };
            let last = step == path;
            let own = OnPath::from(entries, last, |grant| grant.who == who);
            let of_groups = || {
                let mine = |grant: &Grant| self.groups.contains(&grant.who);
                with_groups.then(|| OnPath::from(entries, last, mine)).flatten()
            };
            if let Some(found) = own.or_else(of_groups) {
                held = found;
            }
        }
        held
    }
}

impl OnPath {
    /// What the entries of one path give to those for whom `mine` holds; `None` if there is no such
    /// entry.
    fn from(entries: &[&Grant], last: bool, mine: impl Fn(&Grant) -> bool) -> Option<Self> {
        let mut found: Option<Self> = None;
        let mut denied = false;
        for grant in entries.iter().filter(|grant| (last || grant.propagate) && mine(grant)) {
            let held = found.get_or_insert_default();
            denied |= grant.role.name == "NoAccess";
            held.privileges = held.privileges.or(grant.role.privileges);
            if grant.propagate {
                held.propagating = held.propagating.or(grant.role.privileges);
            }
        }
        if denied { Some(Self::default()) } else { found }
    }

    fn and(self, other: Self) -> Self {
        Self {
            privileges: self.privileges.and(other.privileges),
            propagating: self.propagating.and(other.propagating),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            privileges: self.privileges.or(other.privileges),
            propagating: self.propagating.or(other.propagating),
        }
    }
}
