//! Gemini CLI: the user's settings.

use super::client::{Client, Secret, merge_json};

pub(super) const CLIENT: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    file: |places| places.below_home(".gemini/settings.json"),
    secret: Secret::Environment,
    merge: |text, server, existing| {
        let entry = server.entry("$PVE_TOKEN_SECRET");
        merge_json(text, &["mcpServers", &server.name], &entry, existing)
    },
    then: "start Gemini CLI anew; `/mcp` in it shows the server",
    project: Some(".gemini/settings.json"),
};
