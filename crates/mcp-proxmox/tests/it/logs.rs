//! What the tests of the tools for logs share: recorded answers, and looks at what was asked.

use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use pve_sim::{Recordings, Sim};
use rmcp::model::CallToolResult;
use serde_json::Value;

use crate::support::{call_on, server, settings, structured};

/// Calls a tool on the recorded answers, as one of the recorded tokens.
pub async fn recorded(token: &str, tool: &'static str, arguments: Value) -> CallToolResult {
    let sim = Sim::replay(Recordings::load()).await.unwrap();
    as_token(&sim, token, "any", tool, arguments).await
}

/// The structured answer of such a call.
pub async fn recorded_answer(token: &str, tool: &'static str, arguments: Value) -> Value {
    structured(&recorded(token, tool, arguments).await)
}

/// Calls a tool as this token.
pub async fn as_token(
    sim: &Sim,
    token: &str,
    secret: &str,
    tool: &'static str,
    arguments: Value,
) -> CallToolResult {
    let reader = Reader::new(settings(sim, token, secret));
    call_on(server(Access::new(Level::Read, reader)), tool, arguments).await
}

/// The requests whose path has this in it, with their queries.
pub fn asked_for(sim: &Sim, part: &str) -> Vec<String> {
    sim.requests().into_iter().map(|seen| seen.path).filter(|path| path.contains(part)).collect()
}

/// Nothing in this text can act on a terminal or hide what is shown.
pub fn assert_harmless(text: &str) {
    let is_bad = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!text.chars().any(|c| is_bad(&c)), "{text:?}");
}
