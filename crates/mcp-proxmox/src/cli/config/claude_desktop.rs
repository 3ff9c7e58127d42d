//! Claude Desktop. It fills in no variables, so the secret stays in a file of its own.

use super::client::{Client, Secret, merge_json};

pub(super) const CLIENT: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    file: |places| places.of_desktop_program("Claude/claude_desktop_config.json"),
    secret: Secret::File,
    merge: |text, server, existing| {
        merge_json(text, &["mcpServers", &server.name], &server.entry(""), existing)
    },
    then: "quit Claude Desktop and start it again; the MCPB bundle needs no file at all",
    project: None,
};
