//! What is offered, in the protocol's types: tools, prompts, resources, and the server itself.

use std::sync::Arc;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use rmcp::model::{
    Icon, Implementation, MetaObject, Prompt, PromptArgument, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, Tool, ToolAnnotations,
};
use serde_json::{Map, Value};

use crate::{
    catalog::{Catalog, Offered},
    config::Output,
    policy::Policy,
    prompts, resources,
    resources::{Body, Content, Link},
    tier::Level,
};

/// Marks a tool whose every call a person has to see.
const REQUIRES_USER: &str = "anthropic/requiresUserInteraction";

/// The picture by which people find the server in a list. Tools, prompts and resources have none: each would cost
/// every list the same 400 bytes again, and clients show the server's.
const ICON: &[u8] = include_bytes!("../../assets/icon.png");

/// The tools of `catalog` as clients get them, for people who want to look.
pub fn definitions(catalog: &Catalog) -> Value {
    let policy = Policy::default();
    let tools: Vec<_> =
        catalog.tools().map(|offered| tool(offered, Output::Both, &policy)).collect();
    serde_json::to_value(tools).unwrap_or_default()
}

/// The server, as it names itself in every result of the modern era.
pub(super) fn me() -> Implementation {
    Implementation::new("mcp-proxmox", env!("CARGO_PKG_VERSION")).with_title("Proxmox VE")
}

/// The server, as it introduces itself once.
pub(super) fn introduction() -> Implementation {
    let icon = Icon::new(format!("data:image/png;base64,{}", BASE64_STANDARD.encode(ICON)))
        .with_mime_type("image/png")
        .with_sizes(vec!["32x32".to_owned()]);
    me().with_icons(vec![icon])
        .with_description(env!("CARGO_PKG_DESCRIPTION"))
        .with_website_url(env!("CARGO_PKG_REPOSITORY"))
}

/// A tool as clients see it. The hints follow from the tool's effect.
pub(super) fn tool(offered: &Offered, output: Output, policy: &Policy) -> Tool {
    let entry = offered.entry;
    let hints = ToolAnnotations::new().read_only(entry.level == Level::Read).open_world(false);
    let hints = match entry.level {
        // Both are meaningful only for tools that change something.
        Level::Read => hints,
        Level::Write => hints.destructive(entry.destructive).idempotent(entry.idempotent),
    };
    let tool = Tool::new(entry.name, entry.description, Arc::clone(offered.input_schema()))
        .with_title(entry.title)
        .with_annotations(hints);
    let tool = if entry.level == Level::Write && policy.asks_before(entry.destructive) {
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

/// A prompt as clients see it.
pub(super) fn prompt(entry: &prompts::Entry) -> Prompt {
    let arguments = entry.arguments.iter().map(|argument| {
        PromptArgument::new(argument.name)
            .with_description(argument.description)
            .with_required(argument.is_required)
    });
    Prompt::new(entry.name, Some(entry.description), Some(arguments.collect()))
        .with_title(entry.title)
}

/// A resource with an address of its own.
pub(super) fn resource(entry: &resources::Entry) -> Resource {
    Resource::new(entry.uri, entry.name)
        .with_title(entry.title)
        .with_description(entry.description)
        .with_mime_type(entry.mime)
}

/// A resource with a variable in its address.
pub(super) fn template(entry: &resources::Entry) -> ResourceTemplate {
    ResourceTemplate::new(entry.uri, entry.name)
        .with_title(entry.title)
        .with_description(entry.description)
        .with_mime_type(entry.mime)
}

/// A link to a resource that shows more than an answer.
pub(super) fn link(link: Link) -> Resource {
    Resource::new(link.uri, link.entry.name)
        .with_title(link.entry.title)
        .with_description(link.entry.description)
        .with_mime_type(link.entry.mime)
}

/// What was read, under the address by which it was asked for.
pub(super) fn contents(
    entry: &resources::Entry,
    uri: &str,
    content: Content,
) -> ReadResourceResult {
    let contents = match content.body {
        Body::Text(text) => ResourceContents::text(text, uri),
        Body::Png(png) => ResourceContents::blob(BASE64_STANDARD.encode(png), uri),
    };
    ReadResourceResult::new(vec![contents.with_mime_type(entry.mime)]).with_ttl_ms(content.fresh_ms)
}
