//! Resources: what people attach to a conversation by its address, such as `pve://vms/104`.
//!
//! [`Resource`] is what a resource is; [`ALL`] is the list. To add one: its file and a line in the list.
//!
//! * **Each is answered by the code of a tool**, with that tool's checks, deadlines and bounds, and is offered where
//!   the tool is. No resource is the only way to what it shows.
//! * **An address holds a checked identifier and nothing else.** It is taken apart first and decoded after that,
//!   once, so that no spelling of `/` or `..` reaches another place.

pub mod cluster_health;
pub mod node;
pub mod task_log;
mod uri;
pub mod vm;
pub mod vm_screenshot;

use std::fmt;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{
    answer::Answer,
    call::{CALL_SECONDS, Call},
    catalog::{Catalog, NotOffered},
    completion::Completes,
    failure::Failure,
    tier::Access,
};

/// Every resource, in the order in which people see them.
pub const ALL: &[Entry] = &[
    entry::<cluster_health::ClusterHealth>(),
    entry::<node::Node>(),
    entry::<vm::Vm>(),
    entry::<task_log::TaskLog>(),
    entry::<vm_screenshot::VmScreenshot>(),
];

/// One resource, or one for each thing of a kind. Everything that defines it is in its implementation of this trait.
pub trait Resource: 'static {
    /// Its address, which may have one variable as a whole segment: `pve://nodes/{node}`.
    const URI: &'static str;
    /// Its name.
    const NAME: &'static str;
    /// The name that people see.
    const TITLE: &'static str;
    /// What it shows.
    const DESCRIPTION: &'static str;
    /// The kind of its content.
    const MIME: &'static str = "text/plain";
    /// The tool that answers it.
    const TOOL: &'static str;
    /// What the variable is completed from.
    const COMPLETES: Completes = Completes::Nothing;

    /// Whether the variable may have this value.
    fn accepts(value: &str) -> bool;

    /// Reads it.
    fn read(
        reading: &Reading<'_>,
        value: &str,
    ) -> impl Future<Output = Result<Content, Failure>> + Send;

    /// The value with which this resource shows more than an answer of [`Self::TOOL`] had room for.
    fn more_than(_answer: &Map<String, Value>) -> Option<String> {
        None
    }
}

/// A [`Resource`] as a value.
pub struct Entry {
    /// Its address, perhaps with a variable.
    pub uri: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The name that people see.
    pub title: &'static str,
    /// What it shows.
    pub description: &'static str,
    /// The kind of its content.
    pub mime: &'static str,
    /// What its variable is completed from.
    pub completes: Completes,
    tool: &'static str,
    accepts: fn(&str) -> bool,
    read: Read,
    more_than: fn(&Map<String, Value>) -> Option<String>,
}

/// A resource's work, with its types erased.
type Read = for<'a> fn(&'a Reading<'a>, &'a str) -> BoxFuture<'a, Result<Content, Failure>>;

/// What a resource is read with.
#[derive(Debug)]
pub struct Reading<'a> {
    /// Access to the cluster.
    pub access: &'a Access,
    /// The tools that are offered.
    pub catalog: &'a Catalog,
    /// The deadline, the time zone, whom to tell of progress.
    pub call: &'a Call,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The thing itself.
    pub body: Body,
    /// How long it may be kept, in milliseconds.
    pub fresh_ms: u64,
}

/// The thing itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Text.
    Text(String),
    /// A picture, as PNG.
    Png(Vec<u8>),
}

/// A resource that shows more than an answer did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The resource.
    pub entry: &'static Entry,
    /// Its address.
    pub uri: String,
}

/// The resources that this process offers.
#[derive(Debug)]
pub struct Resources {
    offered: Vec<&'static Entry>,
}

impl Resources {
    /// Those of `entries` whose tool is among these.
    pub fn new(entries: &'static [Entry], tools: &[&'static str]) -> Self {
        Self { offered: entries.iter().filter(|entry| tools.contains(&entry.tool)).collect() }
    }

    /// Those with an address of their own.
    pub fn fixed(&self) -> impl Iterator<Item = &'static Entry> {
        self.offered.iter().copied().filter(|entry| entry.variable().is_none())
    }

    /// Those with a variable in their address.
    pub fn templates(&self) -> impl Iterator<Item = &'static Entry> {
        self.offered.iter().copied().filter(|entry| entry.variable().is_some())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    /// The resource at this address, and the value of its variable.
    pub fn find(&self, uri: &str) -> Option<(&'static Entry, String)> {
        self.offered.iter().find_map(|entry| {
            let value = uri::value(entry.uri, uri)?;
            let fits = entry.variable().is_none() || (entry.accepts)(&value);
            fits.then_some((*entry, value))
        })
    }

    /// The resource that shows more than this answer of a tool had room for.
    pub fn link(&self, tool: &str, answer: &Answer) -> Option<Link> {
        let Answer::Structured(answer) = answer else { return None };
        self.offered.iter().filter(|entry| entry.tool == tool).find_map(|entry| {
            let value = (entry.more_than)(answer)?;
            let fits = entry.variable().is_none() || (entry.accepts)(&value);
            fits.then(|| Link { entry, uri: uri::expand(entry.uri, &value) })
        })
    }
}

