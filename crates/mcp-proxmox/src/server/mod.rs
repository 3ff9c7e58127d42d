//! MCP on one side, the [`catalog`](crate::catalog) on the other.
//!
//! **No module but this one and those below it names `rmcp`**, and none of them knows a tool by name.
//! The library answers both protocol eras; `guard` and `stdio` mend what it leaves open.

mod asking;
mod definitions;
mod errors;
mod guard;
mod lines;
mod progress;
mod session;
mod stdio;
mod traffic;
mod unread;

use std::sync::{Arc, OnceLock, PoisonError};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestMethod,
        CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, DiscoverResult,
        GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
        ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
        ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, PromptMessage, ReadResourceRequestMethod,
        ReadResourceRequestParams, ReadResourceResponse, Reference, Role, ServerCapabilities,
        ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub use self::definitions::definitions;
use self::{
    errors::{
        cancelled, ending, failed, first_page, invalid, no_resource, no_tool, tell_what_goes_on,
        there, within,
    },
    guard::grace_ends,
};
use crate::{
    answer::{
        Answer,
        clean::{label, quoted},
    },
    call::{Call, Limits},
    catalog::{Catalog, NotOffered, Offered, refused},
    completion::{self, Completes},
    config::Output,
    instructions,
    policy::Policy,
    prompts::{self, Prompts},
    resources::{self, Reading, Resources},
    tier::Access,
};

/// How long clients may keep what `server/discover` and the lists say: they are constant for a process.
const TTL_MS: u64 = 3_600_000;

/// The server. One serves one client.
#[derive(Debug)]
pub struct Server {
    access: Access,
    catalog: Catalog,
    prompts: Prompts,
    resources: Resources,
    output: Output,
    zone: jiff::tz::TimeZone,
    policy: Arc<Policy>,
    asking: asking::Asking,
    limits: Arc<Limits>,
    tools: OnceLock<Vec<Tool>>,
    /// The input has ended, or this process was told to end.
    eof: CancellationToken,
}

impl Server {
    /// A server that offers `catalog` on the cluster behind `access`.
    pub fn new(access: Access, catalog: Catalog, output: Output, zone: jiff::tz::TimeZone) -> Self {
        let limits = Limits { tier: access.level(), offered: catalog.names() };
        Self {
            prompts: Prompts::new(prompts::ALL, catalog.names(), access.level()),
            resources: Resources::new(resources::ALL, &catalog.names()),
            access,
            catalog,
            output,
            zone,
            policy: Arc::default(),
            asking: asking::Asking::new(),
            limits: limits.into(),
            tools: OnceLock::new(),
            eof: CancellationToken::new(),
        }
    }

