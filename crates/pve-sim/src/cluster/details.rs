//! What is known of a guest beyond its state: its configuration, its snapshots, and what an agent inside
//! it says.

/// Details of a guest.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// The storage that its disks are on; `local` if nothing is said.
    pub storage: String,
    /// Keys of its configuration that do not follow from the rest of the guest, or that win over what
    /// follows from it. An empty value takes a key away.
    pub config: Vec<(String, String)>,
    /// What the next start changes: a key with its new value, or with none if it goes.
    pub pending: Vec<(String, Option<String>)>,
    /// Its snapshots.
    pub snapshots: Vec<Snapshot>,
    /// What is inside while it runs. A VM without it has an agent that is silent; a container without it
    /// has one interface with an address made of its number.
    pub inside: Option<Inside>,
}

/// A snapshot.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// The snapshot that it was made after.
    pub parent: Option<String>,
    /// When it was made, in seconds since 1970.
    pub time: u64,
    /// Whether it has the guest's memory; VMs only.
    pub memory: bool,
    /// What somebody wrote on it.
    pub description: String,
}

/// Addresses with the length of their prefix.
type Addresses = Vec<(String, u8)>;

/// What is inside a running guest.
#[derive(Debug, Clone, Default)]
pub struct Inside {
    /// The name that it has for itself.
    pub hostname: String,
    /// What `get-osinfo` says, key by key.
    pub os: Vec<(String, String)>,
    /// The agent's version.
    pub agent: String,
    /// Its interfaces beside `lo`: name, hardware address, addresses with the length of their prefix.
    pub interfaces: Vec<(String, String, Addresses)>,
    /// Its file systems.
    pub file_systems: Vec<FileSystem>,
}

/// A file system inside a VM.
#[derive(Debug, Clone)]
pub struct FileSystem {
    /// Where it is mounted.
    pub mountpoint: String,
    /// Its device.
    pub device: String,
    /// `ext4`, `NTFS`, …
    pub kind: String,
    /// Bytes in use.
    pub used: u64,
    /// Bytes in all.
    pub total: u64,
}

impl Details {
    /// Sets a key of the configuration.
    pub fn set(&mut self, key: &str, value: &str) -> &mut Self {
        self.config.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Lets the next start change a key, or take it away.
    pub fn change(&mut self, key: &str, value: Option<&str>) -> &mut Self {
        self.pending.push((key.to_owned(), value.map(str::to_owned)));
        self
    }

    /// Adds a snapshot without memory.
    pub fn snapshot(&mut self, name: &str, parent: Option<&str>, time: u64, description: &str) {
        let (name, parent) = (name.to_owned(), parent.map(str::to_owned));
        let description = description.to_owned();
        self.snapshots.push(Snapshot { name, parent, time, memory: false, description });
    }
}

impl Inside {
    /// A system with this name of its own and an agent of today.
    pub fn new(hostname: &str, os: &[(&str, &str)]) -> Self {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        Self {
            hostname: hostname.to_owned(),
            os: os.iter().map(pair).collect(),
            agent: "10.0.2".to_owned(),
            ..Self::default()
        }
    }

    /// Adds an interface.
    #[must_use]
    pub fn interface(mut self, name: &str, mac: &str, addresses: &[(&str, u8)]) -> Self {
        let addresses = addresses.iter().map(|(text, prefix)| ((*text).to_owned(), *prefix));
        self.interfaces.push((name.to_owned(), mac.to_lowercase(), addresses.collect()));
        self
    }

    /// Adds a file system.
    #[must_use]
    pub fn file_system(mut self, mountpoint: &str, kind: &str, used: u64, total: u64) -> Self {
        let device = format!("sda{}", self.file_systems.len() + 1);
        let (mountpoint, kind) = (mountpoint.to_owned(), kind.to_owned());
        self.file_systems.push(FileSystem { mountpoint, device, kind, used, total });
        self
    }
}
