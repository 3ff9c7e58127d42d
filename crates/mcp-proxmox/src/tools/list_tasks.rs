//! `list_tasks`: what was done, by whom, and how it ended.
//!
//! One request for each node. Proxmox VE filters what it can; types in words, tokens and consoles are
//! filtered here, since it knows one exact type, and users without their tokens.

mod cursor;

use futures_util::{StreamExt as _, stream};
use pve_client::{
    NodeName, Observer, Reader, VmId,
    task::{Filter, Listed, Source},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::cursor::{Cursor, key};
use crate::{
    answer::{
        Cell, Duration, Table,
        clean::{label, quoted},
        log_text,
    },
    call::Call,
    catalog::{Tool, Toolset},
    failure::Failure,
    in_order::InOrder as _,
    logs::{
        limit, nodes,
        rights::Rights,
        tasks::{self, Kinds, List, Outcome, is_console},
    },
    lookup,
    tier::Reads,
    when,
};

/// How many tasks are shown, where nobody says how many.
const SHOWN: usize = 20;
/// How many more than are shown a node is asked for, since some are filtered here.
const SPARE: usize = 150;
/// How many times so many a node is asked for, where too few fit.
const PAGES: usize = 6;
/// How long a node may take, in seconds.
const NODE_SECONDS: u64 = 12;
/// How long all nodes may take, in seconds.
const PART_SECONDS: u64 = 36;
/// How many nodes are asked at once.
const AT_ONCE: usize = 4;
/// How many are shown at most.
const MOST: usize = 200;

/// See the module's documentation.
#[derive(Debug)]
pub struct ListTasks;

/// Which tasks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Default: all.
    nodes: Option<Vec<String>>,
    /// backup, start, migration… or PVE's own.
    r#type: Option<String>,
    /// How it ended.
    outcome: Option<Outcome>,
    /// Vmid or name.
    vm: Option<String>,
    /// User or token.
    user: Option<String>,
    #[serde(flatten)]
    range: when::Range,
    /// Rows.
    limit: Option<u32>,
    /// `next_cursor`.
    cursor: Option<String>,
}

/// The tasks that match, the newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    shown: usize,
    /// Node, type, guest and user of a task are in its UPID.
    tasks: Table,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_available: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

impl Tool for ListTasks {
    const NAME: &'static str = "list_tasks";
    const TITLE: &'static str = "List tasks";
    const DESCRIPTION: &'static str = "Tasks (backup, start, stop, migration…) of all nodes or some, running and ended, newest first: outcome, duration, \
        UPID with user. For one task and its log use get_task.";
    const TOOLSET: Toolset = Toolset::Logs;

    type Effect = Reads;
    type Input = Input;
    type Output = Output;

    async fn run(pve: Observer, call: &Call, input: Input) -> Result<Output, Failure> {
        let (since, until) = input.range.read(call)?;
        let cursor = input.cursor.as_deref().map(Cursor::read).transpose()?;
        let guest = match &input.vm {
            Some(vm) => Some(vmid(&pve, vm).await?),
            None => None,
        };
        let chosen = nodes::choose(&pve, input.nodes.as_deref().unwrap_or_default()).await?;
        let (limit, limited) = limit::rows(input.limit, SHOWN, MOST);
        let bound = cursor.as_ref().map_or(until, |at| Some(at.start));
        let picks = Picks::of(&input, limit, guest, since, bound);
        let part = pve.until(call.part(PART_SECONDS));
        let (ask, wanted) = (&part, &picks);
        let lists = stream::iter(chosen.nodes.clone()).map(|node| async move {
            // Each node's time begins when it is asked, so that those that hang leave time for the others.
            let pve = ask.until(call.part(NODE_SECONDS));
            let is_enough = |list: &List| wanted.are_enough(list, limit);
            let list = tasks::list(&pve, &node, &wanted.filter, PAGES, is_enough).await;
            (node, list)
        });
        let lists = lists.buffer_unordered(AT_ONCE).collect::<Vec<_>>();
        let (rights, mut lists) = futures_util::join!(Rights::ask(&part), lists);
        lists.order_by(|(a, _), (b, _)| a.cmp(b));
        let mut output = Output {
            shown: 0,
            tasks: Table::new(&["started", "took", "type", "id", "outcome", "upid"]),
            next_cursor: None,
            not_available: chosen.missing,
            notes: limited.into_iter().collect(),
        };
        // A list that nobody answered is no empty list.
        if let (Some((_, Err(error))), true) =
            (lists.first(), lists.iter().all(|(_, list)| list.is_err()))
        {
            let nodes: Vec<_> = lists.iter().take(5).map(|(node, _)| node.as_str()).collect();
            return Err(Failure::from_pve(
                &format!("list the tasks of {}", nodes.join(", ")),
                error,
            ));
        }
        let mut page = Page::default();
        for (node, list) in lists {
            match list {
                Ok(list) => page.add(list, &picks),
                Err(error) => {
                    let asked = format!("list the tasks of {node}");
                    output.not_available.push(Failure::from_pve(&asked, &error).what().to_owned());
                }
            }
        }
        output.next_cursor = page.cut(cursor.as_ref(), limit, bound);
        for task in &page.tasks {
            output.push(call, task);
        }
        output.shown = output.tasks.len();
        if page.tasks.iter().any(|task| matches!(Outcome::of(task), Outcome::Error)) {
            output.notes.push(log_text::MARK.to_owned());
        }
        output.say_what_is_hidden(&chosen.nodes, &rights);
        if page.tasks.is_empty() {
            output.say_why_nothing_is_there(&part, &input).await;
            output.notes.extend(page.unknown_user(&picks));
        }
        if let Some(guest) = guest
            && picks.kinds.as_ref().map_or(page.tasks.is_empty(), |kinds| kinds.has("vzdump"))
        {
            output.notes.push(format!("a backup of several guests carries no vmid and is not found by `vm`: search_logs vm={guest} looks into failed ones, get_task into each"));
        }
        if page.is_stuck {
            output.notes.push("more tasks ran at once than can be looked through: some may be missing, narrower filters show them".to_owned());
        }
        if page.n_consoles > 0 {
            output.notes.push("console tasks are left out: `type: console` shows them".to_owned());
        }
        if output.next_cursor.is_some() {
            output.notes.push(
                "for older ones: the same arguments with `cursor` set to next_cursor".to_owned(),
            );
        }
        Ok(output)
    }
}

