//! Storages: what is configured, how each is on each node, and what is on it.
//!
//! The cluster's list ([`list`]) and the configuration ([`configured`]) never touch a storage; asking a
//! node ([`on_node`], [`status`], [`content`]) does, and a dead network storage holds that answer up.

use crate::{Get, NodeName, StorageId, Text, VmId, form::Form, ids::segment, perl};

perl::answer! {
    /// A storage on one node, in the cluster's list. Figures are those that the node last sent, about
    /// ten seconds ago; one that is not reached from there, or whose node is off, has none and the
    /// status `unknown`. One that is disabled is not in the list (recorded from PVE 9.2.11).
    pub struct Listed known by storage, node {
        /// Its name.
        pub storage: Option<StorageId>,
        /// The node.
        pub node: Option<NodeName>,
        /// `available` or `unknown`.
        pub status: Option<String>,
        /// Its type: `dir`, `nfs`, `zfspool`, `pbs`, …
        pub plugintype: Option<String>,
        /// What may be on it, with `,` between the kinds, in random order.
        pub content: Option<String>,
        /// Whether all nodes see the same.
        pub shared: Option<bool>,
        /// Bytes in use.
        pub disk: Option<u64>,
        /// Its size in bytes.
        pub maxdisk: Option<u64>,
    }
}

perl::answer! {
    /// A storage as it is configured, for the whole cluster.
    pub struct Configured known by storage {
        /// Its name.
        pub storage: Option<StorageId>,
        /// Its type.
        #[serde(rename = "type")]
        pub plugin: Option<String>,
        /// What may be on it, with `,` between the kinds, in random order.
        pub content: Option<String>,
        /// Whether all nodes see the same.
        pub shared: Option<bool>,
        /// Whether it is switched off.
        pub disable: Option<bool>,
        /// The nodes that have it, with `,` between them. Absent for all.
        pub nodes: Option<String>,
        /// Where it is mounted or kept.
        pub path: Option<String>,
        /// The server that it is on.
        pub server: Option<String>,
        /// What the server exports.
        pub export: Option<String>,
        /// The datastore of a Proxmox Backup Server.
        pub datastore: Option<String>,
        /// The pool of ZFS or Ceph.
        pub pool: Option<String>,
        /// The volume group of LVM.
        pub vgname: Option<String>,
    }
}

perl::answer! {
    /// A storage as a node sees it at this moment. One that is dead or not on that node has zeros for
    /// figures (recorded from PVE 9.2.11).
    pub struct Live known by storage {
        /// Its name. Absent where one storage was asked for.
        pub storage: Option<StorageId>,
        /// Its type.
        #[serde(rename = "type")]
        pub plugin: Option<String>,
        /// What may be on it.
        pub content: Option<String>,
        /// Whether the node reaches it.
        pub active: Option<bool>,
        /// Whether it is switched on, and meant for this node.
        pub enabled: Option<bool>,
        /// Whether all nodes see the same.
        pub shared: Option<bool>,
        /// Its size in bytes.
        pub total: Option<u64>,
        /// Bytes in use.
        pub used: Option<u64>,
        /// Bytes that can still be written.
        pub avail: Option<u64>,
    }
}

perl::answer! {
    /// Something on a storage.
    pub struct Volume known by volid {
        /// `STORAGE:NAME`.
        pub volid: Option<String>,
        /// `images`, `rootdir`, `backup`, `iso`, `vztmpl`, `snippets`, `import`.
        pub content: Option<String>,
        /// `raw`, `qcow2`, `subvol`, `iso`, `vma.zst`, `pbs-vm`, …
        pub format: Option<String>,
        /// Bytes. Text in older versions.
        pub size: Option<u64>,
        /// Bytes at most, on storages that cannot tell exactly. Since PVE 9.
        #[serde(rename = "approximate-size")]
        pub approximate_size: Option<u64>,
        /// When it was made, in seconds since 1970.
        pub ctime: Option<i64>,
        /// The guest that it belongs to.
        pub vmid: Option<VmId>,
        /// The first line of what somebody wrote to it.
        pub notes: Option<String>,
        /// Whether it is kept from being pruned.
        pub protected: Option<bool>,
        /// The fingerprint of the key, or `1`, where a backup is encrypted.
        pub encrypted: Option<String>,
        /// The last check of a backup. Only Proxmox Backup Server makes one.
        pub verification: Option<Verification>,
    }
}

perl::answer! {
    /// A backup, as far as it takes to tell whether a guest has one: a list may have a hundred thousand.
    pub struct Backup {
        /// The guest that it is of.
        pub vmid: Option<VmId>,
        /// When it was made, in seconds since 1970.
        pub ctime: Option<i64>,
        /// Its last check.
        pub verification: Option<Verification>,
    }
}

perl::answer! {
    /// The last check of a backup.
    pub struct Verification {
        /// `ok` or `failed`.
        pub state: Option<Text>,
    }
}

