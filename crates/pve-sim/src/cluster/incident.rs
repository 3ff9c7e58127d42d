//! The demo cluster on a bad day: for whoever wants to see much go wrong at once.
//!
//! **Invariant:** what is wrong in the demo cluster is wrong here too.

use crate::cluster::{
    BackupJob, Ceph, Cluster, Guest, Service, State, Storage, Subscription, Volume,
};

const GIB: u64 = 1 << 30;

impl Cluster {
    /// The demo cluster, in which since then a fourth node died, HA gave up on a guest, another VM stands
    /// still since its storage is full, a root disk is full, Ceph complains, a storage is gone everywhere, disks are
    /// promised more than there is, a backup job is switched off and another writes nowhere.
    pub fn incident() -> Self {
        let mut incident = Self::demo();
        let mut dead = super::Node::new("pve4", 4);
        dead.online = false;
        incident.nodes.push(dead);
        let mut lost = Guest::vm(140, "pve4", "warehouse").running(7200);
        lost.ha = None;
        incident.guests.push(lost);
        let mut stuck = Guest::vm(141, "pve1", "archive").running(90_000);
        stuck.state = State::IoError;
        "fast".clone_into(&mut stuck.details.storage);
        stuck.details.set("meta", "creation-qemu=10.0.13,ctime=1790000000");
        incident.guests.push(stuck);
        if let Some(proxy) = incident.guest_mut(201) {
            proxy.ha = Some("error".to_owned());
            (proxy.state, proxy.uptime) = (State::Stopped, 0);
        }
        if let Some(shop) = incident.guest_mut(112) {
            (shop.state, shop.uptime) = (State::Stopped, 0);
        }
        if let Some(node) = incident.node_mut("pve1") {
            node.root_used = 212 * GIB;
            node.load = [41.0, 38.5, 36.2];
            node.subscription = Subscription::None;
            node.certificate_days = Some(-2);
        }
        if let Some(node) = incident.node_mut("pve2") {
            node.memory_used = 94 * GIB;
            for service in node.services.iter_mut().filter(|it| it.name == "pvescheduler") {
                *service = Service::new("pvescheduler", &service.description, "dead", "enabled");
            }
        }
        incident.ceph = Some(Ceph {
            health: "HEALTH_WARN".to_owned(),
            checks: vec![
                ("OSD_DOWN".to_owned(), "HEALTH_WARN".to_owned(), "1 osds down".to_owned()),
                (
                    "PG_DEGRADED".to_owned(),
                    "HEALTH_WARN".to_owned(),
                    "Degraded data redundancy: 412/8211 objects degraded (5.018%), 17 pgs degraded"
                        .to_owned(),
                ),
            ],
        });
        let mut vault = Storage::new("vault", "cifs", &["backup"]);
        vault.shared = true;
        vault.dead_on = incident.nodes.iter().map(|node| node.name.clone()).collect();
        incident.storages.push(vault);
        let mut thin = Storage::new("fast", "lvmthin", &["images"]);
        (thin.total, thin.used) = (900 * GIB, 900 * GIB);
        thin.nodes = vec!["pve1".to_owned()];
        thin.volumes = (0..4)
            .map(|nth| {
                let name = format!("vm-141-disk-{nth}");
                let mut disk =
                    Volume::disk("images", &name, "raw", 400 * GIB, (141, 1_790_000_000));
                disk.node = Some("pve1".to_owned());
                disk
            })
            .collect();
        incident.storages.push(thin);
        if let Some(local) = incident.storages.iter_mut().find(|storage| storage.name == "local") {
            // It is a folder on the root disk.
            local.per_node.insert("pve1".to_owned(), (212 * GIB, 220 * GIB));
        }
        incident.backup_jobs.push(BackupJob {
            disabled: true,
            vmids: Some(vec![126]),
            ..BackupJob::nightly("backup-staging", "pbs")
        });
        incident.backup_jobs.push(BackupJob {
            vmids: Some(vec![100, 101]),
            ..BackupJob::nightly("backup-offsite", "vault")
        });
        incident
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_in_the_demo_is_wrong_here_too() {
        let (demo, incident) = (Cluster::demo(), Cluster::incident());
        assert!(incident.guests.len() > demo.guests.len());
        assert!(incident.replication.iter().any(|job| job.fails > 0));
        assert_eq!(incident.node("pve3").map(|node| node.clock_ahead), Some(-41));
        assert!(incident.guests.iter().all(|guest| incident.node(&guest.node).is_some()));
    }
}
