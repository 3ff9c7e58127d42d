//! Backup jobs, and the guests that no job has.

use crate::{Get, Kind, VmId, perl};

perl::answer! {
    /// A job of the cluster that makes backups. It picks guests in one of three ways: all but some, a
    /// pool, or a list.
    pub struct Job {
        /// Its name, which PVE makes up.
        pub id: Option<String>,
        /// Whether it runs at all. Absent means yes.
        pub enabled: Option<bool>,
        /// Whether it takes all guests, but those in `exclude`.
        pub all: Option<bool>,
        /// The guests that it takes, with `,` between them.
        pub vmid: Option<String>,
        /// The guests that it leaves out, with `,` between them.
        pub exclude: Option<String>,
        /// The pool whose guests it takes.
        pub pool: Option<String>,
        /// The one node that it runs on. Absent for all.
        pub node: Option<String>,
        /// Where the backups go. Absent for a folder of the node.
        pub storage: Option<String>,
        /// When it runs, as a calendar event.
        pub schedule: Option<String>,
        /// What somebody wrote on it.
        pub comment: Option<String>,
    }
}

perl::answer! {
    /// A guest that no job has.
    pub struct Unprotected known by vmid {
        /// Its number.
        pub vmid: Option<VmId>,
        /// Its name.
        pub name: Option<String>,
        /// What it is.
        #[serde(rename = "type")]
        pub kind: Option<Kind>,
    }
}

/// All jobs, those that are switched off too. Needs `Sys.Audit` on `/`.
pub fn jobs() -> Get<Vec<Job>> {
    Get::many("/cluster/backup".to_owned())
}

/// The guests that are in no job, templates among them (recorded from PVE 9.2.11). A job that is
/// switched off counts as one (read). Needs `Sys.Audit` on `/`.
pub fn not_backed_up() -> Get<Vec<Unprotected>> {
    Get::many("/cluster/backup-info/not-backed-up".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_whatever_picks_their_guests() {
        assert_eq!(jobs().path(), "/cluster/backup");
        let body =
            br#"{"data":[{"id":"backup-1","enabled":1,"all":1,"exclude":"126,207","storage":"pbs",
            "schedule":"21:00","type":"vzdump","next-run":1796072400},
            {"id":"backup-2","enabled":"0","vmid":"100,101","node":"pve1"},{"pool":"prod"}]}"#;
        let jobs = jobs().read(body).ok().unwrap().data;
        assert_eq!((jobs[0].enabled, jobs[0].all), (Some(true), Some(true)));
        assert_eq!(jobs[0].exclude.as_deref(), Some("126,207"));
        assert_eq!((jobs[1].enabled, jobs[1].vmid.as_deref()), (Some(false), Some("100,101")));
        assert_eq!((jobs[2].enabled, jobs[2].pool.as_deref()), (None, Some("prod")));
    }

    #[test]
    fn recorded_guests_without_a_job_are_read() {
        assert_eq!(not_backed_up().path(), "/cluster/backup-info/not-backed-up");
        let body = br#"{"data":[{"name":"ct-web","vmid":200,"type":"lxc"},
            {"type":"qemu","name":"tmpl-debian","vmid":102}]}"#;
        let guests = not_backed_up().read(body).ok().unwrap().data;
        assert_eq!((guests[0].kind, guests[1].vmid.map(VmId::get)), (Some(Kind::Lxc), Some(102)));
    }
}
