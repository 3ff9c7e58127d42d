//! Replication of guests' disks from node to node.

use crate::{Get, GuestRef, NodeName, VmId, ids::segment, perl};

perl::answer! {
    /// A job that copies a guest's disks to another node.
    pub struct Job {
        /// `100-0`: the guest and the job's number.
        pub id: Option<String>,
        /// The guest.
        pub guest: Option<VmId>,
        /// The node that it copies to.
        pub target: Option<NodeName>,
        /// Whether it is switched off.
        pub disable: Option<bool>,
    }
}

perl::answer! {
    /// How a job is, as the node knows it that the guest is on (read).
    pub struct State {
        /// `100-0`: the guest and the job's number.
        pub id: Option<String>,
        /// The guest.
        pub guest: Option<VmId>,
        /// The node that it copies to.
        pub target: Option<NodeName>,
        /// Whether it is switched off.
        pub disable: Option<bool>,
        /// How often it has failed since it last worked.
        pub fail_count: Option<u64>,
        /// Why it failed the last time.
        pub error: Option<String>,
        /// When it last worked, in seconds since 1970; 0 for never.
        pub last_sync: Option<i64>,
        /// When it last tried, in seconds since 1970.
        pub last_try: Option<i64>,
        /// When it tries again, in seconds since 1970.
        pub next_sync: Option<i64>,
        /// When it runs, as a calendar event: `*/15`.
        pub schedule: Option<String>,
        /// The process that copies at this moment.
        pub pid: Option<u64>,
    }
}

/// The jobs of the cluster. Without `VM.Audit` on its guest a job is missing, and nothing says so.
pub fn jobs() -> Get<Vec<Job>> {
    Get::many("/cluster/replication".to_owned())
}

/// How the jobs are of the guests on a node. Without `VM.Audit` on its guest a job is missing.
pub fn on_node(node: &NodeName) -> Get<Vec<State>> {
    Get::many(format!("/nodes/{}/replication", segment(node.as_str())))
}

/// How the jobs of a guest are, as its node knows it. Without `VM.Audit` on the guest there are none.
pub fn of_guest(guest: &GuestRef) -> Get<Vec<State>> {
    let node = segment(guest.node.as_str());
    Get::many(format!("/nodes/{node}/replication?guest={}", guest.vmid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_their_states_are_read() {
        assert_eq!(jobs().path(), "/cluster/replication");
        let node = "pve1".parse().unwrap();
        assert_eq!(on_node(&node).path(), "/nodes/pve1/replication");
        let body =
            br#"{"data":[{"id":"111-0","guest":111,"jobnum":0,"type":"local","target":"pve2"}]}"#;
        let read = jobs().read(body).ok().unwrap().data;
        assert_eq!(read[0].guest.map(VmId::get), Some(111));
        let body = br#"{"data":[{"id":"111-0","guest":"111","target":"pve2","fail_count":4,
            "error":"no route to host","last_sync":1796000000,"next_sync":1796020000,"duration":1.5}]}"#;
        let states = on_node(&node).read(body).ok().unwrap().data;
        assert_eq!((states[0].fail_count, states[0].last_sync), (Some(4), Some(1_796_000_000)));
        assert!(jobs().read(br#"{"data":[]}"#).ok().unwrap().data.is_empty());
    }
}