/// The vmid of a guest, which need not exist any more when it is given by number.
async fn vmid(pve: &Reader, vm: &str) -> Result<VmId, Failure> {
    match vm.trim().parse() {
        Ok(vmid) => Ok(vmid),
        Err(_) => Ok(lookup::guest::find(pve, vm).await?.guest.vmid),
    }
}

/// What is wanted, by Proxmox VE's filter and by our own.
struct Picks {
    filter: Filter,
    kinds: Option<Kinds>,
    outcome: Option<Outcome>,
    user: Option<String>,
    consoles: bool,
    /// Only those that ran at this time or later. Proxmox VE would compare when they started, and leave
    /// out what began before and failed since.
    since: Option<i64>,
}

impl Picks {
    fn of(
        input: &Input,
        limit: usize,
        vmid: Option<VmId>,
        since: Option<i64>,
        until: Option<i64>,
    ) -> Self {
        let kinds = input.r#type.as_deref().map(Kinds::of);
        let user = input.user.as_deref().map(|user| user.trim().to_lowercase());
        let source = match input.outcome {
            None => Source::All,
            Some(Outcome::Running) => Source::Active,
            Some(_) => Source::Archive,
        };
        let filter = Filter {
            source,
            vmid,
            kind: kinds.as_ref().and_then(Kinds::only).map(str::to_owned),
            // Its own filter does not know tokens in all lists, so that the user alone is sent.
            user: None,
            outcomes: input.outcome.and_then(Outcome::filter).into_iter().collect(),
            since: None,
            until,
            start: None,
            limit: u32::try_from(limit + SPARE).ok(),
        };
        let consoles = kinds.as_ref().is_some_and(Kinds::are_consoles);
        Self { filter, kinds, outcome: input.outcome, user, consoles, since }
    }

    fn has(&self, task: &Listed) -> bool {
        let kind = task.kind.as_deref().unwrap_or_default();
        self.is_by_user(task)
            && self.kinds.as_ref().is_none_or(|kinds| kinds.has(kind))
            && self.outcome.is_none_or(|outcome| outcome == Outcome::of(task))
            && self.since.zip(task.endtime).is_none_or(|(since, end)| end >= since)
    }

    fn is_by_user(&self, task: &Listed) -> bool {
        self.user.as_ref().is_none_or(|user| {
            task.who().is_some_and(|who| who.to_lowercase().contains(user.as_str()))
        })
    }

    fn shows(&self, task: &Listed) -> bool {
        (self.consoles || !task.kind.as_deref().is_some_and(is_console)) && self.has(task)
    }

    /// The time after which nothing is missing that could fit.
    fn complete_after(&self, list: &List) -> Option<i64> {
        list.complete_after.filter(|after| self.since.is_none_or(|since| *after >= since))
    }

    /// Whether a page can be filled with what is there of a node.
    fn are_enough(&self, list: &List, limit: usize) -> bool {
        let Some(after) = self.complete_after(list) else { return true };
        let is_known = |task: &&Listed| task.starttime.is_some_and(|start| start > after);
        list.tasks.iter().filter(is_known).filter(|task| self.shows(task)).count() > limit
    }
}

