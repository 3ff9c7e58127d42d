//! Every tool, in one list, and the way from a call's arguments to its answer.
//!
//! [`Tool`] is what a tool is; [`ALL`] is the list; [`Catalog`] is what one process offers, which is
//! decided by the configuration at start and **constant from then on**.

use std::{
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{
    answer::{Answer, Output, cost},
    arguments,
    audit::Attempt,
    call::Call,
    failure::Failure,
    schema,
    tier::{Access, Effect, Level},
    tools,
};

macro_rules! catalog {
    ($($tool:ty,)+) => {
        /// Every tool. The order is the order in which clients see them: from the overview to the detail.
        pub const ALL: &[Entry] = &[$(kept::<$tool>()),+];

        /// The same tools with the schemas that follow from their types, for the test that holds `schemas.tsv` to them.
        pub fn derived() -> Vec<Entry> {
            vec![$(entry::<$tool>()),+]
        }
    };
}

catalog! {
    tools::get_cluster_health::GetClusterHealth,
    tools::list_vms::ListVms,
    tools::get_vm_status::GetVmStatus,
    tools::get_vm_details::GetVmDetails,
    tools::list_nodes::ListNodes,
    tools::get_node_status::GetNodeStatus,
    tools::list_storage::ListStorage,
    tools::get_storage_status::GetStorageStatus,
    tools::get_metrics::GetMetrics,
    tools::get_metrics_chart::GetMetricsChart,
    tools::get_access::GetAccess,
    tools::list_networks::ListNetworks,
    tools::get_network_stats::GetNetworkStats,
    tools::get_vm_console::GetVmConsole,
    tools::get_vm_screenshot::GetVmScreenshot,
    tools::list_tasks::ListTasks,
    tools::get_task::GetTask,
    tools::get_system_log::GetSystemLog,
    tools::search_logs::SearchLogs,
    tools::start_vm::StartVm,
    tools::shutdown_vm::ShutdownVm,
    tools::reboot_vm::RebootVm,
    tools::suspend_vm::SuspendVm,
    tools::resume_vm::ResumeVm,
    tools::stop_vm::StopVm,
    tools::reset_vm::ResetVm,
    tools::send_vm_keys::SendVmKeys,
}

/// One tool. Everything that defines it is in its implementation of this trait.
pub trait Tool: 'static {
    /// The name that clients call, `verb_noun`.
    const NAME: &'static str;
    /// The name that people see.
    const TITLE: &'static str;
    /// What the model reads to choose a tool: purpose, when to use another one, one limit.
    const DESCRIPTION: &'static str;
    /// The group under which users choose it.
    const TOOLSET: Toolset;
    /// Whether a second call does nothing that the first did not.
    const IDEMPOTENT: bool = true;

    /// What it does to the cluster.
    type Effect: Effect;
    /// Its arguments. Unknown ones are refused.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// Its answer: anything that serialises to an object, or a [`Picture`](crate::answer::Picture).
    type Output: Output;

    /// Does the work.
    fn run(
        pve: <Self::Effect as Effect>::Pve,
        call: &Call,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output, Failure>> + Send;
}

/// The groups of tools that `PVE_TOOLS` and `PVE_EXCLUDE_TOOLS` can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// VMs and containers.
    Guests,
    /// Nodes and the cluster.
    Nodes,
    /// Storages and what is on them.
    Storage,
    /// Networks and their traffic.
    Network,
    /// Tasks and logs.
    Logs,
    /// Consoles and screens.
    Console,
    /// The state of everything, and what this token may do.
    Health,
    /// History, as numbers and as pictures.
    Metrics,
    /// Starting, stopping and what belongs to it.
    Power,
}

/// A [`Tool`] as a value.
pub struct Entry {
    /// The name that clients call.
    pub name: &'static str,
    /// The name that people see.
    pub title: &'static str,
    /// What the model reads.
    pub description: &'static str,
    /// The group under which users choose it.
    pub toolset: Toolset,
    /// The tier that it takes.
    pub level: Level,
    /// Whether something that was not saved can be lost.
    pub destructive: bool,
    /// Whether a second call does nothing more.
    pub idempotent: bool,
    input: fn() -> Map<String, Value>,
    output: fn() -> Option<Map<String, Value>>,
    run: Run,
}

/// A tool's work, with its types erased.
type Run =
    for<'a> fn(&'a Access, &'a Call, Map<String, Value>) -> BoxFuture<'a, Result<Answer, Failure>>;

