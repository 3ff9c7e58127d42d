//! Stands around every request and mends what the library leaves open.
//!
//! * **A panic is answered.** The library would leave the client waiting.
//! * **The server leaves at the end of input**: calls get half a second, everything else none.
//! * Malformed parameters of a known method are `-32602`, not "unknown method".
//! * Every result of the modern era names the server.
//! * Content that an older revision does not know is turned into text, and fields that it does not know are left out.

use std::{borrow::Cow, future::Future, panic::AssertUnwindSafe, time::Duration};

use futures_util::FutureExt as _;
use rmcp::{
    ErrorData, RoleServer, Service,
    model::{
        CallToolResult, ClientNotification, ClientRequest, ContentBlock, Implementation,
        MetaObject, ProtocolVersion, ServerConfig, ServerResult,
    },
    service::{NotificationContext, RequestContext},
};
use tokio_util::sync::CancellationToken;

use super::{
    Server,
    definitions::me,
    errors::{ending, failed, worded},
};
use crate::{failure::Failure, sent::Sent};

/// How long calls that are under way get when the client has gone.
const GRACE: Duration = Duration::from_millis(500);

/// The methods whose parameters the library could not read when it hands them on as custom ones.
const KNOWN: &[&str] = &[
    "initialize",
    "server/discover",
    "ping",
    "completion/complete",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

pub(super) struct Guard {
    inner: Server,
    me: Implementation,
    eof: CancellationToken,
}

impl Guard {
    pub(super) fn new(inner: Server, eof: CancellationToken) -> Self {
        Self { inner, me: me(), eof }
    }

    async fn end_of_input(&self, grace: bool) {
        if grace { grace_ends(&self.eof).await } else { self.eof.cancelled().await }
    }
}

/// Waits until what is under way has had its time after the end of input.
pub(super) async fn grace_ends(eof: &CancellationToken) {
    eof.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

impl Service<RoleServer> for Guard {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if let ClientRequest::CustomRequest(custom) = &request
            && KNOWN.contains(&custom.method.as_str())
        {
            let message = format!(
                "the parameters of `{}` do not have the form that the protocol gives them",
                custom.method
            );
            return Err(ErrorData::invalid_params(message, None));
        }
        let revision = context.protocol_version();
        let is_call = matches!(request, ClientRequest::CallToolRequest(_));
        let is_listening = matches!(request, ClientRequest::SubscriptionsListenRequest(_));
        let mut result = tokio::select! {
            outcome = AssertUnwindSafe(self.inner.handle_request(request, context)).catch_unwind() => match outcome {
                Ok(result) => result.map_err(|error| worded(error, &self.inner.methods()))?,
                Err(_panic) if is_call => ServerResult::CallToolResult(failed(&Failure::bug("the tool"))),
                Err(_panic) => return Err(ErrorData::internal_error("a bug in this server", None)),
            },
            // A call does so itself, since it knows what it has sent.
            () = self.end_of_input(!is_listening), if !is_call => {
                return Err(ErrorData::internal_error(ending(&Sent::default()).to_string(), None));
            }
        };
        if is_modern(revision.as_ref()) {
            name_the_server(&mut result, &self.me);
        } else {
            if let ServerResult::CallToolResult(result) = &mut result {
                downgrade(result, revision.as_ref());
            }
            result.strip_result_type_for_legacy_peer();
            without_newer_fields(&mut result);
        }
        Ok(result)
    }

    fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> impl Future<Output = Result<(), ErrorData>> + Send + '_ {
        self.inner.handle_notification(notification, context)
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&self.inner)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&self.inner)
    }
}

fn is_modern(revision: Option<&ProtocolVersion>) -> bool {
    revision.is_some_and(|revision| *revision >= ProtocolVersion::V_2026_07_28)
}

fn name_the_server(result: &mut ServerResult, me: &Implementation) {
    let meta: &mut Option<MetaObject> = match result {
        ServerResult::CallToolResult(result) => &mut result.meta,
        ServerResult::ListToolsResult(result) => &mut result.meta,
        ServerResult::ListPromptsResult(result) => &mut result.meta,
        ServerResult::ListResourcesResult(result) => &mut result.meta,
        ServerResult::ListResourceTemplatesResult(result) => &mut result.meta,
        ServerResult::ReadResourceResult(result) => &mut result.meta,
        ServerResult::GetPromptResult(result) => &mut result.meta,
        ServerResult::CompleteResult(result) => &mut result.meta,
        ServerResult::InputRequiredResult(result) => &mut result.meta,
        _ => return,
    };
    let named = serde_json::to_value(me).unwrap_or_default();
    meta.get_or_insert_default().insert("io.modelcontextprotocol/serverInfo".into(), named);
}

/// How long a result may be kept came with 2026-07-28; that a server completes is said since 2025-03-26.
fn without_newer_fields(result: &mut ServerResult) {
    let (ttl_ms, cache_scope) = match result {
        ServerResult::ListToolsResult(list) => (&mut list.ttl_ms, &mut list.cache_scope),
        ServerResult::ListPromptsResult(list) => (&mut list.ttl_ms, &mut list.cache_scope),
        ServerResult::ListResourcesResult(list) => (&mut list.ttl_ms, &mut list.cache_scope),
        ServerResult::ListResourceTemplatesResult(list) => {
            (&mut list.ttl_ms, &mut list.cache_scope)
        }
        ServerResult::ReadResourceResult(read) => (&mut read.ttl_ms, &mut read.cache_scope),
        ServerResult::InitializeResult(agreed) => {
            if agreed.protocol_version < ProtocolVersion::V_2025_03_26 {
                agreed.capabilities.completions = None;
            }
            return;
        }
        _ => return,
    };
    (*ttl_ms, *cache_scope) = (None, None);
}

/// Links came with 2025-06-18, sound with 2025-03-26: older clients refuse a result that holds them.
fn downgrade(result: &mut CallToolResult, revision: Option<&ProtocolVersion>) {
    let older_than = |version: &ProtocolVersion| revision.is_none_or(|revision| revision < version);
    for block in &mut result.content {
        match block {
            ContentBlock::ResourceLink(link) if older_than(&ProtocolVersion::V_2025_06_18) => {
                *block = ContentBlock::text(format!("{}: {}", link.name, link.uri));
            }
            ContentBlock::Audio(_) if older_than(&ProtocolVersion::V_2025_03_26) => {
                *block = ContentBlock::text("(sound, which this client cannot take)");
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::Resource;

    use super::*;

    #[test]
    fn links_become_text_for_revisions_that_do_not_know_them() {
        let link = || ContentBlock::resource_link(Resource::new("pve://nodes/pve1", "pve1"));
        for (revision, stays) in [
            (ProtocolVersion::V_2024_11_05, false),
            (ProtocolVersion::V_2025_03_26, false),
            (ProtocolVersion::V_2025_06_18, true),
            (ProtocolVersion::V_2025_11_25, true),
        ] {
            let mut result = CallToolResult::success(vec![link()]);
            downgrade(&mut result, Some(&revision));
            let is_link = matches!(result.content.first(), Some(ContentBlock::ResourceLink(_)));
            assert_eq!(is_link, stays, "{revision}");
        }
    }
}
