//! The cluster as a whole: quorum, members, the HA manager.

use crate::{Get, NodeName, envelope::Many, perl};

/// Quorum and members. A host that is in no cluster has itself as the only member.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterStatus {
    /// Absent when the host is in no cluster; quorum means nothing then.
    pub cluster: Option<Cluster>,
    /// The members, in no order.
    pub nodes: Vec<Member>,
}

/// A cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cluster {
    /// Its name.
    pub name: Option<String>,
    /// Whether more than half of the votes are present. A cluster can be so with nodes switched off.
    pub quorate: Option<bool>,
    /// How many nodes it has.
    pub nodes: Option<u64>,
    /// How often its configuration was changed.
    pub version: Option<u64>,
}

/// A member of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Member {
    /// Its name.
    pub name: Option<NodeName>,
    /// Whether the cluster sees it.
    pub online: Option<bool>,
    /// Its address in the cluster. A node that is off may lack it.
    pub ip: Option<String>,
    /// Whether it is the node that was asked.
    pub local: Option<bool>,
    /// Its number in the cluster, 0 outside of one.
    pub nodeid: Option<u64>,
    /// Its level of subscription, a letter. Absent without one.
    pub level: Option<String>,
}

perl::answer! {
    /// A member as the cluster's configuration has it.
    pub struct ConfigNode known by node {
        /// Its name.
        pub node: Option<NodeName>,
        /// Its number in the cluster.
        pub nodeid: Option<u64>,
        /// How many votes it has.
        pub quorum_votes: Option<u64>,
        /// The address of its first link.
        pub ring0_addr: Option<String>,
    }
}

perl::answer! {
    /// A row of the HA manager's status: quorum, master, local managers, services, fencing.
    pub struct HaRow {
        /// `quorum`, `master:…`, `lrm:NODE`, `service:vm:100`, `fencing`.
        pub id: Option<String>,
        /// `quorum`, `master`, `lrm`, `service`, `fencing`.
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// The node that it is about.
        pub node: Option<NodeName>,
        /// Its state in words, with more in brackets.
        pub status: Option<String>,
        /// Of the quorum.
        pub quorate: Option<bool>,
        /// Of a service: `vm:100` or `ct:200`.
        pub sid: Option<String>,
        /// Of a service: what it does.
        pub state: Option<String>,
        /// Of a service: what was asked for.
        pub request_state: Option<String>,
        /// Of a service: what the cluster's manager sees.
        pub crm_state: Option<String>,
        /// Of a manager: when it last said something, in seconds since 1970.
        pub timestamp: Option<u64>,
        /// Of fencing: `armed`, `standby`, `disarming`, `disarmed`. Since PVE 9.2.
        #[serde(rename = "armed-state")]
        pub armed_state: Option<String>,
    }
}

perl::answer! {
    /// A node as the cluster's list has it, whose figures are up to ten seconds old. A node that is
    /// off has none.
    pub struct NodeResource known by node {
        /// Its name.
        pub node: Option<NodeName>,
        /// `online`, `offline` or `unknown`.
        pub status: Option<String>,
        /// What the HA manager does with it: `maintenance`, …
        pub hastate: Option<String>,
        /// Its level of subscription, a letter. Absent without one.
        pub level: Option<String>,
        /// The share of its processors in use, from 0 to 1.
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
    }
}

perl::answer! {
    /// A row of `/cluster/status`, which is one of two things by its type.
    struct StatusRow known by kind, name {
        #[serde(rename = "type")]
        kind: Option<String>,
        name: Option<String>,
        quorate: Option<bool>,
        nodes: Option<u64>,
        version: Option<u64>,
        online: Option<bool>,
        ip: Option<String>,
        local: Option<bool>,
        nodeid: Option<u64>,
        level: Option<String>,
    }
}

/// Quorum and members. Needs `Sys.Audit` on `/`.
pub fn status() -> Get<ClusterStatus> {
    Get::new("/cluster/status".to_owned(), |body| {
        <Vec<StatusRow> as Many>::read(body)?.try_map(|rows| Ok(ClusterStatus::from_rows(rows)))
    })
}

/// The members' votes, which the status does not have. Needs `Sys.Audit` on `/`; refused outside of
/// a cluster.
pub fn config_nodes() -> Get<Vec<ConfigNode>> {
    Get::many("/cluster/config/nodes".to_owned())
}

