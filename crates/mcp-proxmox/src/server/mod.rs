//! MCP on one side, the [`catalog`](crate::catalog) on the other.
//!
//! **No module but this one and those below it names `rmcp`**, and none of them knows a tool by name.
//! The library answers both protocol eras; [`guard`] and [`stdio`] mend what it leaves open.

mod guard;
mod stdio;

use std::sync::OnceLock;

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
        DiscoverResult, Implementation, ListToolsResult, PaginatedRequestParams,
        ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::{RequestContext, ServerInitializeError},
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{
    answer::text,
    call::Call,
    catalog::{Catalog, NotOffered, Offered},
    config::Output,
    failure::Failure,
    instructions,
    tier::Access,
};

/// How long clients may keep what `server/discover` and the lists say: they are constant for a process.
const TTL_MS: u64 = 3_600_000;

/// The server. One serves one client.
#[derive(Debug)]
pub struct Server {
    access: Access,
    catalog: Catalog,
    output: Output,
    zone: jiff::tz::TimeZone,
    tools: OnceLock<Vec<Tool>>,
}

impl Server {
    /// A server that offers `catalog` on the cluster behind `access`.
    pub fn new(access: Access, catalog: Catalog, output: Output, zone: jiff::tz::TimeZone) -> Self {
        Self { access, catalog, output, zone, tools: OnceLock::new() }
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
            self.catalog.tools().map(|offered| definition(offered, self.output)).collect()
        })
    }

    async fn call(
        &self,
        offered: &Offered,
        arguments: serde_json::Map<String, Value>,
    ) -> CallToolResult {
        let call = Call::begin(self.zone.clone());
        match offered.call(&self.access, &call, arguments).await {
            Ok(answer) => {
                let content = match self.output {
                    Output::Both | Output::Text => text::draw(&answer),
                    Output::Structured => "The answer is in structuredContent.".to_owned(),
                };
                let mut result = CallToolResult::success(vec![ContentBlock::text(content)]);
                result.structured_content =
                    (self.output != Output::Text).then_some(Value::Object(answer));
                result
            }
            Err(failure) => failed(&failure),
        }
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
        let arguments = request.arguments.unwrap_or_default();
        tokio::select! {
            result = self.call(offered, arguments) => Ok(result.into()),
            // Nothing more is sent for a cancelled call; the library drops this answer.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

/// The tools of `catalog` as clients get them, for people who want to look.
pub fn definitions(catalog: &Catalog) -> Value {
    let tools: Vec<_> = catalog.tools().map(|offered| definition(offered, Output::Both)).collect();
    serde_json::to_value(tools).unwrap_or_default()
}

/// A tool as clients see it. The hints follow from the tool's effect.
fn definition(offered: &Offered, output: Output) -> Tool {
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
    match output {
        Output::Both | Output::Structured => {
            tool.with_raw_output_schema(offered.output_schema().into())
        }
        Output::Text => tool,
    }
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
