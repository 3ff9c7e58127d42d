//! One node: its state, services, updates, certificates.

use crate::{Get, NodeName, ids::segment, perl};

perl::answer! {
    /// A node of the list. One that is off has only a name and a status, and without `Sys.Audit` none
    /// has figures.
    pub struct Listed known by node {
        /// Its name.
        pub node: Option<NodeName>,
        /// `online`, `offline` or `unknown`.
        pub status: Option<String>,
        /// Its level of subscription, a letter. Absent without one.
        pub level: Option<String>,
        /// The share of its processors in use, from 0 to 1, over some ten seconds.
        pub cpu: Option<f64> as "crate::perl::bounds::share",
        /// How many processors it has.
        pub maxcpu: Option<f64> as "crate::perl::bounds::processors",
        /// Memory in use, in bytes.
        pub mem: Option<u64>,
        /// Memory, in bytes.
        pub maxmem: Option<u64>,
        /// The root file system's use, in bytes.
        pub disk: Option<u64>,
        /// The root file system's size, in bytes.
        pub maxdisk: Option<u64>,
        /// Seconds since it started.
        pub uptime: Option<u64> as "crate::perl::bounds::seconds",
        /// The SHA-256 fingerprint of its certificate.
        pub ssl_fingerprint: Option<String>,
    }
}

perl::answer! {
    /// What a node says of itself.
    pub struct Status {
        /// The share of its processors in use since the last question, from 0 to 1. Often 0 or an
        /// odd peak, so that [`Listed::cpu`] is the better figure.
        pub cpu: Option<f64> as "crate::perl::bounds::share",
        /// The share of time spent waiting for disks, from 0 to 1.
        pub wait: Option<f64> as "crate::perl::bounds::share",
        /// The load over 1, 5 and 15 minutes.
        pub loadavg: Vec<f64> as "crate::perl::bounds::loads",
        /// Memory.
        pub memory: Option<Space>,
        /// Swap. Its total may be 0.
        pub swap: Option<Space>,
        /// The root file system.
        pub rootfs: Option<Space>,
        /// Seconds since it started.
        pub uptime: Option<u64> as "crate::perl::bounds::seconds",
        /// `pve-manager/9.2.11/14a22df35955d97d`, and older versions name the kernel as well.
        pub pveversion: Option<String>,
        /// The kernel in one line, in older versions too.
        pub kversion: Option<String>,
        /// The kernel that runs.
        #[serde(rename = "current-kernel")]
        pub current_kernel: Option<Kernel>,
        /// The processors.
        pub cpuinfo: Option<CpuInfo>,
        /// Memory that guests share.
        pub ksm: Option<Ksm>,
        /// How it started.
        #[serde(rename = "boot-info")]
        pub boot_info: Option<BootInfo>,
    }
}

perl::answer! {
    /// A use of space, in bytes.
    pub struct Space {
        /// All of it.
        pub total: Option<u64>,
        /// In use.
        pub used: Option<u64>,
        /// Not in use.
        pub free: Option<u64>,
        /// Of a file system: what can still be written.
        pub avail: Option<u64>,
        /// Of memory: what programs can still have.
        pub available: Option<u64>,
    }
}

perl::answer! {
    /// A kernel.
    pub struct Kernel {
        /// `6.17.4-2-pve`.
        pub release: Option<String>,
        /// When and how it was built.
        pub version: Option<String>,
        /// `x86_64`.
        pub machine: Option<String>,
        /// `Linux`.
        pub sysname: Option<String>,
    }
}

perl::answer! {
    /// The processors of a node.
    pub struct CpuInfo {
        /// What they are.
        pub model: Option<String>,
        /// How many chips.
        pub sockets: Option<u64>,
        /// How many cores in all.
        pub cores: Option<u64>,
        /// How many threads in all.
        pub cpus: Option<u64>,
        /// Their frequency, in MHz.
        pub mhz: Option<f64>,
        /// Whether they can run VMs.
        pub hvm: Option<bool>,
    }
}

perl::answer! {
    /// Memory that was found to be the same in several guests.
    pub struct Ksm {
        /// Bytes.
        pub shared: Option<u64>,
    }
}

perl::answer! {
    /// How a node started.
    pub struct BootInfo {
        /// `efi` or `legacy-bios`.
        pub mode: Option<String>,
        /// Whether only signed kernels start. Only with `efi`.
        pub secureboot: Option<bool>,
    }
}