/// The tools that this process offers.
#[derive(Debug)]
pub struct Catalog {
    offered: Vec<Offered>,
    level: Level,
}

/// A tool that is offered, with its schemas, which are made when they are first asked for.
#[derive(Debug)]
pub struct Offered {
    /// The tool.
    pub entry: &'static Entry,
    input: OnceLock<Arc<Map<String, Value>>>,
}

/// Why a tool cannot be called here.
#[derive(Debug, PartialEq, Eq)]
pub enum NotOffered {
    /// No such tool exists. The nearest name, if one is near.
    Unknown(Option<&'static str>),
    /// It exists, but this process does not offer it.
    Withheld(Failure),
}

impl Catalog {
    /// The tools of `entries` that `level` allows and that `wanted` picks.
    pub fn new(entries: &'static [Entry], level: Level, wanted: impl Fn(&Entry) -> bool) -> Self {
        let offered =
            entries.iter().filter(|entry| entry.level <= level && wanted(entry)).map(Offered::new);
        Self { offered: offered.collect(), level }
    }

    /// The tools, in the order of the list.
    pub fn tools(&self) -> impl Iterator<Item = &Offered> {
        self.offered.iter()
    }

    /// The names of the tools.
    pub fn names(&self) -> Vec<&'static str> {
        self.offered.iter().map(|offered| offered.entry.name).collect()
    }

    /// The tool of this name.
    pub fn find(&self, name: &str) -> Result<&Offered, NotOffered> {
        if let Some(offered) = self.offered.iter().find(|offered| offered.entry.name == name) {
            return Ok(offered);
        }
        let Some(entry) = ALL.iter().find(|entry| entry.name == name) else {
            let names = self.offered.iter().map(|offered| offered.entry.name);
            return Err(NotOffered::Unknown(arguments::nearest(name, names)));
        };
        let failure = Failure::new(format!("`{name}` is not offered by this server"));
        let failure = if entry.level > Level::Read { failure.refused() } else { failure };
        Err(NotOffered::Withheld(if entry.level > self.level {
            failure.hint("it changes the cluster: only a server that was started with PVE_ACCESS_TIER=write has it; its user decides that")
        } else {
            failure.hint("the user left it out with PVE_TOOLS or PVE_EXCLUDE_TOOLS")
        }))
    }
}

impl Offered {
    fn new(entry: &'static Entry) -> Self {
        Self { entry, input: OnceLock::new() }
    }

    /// The schema of the tool's arguments.
    pub fn input_schema(&self) -> &Arc<Map<String, Value>> {
        self.input.get_or_init(|| (self.entry.input)().into())
    }

    /// The schema of the tool's answer. None for tools that answer with a picture.
    pub fn output_schema(&self) -> Option<Map<String, Value>> {
        (self.entry.output)()
    }

    /// How to get what had no room in an answer.
    fn way_to_the_rest(&self) -> &'static str {
        if self.input_schema().get("properties").is_some_and(|named| named.get("limit").is_some()) {
            "; `limit` shows more of them, other arguments choose"
        } else {
            "; other arguments, or a tool for one of them, show these"
        }
    }

    /// Checks the arguments and does the work. A panic becomes an answer, and an answer has
    /// a bound, which is wider for what was asked for. A write that is refused is recorded.
    pub async fn call(
        &self,
        access: &Access,
        call: &Call,
        arguments: Map<String, Value>,
    ) -> Result<Answer, Failure> {
        if self.entry.level == Level::Read {
            return self.answer(access, call, arguments).await;
        }
        let attempt = Attempt::of(access.reader(), call, self.entry.name, &arguments);
        let result = self.answer(access, call, arguments).await;
        match attempt {
            Some(attempt) => attempt.came_to(result).await,
            None => result,
        }
    }

    /// The arguments as the tool takes them.
    ///
    /// # Errors
    /// Everything that does not fit, and what would.
    pub fn checked(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        arguments::check(self.input_schema(), arguments).map_err(|misfits| {
            let misfits: Vec<_> = misfits.iter().map(|misfit| format!("- {misfit}")).collect();
            let misfits = misfits.join("\n");
            Failure::new(format!("the arguments of `{}` do not fit:\n{misfits}", self.entry.name))
        })
    }

    async fn answer(
        &self,
        access: &Access,
        call: &Call,
        arguments: Map<String, Value>,
    ) -> Result<Answer, Failure> {
        let arguments = self.checked(arguments)?;
        let most = if cost::is_asked_for_more(&arguments) { cost::MOST } else { cost::PLAIN };
        let work = AssertUnwindSafe((self.entry.run)(access, call, arguments)).catch_unwind();
        match tokio::time::timeout_at(call.deadline, work).await {
            Ok(Ok(Ok(Answer::Structured(answer)))) => {
                Ok(Answer::Structured(cost::bounded(answer, most, self.way_to_the_rest())))
            }
            Ok(Ok(outcome)) => {
                outcome.map_err(|failure| failure.for_token(access.reader().token_id()))
            }
            Ok(Err(_panic)) => Err(Failure::bug(self.entry.name)),
            Err(_elapsed) => Err(Failure::new(format!(
                "`{}` was not done after {} s and was given up",
                self.entry.name,
                crate::call::CALL_SECONDS
            ))
            .hint("ask for less at once, or see with list_nodes whether a node hangs")),
        }
    }
}

