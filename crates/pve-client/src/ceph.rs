//! Ceph, where the cluster has it: what Ceph itself says of its health.

use std::collections::BTreeMap;

use crate::{Get, perl};

perl::answer! {
    /// Ceph's status, as far as it is read.
    pub struct Status {
        /// Its health.
        pub health: Option<Health>,
    }
}

perl::answer! {
    /// Ceph's health.
    pub struct Health {
        /// `HEALTH_OK`, `HEALTH_WARN` or `HEALTH_ERR`.
        pub status: Option<String>,
        /// What is wrong, by Ceph's name for it, such as `OSD_DOWN`.
        pub checks: BTreeMap<String, Check>,
    }
}

perl::answer! {
    /// One thing that is wrong.
    pub struct Check {
        /// `HEALTH_WARN` or `HEALTH_ERR`.
        pub severity: Option<String>,
        /// What it is.
        pub summary: Option<Summary>,
        /// Whether somebody decided not to hear of it.
        pub muted: Option<bool>,
    }
}

perl::answer! {
    /// A sentence of Ceph's.
    pub struct Summary {
        /// The sentence.
        pub message: Option<String>,
    }
}

/// Ceph's status. Needs `Sys.Audit` or `Datastore.Audit` on `/`. Refused with
/// `binary not installed: …` where there is no Ceph (recorded from PVE 9.2.11).
pub fn status() -> Get<Status> {
    Get::one("/cluster/ceph/status".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_read_by_name() {
        assert_eq!(status().path(), "/cluster/ceph/status");
        let body = br#"{"data":{"fsid":"x","health":{"status":"HEALTH_WARN","mutes":[],"checks":{"OSD_DOWN":
            {"severity":"HEALTH_WARN","muted":false,"summary":{"message":"1 osds down","count":1}}}}}}"#;
        let health = status().read(body).ok().unwrap().data.health.unwrap();
        assert_eq!(health.status.as_deref(), Some("HEALTH_WARN"));
        let summary = health.checks["OSD_DOWN"].summary.as_ref().unwrap();
        assert_eq!(summary.message.as_deref(), Some("1 osds down"));
    }
}
