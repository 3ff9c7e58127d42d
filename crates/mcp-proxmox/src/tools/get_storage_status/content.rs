//! What is on a storage, in numbers, and its backups.

use std::collections::{BTreeMap, BTreeSet};

use pve_client::{VmId, guest::Listed, storage::Volume};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    answer::{Bytes, Table, clean::label},
    call::Call,
    in_order::InOrder as _,
    lookup::{guest::real_name, storage::Storage},
    rights::{Extent, Rights},
};

/// How many broken or protected backups are named.
const NAMED: usize = 10;

/// What PVE leaves out for this token, by kind of content, with what it would take.
#[derive(Debug, Default)]
pub(super) struct Hidden(BTreeMap<&'static str, String>);

impl Hidden {
    /// What is hidden of the kinds that the storage may hold.
    pub(super) fn of(storage: &Storage, rights: Option<&Rights>, vmid: Option<VmId>) -> Self {
        let path = format!("/storage/{}", storage.id.as_str());
        let mut hidden = Self::default();
        let Some(rights) = rights else {
            for kind in ["backup", "images", "rootdir"] {
                hidden.note(storage, kind, "it is not known whether the token sees all");
            }
            return hidden;
        };
        if rights.has(&path, &["Datastore.Allocate"]) {
            return hidden;
        }
        let on_guests = |privilege: &str| match vmid {
            Some(vmid) => rights.has(&format!("/vms/{vmid}"), &[privilege]),
            None => rights.extent("/vms", &[privilege]) == Extent::All,
        };
        if !(rights.has(&path, &["Datastore.AllocateSpace"]) && on_guests("VM.Backup")) {
            let needed = format!(
                "needs Datastore.AllocateSpace on {path} and VM.Backup on the guests, or Datastore.Allocate on {path}"
            );
            hidden.note(storage, "backup", &needed);
        }
        if !(rights.has(&path, &["Datastore.Audit"]) && on_guests("VM.Config.Disk")) {
            let needed =
                format!("needs VM.Config.Disk on the guests, or Datastore.Allocate on {path}");
            hidden.note(storage, "images", &needed);
            hidden.note(storage, "rootdir", &needed);
        }
        hidden.note(storage, "snippets", &format!("needs Datastore.Allocate on {path}"));
        hidden
    }

    fn note(&mut self, storage: &Storage, kind: &'static str, needed: &str) {
        if storage.content.iter().any(|held| held == kind) {
            self.0.insert(kind, needed.to_owned());
        }
    }

    fn covers(&self, kind: &str) -> bool {
        self.0.contains_key(kind)
    }

    /// One line for each privilege that is missing.
    pub(super) fn words(&self) -> Vec<String> {
        let mut by_need: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (kind, needed) in &self.0 {
            by_need.entry(needed).or_default().push(kind);
        }
        let told = by_need.into_iter().map(|(needed, kinds)| {
            format!(
                "{}: may be hidden from this token; to see all of it {needed}",
                kinds.join(", ")
            )
        });
        told.collect()
    }
}

/// Counts by kind. A kind that may be on the storage and is not there is counted as 0, unless it may only
/// be hidden.
pub(super) fn count(table: &mut Table, volumes: &[Volume], storage: &Storage, hidden: &Hidden) {
    let mut kinds: BTreeMap<String, (u64, Option<u64>)> = BTreeMap::new();
    for kind in storage.content.iter().filter(|kind| !hidden.covers(kind)) {
        kinds.insert(kind.clone(), (0, Some(0)));
    }
    for volume in volumes {
        let kind = volume.content.as_deref().map_or_else(|| "other".to_owned(), label);
        let (count, bytes) = kinds.entry(kind).or_insert((0, Some(0)));
        *count += 1;
        // One unknown size makes the sum unknown.
        *bytes = bytes.zip(volume.bytes()).map(|(sum, size)| sum.saturating_add(size));
    }
    for (kind, (count, bytes)) in kinds {
        let size = bytes.filter(|_| count > 0).map(Bytes);
        table.push([kind.into(), count.into(), size.into()]);
    }
}

/// The backups on a storage.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Backups {
    total: usize,
    /// How many guests they are of.
    guests: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<String>,
    /// How many were checked and are good, bad, or not checked yet. Proxmox Backup Server alone checks.
    #[serde(skip_serializing_if = "Option::is_none")]
    verified: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_verified: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    verification_failed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    protected: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted: Option<usize>,
}

