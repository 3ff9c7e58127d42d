//! An answer that ends after each of its bytes in turn, and one of which each byte in turn is spoilt. So it is with the
//! answer to a write, and with what comes of a screen.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Damage, Rule, Sim, State};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::{
    gives_nothing_away,
    truth::places,
    world::{Servers, call, client, still},
};
use crate::{lifecycle_faults::deeds, support::text};

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
async fn the_answer_to_a_write_cut_at_each_of_its_bytes_is_not_taken_for_a_refusal() {
    let (servers, sim) = (Servers::start(), Sim::start(still()).await.unwrap());
    let client = client(&servers, &sim, sim.port(), Duration::from_secs(30)).await;
    let stop = || {
        sim.change(|cluster| {
            let guest = cluster.guest_mut(126).unwrap();
            (guest.state, guest.lock) = (State::Stopped, None);
        });
    };
    let path = "/nodes/pve3/qemu/126/status/start";
    let (mut at, mut n_whole) = (0, 0);
    // What comes after its last byte is not missed.
    while n_whole < 3 {
        stop();
        let before = sim.change(|cluster| deeds(cluster, 126).count());
        sim.answer(Rule::post(path).damaged(Damage::CutAt(at)));
        let strikes = sim.strikes();
        let answer = call(&client, "start_vm", &json!({ "vm": "126", "wait_seconds": 2 })).await;
        sim.forget_rules();
        let told = text(&answer);
        gives_nothing_away(&told);
        let n_deeds = sim.change(|cluster| deeds(cluster, 126).count()) - before;
        assert_eq!(n_deeds, 1, "cut at {at}: {told}");
        for word in ["failed", "nothing was sent"] {
            let is_told = told.replace("nothing was sent again", "").contains(word);
            assert!(!is_told, "cut at {at}: {word}: {told}");
        }
        n_whole += usize::from(sim.strikes() == strikes);
        at += 1;
    }
    assert!((200..1000).contains(&at), "{at} cuts");
}

/// All that a server says of a screen of 16 by 8 pixels, in the order in which it is asked.
fn screen() -> Vec<u8> {
    let mut said = b"RFB 003.008\n".to_vec();
    // One way to be let in, which asks nothing; then that one is in.
    said.extend([1, 1, 0, 0, 0, 0, 0, 16, 0, 8]);
    said.extend([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0]);
    said.extend([0, 0, 0, 4]);
    said.extend(b"QEMU");
    // One rectangle with all of it, not packed.
    said.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 16, 0, 8, 0, 0, 0, 0]);
    said.extend([0x40; 16 * 8 * 4]);
    said
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_screen_that_ends_after_each_of_its_bytes_is_no_picture() {
    let (servers, sim) = (Servers::start(), Sim::start(still()).await.unwrap());
    let client = client(&servers, &sim, sim.port(), Duration::from_secs(30)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let length = Arc::new(AtomicUsize::new(0));
    let most = Arc::clone(&length);
    let screens = tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let said = screen();
            let said = &said[..most.load(Ordering::SeqCst).min(said.len())];
            let _ = socket.write_all(said).await;
            if said.len() < screen().len() {
                let _ = socket.shutdown().await;
            }
            while matches!(socket.read(&mut [0; 512]).await, Ok(read) if read > 0) {}
        }
    });
    sim.change(|cluster| {
        cluster.guest_mut(100).unwrap().screen.relay = Some((address, "any".to_owned()));
    });
    let whole = screen().len();
    for at in (0..300).chain([whole - 1, whole]) {
        length.store(at, Ordering::SeqCst);
        let answer = call(&client, "get_vm_screenshot", &json!({ "vm": "100" })).await;
        let told = text(&answer);
        gives_nothing_away(&told);
        assert_eq!(answer.is_error == Some(true), at < whole, "{at} of {whole} bytes: {told}");
    }
    screens.abort();
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
