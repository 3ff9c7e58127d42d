//! Claude Code: the user's servers, beside much else that it keeps in that file.

use super::client::{Client, Secret, merge_json};

pub(super) const CLIENT: Client = Client {
    name: "claude-code",
    title: "Claude Code",
    file: |places| match places.named("CLAUDE_CONFIG_DIR") {
        Some(folder) => Some(folder.join(".claude.json")),
        None => places.below_home(".claude.json"),
    },
    secret: Secret::Environment,
    merge: |text, server, existing| {
        let entry = server.typed_entry("${PVE_TOKEN_SECRET}");
        merge_json(text, &["mcpServers", &server.name], &entry, existing)
    },
    then: "start Claude Code anew; `/mcp` in it shows the server",
    project: Some(".mcp.json"),
};
