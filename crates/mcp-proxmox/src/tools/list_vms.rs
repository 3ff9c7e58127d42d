//! `list_vms`: every VM and container, with state and use.
//!
//! One request, however many guests there are, which other calls that read may share. That list is up to 10 s old
//! and cannot show that a VM is paused; `exact` asks the nodes, one request each.

mod columns;
mod exact;
mod known;
mod summary;

use std::{borrow::Cow, cmp::Ordering};

use pve_client::{Kind, NodeName, Observer, guest::Listed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    columns::{detailed, push_detailed, push_short, short},
    known::{Known, given},
    summary::Summary,
};
use crate::{
    answer::{
        Percent, Share, Table,
        clean::label,
        cost::{self, Room},
    },
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    lookup::guest::{real_name, tags},
    tier::Reads,
};

/// Up to so many rows are shown without being asked for.
const SHOWN_WHOLE: usize = 50;
/// So many are shown of a longer list.
const SHOWN_FIRST: usize = 20;
/// How many are shown at most where each is shown in detail.
const SHOWN_IN_DETAIL: usize = 300;

/// See the module's documentation.
#[derive(Debug)]
pub struct ListVms;

/// Which guests, in what order, how many.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// VMs (qemu) or containers (lxc).
    r#type: Option<TypeFilter>,
    /// `paused` and `io-error` imply `exact`.
    status: Option<StatusFilter>,
    /// On this node.
    node: Option<String>,
    /// In this pool.
    pool: Option<String>,
    /// With this tag.
    tag: Option<String>,
    /// Part of a name, or a vmid.
    name: Option<String>,
    /// Order; of figures the largest first.
    #[serde(default)]
    sort: Sort,
    /// Rows; by default all up to 50, else 20.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<u32>,
    /// `next_cursor`.
    cursor: Option<String>,
    /// Ask the nodes: paused VMs show. Slower.
    #[serde(default)]
    exact: bool,
    /// More columns: sizes, traffic, uptime, pool, tags, HA.
    #[serde(default)]
    detail: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TypeFilter {
    Qemu,
    Lxc,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum StatusFilter {
    Running,
    Stopped,
    Paused,
    Hibernated,
    IoError,
    Unknown,
    Template,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Sort {
    #[default]
    Vmid,
    Name,
    Cpu,
    Memory,
    Disk,
    Uptime,
}

/// The guests that match.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// How many match.
    total: usize,
    /// How many of them are in `guests`.
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<usize>,
    #[serde(flatten)]
    summary: Summary,
    guests: Table,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for ListVms {
    const NAME: &'static str = "list_vms";
    const TITLE: &'static str = "List VMs and containers";
    const DESCRIPTION: &'static str = "List virtual machines (VM, qemu) and containers (LXC) with state, node, CPU (% of its cores, 10 s mean), memory and disk use; \
        filter, sort, count. Figures are up to 10 s old. For one guest use get_vm_status.";
    const TOOLSET: Toolset = Toolset::Guests;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let read = pve
            .guests()
            .await
            .map_err(|error| Failure::from_pve("list the VMs and containers", &error))?;
        let listed = &read.data().data;
        let mut guests: Vec<Row<'_>> = listed.iter().map(Row::new).collect();
        let mut notes = Vec::new();
        if let Some(age) = read.age() {
            let seconds = age.as_secs_f64();
            notes.push(format!(
                "this list was read for another call, {seconds:.1} s before this one"
            ));
        }
        if listed.is_empty() {
            notes.push(
                "PVE shows this token no VM or container: there are none, or the token has VM.Audit on none of them".to_owned(),
            );
        }
        if !guests.iter().any(|guest| input.picks_before_asking(guest)) {
            notes.extend(Known::of(&guests, &input).explain(&input));
        }
        guests.retain(|guest| input.picks_before_asking(guest));
        let wants_exact = input.exact
            || matches!(input.status, Some(StatusFilter::Paused | StatusFilter::IoError));
        if wants_exact {
            notes.extend(exact::ask(&pve, call, &mut guests).await);
        }
        guests.retain(|guest| input.status.is_none_or(|status| guest.is(status)));
        guests.sort_by(|a, b| input.sort.compare(a, b));
        let mut page = Page::of(&guests, &input)?;
        if !wants_exact
            && guests
                .iter()
                .any(|guest| guest.listed.kind == Some(Kind::Qemu) && guest.status == "running")
        {
            notes.push(
                "a VM that is paused or stopped by a disk error is listed as running; `exact: true` tells them apart".to_owned(),
            );
        }
        let summary =
            if page.is_summarised { Summary::full(&guests) } else { Summary::counts(&guests) };
        notes.extend(input.sort.unknown_last(&guests));
        let mut table = if input.detail { detailed() } else { short(input.sort) };
        let mut room = Room::of(cost::room(input.limit.is_some() || input.detail));
        for guest in page.guests {
            if input.detail {
                push_detailed(&mut table, guest);
            } else {
                push_short(&mut table, guest, input.sort);
            }
            if !table.fits(&mut room) {
                page.end_after(table.len());
                notes.push("names or tags are so long that fewer guests are shown".to_owned());
                break;
            }
        }
        if page.next_cursor.is_some() {
            notes.push(
                "for more: the same arguments with `cursor` set to next_cursor, or filters"
                    .to_owned(),
            );
        }
        Ok(Output {
            total: guests.len(),
            shown: (table.len() < guests.len()).then_some(table.len()),
            summary,
            guests: table,
            next_cursor: page.next_cursor,
            notes,
        })
    }
}

/// A guest with its state in one word. Rows are sorted, so that they are small.
#[derive(Debug)]
struct Row<'a> {
    listed: &'a Listed,
    /// `running`, `stopped`, `paused`, `hibernated`, `template`, or whatever PVE says.
    status: Cow<'static, str>,
}

