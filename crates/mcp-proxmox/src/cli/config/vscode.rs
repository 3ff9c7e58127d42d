//! Visual Studio Code: the file of the default profile. It asks for the secret once and keeps it safe.

use serde_json::json;

use super::{
    client::{Client, Existing, Merged, Secret, merge_json},
    jsonc::Document,
    server::Server,
};

/// The name of the question for the secret.
const INPUT: &str = "pve-token-secret";

pub(super) const CLIENT: Client = Client {
    name: "vscode",
    title: "Visual Studio Code",
    file: |places| places.of_desktop_program("Code/User/mcp.json"),
    secret: Secret::Asked,
    merge,
    then: "VS Code offers to start the server above its entry, and asks for the secret. A project's own file is .vscode/mcp.json: --file .vscode/mcp.json",
};

fn merge(text: &str, server: &Server, existing: Existing) -> Result<Merged, String> {
    let reference = format!("${{input:{INPUT}}}");
    let entry = server.typed_entry(&reference);
    let merged = merge_json(text, &["servers", &server.name], &entry, existing)?;
    let Merged::Changed(text) = merged else { return Ok(merged) };
    let mut document = Document::new(&text)?;
    let input = json!({
        "type": "promptString",
        "id": INPUT,
        "description": "Proxmox VE: the API token's secret",
        "password": true,
    });
    let inputs = document.get(&["inputs"])?.unwrap_or_default();
    let mut inputs = inputs.as_array().into_iter().flatten();
    if !server.fills_in_secret {
        // A question of ours that nothing asks for any more.
        if let Some(place) = inputs.position(|other| *other == input)
            && !text.contains(&reference)
        {
            document.remove(&["inputs", &place.to_string()])?;
        }
    } else if !inputs.any(|other| other["id"] == INPUT) {
        document.push(&["inputs"], &input)?;
    }
    Ok(Merged::Changed(document.into_text()))
}
