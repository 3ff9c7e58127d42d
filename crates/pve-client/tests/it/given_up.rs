//! Requests that nobody waits for any more. They go on where they were sent to, and so keep their places.

use std::time::Duration;

use pve_client::{
    Error, LostWhy, NodeName, Reader, Silence, UnsentKind,
    node::{self, Status},
    version::version,
};
use tokio::{task::JoinHandle, time::Instant};

use crate::{
    server::{self, Reply, Server, pve},
    settings::{settings, unsent},
};

fn ask(reader: &Reader, node: &str) -> JoinHandle<Result<Status, Error>> {
    let (reader, node): (_, NodeName) = (reader.clone(), node.parse().unwrap());
    tokio::spawn(async move { reader.get(node::status(&node)).await })
}

fn well() -> Reply {
    Reply::Send(pve("200 OK", r#"{"data":{"uptime":1}}"#))
}

/// A server on which one node hangs.
async fn where_pve1_hangs() -> Server {
    Server::start(|seen| match seen.line() {
        "GET /api2/json/nodes/pve1/status" => Reply::Stall(Vec::new()),
        _ => well(),
    })
    .await
}

async fn seen(server: &Server, n: usize) {
    while server.seen().len() < n {
        tokio::task::yield_now().await;
    }
}

/// Puts the clock forward, and lets it go on.
async fn later(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
    // Whoever waits for an end of time hears of it.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

fn silence(error: Error) -> Silence {
    let kind = unsent(error);
    let UnsentKind::Silent(silence) = kind else { panic!("another reason: {kind:?}") };
    silence
}

#[tokio::test]
async fn calls_that_are_cancelled_keep_no_more_than_two_workers_of_a_node_that_hangs() {
    let server = where_pve1_hangs().await;
    let reader = Reader::new(settings(&server));
    for nth in 1..=2 {
        let asking = ask(&reader, "pve1");
        seen(&server, nth).await;
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
    }
    later(6).await;
    for _ in 0..3 {
        let began = Instant::now();
        let told = silence(ask(&reader, "pve1").await.unwrap().unwrap_err());
        assert_eq!((told.node.as_deref(), told.requests), (Some("pve1"), 2));
        assert!(told.waited >= Duration::from_secs(6), "{told:?}");
        assert!(began.elapsed() < Duration::from_secs(4), "told at once");
    }
    ask(&reader, "pve2").await.unwrap().unwrap();
    assert_eq!(server.seen().len(), 3);
    // By then PVE has given them up.
    later(25).await;
    let _third = ask(&reader, "pve1");
    seen(&server, 4).await;
}

#[tokio::test]
async fn a_time_that_is_over_before_that_of_pve_keeps_no_more_than_two_workers_either() {
    let server = where_pve1_hangs().await;
    let mut settings = settings(&server);
    settings.request_timeout = Duration::from_secs(4);
    let reader = Reader::new(settings);
    for nth in 1..=2 {
        let asking = ask(&reader, "pve1");
        seen(&server, nth).await;
        later(5).await;
        let error = asking.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Lost { why: LostWhy::TimedOut(_), .. }), "{error:?}");
    }
    let told = silence(ask(&reader, "pve1").await.unwrap().unwrap_err());
    assert_eq!(told.requests, 2);
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_node_that_is_well_is_asked_on_however_many_calls_are_cancelled() {
    // Answers the first four when all of them are there.
    let server = Server::start(|seen| match (seen.nth, well()) {
        (1..=4, Reply::Send(bytes)) => Reply::WithThreeOthers(bytes),
        (_, reply) => reply,
    })
    .await;
    let reader = Reader::new(settings(&server));
    for nth in 1..=2 {
        let asking = ask(&reader, "pve1");
        seen(&server, nth).await;
        asking.abort();
        let _ = asking.await;
    }
    let third = ask(&reader, "pve1");
    tokio::task::yield_now().await;
    assert_eq!(server.seen().len(), 2, "it has to wait for them");
    let others = [ask(&reader, "pve2"), ask(&reader, "pve2")];
    third.await.unwrap().unwrap();
    for other in others {
        other.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn what_is_for_no_node_leaves_a_place_and_gives_its_own_back_once_pve_has_given_it_up() {
    let server = Server::start(|seen| match seen.nth {
        1..=3 | 5 => Reply::Stall(Vec::new()),
        _ => Reply::Send(server::version()),
    })
    .await;
    let reader = Reader::new(settings(&server));
    let give_up = async |n_seen: usize| {
        let reader = reader.clone();
        let asking = tokio::spawn(async move { reader.get(version()).await });
        seen(&server, n_seen).await;
        asking.abort();
        let _ = asking.await;
    };
    for nth in 1..=3 {
        give_up(nth).await;
    }
    reader.get(version()).await.unwrap();
    give_up(5).await;
    later(6).await;
    let told = silence(reader.get(version()).await.unwrap_err());
    assert_eq!((told.node, told.requests), (None, 4));
    later(25).await;
    reader.get(version()).await.unwrap();
    assert_eq!(server.seen().len(), 6);
}