impl<'a> Row<'a> {
    fn new(listed: &'a Listed) -> Self {
        let status = state(listed, listed.status.as_deref());
        Self { listed, status }
    }

    fn is(&self, status: StatusFilter) -> bool {
        let name = match status {
            StatusFilter::Running => "running",
            StatusFilter::Stopped => "stopped",
            StatusFilter::Paused => "paused",
            StatusFilter::Hibernated => "hibernated",
            StatusFilter::IoError => "io-error",
            StatusFilter::Unknown => "unknown",
            StatusFilter::Template => "template",
        };
        self.status == name
    }

    fn cpu(&self) -> Option<Percent> {
        // What is not running uses nothing, and PVE's zero says no more than its state.
        let fraction = self.listed.cpu.filter(|_| self.is_up())?;
        Percent::from_fraction(fraction)
    }

    fn memory(&self) -> Option<Share> {
        Share::new(self.listed.mem, self.listed.maxmem).filter(|_| self.is_up())
    }

    /// Known for running containers only: what a VM fills of its disks is known inside it.
    fn disk(&self) -> Option<Share> {
        let knows = self.listed.kind == Some(Kind::Lxc) && self.is_up();
        Share::new(self.listed.disk, self.listed.maxdisk).filter(|_| knows)
    }

    fn uptime(&self) -> Option<u64> {
        self.listed.uptime.filter(|uptime| *uptime > 0)
    }

    fn is_up(&self) -> bool {
        !matches!(self.status.as_ref(), "stopped" | "unknown" | "hibernated" | "template")
    }
}

/// The state in one word, from the list's word for it.
fn state(listed: &Listed, status: Option<&str>) -> Cow<'static, str> {
    match status {
        _ if listed.template == Some(true) => "template".into(),
        Some("stopped") if listed.lock.as_deref() == Some("suspended") => "hibernated".into(),
        // The usual words need no memory of their own, ten thousand times.
        Some("running") => "running".into(),
        Some("stopped") => "stopped".into(),
        Some(status) => label(status).into(),
        None => "unknown".into(),
    }
}

impl Input {
    fn picks_before_asking(&self, guest: &Row<'_>) -> bool {
        let listed = guest.listed;
        let kind = match self.r#type {
            None => true,
            Some(TypeFilter::Qemu) => listed.kind == Some(Kind::Qemu),
            Some(TypeFilter::Lxc) => listed.kind == Some(Kind::Lxc),
        };
        let same = |wanted: &Option<String>, value: Option<&str>| {
            given(wanted.as_ref())
                .is_none_or(|wanted| value.is_some_and(|value| value.eq_ignore_ascii_case(wanted)))
        };
        let tag = given(self.tag.as_ref()).is_none_or(|tag| {
            tags(listed.tags.as_deref()).any(|other| other.eq_ignore_ascii_case(tag))
        });
        kind && tag
            && self.names(guest)
            && same(&self.node, listed.node.as_ref().map(NodeName::as_str))
            && same(&self.pool, listed.pool.as_deref())
    }

    /// Whether the guest has the name that is looked for.
    fn names(&self, guest: &Row<'_>) -> bool {
        let listed = guest.listed;
        given(self.name.as_ref()).is_none_or(|wanted| {
            let wanted = wanted.to_lowercase();
            let named = real_name(listed).is_some_and(|name| name.to_lowercase().contains(&wanted));
            named || listed.vmid.is_some_and(|vmid| vmid.to_string() == wanted)
        })
    }
}