/// What the HA manager does. Needs `Sys.Audit` on `/`.
pub fn ha_status_current() -> Get<Vec<HaRow>> {
    Get::many("/cluster/ha/status/current".to_owned())
}

/// The nodes, with what the HA manager does with them. Without `Sys.Audit` a node has no figures.
pub fn node_resources() -> Get<Vec<NodeResource>> {
    Get::many("/cluster/resources?type=node".to_owned())
}

impl ClusterStatus {
    fn from_rows(rows: Vec<StatusRow>) -> Self {
        let mut status = Self::default();
        for row in rows {
            match row.kind.as_deref() {
                Some("cluster") => {
                    let StatusRow { name, quorate, nodes, version, .. } = row;
                    status.cluster = Some(Cluster { name, quorate, nodes, version });
                }
                Some("node") => {
                    let StatusRow { name, online, ip, local, nodeid, level, .. } = row;
                    let name = name.and_then(|name| name.parse().ok());
                    status.nodes.push(Member { name, online, ip, local, nodeid, level });
                }
                _ => {}
            }
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_cluster_is_taken_apart_by_type() {
        assert_eq!(status().path(), "/cluster/status");
        let body = br#"{"data":[{"name":"pve1","level":"","type":"node","local":1,
            "ip":"192.168.77.11","online":1,"nodeid":1,"id":"node/pve1"},
            {"nodes":2,"name":"lab","id":"cluster","version":2,"quorate":0,"type":"cluster"},
            {"type":"node","level":"","online":0,"local":0,"name":"pve2","nodeid":2}]}"#;
        let read = status().read(body).ok().unwrap().data;
        let cluster = read.cluster.unwrap();
        assert_eq!((cluster.name.as_deref(), cluster.quorate), (Some("lab"), Some(false)));
        assert_eq!((cluster.nodes, cluster.version), (Some(2), Some(2)));
        assert_eq!(read.nodes.len(), 2);
        assert_eq!((read.nodes[0].local, &read.nodes[0].level), (Some(true), &None));
        assert_eq!((read.nodes[1].online, &read.nodes[1].ip), (Some(false), &None));
    }

    #[test]
    fn a_host_on_its_own_has_no_cluster() {
        let body = br#"{"data":[{"type":"node","id":"node/pve1","name":"pve1","nodeid":0,
            "local":1,"online":1,"ip":"192.0.2.10","level":""}]}"#;
        let read = status().read(body).ok().unwrap().data;
        assert_eq!((read.cluster, read.nodes.len()), (None, 1));
    }

    #[test]
    fn votes_are_recorded_as_text() {
        assert_eq!(config_nodes().path(), "/cluster/config/nodes");
        let body = br#"{"data":[{"name":"pve1","nodeid":"1","node":"pve1",
            "ring0_addr":"192.168.77.11","quorum_votes":"2"}]}"#;
        let nodes = config_nodes().read(body).ok().unwrap().data;
        assert_eq!((nodes[0].quorum_votes, nodes[0].nodeid), (Some(2), Some(1)));
    }

    #[test]
    fn the_recorded_state_of_ha_is_read() {
        assert_eq!(ha_status_current().path(), "/cluster/ha/status/current");
        let body = br#"{"data":[{"node":"pve1","type":"quorum","status":"OK","id":"quorum",
            "quorate":1},{"status":"standby (CRM watchdog standby)","armed-state":"standby",
            "node":"pve1","type":"fencing","id":"fencing"}]}"#;
        let rows = ha_status_current().read(body).ok().unwrap().data;
        assert_eq!(rows[0].quorate, Some(true));
        assert_eq!(rows[1].armed_state.as_deref(), Some("standby"));
    }

    #[test]
    fn a_node_in_maintenance_says_so_and_one_that_is_off_says_nothing() {
        assert_eq!(node_resources().path(), "/cluster/resources?type=node");
        let body = br#"{"data":[{"id":"node/pve2","node":"pve2","type":"node","status":"offline"},
            {"node":"pve1","mem":2240962560,"uptime":7744,"maxcpu":2,"hastate":"maintenance",
            "cgroup-mode":2,"status":"online","cpu":0.0683890577507599}]}"#;
        let nodes = node_resources().read(body).ok().unwrap().data;
        assert_eq!((nodes[0].cpu, nodes[0].uptime), (None, None));
        assert_eq!(nodes[1].hastate.as_deref(), Some("maintenance"));
    }
}
