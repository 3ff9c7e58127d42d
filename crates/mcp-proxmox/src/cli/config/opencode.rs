//! opencode: its global configuration, with or without comments. The second version of its format puts
//! servers one level deeper.

use serde_json::json;

use super::{
    client::{Client, Existing, Merged, Secret, merge_json},
    jsonc::Document,
    server::Server,
};

pub(super) const CLIENT: Client = Client {
    name: "opencode",
    title: "opencode",
    file: |places| {
        // It reads both, and what the second says wins.
        let second = places.below_config("opencode/opencode.jsonc").filter(|file| file.exists());
        second.or_else(|| places.below_config("opencode/opencode.json"))
    },
    secret: Secret::Environment,
    merge,
    then: "start opencode anew; `opencode mcp list` shows the server",
    project: None,
};

fn merge(text: &str, server: &Server, existing: Existing) -> Result<Merged, String> {
    let command: Vec<_> = [&server.command].into_iter().chain(&server.arguments).collect();
    let mut entry = json!({
        "type": "local",
        "command": command,
        "enabled": true,
        "environment": server.environment("{env:PVE_TOKEN_SECRET}"),
    });
    let mut document = Document::new(text)?;
    if document.get(&[])?.is_some_and(|all| all == json!({})) {
        document.set(&["$schema"], &json!("https://opencode.ai/config.json"))?;
    }
    // A server by the name of `servers` would have a type.
    let deeper = document.get(&["mcp", "servers"])?;
    let is_deeper = deeper.is_some_and(|deeper| deeper.is_object() && deeper.get("type").is_none());
    let path: &[&str] =
        if is_deeper { &["mcp", "servers", &server.name] } else { &["mcp", &server.name] };
    // Whether it is switched on is the user's, in the words of either version; left out, it is.
    if document.get(path)?.is_some_and(|there| there.is_object())
        && let Some(entry) = entry.as_object_mut()
    {
        entry.remove("enabled");
    }
    merge_json(&document.into_text(), path, &entry, existing)
}
