//! Time-outs and deadlines. The clock is stopped once a request is where a test wants it, and then
//! put forward, so that no test waits and none depends on how fast the machine is.

use std::time::Duration;

use pve_client::{
    Error, GuestRef, Host, Kind, LostWhy, Operator, Reader, UnsentKind, lifecycle, version::version,
};
use tokio::{net::TcpListener, task::JoinHandle, time::Instant};

use crate::{
    server::{self, Reply, Server},
    settings::{reader, settings, unsent},
};

/// Waits until the server has seen so many requests.
async fn seen(server: &Server, n: usize) {
    while server.seen().len() < n {
        tokio::task::yield_now().await;
    }
}

async fn put_clock_forward(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

fn asking(reader: &Reader) -> JoinHandle<Error> {
    let reader = reader.clone();
    tokio::spawn(async move { reader.get(version()).await.unwrap_err() })
}

#[tokio::test]
async fn an_answer_that_never_comes_is_lost_and_not_asked_for_again() {
    let server = Server::start(|_| Reply::Stall(Vec::new())).await;
    let request = asking(&reader(&server));
    seen(&server, 1).await;
    put_clock_forward(36).await;
    let error = request.await.unwrap();
    assert!(matches!(error, Error::Lost { why: LostWhy::TimedOut(_), .. }), "{error:?}");
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn proxmox_has_its_own_thirty_seconds_to_say_what_is_wrong() {
    let server = Server::start(|_| Reply::Stall(Vec::new())).await;
    let request = asking(&reader(&server));
    seen(&server, 1).await;
    put_clock_forward(34).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!request.is_finished());
}

#[tokio::test]
async fn an_answer_that_stops_coming_is_lost() {
    let mut begun = server::version();
    begun.truncate(begun.len() - 5);
    let server = Server::start(move |_| Reply::Stall(begun.clone())).await;
    let request = asking(&reader(&server));
    seen(&server, 1).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    put_clock_forward(36).await;
    let error = request.await.unwrap();
    assert!(matches!(error, Error::Lost { why: LostWhy::TimedOut(_), .. }), "{error:?}");
}

#[tokio::test]
async fn a_write_without_an_answer_is_sent_once_and_may_have_taken_effect() {
    let server = Server::start(|_| Reply::Stall(Vec::new())).await;
    let operator = Operator::new(reader(&server));
    let guest =
        GuestRef { node: "pve1".parse().unwrap(), kind: Kind::Lxc, vmid: "200".parse().unwrap() };
    let request =
        tokio::spawn(async move { operator.post(lifecycle::start(&guest)).await.unwrap_err() });
    seen(&server, 1).await;
    put_clock_forward(36).await;
    let error = request.await.unwrap();
    assert!(matches!(error, Error::Lost { why: LostWhy::TimedOut(_), .. }), "{error:?}");
    assert!(error.may_have_taken_effect());
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_handshake_that_never_ends_means_that_nothing_was_sent() {
    for (request_timeout, forward) in [(35, 11), (5, 6)] {
        // The connection is accepted, and nobody ever reads from it.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server::start(|_| Reply::Send(server::version())).await;
        let mut settings = settings(&server);
        settings.hosts = vec![Host::new("127.0.0.1", listener.local_addr().unwrap().port())];
        settings.request_timeout = Duration::from_secs(request_timeout);
        let request = asking(&Reader::new(settings));
        let _accepted = listener.accept().await.unwrap();
        put_clock_forward(forward).await;
        let error = request.await.unwrap();
        tokio::time::resume();
        assert!(!error.may_have_taken_effect());
        let UnsentKind::ConnectTimedOut(_) = unsent(error) else { panic!("another reason") };
    }
}

#[tokio::test]
async fn an_idle_connection_is_not_used_after_four_seconds() {
    let server = Server::start(|_| Reply::Send(server::version())).await;
    let reader = reader(&server);
    for forward in [0, 3, 5] {
        put_clock_forward(forward).await;
        tokio::time::resume();
        reader.get(version()).await.unwrap();
    }
    let connections: Vec<_> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [1, 1, 2]);
}

#[tokio::test]
async fn a_deadline_that_is_over_sends_nothing() {
    let server = Server::start(|_| Reply::Send(server::version())).await;
    let late = reader(&server).until(Instant::now());
    let error = late.get(version()).await.unwrap_err();
    assert_eq!(unsent(error), UnsentKind::DeadlineOver);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn the_earlier_of_two_deadlines_is_in_force() {
    let server = Server::start(|_| Reply::Send(server::version())).await;
    let now = Instant::now();
    let reader = reader(&server);
    let late = now + Duration::from_secs(60);
    for late in [reader.until(now).until(late), reader.until(late).until(now)] {
        assert!(late.get(version()).await.is_err());
    }
}

#[tokio::test]
async fn waiting_for_a_free_place_is_told_as_that() {
    let server = Server::start(|_| Reply::Stall(Vec::new())).await;
    let reader = reader(&server);
    for _ in 0..4 {
        asking(&reader);
    }
    seen(&server, 4).await;
    let request = asking(&reader.until(Instant::now() + Duration::from_secs(5)));
    tokio::task::yield_now().await;
    put_clock_forward(6).await;
    let error = request.await.unwrap();
    let UnsentKind::NoPlace(waited) = unsent(error) else { panic!("another reason") };
    assert!(waited >= Duration::from_secs(5), "{waited:?}");
    assert_eq!(server.seen().len(), 4);
}