perl::answer! {
    /// A service of a node.
    pub struct Service known by name {
        /// Its short name.
        pub name: Option<String>,
        /// Its unit.
        pub service: Option<String>,
        /// What it is for.
        pub desc: Option<String>,
        /// `running`, `dead`, `exited`, `failed`, …
        pub state: Option<String>,
        /// `active`, `inactive`, `failed`, …
        #[serde(rename = "active-state")]
        pub active_state: Option<String>,
        /// `enabled`, `disabled`, `static`, `masked`; `not-found` for one that is not installed.
        #[serde(rename = "unit-state")]
        pub unit_state: Option<String>,
    }
}

perl::answer! {
    /// A package that can be updated.
    pub struct Update known by package {
        /// Its name.
        #[serde(rename = "Package")]
        pub package: Option<String>,
        /// What it is.
        #[serde(rename = "Title")]
        pub title: Option<String>,
        /// The new version.
        #[serde(rename = "Version")]
        pub version: Option<String>,
        /// The installed version.
        #[serde(rename = "OldVersion")]
        pub old_version: Option<String>,
        /// Who made it: `Debian` or `Proxmox`.
        #[serde(rename = "Origin")]
        pub origin: Option<String>,
        /// How important it is for the system.
        #[serde(rename = "Priority")]
        pub priority: Option<String>,
        /// The part of the archive that it is in.
        #[serde(rename = "Section")]
        pub section: Option<String>,
    }
}

perl::answer! {
    /// A certificate of a node.
    pub struct CertificateInfo {
        /// `pveproxy-ssl.pem` (what the web interface uses, if it is there), `pve-ssl.pem`,
        /// `pve-root-ca.pem`.
        pub filename: Option<String>,
        /// The names and addresses that it is for.
        pub san: Vec<String>,
        /// Who it is for.
        pub subject: Option<String>,
        /// Who signed it.
        pub issuer: Option<String>,
        /// The start of its life, in seconds since 1970.
        pub notbefore: Option<i64>,
        /// The end of its life, in seconds since 1970.
        pub notafter: Option<i64>,
        /// Its SHA-256 fingerprint.
        pub fingerprint: Option<String>,
    }
}

perl::answer! {
    /// A node's subscription.
    pub struct Subscription {
        /// `active`, `notfound`, `new`, `invalid`, `expired`, `suspended`.
        pub status: Option<String>,
        /// The same in words.
        pub message: Option<String>,
        /// What was bought.
        pub productname: Option<String>,
        /// Its level, a letter.
        pub level: Option<String>,
        /// When it has to be paid again: `2027-01-31`.
        pub nextduedate: Option<String>,
        /// When it was last checked, in seconds since 1970.
        pub checktime: Option<i64>,
    }
}

perl::answer! {
    /// A node's clock.
    pub struct Clock {
        /// Seconds since 1970.
        pub time: Option<i64>,
        /// The zone that it shows times in.
        pub timezone: Option<String>,
    }
}

/// All nodes. Needs no privilege, but figures need `Sys.Audit`.
///
/// Empty while the cluster's file system restarts, which does not mean that there are none.
pub fn list() -> Get<Vec<Listed>> {
    Get::many("/nodes".to_owned())
}

/// What a node says of itself. Needs `Sys.Audit` on it.
pub fn status(node: &NodeName) -> Get<Status> {
    Get::one(path(node, "status"))
}

/// The services that Proxmox VE knows. Needs `Sys.Audit` on the node.
pub fn services(node: &NodeName) -> Get<Vec<Service>> {
    Get::many(path(node, "services"))
}

/// The packages that can be updated, as of the last time that the node looked. Needs `Sys.Modify`
/// on it.
pub fn apt_updates(node: &NodeName) -> Get<Vec<Update>> {
    Get::many(path(node, "apt/update"))
}

/// The certificates of a node. Needs no privilege.
pub fn certificates(node: &NodeName) -> Get<Vec<CertificateInfo>> {
    Get::many(path(node, "certificates/info"))
}

/// The subscription of a node. Needs no privilege.
pub fn subscription(node: &NodeName) -> Get<Subscription> {
    Get::one(path(node, "subscription"))
}

/// The clock of a node. Needs `Sys.Audit` on it.
pub fn clock(node: &NodeName) -> Get<Clock> {
    Get::one(path(node, "time"))
}