impl Volume {
    /// Its size, where it can be told.
    pub fn bytes(&self) -> Option<u64> {
        self.size.or(self.approximate_size)
    }
}

/// All storages, once for each node that has them, without those that are disabled. One without
/// `Datastore.Audit` or `Datastore.AllocateSpace` is missing, and nothing says so.
pub fn list() -> Get<Vec<Listed>> {
    Get::many("/cluster/resources?type=storage".to_owned())
}

/// All storages as they are configured. One without `Datastore.Audit` or `Datastore.AllocateSpace` is
/// missing, and nothing says so.
pub fn configured() -> Get<Vec<Configured>> {
    Get::many("/storage".to_owned())
}

/// The storages as a node sees them. It asks each in turn, so that one dead network storage holds up
/// all.
pub fn on_node(node: &NodeName) -> Get<Vec<Live>> {
    Get::many(format!("/nodes/{}/storage", segment(node.as_str())))
}

/// One storage as a node sees it. Needs `Datastore.Audit` or `Datastore.AllocateSpace` on it.
pub fn status(node: &NodeName, storage: &StorageId) -> Get<Live> {
    Get::one(format!("{}/status", path(node, storage)))
}

/// What is on a storage: everything, or only what belongs to one guest. Each volume is checked for the
/// token, and left out silently where a privilege is missing.
pub fn content(node: &NodeName, storage: &StorageId, vmid: Option<VmId>) -> Get<Vec<Volume>> {
    let form = match vmid {
        Some(vmid) => Form::default().number("vmid", vmid.get()),
        None => Form::default(),
    };
    Get::many(form.after(&format!("{}/content", path(node, storage))))
}

/// The backups on a storage. Each is checked as with [`content`].
pub fn backups(node: &NodeName, storage: &StorageId) -> Get<Vec<Backup>> {
    let form = Form::default().text("content", "backup");
    Get::many(form.after(&format!("{}/content", path(node, storage))))
}

/// The start of every path about a storage on a node.
pub(crate) fn path(node: &NodeName, storage: &StorageId) -> String {
    format!("/nodes/{}/storage/{}", segment(node.as_str()), segment(storage.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_goes_to_its_storage() {
        let (node, local) = ("pve1".parse().unwrap(), "local".parse().unwrap());
        assert_eq!(list().path(), "/cluster/resources?type=storage");
        assert_eq!(configured().path(), "/storage");
        assert_eq!(on_node(&node).path(), "/nodes/pve1/storage");
        assert_eq!(status(&node, &local).path(), "/nodes/pve1/storage/local/status");
        assert_eq!(content(&node, &local, None).path(), "/nodes/pve1/storage/local/content");
        assert_eq!(
            backups(&node, &local).path(),
            "/nodes/pve1/storage/local/content?content=backup"
        );
        let vmid = VmId::try_from(100u32).ok();
        assert_eq!(
            content(&node, &local, vmid).path(),
            "/nodes/pve1/storage/local/content?vmid=100"
        );
    }

    #[test]
    fn a_recorded_storage_that_is_dead_has_no_figures() {
        let body = br#"{"data":[{"type":"storage","status":"unknown","shared":1,"plugintype":"nfs",
            "id":"storage/pve1/nas","storage":"nas","content":"images,backup","node":"pve1"},
            {"node":"pve1","storage":"data","content":"images,iso","disk":30992457728,
            "maxdisk":270553174016,"shared":0,"plugintype":"dir","status":"available"}]}"#;
        let rows = list().read(body).ok().unwrap().data;
        assert_eq!((rows[0].shared, rows[0].disk, rows[0].maxdisk), (Some(true), None, None));
        assert_eq!((rows[1].shared, rows[1].disk), (Some(false), Some(30_992_457_728)));
    }

    #[test]
    fn recorded_backups_and_older_texts_are_read() {
        let (node, local) = ("pve1".parse().unwrap(), "local".parse().unwrap());
        let body = br#"{"data":[{"vmid":201,"subtype":"lxc","content":"backup","ctime":1796015473,
            "format":"tar.zst","size":34081054,"volid":"local:backup/a.tar.zst"},
            {"volid":"pbs:backup/vm/100/x","content":"backup","size":"358400","protected":1,
            "verification":{"state":"ok","upid":"UPID:x"},"encrypted":"1","vmid":"100"},
            {"volid":"rbd:x","content":"images","approximate-size":7,"parent":null}]}"#;
        let volumes = content(&node, &local, None).read(body).ok().unwrap().data;
        assert_eq!((volumes[0].bytes(), volumes[0].ctime), (Some(34_081_054), Some(1_796_015_473)));
        assert_eq!((volumes[1].bytes(), volumes[1].protected), (Some(358_400), Some(true)));
        let state = volumes[1].verification.as_ref().and_then(|check| check.state.as_deref());
        assert_eq!((state, volumes[2].bytes()), (Some("ok"), Some(7)));
    }
}
