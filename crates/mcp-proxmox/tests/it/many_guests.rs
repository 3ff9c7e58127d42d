//! Large clusters: one request, a bounded answer, and a way to the rest.

use std::collections::BTreeSet;

use pve_sim::{Cluster, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET, Sim};
use serde_json::{Value, json};

use crate::support::{connect, rows, server, settings, structured};
use mcp_proxmox::tier::{Access, Level};
use pve_client::Reader;
use rmcp::model::CallToolRequestParams;

struct World {
    sim: Sim,
}

impl World {
    async fn of(n_nodes: usize, n_guests: usize) -> Self {
        Self { sim: Sim::start(Cluster::generated(n_nodes, n_guests, 7)).await.unwrap() }
    }

    async fn list(&self, arguments: Value) -> Value {
        let settings = settings(&self.sim, GENERATED_TOKEN_ID, GENERATED_TOKEN_SECRET);
        let client = connect(server(Access::new(Level::Read, Reader::new(settings)))).await;
        let mut request = CallToolRequestParams::new("list_vms");
        request.arguments = arguments.as_object().cloned();
        structured(&client.call_tool(request).await.unwrap())
    }
}

fn tokens(answer: &Value) -> usize {
    let encoder = tiktoken_rs::o200k_base().unwrap();
    let text = mcp_proxmox::answer::text::draw(answer.as_object().unwrap());
    // Clients show a model one of the two.
    encoder.encode_ordinary(&answer.to_string()).len().max(encoder.encode_ordinary(&text).len())
}

#[tokio::test]
async fn ten_thousand_guests_cost_one_request_and_a_bounded_answer() {
    let world = World::of(64, 10_000).await;
    let answer = world.list(json!({})).await;
    let seen: Vec<_> = world.sim.requests().into_iter().map(|seen| seen.path).collect();
    assert_eq!(seen, ["/cluster/resources?type=vm"]);
    assert_eq!(answer["total"], 10_000);
    assert_eq!(answer["shown"], 20);
    let counted: u64 =
        answer["by_status"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(counted, 10_000);
    let counted: u64 =
        answer["by_node"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(counted, 10_000);
    assert!(tokens(&answer) < 1200, "{} tokens", tokens(&answer));
}

#[tokio::test]
async fn a_thousand_guests_stay_within_their_tokens() {
    let world = World::of(4, 1000).await;
    let answer = world.list(json!({})).await;
    assert!(tokens(&answer) < 1200, "{} tokens by default", tokens(&answer));
    let all = world.list(json!({ "limit": 500 })).await;
    let per_guest = tokens(&all) / rows(&all["guests"]).len();
    println!("{} tokens by default, {per_guest} for a guest", tokens(&answer));
    assert!(per_guest < 25, "{per_guest} tokens for a guest");
}

#[tokio::test]
async fn following_the_cursor_shows_every_guest_once() {
    let world = World::of(3, 1234).await;
    for sort in ["vmid", "name", "memory"] {
        let mut seen = BTreeSet::new();
        let mut arguments = json!({ "limit": 500, "sort": sort });
        loop {
            let answer = world.list(arguments.clone()).await;
            for row in rows(&answer["guests"]) {
                assert!(
                    seen.insert(row["vmid"].as_u64().unwrap()),
                    "{} is shown twice",
                    row["vmid"]
                );
            }
            let Some(cursor) = answer["next_cursor"].as_str() else { break };
            arguments["cursor"] = json!(cursor);
        }
        assert_eq!(seen.len(), 1234, "sorted by {sort}");
    }
}

#[tokio::test]
async fn up_to_fifty_guests_are_shown_whole() {
    let world = World::of(2, 50).await;
    let answer = world.list(json!({})).await;
    assert_eq!(rows(&answer["guests"]).len(), 50);
    assert!(answer.get("next_cursor").is_none() && answer.get("shown").is_none());
    let world = World::of(2, 51).await;
    let answer = world.list(json!({})).await;
    assert_eq!(rows(&answer["guests"]).len(), 20);
    assert_eq!(answer["shown"], 20);
}
