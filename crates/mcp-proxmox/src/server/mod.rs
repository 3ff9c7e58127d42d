//! MCP on one side, the [`catalog`](crate::catalog) on the other.
//!
//! **No module but this one and those below it names `rmcp`**, and none of them knows a tool by name.
//! The library answers both protocol eras; `guard` and `stdio` mend what it leaves open.

mod asking;
mod guard;
mod lines;
mod stdio;

use std::{
    convert::Infallible,
    sync::{Arc, OnceLock, PoisonError},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        DiscoverResult, Implementation, ListToolsResult, MetaObject, PaginatedRequestParams,
        ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::{RequestContext, ServerInitializeError},
};
use serde_json::{Map, Value};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
};

use crate::{
    answer::Answer,
    call::{Call, Limits, Progress},
    catalog::{Catalog, NotOffered, Offered},
    config::Output,
    failure::Failure,
    instructions,
    policy::Policy,
    tier::Access,
};

/// How long clients may keep what `server/discover` and the lists say: they are constant for a process.
const TTL_MS: u64 = 3_600_000;
/// Marks a tool whose every call a person has to see.
const REQUIRES_USER: &str = "anthropic/requiresUserInteraction";

/// The server. One serves one client.
#[derive(Debug)]
pub struct Server {
    access: Access,
    catalog: Catalog,
    output: Output,
    zone: jiff::tz::TimeZone,
    policy: Arc<Policy>,
    asking: asking::Asking,
    limits: Arc<Limits>,
    tools: OnceLock<Vec<Tool>>,
}

impl Server {
    /// A server that offers `catalog` on the cluster behind `access`.
    pub fn new(access: Access, catalog: Catalog, output: Output, zone: jiff::tz::TimeZone) -> Self {
        let limits = Limits { tier: access.level(), offered: catalog.names() };
        Self {
            access,
            catalog,
            output,
            zone,
            policy: Arc::default(),
            asking: asking::Asking::new(),
            limits: limits.into(),
            tools: OnceLock::new(),
        }
    }

    /// The same server, under what the user decided about writes.
    #[must_use]
    pub fn under(self, policy: Arc<Policy>) -> Self {
        Self { policy, ..self }
    }

    /// Serves one client on standard input and output, until it leaves.
    ///
    /// # Errors
    /// What ended the session, where that was not the client.
    pub async fn serve_stdio(self) -> Result<(), String> {
        let (input, output) = stdio::standard();
        self.serve(input, output).await
    }