/// Records that a tool was called which is not offered, where it is one that writes, and says the same.
pub async fn refused(
    access: &Access,
    call: &Call,
    tool: &str,
    arguments: &Map<String, Value>,
    failure: Failure,
) -> Failure {
    let attempt = Attempt::of(access.reader(), call, tool, arguments);
    match attempt.filter(|_| failure.is_refused()) {
        Some(attempt) => attempt.came_to(Err(failure.clone())).await.err().unwrap_or(failure),
        None => failure,
    }
}

impl Entry {
    /// Its line in `schemas.tsv`: the name, the schema of its arguments, and that of its answer where there is one.
    pub fn schemas(&self) -> String {
        let schemas = [Some((self.input)()), (self.output)()];
        let schemas = schemas.into_iter().flatten().map(|schema| Value::from(schema).to_string());
        [self.name.to_owned()].into_iter().chain(schemas).collect::<Vec<_>>().join("\t") + "\n"
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Toolset {
    /// Every toolset.
    pub const ALL: &'static [Self] = &[
        Self::Guests,
        Self::Nodes,
        Self::Storage,
        Self::Network,
        Self::Logs,
        Self::Console,
        Self::Health,
        Self::Metrics,
        Self::Power,
    ];

    /// The name by which users choose it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Guests => "guests",
            Self::Nodes => "nodes",
            Self::Storage => "storage",
            Self::Network => "network",
            Self::Logs => "logs",
            Self::Console => "console",
            Self::Health => "health",
            Self::Metrics => "metrics",
            Self::Power => "power",
        }
    }
}

/// A tool of the list as a value. Its schemas are not made from its types in each process, which takes twice the
/// instructions of reading them and 1.2 MiB of memory.
const fn kept<T: Tool>() -> Entry {
    Entry {
        input: || schema::kept_input(T::NAME),
        output: || schema::kept_output(T::NAME),
        ..entry::<T>()
    }
}

/// A tool as a value, with the schemas that follow from its types.
pub const fn entry<T: Tool>() -> Entry {
    Entry {
        name: T::NAME,
        title: T::TITLE,
        description: T::DESCRIPTION,
        toolset: T::TOOLSET,
        level: T::Effect::LEVEL,
        destructive: T::Effect::DESTRUCTIVE,
        idempotent: T::IDEMPOTENT,
        input: schema::of_input::<T::Input>,
        output: T::Output::schema,
        run: |access, call, arguments| Box::pin(run::<T>(access, call, arguments)),
    }
}

async fn run<T: Tool>(
    access: &Access,
    call: &Call,
    arguments: Map<String, Value>,
) -> Result<Answer, Failure> {
    // The catalog offers no tool above the tier; this is the second fence.
    let Some(pve) = T::Effect::pve(access, call) else {
        return Err(Failure::new(format!("`{}` needs PVE_ACCESS_TIER=write", T::NAME)));
    };
    let input = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        Failure::new(format!("the arguments of `{}` do not fit: {error}", T::NAME))
    })?;
    let outcome = T::run(pve, call, input).await;
    let unread = call.unread();
    match outcome {
        Ok(output) => {
            let answer = output.into_answer().ok_or_else(|| Failure::bug(T::NAME))?;
            Ok(answer.noting(unread))
        }
        // What was not found may be among what could not be read.
        Err(failure) => Err(unread.iter().fold(failure, |failure, line| failure.besides(line))),
    }
}
