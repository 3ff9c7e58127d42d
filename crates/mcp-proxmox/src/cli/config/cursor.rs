//! Cursor: the user's servers for all projects.

use super::client::{Client, Secret, merge_json};

pub(super) const CLIENT: Client = Client {
    name: "cursor",
    title: "Cursor",
    file: |places| places.below_home(".cursor/mcp.json"),
    secret: Secret::Environment,
    merge: |text, server, existing| {
        let entry = server.entry("${env:PVE_TOKEN_SECRET}");
        merge_json(text, &["mcpServers", &server.name], &entry, existing)
    },
    then: "start Cursor anew; its settings list the server",
    project: Some(".cursor/mcp.json"),
};
