//! What is on a storage: a disk, a backup, an image.

/// One volume.
#[derive(Debug, Clone, Default)]
pub struct Volume {
    /// Its name, without the storage's: `backup/vzdump-qemu-100-….vma.zst`.
    pub name: String,
    /// `images`, `rootdir`, `backup`, `iso`, `vztmpl`, `snippets`.
    pub content: String,
    /// `raw`, `qcow2`, `subvol`, `iso`, `vma.zst`, `pbs-vm`, …
    pub format: String,
    /// Bytes.
    pub size: u64,
    /// Used bytes of a disk.
    pub used: u64,
    /// When it was made, in seconds since 1970.
    pub created: u64,
    /// The guest that it belongs to.
    pub vmid: Option<u32>,
    /// The node that has it; `None` is every node that sees the storage.
    pub node: Option<String>,
    /// What somebody wrote to it.
    pub notes: Option<String>,
    /// Whether it is kept from being pruned.
    pub protected: bool,
    /// What the last verification of a backup came to: `ok`, `failed`. Proxmox Backup Server alone has
    /// it.
    pub verified: Option<String>,
}

impl Volume {
    /// An image that belongs to no guest.
    pub fn image(content: &str, name: &str, size: u64, created: u64) -> Self {
        let format = name.rsplit('.').next().unwrap_or_default().to_owned();
        let (name, content) = (format!("{content}/{name}"), content.to_owned());
        Self { name, content, format, size, created, ..Self::default() }
    }

    /// The disk of a guest.
    pub fn disk(
        content: &str,
        name: &str,
        format: &str,
        size: u64,
        (vmid, created): (u32, u64),
    ) -> Self {
        Self {
            name: name.to_owned(),
            content: content.to_owned(),
            format: format.to_owned(),
            size,
            used: size / 3,
            created,
            vmid: Some(vmid),
            ..Self::default()
        }
    }

    /// A backup of a guest.
    pub fn backup(name: &str, format: &str, size: u64, (vmid, created): (u32, u64)) -> Self {
        Self { used: 0, ..Self::disk("backup", name, format, size, (vmid, created)) }
    }
}