/// The tasks of all nodes, of which some are shown.
#[derive(Default)]
struct Page {
    tasks: Vec<Listed>,
    /// Later than this, no node has a task that is not here.
    complete_after: Option<i64>,
    /// How many console tasks were left out.
    n_consoles: usize,
    /// How many tasks were looked at.
    n_seen: usize,
    /// Whether the user that is looked for did any of them.
    has_user: bool,
    /// Whether no time is known after which nothing is missing.
    is_stuck: bool,
}

impl Page {
    fn add(&mut self, list: List, picks: &Picks) {
        self.complete_after = self.complete_after.max(picks.complete_after(&list));
        for task in list.tasks {
            self.n_seen += 1;
            self.has_user |= picks.is_by_user(&task);
            if !picks.consoles && task.kind.as_deref().is_some_and(is_console) {
                self.n_consoles += 1;
            } else if picks.has(&task) {
                self.tasks.push(task);
            }
        }
    }

    /// What to say of a user who did none of the tasks.
    fn unknown_user(&self, picks: &Picks) -> Option<String> {
        let user = picks.user.as_deref().filter(|_| !self.has_user)?;
        Some(format!(
            "none of {} tasks is by a user with {} in the name",
            self.n_seen,
            quoted(user)
        ))
    }

    /// Keeps what is to be shown, and says where to go on. `bound` is the latest start that was asked for.
    fn cut(&mut self, cursor: Option<&Cursor>, limit: usize, bound: Option<i64>) -> Option<String> {
        self.tasks.order_by_key(|task| std::cmp::Reverse(key(task)));
        if let Some(cursor) = cursor {
            self.tasks.retain(|task| cursor.is_before(task));
        }
        // What lies before the time up to which all is known may have others in between, and is shown
        // by the next page. Where that page would be this one again, it is shown here all the same.
        let after = self.complete_after.filter(|after| bound.is_none_or(|bound| *after < bound));
        let after = after.filter(|after| *after != i64::MAX);
        self.is_stuck = self.complete_after.is_some() && after.is_none();
        let known = after.map_or(self.tasks.len(), |after| {
            self.tasks
                .iter()
                .take_while(|task| task.starttime.is_none_or(|start| start > after))
                .count()
        });
        self.tasks.truncate(known.min(limit));
        if known > limit || self.is_stuck {
            let last = self.tasks.last()?;
            return Some(format!("{}/{}", last.starttime?, last.upid.as_ref()?));
        }
        // There may be nothing to show, and still something older.
        after.map(|after| format!("{after}/"))
    }
}

impl Output {
    fn push(&mut self, call: &Call, task: &Listed) {
        let took = match (task.starttime, task.endtime) {
            (Some(start), Some(end)) => u64::try_from(end.saturating_sub(start)).ok(),
            (Some(start), None) => u64::try_from(call.now.as_second().saturating_sub(start)).ok(),
            _ => None,
        };
        let outcome = Outcome::of(task);
        self.tasks.push([
            task.starttime.and_then(|start| call.time(start)).into(),
            took.map(Duration).into(),
            task.kind.as_deref().map(label).into(),
            task.id.as_deref().map(label).into(),
            outcome.in_words(task.exit()).into(),
            task.upid.as_ref().map_or(Cell::Unknown, |upid| upid.to_string().into()),
        ]);
    }

    /// Proxmox VE leaves out what others did without a word.
    fn say_what_is_hidden(&mut self, nodes: &[NodeName], rights: &Rights) {
        let hidden: Vec<&str> = nodes
            .iter()
            .filter(|node| rights.lacks("Sys.Audit", &format!("/nodes/{node}")))
            .map(NodeName::as_str)
            .collect();
        if !hidden.is_empty() {
            self.notes.push(format!(
                "of {} only this token's own tasks are seen: it lacks Sys.Audit there",
                hidden.join(", ")
            ));
        }
        if rights.are_unknown() {
            self.notes.push(
                "the token's privileges could not be read: others' tasks may be missing".to_owned(),
            );
        }
    }

    /// A slip of the pen finds nothing, as surely as a filter that nothing fits.
    async fn say_why_nothing_is_there(&mut self, pve: &Reader, input: &Input) {
        let kind = input.r#type.as_deref().unwrap_or_default();
        if !kind.is_empty() && !Kinds::of(kind).are_known() {
            let words: Vec<_> = Kinds::words().collect();
            self.notes.push(format!(
                "type {} was taken for a name of PVE's own: words are {}",
                quoted(kind),
                words.join(", ")
            ));
        }
        if input.range.is_without_begin() && self.not_available.is_empty() {
            self.notes
                .push("all that the nodes still keep of their tasks was looked through".to_owned());
        }
        if let Some(vm) = &input.vm
            && let Err(failure) = lookup::guest::find(pve, vm).await
        {
            self.notes.push(failure.what().to_owned());
        }
    }
}
