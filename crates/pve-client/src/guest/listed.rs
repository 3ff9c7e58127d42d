//! Lists of guests.

use super::{GuestRef, Kind};
use crate::{Get, NodeName, Text, VmId, form::Form, ids::segment, perl};

perl::answer! {
    /// One guest of the cluster's list, whose figures are up to ten seconds old.
    ///
    /// A guest on a node that is off has the status `unknown` and neither name nor figures (recorded
    /// from PVE 9.2.11).
    pub struct Listed known by vmid, kind, node {
        /// Its number.
        pub vmid: Option<VmId>,
        /// What it is.
        #[serde(rename = "type")]
        pub kind: Option<Kind>,
        /// The node that it is on.
        pub node: Option<NodeName>,
        /// Its name.
        pub name: Option<Text>,
        /// `running`, `stopped` or `unknown`, and in some versions also what QEMU says.
        pub status: Option<Text>,
        /// What holds it, such as `backup`; `suspended` with a stopped guest means hibernated.
        pub lock: Option<Text>,
        /// What the HA manager does with it, where it does.
        pub hastate: Option<Text>,
        /// The pool that it is in.
        pub pool: Option<Text>,
        /// Its tags, with `;` between them.
        pub tags: Option<Text>,
        /// Whether it is a template.
        pub template: Option<bool>,
        /// The share of all its processors in use, from 0 to about 1.
        pub cpu: Option<f64> as "crate::perl::bounds::share",
        /// How many processors it has.
        pub maxcpu: Option<f64> as "crate::perl::bounds::processors",
        /// Memory in use, in bytes. For a VM it may be more than `maxmem` since PVE 9.
        pub mem: Option<u64>,
        /// Memory that it may use, in bytes.
        pub maxmem: Option<u64>,
        /// Memory that it takes from the node, in bytes. Since PVE 9.
        pub memhost: Option<u64>,
        /// Disk in use, in bytes. For a VM it is 0, which means that it is not known.
        pub disk: Option<u64>,
        /// The size of the first disk, in bytes.
        pub maxdisk: Option<u64>,
        /// Bytes that came over the network since it started.
        pub netin: Option<u64>,
        /// Bytes that went over the network since it started.
        pub netout: Option<u64>,
        /// Bytes read from disks since it started.
        pub diskread: Option<u64>,
        /// Bytes written to disks since it started.
        pub diskwrite: Option<u64>,
        /// Seconds since it started; 0 when it does not run.
        pub uptime: Option<u64> as "crate::perl::bounds::seconds",
    }
}

perl::answer! {
    /// One VM of a node's full list, which asks each VM's QEMU.
    pub struct Full known by vmid {
        /// Its number.
        pub vmid: Option<VmId>,
        /// Its name.
        pub name: Option<String>,
        /// `running` or `stopped`.
        pub status: Option<String>,
        /// What QEMU says: `running`, `paused`, `prelaunch`, `io-error`, `stopped`, …
        pub qmpstatus: Option<String>,
        /// What holds it.
        pub lock: Option<String>,
        /// Its tags, with `;` between them.
        pub tags: Option<String>,
        /// Whether it is a template. Absent unless it is.
        pub template: Option<bool>,
        /// The process that runs it.
        pub pid: Option<u64>,
        /// The share of all its processors in use, from 0 to about 1.
        pub cpu: Option<f64> as "crate::perl::bounds::share",
        /// How many processors it has.
        pub cpus: Option<f64> as "crate::perl::bounds::processors",
        /// Memory in use, in bytes.
        pub mem: Option<u64>,
        /// Memory that it may use, in bytes.
        pub maxmem: Option<u64>,
        /// Seconds since it started.
        pub uptime: Option<u64> as "crate::perl::bounds::seconds",
    }
}

impl Listed {
    /// What a request about it needs, unless the list does not say.
    pub fn guest_ref(&self) -> Option<GuestRef> {
        Some(GuestRef { node: self.node.clone()?, kind: self.kind?, vmid: self.vmid? })
    }
}

