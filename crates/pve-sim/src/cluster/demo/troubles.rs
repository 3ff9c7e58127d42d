//! What is wrong in the demo cluster, beside its guests and storages: things that an administrator would
//! want to be told of.
//!
//! On `pve3` the time service has died, its clock runs away, and its certificate ends soon; `pve2` was
//! never updated; a database is not copied any more; two guests are in no backup job; and one that starts
//! at boot does not.

use crate::cluster::{BackupJob, Cluster, Replication, Service, Version};

const DAY: u64 = 86_400;
const GIB: u64 = 1 << 30;

/// Adds them.
pub(super) fn add(demo: &mut Cluster, now: u64) {
    demo.backup_jobs = vec![BackupJob {
        exclude: vec![126, 207],
        ..BackupJob::nightly("backup-3f2a1c77-9b1e", "pbs")
    }];
    demo.replication = vec![
        Replication {
            vmid: 111,
            target: "pve1".to_owned(),
            fails: 187,
            error: Some(
                "command 'zfs send -Rpv -- rpool/data/vm-111-disk-0' failed: exit code 1"
                    .to_owned(),
            ),
            last_sync: now - 2 * DAY,
            next_sync: now + 600,
            ..Replication::default()
        },
        Replication {
            vmid: 102,
            target: "pve2".to_owned(),
            last_sync: now - 400,
            next_sync: now + 500,
            ..Replication::default()
        },
    ];
    if let Some(old) = demo.node_mut("pve2") {
        old.version = Some(Version { patch: 9, ..Version::v9_2() });
    }
    if let Some(node) = demo.node_mut("pve3") {
        node.clock_ahead = -41;
        node.certificate_days = Some(11);
        node.swap_used = 6 * GIB;
        for service in node.services.iter_mut().filter(|service| service.name == "chrony") {
            *service = Service::new("chrony", &service.description, "failed", "enabled");
        }
    }
    if let Some(crm) = demo.guest_mut(125) {
        // Its disk is on the storage that its node has lost.
        crm.details.set("onboot", "1").set("scsi0", "nas:125/vm-125-disk-0.qcow2,size=40G");
    }
}
