//! Windsurf: the servers of Cascade.

use super::client::{Client, Secret, merge_json};

pub(super) const CLIENT: Client = Client {
    name: "windsurf",
    title: "Windsurf",
    file: |places| places.below_home(".codeium/windsurf/mcp_config.json"),
    secret: Secret::Environment,
    merge: |text, server, existing| {
        let entry = server.entry("${env:PVE_TOKEN_SECRET}");
        merge_json(text, &["mcpServers", &server.name], &entry, existing)
    },
    then: "press the refresh button in Cascade's list of servers, or start Windsurf anew",
    project: None,
};