impl Backups {
    /// `None` where the storage holds no backups, or where none are seen and that says nothing.
    pub(super) fn of(
        volumes: &[Volume],
        storage: &Storage,
        hidden: &Hidden,
        call: &Call,
    ) -> Option<Self> {
        let backups = backups(volumes);
        let may_be_there = storage.content.iter().any(|kind| kind == "backup");
        if backups.is_empty() && (hidden.covers("backup") || !may_be_there) {
            return None;
        }
        let state =
            |volume: &Volume| volume.verification.as_ref().and_then(|check| check.state.clone());
        let is = |wanted: &str| {
            let wanted = wanted.to_owned();
            move |volume: &&&Volume| state(volume).as_deref() == Some(&wanted)
        };
        let name = |volume: &&Volume| {
            let vmid = volume.vmid.map_or_else(|| "?".to_owned(), |vmid| vmid.to_string());
            let time = volume.ctime.and_then(|time| call.time(time));
            format!("{vmid} of {}", time.as_deref().unwrap_or("an unknown time"))
        };
        let checks = storage.plugin.as_deref() == Some("pbs");
        let count = |n: usize| checks.then_some(n);
        let n_encrypted = backups.iter().filter(|volume| volume.encrypted.is_some()).count();
        let failed = backups.iter().filter(is("failed"));
        let protected = backups.iter().filter(|volume| volume.protected == Some(true));
        let guests: BTreeSet<Option<VmId>> = backups.iter().map(|volume| volume.vmid).collect();
        Some(Self {
            total: backups.len(),
            guests: guests.len(),
            oldest: backups.last().and_then(|volume| call.time(volume.ctime?)),
            verified: count(backups.iter().filter(is("ok")).count()),
            not_verified: count(backups.iter().filter(|volume| state(volume).is_none()).count()),
            verification_failed: first(failed.map(name)),
            protected: first(protected.map(name)),
            encrypted: (n_encrypted > 0).then_some(n_encrypted),
        })
    }
}

/// The first few, and how many more there are.
fn first(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    names.extend((more > 0).then(|| format!("and {more} more")));
    names
}

/// The backups, the newest first.
fn backups(volumes: &[Volume]) -> Vec<&Volume> {
    let mut backups: Vec<&Volume> =
        volumes.iter().filter(|volume| volume.content.as_deref() == Some("backup")).collect();
    backups.order_by_key(|volume| std::cmp::Reverse(volume.ctime));
    backups
}

/// The guests whose disks are there, those with the most first, and how many more there are.
pub(super) fn guests(volumes: &[Volume], names: &[Listed], limit: usize) -> (Table, usize) {
    let mut by_guest: BTreeMap<VmId, (u64, Option<u64>)> = BTreeMap::new();
    let is_disk =
        |volume: &&Volume| matches!(volume.content.as_deref(), Some("images" | "rootdir"));
    for volume in volumes.iter().filter(is_disk) {
        let Some(vmid) = volume.vmid else { continue };
        let (count, bytes) = by_guest.entry(vmid).or_insert((0, Some(0)));
        *count += 1;
        *bytes = bytes.zip(volume.bytes()).map(|(sum, size)| sum.saturating_add(size));
    }
    let mut guests: Vec<_> = by_guest.into_iter().collect();
    guests.order_by_key(|(vmid, (_, bytes))| (std::cmp::Reverse(*bytes), *vmid));
    let mut table = Table::new(&["vmid", "name", "disks", "size"]);
    for (vmid, (count, bytes)) in guests.iter().take(limit) {
        let listed = names.iter().find(|listed| listed.vmid == Some(*vmid));
        table.push([
            u64::from(vmid.get()).into(),
            listed.and_then(real_name).map(label).into(),
            (*count).into(),
            bytes.map(Bytes).into(),
        ]);
    }
    (table, guests.len().saturating_sub(limit))
}

/// The newest backups. The notes are what their makers wrote.
pub(super) fn newest(volumes: &[Volume], limit: usize, call: &Call) -> Table {
    let mut table = Table::new(&["vmid", "time", "size", "verified", "protected", "notes"]);
    for volume in backups(volumes).into_iter().take(limit) {
        let state = volume.verification.as_ref().and_then(|check| check.state.as_deref());
        table.push([
            volume.vmid.map(|vmid| u64::from(vmid.get())).into(),
            volume.ctime.and_then(|time| call.time(time)).into(),
            volume.bytes().map(Bytes).into(),
            state.map(label).into(),
            (volume.protected == Some(true)).then_some("yes").into(),
            volume.notes.as_deref().map(label).into(),
        ]);
    }
    table
}
