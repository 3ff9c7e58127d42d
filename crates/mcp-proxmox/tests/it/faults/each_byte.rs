//! An answer that ends after each of its bytes in turn, and one of which each byte in turn is spoilt.

use std::time::Duration;

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Damage, Rule, Sim};
use serde_json::{Value, json};

use super::{
    gives_nothing_away,
    truth::places,
    world::{Servers, call, client},
};
use crate::support::text;

const PATH: &str = "/nodes";
const TOOL: &str = "list_nodes";

/// A cluster of two nodes, in whose list nothing is zero.
async fn sim() -> Sim {
    let mut cluster = Cluster::of_nodes(Some("lab"), &["pve1", "pve2"]);
    cluster.token(DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    Sim::start(cluster).await.unwrap()
}

/// How long the answer is, with its head: what comes after it is not missed.
async fn length(servers: &Servers, sim: &Sim) -> usize {
    let client = client(servers, sim, sim.port(), Duration::from_secs(30)).await;
    let mut length = 2048;
    for step in [1024, 512, 256, 128, 64, 32, 16, 8, 4, 2, 1] {
        sim.answer(Rule::get(PATH).damaged(Damage::CutAt(length - step)));
        let answer = call(&client, TOOL, &json!({})).await;
        sim.forget_rules();
        if is_whole(answer.structured_content.as_ref()) {
            length -= step;
        }
    }
    length
}

fn is_whole(answer: Option<&Value>) -> bool {
    answer.is_some_and(|answer| answer.get("not_available").is_none())
}

#[tokio::test]
async fn an_answer_cut_at_each_of_its_bytes_is_never_taken_for_a_whole_one() {
    let (servers, sim) = (Servers::start(), sim().await);
    let length = length(&servers, &sim).await;
    assert!((600..1500).contains(&length), "{length}");
    let client = client(&servers, &sim, sim.port(), Duration::from_secs(30)).await;
    let truth = call(&client, TOOL, &json!({})).await;
    let truth = places(truth.structured_content.as_ref().unwrap());
    for at in 0..length {
        sim.answer(Rule::get(PATH).damaged(Damage::CutAt(at)));
        let answer = call(&client, TOOL, &json!({})).await;
        sim.forget_rules();
        let told = text(&answer);
        gives_nothing_away(&told);
        let answer = answer.structured_content.as_ref();
        assert!(!is_whole(answer), "cut at {at} of {length}: {told}");
        // It failed, and said so.
        let Some(answer) = answer else { continue };
        let got = places(answer);
        for (place, values) in &got {
            let is_known = truth.get(place).is_some_and(|known| values.is_subset(known));
            let is_said = place.starts_with("not_available") || place.starts_with("notes");
            assert!(is_known || is_said, "cut at {at}: `{place}` is new: {values:?}");
        }
    }
    println!("{length} cuts");
}

#[tokio::test]
async fn an_answer_of_which_each_byte_in_turn_is_spoilt_invents_no_zero() {
    let (servers, sim) = (Servers::start(), sim().await);
    let length = length(&servers, &sim).await;
    let client = client(&servers, &sim, sim.port(), Duration::from_millis(500)).await;
    for (at, byte) in (0..length).zip([b'#', b'x', b'"', 0xC3].into_iter().cycle()) {
        sim.answer(Rule::get(PATH).damaged(Damage::Spoilt { at, byte }));
        let answer = call(&client, TOOL, &json!({})).await;
        sim.forget_rules();
        let told = text(&answer);
        gives_nothing_away(&told);
        for word in ["\"0 B\"", "\"0.0 %\"", ":0,", ":0}", ",0,", ",0]"] {
            let structure = answer.structured_content.as_ref().map(ToString::to_string);
            let structure = structure.unwrap_or_default();
            assert!(!structure.contains(word), "spoilt at {at} by {byte}: {word} in {structure}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_twice_is_not_taken_for_that_to_another_question() {
    let (servers, sim) = (Servers::start(), sim().await);
    let client = client(&servers, &sim, sim.port(), Duration::from_secs(5)).await;
    for tool in ["list_nodes", "get_access", "list_vms", "get_cluster_health"] {
        sim.forget_requests();
        let truth = call(&client, tool, &json!({})).await;
        let mut asked: Vec<_> = sim.requests().into_iter().map(|seen| seen.path).collect();
        asked.dedup();
        for path in asked {
            for _ in 0..10 {
                sim.answer(Rule::get(&path).damaged(Damage::Twice));
                let got = call(&client, tool, &json!({})).await;
                sim.forget_rules();
                assert_eq!(text(&got), text(&truth), "{tool} with {path} twice");
            }
        }
    }
}
