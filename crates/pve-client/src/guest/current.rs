//! The present state of one guest.

use std::collections::BTreeMap;

use super::{GuestRef, Kind};
use crate::{Get, VmId, perl};

perl::answer! {
    /// What `status/current` says of a guest.
    ///
    /// A stopped guest has neither process nor pressure nor disk counters, and what is not
    /// configured is absent (recorded from PVE 9.2.11).
    pub struct Current {
        /// Its number.
        pub vmid: Option<VmId>,
        /// Its name.
        pub name: Option<String>,
        /// Only a container says what it is.
        #[serde(rename = "type")]
        pub kind: Option<Kind>,
        /// `running` or `stopped`. A paused VM is `running`.
        pub status: Option<String>,
        /// What QEMU says: `running`, `paused`, `prelaunch`, `io-error`, … A container has none.
        pub qmpstatus: Option<String>,
        /// What holds it, such as `backup`; `suspended` with a stopped guest means hibernated.
        pub lock: Option<String>,
        /// Whether and how the HA manager cares for it.
        pub ha: Option<Ha>,
        /// Whether it is a template. Absent unless it is.
        pub template: Option<bool>,
        /// Its tags, with `;` between them.
        pub tags: Option<String>,
        /// Whether the guest agent is configured, which does not mean that it answers.
        pub agent: Option<bool>,
        /// Whether it has a serial port.
        pub serial: Option<bool>,
        /// Whether its display speaks SPICE.
        pub spice: Option<bool>,
        /// The process that runs it.
        pub pid: Option<u64>,
        /// Seconds since it started; 0 when it does not run.
        pub uptime: Option<u64> as "crate::perl::bounds::seconds",
        /// The share of all its processors in use, from 0 to about 1.
        pub cpu: Option<f64> as "crate::perl::bounds::share",
        /// How many processors it has.
        pub cpus: Option<f64> as "crate::perl::bounds::processors",
        /// Memory in use, in bytes. For a VM it may be more than `maxmem` since PVE 9.
        pub mem: Option<u64>,
        /// Memory that it may use, in bytes.
        pub maxmem: Option<u64>,
        /// Memory that it takes from the node, in bytes. Since PVE 9.
        pub memhost: Option<u64>,
        /// Memory that the balloon leaves to the guest, in bytes.
        pub balloon: Option<u64>,
        /// What the balloon driver in the guest says.
        pub ballooninfo: Option<Balloon>,
        /// Swap in use by a container, in bytes.
        pub swap: Option<u64>,
        /// Swap that a container may use, in bytes.
        pub maxswap: Option<u64>,
        /// Disk in use, in bytes. For a VM it is 0, which means that it is not known.
        pub disk: Option<u64>,
        /// The size of the first disk, in bytes. For a stopped container without one it is a made-up
        /// 4 GiB.
        pub maxdisk: Option<u64>,
        /// Bytes read from disks since it started.
        pub diskread: Option<u64>,
        /// Bytes written to disks since it started.
        pub diskwrite: Option<u64>,
        /// Bytes that came over the network since it started.
        pub netin: Option<u64>,
        /// Bytes that went over the network since it started.
        pub netout: Option<u64>,
        /// The network interfaces of a VM by the node's name for them, such as `tap100i0`.
        pub nics: BTreeMap<String, NicIo>,
        /// The disks of a VM by their configured name, such as `scsi0`.
        pub blockstat: BTreeMap<String, DiskIo>,
        /// Percent of the last ten seconds in which some task waited for a processor. Since PVE 9.
        pub pressurecpusome: Option<f64> as "crate::perl::bounds::percent",
        /// Percent of the last ten seconds in which all tasks waited for a processor.
        pub pressurecpufull: Option<f64> as "crate::perl::bounds::percent",
        /// Percent of the last ten seconds in which some task waited for a disk.
        pub pressureiosome: Option<f64> as "crate::perl::bounds::percent",
        /// Percent of the last ten seconds in which all tasks waited for a disk.
        pub pressureiofull: Option<f64> as "crate::perl::bounds::percent",
        /// Percent of the last ten seconds in which some task waited for memory.
        pub pressurememorysome: Option<f64> as "crate::perl::bounds::percent",
        /// Percent of the last ten seconds in which all tasks waited for memory.
        pub pressurememoryfull: Option<f64> as "crate::perl::bounds::percent",
        /// The version of QEMU that runs it, which may be older than the installed one.
        #[serde(rename = "running-qemu")]
        pub running_qemu: Option<String>,
        /// The machine type that it runs as.
        #[serde(rename = "running-machine")]
        pub running_machine: Option<String>,
    }
}

perl::answer! {
    /// What the HA manager does with a guest.
    pub struct Ha {
        /// Whether it cares for the guest at all.
        pub managed: Option<bool>,
        /// What it wants or does: `started`, `stopped`, `error`, …
        pub state: Option<String>,
    }
}

perl::answer! {
    /// What the balloon driver in a VM says. Only `actual` and `max_mem` are there without one.
    pub struct Balloon {
        /// Memory that the guest has, in bytes.
        pub actual: Option<u64>,
        /// Memory that it may have, in bytes.
        pub max_mem: Option<u64>,
        /// Memory that it sees, in bytes.
        pub total_mem: Option<u64>,
        /// Memory that is free in the guest, in bytes.
        pub free_mem: Option<u64>,
    }
}