impl Sort {
    fn compare(self, a: &Row<'_>, b: &Row<'_>) -> Ordering {
        let order = match self {
            Self::Vmid => Ordering::Equal,
            Self::Name => real_name(a.listed)
                .map(str::to_lowercase)
                .cmp(&real_name(b.listed).map(str::to_lowercase)),
            Self::Cpu => largest_first(a.cpu(), b.cpu()),
            Self::Memory => largest_first(
                a.memory().map(|share| share.used),
                b.memory().map(|share| share.used),
            ),
            // The fullest, not the largest, is what somebody looks for.
            Self::Disk => {
                let percent = |row: &Row<'_>| Some(row.disk()?.percent()?.value());
                largest_first(percent(a), percent(b))
            }
            Self::Uptime => largest_first(a.uptime(), b.uptime()),
        };
        order.then(a.listed.vmid.cmp(&b.listed.vmid))
    }
}

impl Sort {
    /// Says how many guests have nothing to be sorted by: they are last, not smallest.
    fn unknown_last(self, guests: &[Row<'_>]) -> Option<String> {
        let is_known = |guest: &Row<'_>| match self {
            Self::Vmid | Self::Name => true,
            Self::Cpu => guest.cpu().is_some(),
            Self::Memory => guest.memory().is_some(),
            Self::Disk => guest.disk().is_some(),
            Self::Uptime => guest.uptime().is_some(),
        };
        let n_unknown = guests.iter().filter(|guest| !is_known(guest)).count();
        let why = match self {
            Self::Disk => "how full a VM's disks are is known only inside it",
            _ => "they do not run, or nothing is known of them",
        };
        (n_unknown > 0)
            .then(|| format!("{n_unknown} guests have no figure to sort by and come last: {why}"))
    }
}

/// What is unknown comes last.
fn largest_first<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => b.partial_cmp(&a).unwrap_or(Ordering::Equal),
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// The part of the list that is shown.
struct Page<'a> {
    guests: &'a [Row<'a>],
    next_cursor: Option<String>,
    is_summarised: bool,
}

impl<'a> Page<'a> {
    /// A cursor is the vmid after which the page begins, so that it stays right when guests come and go.
    fn of(guests: &'a [Row<'a>], input: &Input) -> Result<Self, Failure> {
        let is_after = |row: &Row<'_>, cursor: &str| {
            row.listed.vmid.is_some_and(|vmid| vmid.to_string() == cursor)
        };
        let start = match &input.cursor {
            None => 0,
            Some(cursor) => match guests.iter().position(|row| is_after(row, cursor.trim())) {
                Some(index) => index + 1,
                None => {
                    return Err(Failure::new("the cursor fits no guest of this list")
                        .hint("the guest is gone or the filters have changed: call again without `cursor`"));
                }
            },
        };
        let rest = guests.get(start..).unwrap_or_default();
        let asked = input.limit.map(|limit| usize::try_from(limit).unwrap_or(SHOWN_WHOLE));
        let limit =
            asked.unwrap_or(if rest.len() <= SHOWN_WHOLE { SHOWN_WHOLE } else { SHOWN_FIRST });
        // Rows in detail are three times as long: clients refuse an answer with 500 of them.
        let limit = if input.detail { limit.min(SHOWN_IN_DETAIL) } else { limit };
        let shown = rest.get(..limit).unwrap_or(rest);
        let is_more = shown.len() < rest.len();
        let last = shown.last().and_then(|row| row.listed.vmid);
        Ok(Self {
            guests: shown,
            next_cursor: last.filter(|_| is_more).map(|vmid| vmid.to_string()),
            is_summarised: is_more && asked.is_none() && input.cursor.is_none(),
        })
    }

    /// No more than so many are shown of it.
    fn end_after(&mut self, shown: usize) {
        self.guests = self.guests.get(..shown).unwrap_or(self.guests);
        let last = self.guests.last().and_then(|row| row.listed.vmid);
        self.next_cursor = last.map(|vmid| vmid.to_string());
    }
}
