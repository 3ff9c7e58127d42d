//! The history that Proxmox VE keeps in its round-robin databases.
//!
//! A point whose figures are not known is a row that holds only its time, and after an upgrade from PVE 8
//! to 9 two resolutions follow each other: the time of each point counts, not its place.

use std::collections::BTreeMap;

use crate::{Get, GuestRef, NodeName, StorageId, form::Form, ids::segment, perl, storage};

/// How far back, and so how fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeframe {
    /// The last hour.
    Hour,
    /// The last day.
    Day,
    /// The last week.
    Week,
    /// The last month.
    Month,
    /// The last year.
    Year,
}

/// What has a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node.
    Node(NodeName),
    /// A guest.
    Guest(GuestRef),
    /// A storage as one node sees it.
    Storage(NodeName, StorageId),
}

/// What a point says of the figures that it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consolidation {
    /// Their average.
    Average,
    /// The largest.
    Max,
}

/// One point: `time`, in seconds since 1970, and the figures that are known, by PVE's own names. Rates are
/// in bytes per second, `cpu` is a share from 0 to 1, pressure is in percent.
pub type Point = BTreeMap<String, f64>;

/// The history of a node, a guest or a storage. Needs `Sys.Audit` on the node, `VM.Audit` on the guest, or
/// `Datastore.Audit` on the storage.
///
/// Whoever is asked answers from its own copy, so that there is history of a node that is off (recorded).
pub fn history(target: &Target, timeframe: Timeframe, by: Consolidation) -> Get<Vec<Point>> {
    let path = match target {
        Target::Node(node) => format!("/nodes/{}", segment(node.as_str())),
        Target::Guest(guest) => guest.path(),
        Target::Storage(node, id) => storage::path(node, id),
    };
    let form = Form::default().text("timeframe", timeframe.as_str());
    // The average is what comes without being asked for.
    let form = if by == Consolidation::Max { form.text("cf", "MAX") } else { form };
    Get::many(form.after(&format!("{path}/rrddata")))
}

perl::answer! {
    /// A node at one time. Recorded from PVE 9.2.11; the pressure came with PVE 9.
    pub struct NodePoint {
        /// Seconds since 1970.
        pub time: Option<i64>,
        /// Share of all its processors in use, from 0 to 1.
        pub cpu: Option<f64> as "crate::perl::bounds::share",
        /// How long some process waited for a processor, in percent.
        pub pressurecpusome: Option<f64> as "crate::perl::bounds::percent",
        /// How long some process waited for memory, in percent.
        pub pressurememorysome: Option<f64> as "crate::perl::bounds::percent",
        /// How long some process waited for a disk, in percent.
        pub pressureiosome: Option<f64> as "crate::perl::bounds::percent",
    }
}

/// The history of one node, as averages.
pub fn node(node: &NodeName, timeframe: Timeframe) -> Get<Vec<NodePoint>> {
    Get::many(format!("/nodes/{}/rrddata?timeframe={}", segment(node.as_str()), timeframe.as_str()))
}

impl Timeframe {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_history_is_asked_at_its_own_path() {
        let (node, average) = ("pve1".parse::<NodeName>().unwrap(), Consolidation::Average);
        let of_node = history(&Target::Node(node.clone()), Timeframe::Day, average);
        assert_eq!(of_node.path(), "/nodes/pve1/rrddata?timeframe=day");
        let vmid = crate::VmId::try_from(200u32).unwrap();
        let guest = GuestRef { node: node.clone(), kind: crate::Kind::Lxc, vmid };
        let of_guest = history(&Target::Guest(guest), Timeframe::Week, Consolidation::Max);
        assert_eq!(of_guest.path(), "/nodes/pve1/lxc/200/rrddata?timeframe=week&cf=MAX");
        let target = Target::Storage(node, "local".parse().unwrap());
        let of_storage = history(&target, Timeframe::Year, average);
        assert_eq!(of_storage.path(), "/nodes/pve1/storage/local/rrddata?timeframe=year");
        let body = br#"{"data":[{"time":1796016480},{"time":1796016540,"total":270553174016,
            "used":"27776074956.8","odd":{}}]}"#;
        let points = of_storage.read(body).ok().unwrap().data;
        assert_eq!(points[0].keys().collect::<Vec<_>>(), ["time"]);
        assert_eq!((points[1]["used"], points[1].get("odd")), (27_776_074_956.8, None));
    }

    #[test]
    fn a_point_that_is_not_known_has_only_its_time() {
        let request = node(&"pve1".parse().unwrap(), Timeframe::Hour);
        assert_eq!(request.path(), "/nodes/pve1/rrddata?timeframe=hour");
        let body = br#"{"data":[{"time":1796015880},{"time":1796015940,"cpu":0.02,"pressurecpusome":0.35}]}"#;
        let points = request.read(body).ok().unwrap().data;
        assert_eq!((points[0].time, points[0].cpu), (Some(1_796_015_880), None));
        assert_eq!(points[1].pressurecpusome, Some(0.35));
    }
}
