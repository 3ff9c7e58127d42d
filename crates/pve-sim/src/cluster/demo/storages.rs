//! The storages of the demo cluster, and what is on them: disks, images, and the backups of two weeks,
//! of which not all are as they should be.

use crate::cluster::{Guest, Kind, Storage, Volume};

const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;
const DAY: u64 = 86_400;

/// The storages of a cluster with these guests.
pub(super) fn of(guests: &[Guest], now: u64) -> Vec<Storage> {
    let storage = |name: &str, plugin: &str, content: &[&str], (used, total), shared| {
        let mut storage = Storage::new(name, plugin, content);
        (storage.used, storage.total, storage.shared) = (used, total, shared);
        storage
    };
    let mut local =
        storage("local", "dir", &["iso", "vztmpl", "snippets"], (38 * GIB, 220 * GIB), false);
    let template = "debian-13-standard_13.1-2_amd64.tar.zst";
    local.volumes = vec![Volume::image("vztmpl", template, 131 << 20, now - 90 * DAY)];
    let mut zfs =
        storage("local-zfs", "zfspool", &["images", "rootdir"], (640 * GIB, 1800 * GIB), false);
    zfs.per_node.insert("pve3".to_owned(), (1690 * GIB, 1800 * GIB));
    let own = guests.iter().filter(|guest| guest.vmid != 125);
    zfs.volumes = own.map(|guest| disk(guest, now)).collect();
    let mut nas =
        storage("nas", "nfs", &["iso", "backup", "images"], (11 * TIB + 400 * GIB, 12 * TIB), true);
    nas.grows = 19 * GIB;
    nas.dead_on = vec!["pve2".to_owned()];
    nas.volumes = vec![
        Volume::image("iso", "debian-13.2.0-amd64-netinst.iso", 784 << 20, now - 12 * DAY),
        Volume::image("iso", "virtio-win-0.1.285.iso", 753 << 20, now - 60 * DAY),
        Volume::disk("images", "125/vm-125-disk-0.qcow2", "qcow2", 40 * GIB, (125, now - 90 * DAY)),
        Volume::disk("images", "123/vm-123-disk-9.qcow2", "qcow2", 80 * GIB, (123, now - 80 * DAY)),
        kept(now),
    ];
    let mut pbs = storage("pbs", "pbs", &["backup"], (6 * TIB, 16 * TIB), true);
    pbs.grows = 31 * GIB;
    pbs.volumes = guests.iter().flat_map(|guest| backups(guest, now)).collect();
    let mut old = storage("old-nas", "nfs", &["backup"], (0, 0), true);
    old.disabled = true;
    vec![local, zfs, nas, pbs, old]
}

fn disk(guest: &Guest, now: u64) -> Volume {
    let (content, kind) = match guest.kind {
        Kind::Qemu => ("images", "vm"),
        Kind::Lxc => ("rootdir", "subvol"),
    };
    let name = format!("{kind}-{}-disk-0", guest.vmid);
    let format = if guest.kind == Kind::Qemu { "raw" } else { "subvol" };
    let made = now.saturating_sub(guest.uptime + 30 * DAY);
    let mut disk = Volume::disk(content, &name, format, guest.disk, (guest.vmid, made));
    disk.node = Some(guest.node.clone());
    disk
}

/// The last backup of a guest that nothing has backed up since.
fn kept(now: u64) -> Volume {
    let name = "backup/vzdump-qemu-125-last.vma.zst";
    let mut kept = Volume::backup(name, "vma.zst", 21 * GIB, (125, now - 47 * DAY));
    (kept.protected, kept.notes) = (true, Some("before the migration, keep".to_owned()));
    kept
}

/// Fourteen nights of a guest, the last of which was not yet verified; of `staging-webshop` nothing, and
/// of `gitlab` one that is broken.
fn backups(guest: &Guest, now: u64) -> Vec<Volume> {
    if guest.template || matches!(guest.vmid, 125 | 126 | 207) {
        return Vec::new();
    }
    let (kind, format) = match guest.kind {
        Kind::Qemu => ("vm", "pbs-vm"),
        Kind::Lxc => ("ct", "pbs-ct"),
    };
    let last_night = now - now % DAY - 3 * 3600 + u64::from(guest.vmid) * 7;
    let night = |back: u64| {
        let made = last_night - back * DAY;
        let name = format!("backup/{kind}/{}/{made}", guest.vmid);
        let size = guest.disk / 100 * (41 - back.min(10));
        let mut backup = Volume::backup(&name, format, size, (guest.vmid, made));
        let is_broken = guest.vmid == 120 && back == 3;
        let state = if is_broken { "failed" } else { "ok" };
        backup.verified = (back > 0).then(|| state.to_owned());
        backup.notes = guest.name.clone();
        backup
    };
    (0..14).map(night).collect()
}