perl::answer! {
    /// The traffic of one interface since the guest started.
    pub struct NicIo {
        /// Bytes to the guest.
        pub netin: Option<u64>,
        /// Bytes from the guest.
        pub netout: Option<u64>,
    }
}

perl::answer! {
    /// The use of one disk since the guest started.
    pub struct DiskIo {
        /// Bytes read.
        pub rd_bytes: Option<u64>,
        /// Bytes written.
        pub wr_bytes: Option<u64>,
        /// Reads.
        pub rd_operations: Option<u64>,
        /// Writes.
        pub wr_operations: Option<u64>,
        /// Flushes.
        pub flush_operations: Option<u64>,
        /// Nanoseconds that reads took, added up.
        pub rd_total_time_ns: Option<u64>,
        /// Nanoseconds that writes took, added up.
        pub wr_total_time_ns: Option<u64>,
        /// Reads that failed.
        pub failed_rd_operations: Option<u64>,
        /// Writes that failed.
        pub failed_wr_operations: Option<u64>,
        /// Flushes that failed.
        pub failed_flush_operations: Option<u64>,
    }
}

/// The state of a guest at this moment. Needs `VM.Audit`.
///
/// A guest that is on another node or of the other kind is refused as one that does not exist.
pub fn current(guest: &GuestRef) -> Get<Current> {
    Get::one(format!("{}/status/current", guest.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest(kind: Kind, vmid: u32) -> GuestRef {
        GuestRef { node: "pve1".parse().unwrap(), kind, vmid: VmId::try_from(vmid).unwrap() }
    }

    fn read(body: &str) -> Current {
        current(&guest(Kind::Lxc, 200)).read(body.as_bytes()).ok().unwrap().data
    }

    #[test]
    fn it_is_read_from_the_guests_own_path() {
        let path = "/nodes/pve1/lxc/200/status/current";
        assert_eq!(current(&guest(Kind::Lxc, 200)).path(), path);
    }

    #[test]
    fn a_recorded_vm_is_read() {
        let vm = read(
            r#"{"data":{"agent":1,"ballooninfo":{"max_mem":268435456,"actual":268435456},
            "pressurememorysome":0,"name":"web01","vmid":100,"cpus":1,"blockstat":{"scsi0":{
            "rd_operations":1,"wr_bytes":0,"rd_total_time_ns":32228,"account_failed":true,
            "rd_bytes":512,"failed_wr_operations":0,"timed_stats":[]}},"pid":5977,
            "proxmox-support":{"pbs-dirty-bitmap":true},"netin":13272,"qmpstatus":"running",
            "uptime":197,"tags":"prod;web","nics":{"tap100i0":{"netin":13272,"netout":866}},
            "pressurecpusome":0.01,"disk":0,"maxdisk":1073741824,"cpu":0.0304417396426177,
            "running-machine":"pc-i440fx-10.0","ha":{"managed":0},"status":"running","serial":1,
            "mem":240416768,"running-qemu":"10.0.13","balloon":268435456,"clipboard":null}}"#,
        );
        assert_eq!(vm.qmpstatus.as_deref(), Some("running"));
        assert_eq!((vm.agent, vm.serial, vm.pid), (Some(true), Some(true), Some(5977)));
        assert_eq!(vm.ha, Some(Ha { managed: Some(false), state: None }));
        assert_eq!(vm.nics["tap100i0"].netout, Some(866));
        assert_eq!(vm.blockstat["scsi0"].rd_total_time_ns, Some(32_228));
        assert_eq!(vm.ballooninfo.unwrap().actual, Some(268_435_456));
        assert_eq!(vm.pressurecpusome, Some(0.01));
        assert_eq!(vm.running_machine.as_deref(), Some("pc-i440fx-10.0"));
        assert_eq!(vm.lock, None);
    }

    #[test]
    fn a_recorded_container_writes_its_pressure_as_text() {
        let ct = read(
            r#"{"data":{"cpu":0,"pressurecpusome":"0.50","tags":"ct;prod","swap":0,"type":"lxc",
            "uptime":3314,"maxmem":268435456,"ha":{"managed":1,"state":"started"},
            "maxswap":134217728,"status":"running","pid":339,"vmid":200,"cpus":1,
            "name":"ct-web"}}"#,
        );
        assert_eq!(ct.kind, Some(Kind::Lxc));
        assert_eq!((ct.pressurecpusome, ct.maxswap), (Some(0.5), Some(134_217_728)));
        assert_eq!(ct.ha.unwrap().state.as_deref(), Some("started"));
        assert_eq!(ct.qmpstatus, None);
    }

    #[test]
    fn a_stopped_guest_says_little() {
        let vm = read(
            r#"{"data":{"cpus":1,"name":"on-pve2","vmid":110,"qmpstatus":"stopped","uptime":0,
            "pid":null,"status":"stopped","lock":"suspended","ha":"none","nics":[]}}"#,
        );
        assert_eq!((vm.pid, vm.ha, vm.lock.as_deref()), (None, None, Some("suspended")));
        assert!(vm.nics.is_empty() && vm.blockstat.is_empty());
    }
}
