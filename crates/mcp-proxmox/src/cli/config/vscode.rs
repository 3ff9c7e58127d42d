//! Visual Studio Code: the file of the default profile. It asks for the secret once and keeps it safe.

use serde_json::{Value, json};

use super::{
    client::{Client, Existing, Merged, Secret, merge_json},
    jsonc::Document,
    server::{Server, USUAL_NAME, of_server},
};

pub(super) const CLIENT: Client = Client {
    name: "vscode",
    title: "Visual Studio Code",
    file: |places| places.of_desktop_program("Code/User/mcp.json"),
    secret: Secret::Asked,
    merge,
    then: "VS Code offers to start the server above its entry",
    project: Some(".vscode/mcp.json"),
};

fn merge(text: &str, server: &Server, existing: Existing) -> Result<Merged, String> {
    let own = Question::of(&server.name);
    let entry = server.typed_entry(&own.reference());
    let merged = merge_json(text, &["servers", &server.name], &entry, existing)?;
    let Merged::Changed(text) = merged else { return Ok(merged) };
    let mut document = Document::new(&text)?;
    if server.fills_in_secret && place(&document, |other| other["id"] == own.id)?.is_none() {
        document.push(&["inputs"], &own.input())?;
    }
    // A question of ours that nothing asks for any more. Earlier versions had one for all servers.
    for question in [own, Question::of(USUAL_NAME)] {
        let input = question.input();
        if !text.contains(&question.reference())
            && let Some(place) = place(&document, |other| *other == input)?
        {
            document.remove(&["inputs", &place.to_string()])?;
        }
    }
    Ok(Merged::Changed(document.into_text()))
}

/// The question for a server's secret. **Each server has its own**: VS Code asks a question once, and gives its answer to
/// whatever refers to it.
struct Question<'a> {
    server: &'a str,
    id: String,
}

impl<'a> Question<'a> {
    fn of(server: &'a str) -> Self {
        Self { server, id: of_server(server, "pve-token-secret") }
    }

    fn reference(&self) -> String {
        format!("${{input:{}}}", self.id)
    }

    fn input(&self) -> Value {
        let of =
            if self.server == USUAL_NAME { String::new() } else { format!(" of {}", self.server) };
        json!({
            "type": "promptString",
            "id": self.id,
            "description": format!("Proxmox VE: the API token's secret{of}"),
            "password": true,
        })
    }
}

/// Where among the file's questions the first one is that this is true of.
fn place(document: &Document, is_it: impl Fn(&Value) -> bool) -> Result<Option<usize>, String> {
    let inputs = document.get(&["inputs"])?.unwrap_or_default();
    Ok(inputs.as_array().into_iter().flatten().position(is_it))
}
