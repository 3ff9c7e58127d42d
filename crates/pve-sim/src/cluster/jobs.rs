//! What the cluster does by itself: backup jobs, replication; and Ceph, which has its own opinion.

/// A job that makes backups.
#[derive(Debug, Clone, Default)]
pub struct BackupJob {
    /// Its name.
    pub id: String,
    /// Whether it is switched off.
    pub disabled: bool,
    /// The guests that it takes; `None` takes all but those in `exclude`.
    pub vmids: Option<Vec<u32>>,
    /// The guests that it leaves out, where it takes all.
    pub exclude: Vec<u32>,
    /// The pool whose guests it takes instead.
    pub pool: Option<String>,
    /// The one node that it runs on.
    pub node: Option<String>,
    /// The storage that it writes to.
    pub storage: String,
    /// When it runs.
    pub schedule: String,
}

/// A job that copies a guest's disks to another node, and how it is.
#[derive(Debug, Clone, Default)]
pub struct Replication {
    /// The guest.
    pub vmid: u32,
    /// The node that it copies to.
    pub target: String,
    /// How often it failed since it last worked.
    pub fails: u32,
    /// Why it failed the last time.
    pub error: Option<String>,
    /// When it last worked, in seconds since 1970; 0 for never.
    pub last_sync: u64,
    /// When it tries again, in seconds since 1970.
    pub next_sync: u64,
    /// Whether it is switched off.
    pub disabled: bool,
}

/// Ceph.
#[derive(Debug, Clone)]
pub struct Ceph {
    /// `HEALTH_OK`, `HEALTH_WARN`, `HEALTH_ERR`.
    pub health: String,
    /// What is wrong: its name, how bad it is, and a sentence.
    pub checks: Vec<(String, String, String)>,
}

impl BackupJob {
    /// A job that takes all guests at nine in the evening.
    pub fn nightly(id: &str, storage: &str) -> Self {
        let (id, storage) = (id.to_owned(), storage.to_owned());
        Self { id, storage, schedule: "21:00".to_owned(), ..Self::default() }
    }

    /// Whether it takes this guest.
    pub(crate) fn takes(&self, guest: &super::Guest) -> bool {
        let here = self.node.as_ref().is_none_or(|node| *node == guest.node);
        let picked = match (&self.vmids, &self.pool) {
            (Some(vmids), _) => vmids.contains(&guest.vmid),
            (None, Some(pool)) => guest.pool.as_ref() == Some(pool),
            (None, None) => !self.exclude.contains(&guest.vmid),
        };
        here && picked
    }
}