/// All guests that the token may see: one request, for any number of them.
///
/// Without `VM.Audit` a guest is missing, and nothing says so.
pub fn list() -> Get<Vec<Listed>> {
    Get::many("/cluster/resources?type=vm".to_owned())
}

/// The VMs of one node with what QEMU says of them, such as `paused`. Slow on a busy node, and
/// refused for one that is off.
pub fn list_full(node: &NodeName) -> Get<Vec<Full>> {
    let path = format!("/nodes/{}/qemu", segment(node.as_str()));
    Get::many(Form::default().flag("full", true).after(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Vec<Listed> {
        list().read(body.as_bytes()).ok().unwrap().data
    }

    #[test]
    fn the_recorded_list_is_read() {
        assert_eq!(list().path(), "/cluster/resources?type=vm");
        let guests = read(
            r#"{"data":[{"vmid":101,"netin":86308,"node":"pve1","mem":215969792,"tags":"db;prod",
            "diskread":512,"template":0,"name":"db01","uptime":1302,"maxdisk":1073741824,
            "maxmem":268435456,"maxcpu":2,"id":"qemu/101","type":"qemu","status":"running",
            "pool":"prod","memhost":215969792,"netout":1076,"cpu":0.00978773335862309,
            "diskwrite":0,"disk":0},
            {"vmid":110,"type":"qemu","node":"pve2","status":"unknown","id":"qemu/110"}]}"#,
        );
        let [db, dead] = guests.as_slice() else { panic!("{guests:?}") };
        assert_eq!(db.guest_ref().unwrap().path(), "/nodes/pve1/qemu/101");
        assert_eq!((db.template, db.maxcpu, db.uptime), (Some(false), Some(2.0), Some(1302)));
        assert_eq!((db.pool.as_deref(), db.tags.as_deref()), (Some("prod"), Some("db;prod")));
        assert_eq!(dead.status.as_deref(), Some("unknown"));
        assert_eq!((&dead.name, dead.cpu, dead.maxmem, dead.template), (&None, None, None, None));
    }

    #[test]
    fn figures_of_older_versions_are_strings() {
        let guests = read(
            r#"{"data":[{"vmid":"101","type":"lxc","node":"a","maxcpu":"2","disk":"1200000000",
            "maxdisk":"8000000000","uptime":"5"}]}"#,
        );
        assert_eq!(guests[0].vmid.unwrap().get(), 101);
        assert_eq!(guests[0].kind, Some(Kind::Lxc));
        assert_eq!((guests[0].disk, guests[0].maxdisk), (Some(1_200_000_000), Some(8_000_000_000)));
    }

    #[test]
    fn one_odd_row_loses_no_other() {
        let guests = read(
            r#"{"data":[null,{"vmid":{},"type":"openvz","node":"a/b","cpu":"NaN"},"x",
            {"vmid":100,"type":"qemu","node":"pve1"}]}"#,
        );
        assert_eq!(guests.len(), 1);
        assert!(guests[0].guest_ref().is_some());
    }

    #[test]
    fn an_index_is_no_list_of_guests() {
        assert!(list().read(br#"{"data":{"vmid":100}}"#).is_err());
    }

    #[test]
    fn the_full_list_knows_paused() {
        let request = list_full(&"pve1".parse().unwrap());
        assert_eq!(request.path(), "/nodes/pve1/qemu?full=1");
        let body = br#"{"data":[{"status":"running","qmpstatus":"paused","vmid":107,"cpus":1,
            "pid":6467,"name":"noguestos","maxmem":67108864,"nics":{},"agent":1}]}"#;
        let guests = request.read(body).ok().unwrap().data;
        assert_eq!(guests[0].qmpstatus.as_deref(), Some("paused"));
        assert_eq!(guests[0].pid, Some(6467));
    }
}