    /// Serves one client on two streams of lines, until it leaves.
    ///
    /// # Errors
    /// What ended the session, where that was not the client.
    pub async fn serve<R, W>(self, input: R, output: W) -> Result<(), String>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (lines, eof) = stdio::Lines::new(input, output);
        match guard::Guard::new(self, eof).serve(lines).await {
            Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
            // A client that leaves before it says anything did nothing wrong, and neither did we.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| {
            let tools = self.catalog.tools();
            tools.map(|offered| definition(offered, self.output, &self.policy)).collect()
        })
    }

    async fn call(
        &self,
        offered: &Offered,
        arguments: Map<String, Value>,
        call: Call,
    ) -> CallToolResult {
        match offered.call(&self.access, &call, arguments).await {
            Ok(answer) => self.result(answer),
            Err(failure) => failed(&failure),
        }
    }

    fn result(&self, answer: Answer) -> CallToolResult {
        let text = answer.text();
        let (structured, png) = match answer {
            Answer::Structured(object) => (Some(object), None),
            Answer::Picture(picture) => (None, Some(picture.png)),
        };
        let text = match (self.output, &structured) {
            (Output::Structured, Some(_)) => "The answer is in structuredContent.".to_owned(),
            _ => text,
        };
        let mut content = vec![ContentBlock::text(text)];
        content
            .extend(png.map(|png| ContentBlock::image(BASE64_STANDARD.encode(png), "image/png")));
        let mut result = CallToolResult::success(content);
        result.structured_content =
            structured.filter(|_| self.output != Output::Text).map(Value::Object);
        result
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(me())
            .with_instructions(instructions::text(self.access.level()))
    }

    async fn discover(
        &self,
        _context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let mut discovered = DiscoverResult::from_server_info(
            self.supported_protocol_versions().into_owned(),
            self.get_info(),
        );
        discovered.ttl_ms = TTL_MS;
        // What is offered depends on this user's configuration.
        discovered.cache_scope = CacheScope::Private;
        Ok(discovered)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut list = ListToolsResult::with_all_items(self.tools().to_vec());
        list.ttl_ms = Some(TTL_MS);
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offered = match self.catalog.find(&request.name) {
            Ok(offered) => offered,
            // A protocol error would be hidden from the model, which could not tell its user what to set.
            Err(NotOffered::Withheld(failure)) => return Ok(failed(&failure).into()),
            Err(NotOffered::Unknown(near)) => return Err(unknown(&request.name, near)),
        };
        let asked = self.asking.of(&request, &context)?;
        let arguments = request.arguments.clone().unwrap_or_default();
        let (progress, telling) = progress(&context);
        let client = context.client_info().map(|client| crate::answer::clean::label(&client.name));
        let call = Call::begin(self.zone.clone())
            .with_progress(progress)
            .within(&self.limits)
            .under(Arc::clone(&self.policy))
            .with_person(asked.person)
            .from_client(client);
        tokio::select! {
            result = self.call(offered, arguments, call) => {
                // A question that was left behind is the answer of this call, whatever else it says.
                let question = asked.question.lock().unwrap_or_else(PoisonError::into_inner).take();
                match question {
                    Some(question) => Ok(self.asking.ask(&request, question)?.into()),
                    None => Ok(result.into()),
                }
            }
            // It only ever tells; the call decides when it is done.
            never = telling => match never {},
            // Nothing more is sent for a cancelled call; the library drops this answer.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

/// The tools of `catalog` as clients get them, for people who want to look.
pub fn definitions(catalog: &Catalog) -> Value {
    let policy = Policy::default();
    let tools: Vec<_> =
        catalog.tools().map(|offered| definition(offered, Output::Both, &policy)).collect();
    serde_json::to_value(tools).unwrap_or_default()
}

/// A tool as clients see it. The hints follow from the tool's effect.
fn definition(offered: &Offered, output: Output, policy: &Policy) -> Tool {
    let entry = offered.entry;
    let hints =
        ToolAnnotations::new().read_only(entry.level == crate::tier::Level::Read).open_world(false);
    let hints = match entry.level {
        // Both are meaningful only for tools that change something.
        crate::tier::Level::Read => hints,
        crate::tier::Level::Write => {
            hints.destructive(entry.destructive).idempotent(entry.idempotent)
        }
    };
    let tool = Tool::new(entry.name, entry.description, offered.input_schema().clone())
        .with_title(entry.title)
        .with_annotations(hints);
    let is_write = entry.level == crate::tier::Level::Write;
    let tool = if is_write && policy.asks_before(entry.destructive) {
        // Clients that know this mark let their user look at each call.
        tool.with_meta(MetaObject(Map::from_iter([(REQUIRES_USER.to_owned(), true.into())])))
    } else {
        tool
    };
    match offered.output_schema().filter(|_| output != Output::Text) {
        Some(schema) => tool.with_raw_output_schema(schema.into()),
        None => tool,
    }
}

/// Progress as the client gets it, and the work of telling it, which has to be polled beside the call.
/// Where the client did not ask for progress, there is nothing to tell.
fn progress(
    context: &RequestContext<RoleServer>,
) -> (Progress, impl Future<Output = Infallible> + use<>) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let token = context.meta.get_progress_token();
    let progress = match &token {
        None => Progress::default(),
        Some(_) => {
            Progress::new(move |done, total, message| drop(sender.send((done, total, message))))
        }
    };
    let peer = context.peer.clone();
    let telling = async move {
        if let Some(token) = token {
            while let Some((done, total, message)) = receiver.recv().await {
                let mut told = ProgressNotificationParam::new(token.clone(), done);
                told.total = total;
                // A client that is gone is noticed elsewhere.
                let _ = peer.notify_progress(told.with_message(message)).await;
            }
        }
        std::future::pending().await
    };
    (progress, telling)
}

fn me() -> Implementation {
    Implementation::new("mcp-proxmox", env!("CARGO_PKG_VERSION")).with_title("Proxmox VE")
}

fn failed(failure: &Failure) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(failure.to_string())])
}

fn unknown(name: &str, near: Option<&'static str>) -> ErrorData {
    let name = crate::answer::clean::label(name);
    let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
    ErrorData::invalid_params(format!("there is no tool `{name}`{near}"), None)
}