    /// The same server, under what the user decided about writes.
    #[must_use]
    pub fn under(self, policy: Arc<Policy>) -> Self {
        Self { policy, ..self }
    }

    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| {
            let tools = self.catalog.tools();
            tools.map(|offered| definitions::tool(offered, self.output, &self.policy)).collect()
        })
    }

    /// What is there in this configuration. Nothing of it changes, so that nothing is announced as changing.
    fn capabilities(&self) -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        let (has_prompts, has_resources) = (self.has_prompts(), !self.resources.is_empty());
        capabilities.prompts = has_prompts.then(Default::default);
        capabilities.resources = has_resources.then(Default::default);
        capabilities.completions = (has_prompts || has_resources).then(Default::default);
        capabilities
    }

    fn has_prompts(&self) -> bool {
        self.prompts.all().next().is_some()
    }

    /// The methods that are there, for whoever asks for another one.
    fn methods(&self) -> Vec<&'static str> {
        let mut methods = vec!["initialize", "server/discover", "ping", "tools/list", "tools/call"];
        if self.has_prompts() {
            methods.extend(["prompts/list", "prompts/get"]);
        }
        if !self.resources.is_empty() {
            methods.extend(["resources/list", "resources/templates/list", "resources/read"]);
        }
        if self.has_prompts() || !self.resources.is_empty() {
            methods.push("completion/complete");
        }
        methods
    }

    fn begin(&self, context: &RequestContext<RoleServer>) -> Call {
        Call::begin(self.zone.clone())
            .within(&self.limits)
            .under(Arc::clone(&self.policy))
            .from_client(context.client_info().map(|client| label(&client.name)))
    }

    /// What an argument of a prompt, or the variable of a resource's address, is completed from.
    fn completes(&self, request: &CompleteRequestParams) -> Result<Completes, ErrorData> {
        let name = request.argument.name.as_str();
        let completes = match &request.r#ref {
            Reference::Prompt(prompt) => {
                let prompt =
                    self.prompts.find(&prompt.name).map_err(|failure| invalid(&failure))?;
                let mut arguments = prompt.arguments.iter();
                arguments.find(|argument| argument.name == name).map(|argument| argument.completes)
            }
            Reference::Resource(reference) => {
                let template = self.resources.templates().find(|entry| entry.uri == reference.uri);
                let template = template.ok_or_else(|| {
                    let message =
                        format!("there is no resource template {}", quoted(&reference.uri));
                    ErrorData::invalid_params(message, None)
                })?;
                (template.variable() == Some(name)).then_some(template.completes)
            }
            _ => None,
        };
        completes.ok_or_else(|| {
            ErrorData::invalid_params(format!("there is no argument {} there", quoted(name)), None)
        })
    }

    async fn call(
        &self,
        offered: &Offered,
        arguments: Map<String, Value>,
        call: Call,
    ) -> CallToolResult {
        match offered.call(&self.access, &call, arguments).await {
            Ok(answer) => self.result(offered, answer),
            Err(failure) => failed(&within(failure, &self.limits)),
        }
    }

    fn result(&self, offered: &Offered, answer: Answer) -> CallToolResult {
        let text = answer.text();
        let link = self.resources.link(offered.entry.name, &answer).map(definitions::link);
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
        content.extend(link.map(ContentBlock::resource_link));
        let mut result = CallToolResult::success(content);
        result.structured_content =
            structured.filter(|_| self.output != Output::Text).map(Value::Object);
        result
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(self.capabilities())
            .with_server_info(definitions::introduction())
            .with_instructions(instructions::text(
                self.access.level(),
                &self.limits.offered,
                &self.policy,
            ))
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
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        first_page(request)?;
        let mut list = ListToolsResult::with_all_items(self.tools().to_vec());
        list.ttl_ms = Some(TTL_MS);
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        there::<ListPromptsRequestMethod>(self.has_prompts())?;
        first_page(request)?;
        let prompts = self.prompts.all().map(definitions::prompt).collect();
        let mut list = ListPromptsResult::with_all_items(prompts);
        list.ttl_ms = Some(TTL_MS);
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        there::<GetPromptRequestMethod>(self.has_prompts())?;
        let entry = self.prompts.find(&request.name).map_err(|failure| invalid(&failure))?;
        let arguments = request.arguments.unwrap_or_default();
        let text = self.prompts.text(entry, &arguments).map_err(|failure| invalid(&failure))?;
        let result = GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]);
        Ok(result.with_description(entry.description).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        there::<ListResourcesRequestMethod>(!self.resources.is_empty())?;
        first_page(request)?;
        let resources = self.resources.fixed().map(definitions::resource).collect();
        let mut list = ListResourcesResult::with_all_items(resources);
        list.ttl_ms = Some(TTL_MS);
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        there::<ListResourceTemplatesRequestMethod>(!self.resources.is_empty())?;
        first_page(request)?;
        let templates = self.resources.templates().map(definitions::template).collect();
        let mut list = ListResourceTemplatesResult::with_all_items(templates);
        list.ttl_ms = Some(TTL_MS);
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        there::<ReadResourceRequestMethod>(!self.resources.is_empty())?;
        let uri = request.uri.as_str();
        let (entry, value) = self.resources.find(uri).ok_or_else(|| no_resource(uri, None))?;
        let (progress, telling) = progress::of(&context);
        let call = self.begin(&context).with_progress(progress);
        let reading = Reading { access: &self.access, catalog: &self.catalog, call: &call };
        tokio::select! {
            read = entry.read(&reading, &value) => match read {
                Ok(content) => {
                    let result = definitions::contents(entry, uri, content);
                    Ok(result.with_cache_scope(CacheScope::Private).into())
                }
                Err(failure) if failure.is_missing() => Err(no_resource(uri, Some(&failure))),
                Err(failure) => {
                    let failure = within(failure, &self.limits);
                    Err(ErrorData::internal_error(failure.to_string(), None))
                }
            },
            never = telling => match never {},
            () = context.ct.cancelled() => Err(cancelled()),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        there::<CompleteRequestMethod>(self.has_prompts() || !self.resources.is_empty())?;
        let completes = self.completes(&request)?;
        let node = request.context.as_ref().and_then(|context| context.get_argument("node"));
        let typed = &request.argument.value;
        let suggestions = tokio::select! {
            suggestions = completion::complete(&self.access, completes, typed, node.map(String::as_str)) => suggestions,
            () = context.ct.cancelled() => return Err(cancelled()),
        };
        let mut completion = CompletionInfo::default();
        completion.has_more = Some(suggestions.total > suggestions.values.len());
        completion.total = u32::try_from(suggestions.total).ok();
        completion.values = suggestions.values;
        Ok(CompleteResult::new(completion))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offered = match self.catalog.find(&request.name) {
            Ok(offered) => offered,
            // A protocol error would be hidden from the model, which could not tell its user what to set.
            Err(NotOffered::Withheld(failure)) => {
                let (call, arguments) =
                    (self.begin(&context), request.arguments.unwrap_or_default());
                let tool = &request.name;
                let failure = refused(&self.access, &call, tool, &arguments, failure).await;
                return Ok(failed(&failure).into());
            }
            Err(NotOffered::Unknown(near)) => return Err(no_tool(&request.name, near)),
        };
        let asked = self.asking.of(&request, &context)?;
        let arguments = request.arguments.clone().unwrap_or_default();
        let (progress, telling) = progress::of(&context);
        let call = self.begin(&context).with_progress(progress).with_person(asked.person);
        let sent = call.sent.clone();
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
            () = async {
                context.ct.cancelled().await;
                sent.is_given_up("the client cancelled the call");
                tell_what_goes_on(&sent);
            } => Err(cancelled()),
            () = async {
                grace_ends(&self.eof).await;
                sent.is_given_up("the client left, or this program was told to end");
            } => Ok(failed(&ending(&sent)).into()),
        }
    }
}