impl Entry {
    /// The name of the variable in its address.
    pub fn variable(&self) -> Option<&'static str> {
        uri::variable(self.uri)
    }

    /// Reads it.
    ///
    /// # Errors
    /// When PVE does not give it, or not in time.
    pub async fn read(&self, reading: &Reading<'_>, value: &str) -> Result<Content, Failure> {
        let work = (self.read)(reading, value);
        tokio::time::timeout_at(reading.call.deadline, work).await.unwrap_or_else(|_elapsed| {
            Err(Failure::new(format!("it was not read within {CALL_SECONDS} s and given up")))
        })
    }
}

impl Reading<'_> {
    /// The answer of a tool.
    pub async fn tool(&self, name: &str, arguments: Value) -> Result<Answer, Failure> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        match self.catalog.find(name) {
            Ok(offered) => offered.call(self.access, self.call, arguments).await,
            Err(NotOffered::Withheld(failure)) => Err(failure),
            Err(NotOffered::Unknown(_)) => Err(Failure::bug(name)),
        }
    }
}

impl Content {
    /// What a tool answered, as a resource.
    pub fn of(answer: Answer, fresh_ms: u64) -> Self {
        let body = match answer {
            Answer::Picture(picture) => Body::Png(picture.png),
            structured @ Answer::Structured(_) => Body::Text(structured.text()),
        };
        Self { body, fresh_ms }
    }
}

/// A resource as a value.
pub const fn entry<R: Resource>() -> Entry {
    Entry {
        uri: R::URI,
        name: R::NAME,
        title: R::TITLE,
        description: R::DESCRIPTION,
        mime: R::MIME,
        completes: R::COMPLETES,
        tool: R::TOOL,
        accepts: R::accepts,
        read: |reading, value| Box::pin(R::read(reading, value)),
        more_than: R::more_than,
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("uri", &self.uri).finish_non_exhaustive()
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.uri == other.uri
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Resources {
        let tools: Vec<_> = ALL.iter().map(|entry| entry.tool).collect();
        Resources::new(ALL, &tools)
    }

    fn found(uri: &str) -> Option<(&'static str, String)> {
        all().find(uri).map(|(entry, value)| (entry.name, value))
    }

    const UPID: &str = "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:ops@pve!rw:";

    #[test]
    fn each_address_leads_to_its_resource() {
        for (uri, name, value) in [
            ("pve://cluster/health", "cluster_health", ""),
            ("pve://nodes/pve1", "node", "pve1"),
            ("pve://vms/104", "vm", "104"),
            ("pve://vms/104/screenshot", "vm_screenshot", "104"),
            (&format!("pve://tasks/{UPID}/log"), "task_log", UPID),
            (
                &format!(
                    "pve://tasks/{}/log",
                    UPID.replace(':', "%3A").replace('@', "%40").replace('!', "%21")
                ),
                "task_log",
                UPID,
            ),
        ] {
            assert_eq!(found(uri), Some((name, value.to_owned())), "{uri}");
        }
    }

    #[test]
    fn no_spelling_of_a_path_leads_anywhere_else() {
        for uri in [
            "",
            "pve://",
            "pve://vms",
            "pve://vms/",
            "pve://vms//screenshot",
            "pve://vms/104/",
            "pve://vms/104/config",
            "pve://vms/../nodes/pve1",
            "pve://vms/104%2Fscreenshot",
            "pve://vms/104%2fstatus%2fstop",
            "pve://vms/%2e%2e",
            "pve://vms/%252e%252e",
            "pve://vms/104?x=1",
            "pve://vms/104#x",
            "pve://vms/104%00",
            "pve://vms/0104",
            "pve://vms/web01",
            "pve://vms/+104",
            "pve://vms/104 ",
            "pve://vms/%",
            "pve://vms/%zz",
            "pve://vms/%ff",
            "pve://nodes/..",
            "pve://nodes/a/b",
            "pve://nodes/pve1%2Fqemu",
            "pve://nodes/{node}",
            "pve://tasks/UPID:x/log",
            "pve://tasks/UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:..%2F..:ops@pve:/log",
            "PVE://vms/104",
            "http://vms/104",
            "pve:/vms/104",
        ] {
            assert_eq!(found(uri), None, "{uri}");
        }
    }

    #[test]
    fn resources_are_offered_where_their_tool_is() {
        assert!(Resources::new(ALL, &["list_vms"]).is_empty());
        let some = Resources::new(ALL, &["get_task"]);
        assert_eq!(some.templates().map(|entry| entry.name).collect::<Vec<_>>(), ["task_log"]);
        assert_eq!(some.find("pve://vms/104"), None);
    }

    #[test]
    fn names_and_addresses_are_unique_and_described() {
        for (nth, entry) in ALL.iter().enumerate() {
            assert!(
                entry.uri.starts_with("pve://") && (30..200).contains(&entry.description.len()),
                "{entry:?}"
            );
            assert!(
                ALL.iter()
                    .skip(nth + 1)
                    .all(|other| other.uri != entry.uri && other.name != entry.name)
            );
            let completes = entry.completes != Completes::Nothing;
            assert_eq!(completes, entry.variable().is_some(), "{entry:?}: a variable is completed");
        }
    }
}
