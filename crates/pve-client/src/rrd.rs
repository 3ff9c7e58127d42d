//! The history that Proxmox VE keeps in its round-robin databases.
//!
//! A point whose figures are not known is a row that holds only its time, and after an upgrade from PVE 8
//! to 9 two resolutions follow each other: the time of each point counts, not its place.

use crate::{Get, NodeName, ids::segment, perl};

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

perl::answer! {
    /// A node at one time. Recorded from PVE 9.2.11; the pressure came with PVE 9.
    pub struct NodePoint {
        /// Seconds since 1970.
        pub time: Option<i64>,
        /// Share of all its processors in use, from 0 to 1.
        pub cpu: Option<f64>,
        /// How long some process waited for a processor, in percent.
        pub pressurecpusome: Option<f64>,
        /// How long some process waited for memory, in percent.
        pub pressurememorysome: Option<f64>,
        /// How long some process waited for a disk, in percent.
        pub pressureiosome: Option<f64>,
    }
}

/// The history of one node, as averages.
pub fn node(node: &NodeName, timeframe: Timeframe) -> Get<Vec<NodePoint>> {
    Get::many(format!("/nodes/{}/rrddata?timeframe={}", segment(node.as_str()), timeframe.as_str()))
}

impl Timeframe {
    fn as_str(self) -> &'static str {
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
    fn a_point_that_is_not_known_has_only_its_time() {
        let request = node(&"pve1".parse().unwrap(), Timeframe::Hour);
        assert_eq!(request.path(), "/nodes/pve1/rrddata?timeframe=hour");
        let body = br#"{"data":[{"time":1796015880},{"time":1796015940,"cpu":0.02,"pressurecpusome":0.35}]}"#;
        let points = request.read(body).ok().unwrap().data;
        assert_eq!((points[0].time, points[0].cpu), (Some(1_796_015_880), None));
        assert_eq!(points[1].pressurecpusome, Some(0.35));
    }
}