fn path(node: &NodeName, below: &str) -> String {
    format!("/nodes/{}/{below}", segment(node.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pve1() -> NodeName {
        "pve1".parse().unwrap()
    }

    #[test]
    fn each_request_goes_to_its_node() {
        let node = pve1();
        assert_eq!(list().path(), "/nodes");
        assert_eq!(status(&node).path(), "/nodes/pve1/status");
        assert_eq!(services(&node).path(), "/nodes/pve1/services");
        assert_eq!(apt_updates(&node).path(), "/nodes/pve1/apt/update");
        assert_eq!(certificates(&node).path(), "/nodes/pve1/certificates/info");
        assert_eq!(subscription(&node).path(), "/nodes/pve1/subscription");
        assert_eq!(clock(&node).path(), "/nodes/pve1/time");
        let body = br#"{"data":{"localtime":1796020100,"timezone":"Etc/UTC","time":1796020100}}"#;
        assert_eq!(clock(&node).read(body).ok().unwrap().data.time, Some(1_796_020_100));
    }

    #[test]
    fn a_node_that_is_off_has_no_figures() {
        let body = br#"{"data":[{"id":"node/pve2","status":"offline","ssl_fingerprint":null,
            "type":"node","node":"pve2"},{"id":"node/pve1","maxcpu":2,"maxmem":25276514304,
            "uptime":7724,"mem":2235412480,"node":"pve1","level":"","cpu":0.0195421552205472,
            "status":"online","ssl_fingerprint":"3A:CD"}]}"#;
        let nodes = list().read(body).ok().unwrap().data;
        assert_eq!((nodes[0].cpu, &nodes[0].ssl_fingerprint), (None, &None));
        assert_eq!((nodes[1].maxmem, &nodes[1].level), (Some(25_276_514_304), &None));
    }

    #[test]
    fn the_recorded_status_is_read() {
        let body = br#"{"data":{"wait":0,"current-kernel":{"release":"6.17.4-2-pve",
            "machine":"x86_64","sysname":"Linux"},"cpuinfo":{"sockets":1,"cpus":2,
            "model":"AMD EPYC","flags":"fpu vme","mhz":"2596.148","cores":2,"hvm":""},"idle":0,
            "cpu":0.0751542344363432,"loadavg":["0.08","0.34","0.47"],"uptime":7745,
            "pveversion":"pve-manager/9.2.11/14a22df35955d97d","ksm":{"shared":42268934144},
            "memory":{"free":20020670464,"total":25276514304,"available":23039254528,
            "used":2237259776},"swap":{"used":0,"total":0,"free":0},
            "boot-info":{"mode":"legacy-bios"},"rootfs":{"used":30995132416,
            "total":270553174016,"free":239558041600,"avail":66577616896}}}"#;
        let read = status(&pve1()).read(body).ok().unwrap().data;
        assert_eq!(read.loadavg, [0.08, 0.34, 0.47]);
        let cpu = read.cpuinfo.unwrap();
        assert_eq!((cpu.mhz, cpu.hvm, cpu.cores), (Some(2596.148), Some(false), Some(2)));
        assert_eq!(read.ksm.unwrap().shared, Some(42_268_934_144));
        assert_eq!(read.rootfs.unwrap().avail, Some(66_577_616_896));
        assert_eq!(read.swap.unwrap().total, Some(0));
        assert_eq!(read.current_kernel.unwrap().release.as_deref(), Some("6.17.4-2-pve"));
        assert_eq!(read.boot_info.unwrap().mode.as_deref(), Some("legacy-bios"));
        assert_eq!(crate::version::numbers(&read.pveversion.unwrap()), (9, 2, 11));
    }

    #[test]
    fn the_recorded_services_and_certificates_are_read() {
        let body = br#"{"data":[{"service":"chrony","desc":"chrony.service","name":"chrony",
            "unit-state":"not-found","active-state":"inactive","state":"dead"}]}"#;
        let services = services(&pve1()).read(body).ok().unwrap().data;
        assert_eq!(services[0].unit_state.as_deref(), Some("not-found"));
        let body = br#"{"data":[{"fingerprint":"3A:CD","notafter":1858999973,
            "filename":"pve-ssl.pem","san":["127.0.0.1","localhost","pve1"]}]}"#;
        let certificates = certificates(&pve1()).read(body).ok().unwrap().data;
        assert_eq!(certificates[0].san.len(), 3);
        assert_eq!(certificates[0].notafter, Some(1_858_999_973));
    }

    #[test]
    fn updates_and_subscription_are_read() {
        let body = br#"{"data":[{"Package":"pve-manager","Version":"9.2.12","Origin":"Proxmox",
            "OldVersion":"9.2.11","Title":"Virtual Environment"}]}"#;
        let updates = apt_updates(&pve1()).read(body).ok().unwrap().data;
        assert_eq!(updates[0].old_version.as_deref(), Some("9.2.11"));
        let body = br#"{"data":{"status":"notfound","message":"There is no subscription key",
            "serverid":"X"}}"#;
        let subscription = subscription(&pve1()).read(body).ok().unwrap().data;
        assert_eq!(subscription.status.as_deref(), Some("notfound"));
    }
}
