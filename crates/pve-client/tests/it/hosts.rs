//! Several hosts of one cluster: who is asked, when the next one is, and what is never sent twice.

use std::time::Duration;

use pve_client::{
    Error, FailedWhy, GuestRef, Host, Kind, LostWhy, Operator, Reader, Settings, Tls, Trust,
    Unsent, UnsentKind, lifecycle, version::version,
};
use tokio::{
    net::{TcpListener, TcpSocket},
    time::Instant,
};

use crate::{
    certificates::{Authority, Identity},
    server::{self, Reply, Server, pve},
    settings::{ca, settings, tls_problem},
};

/// Settings for these ports of this machine, in this order.
fn settings_for(server: &Server, ports: &[u16]) -> Settings {
    let mut settings = settings(server);
    settings.hosts = ports.iter().map(|port| Host::new("127.0.0.1", *port)).collect();
    settings
}

fn reader_for(servers: &[&Server]) -> Reader {
    let ports: Vec<u16> = servers.iter().map(|server| server.port).collect();
    let [first, ..] = servers else { panic!("no server") };
    Reader::new(settings_for(first, &ports))
}

async fn works() -> Server {
    Server::start(|_| Reply::Send(server::version())).await
}

fn start() -> pve_client::Post<pve_client::Upid> {
    let vmid = "100".parse().unwrap();
    lifecycle::start(&GuestRef { node: "pve1".parse().unwrap(), kind: Kind::Qemu, vmid })
}

fn started() -> Vec<u8> {
    let upid = "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:100:root@pam!monitor:";
    pve("200 OK", &format!(r#"{{"data":"{upid}"}}"#))
}

/// A port where nobody listens, and nobody else can for as long as the socket is there.
fn nobody() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// Puts the clock forward, and lets it go on.
async fn later(duration: Duration) {
    tokio::time::pause();
    tokio::time::advance(duration).await;
    tokio::time::resume();
}

#[tokio::test]
async fn where_nobody_listens_the_next_host_is_asked_and_a_write_too() {
    let second = Server::start(|seen| {
        let is_write = seen.head.starts_with("POST");
        Reply::Send(if is_write { started() } else { server::version() })
    })
    .await;
    let (_socket, dead) = nobody();
    let reader = Reader::new(settings_for(&second, &[dead, second.port]));
    reader.get(version()).await.unwrap();
    let first_down = Reader::new(settings_for(&second, &[dead, second.port]));
    Operator::new(first_down).post(start()).await.unwrap();
    assert_eq!(second.seen().len(), 2);
}

#[tokio::test]
async fn the_host_that_works_is_remembered() {
    let (first, second) = (works().await, works().await);
    first.shut(true);
    let reader = reader_for(&[&first, &second]);
    for _ in 0..5 {
        reader.get(version()).await.unwrap();
    }
    assert_eq!((first.connections(), second.seen().len()), (1, 5));
    assert_eq!(reader.host(), format!("127.0.0.1:{}", second.port));
}

#[tokio::test]
async fn a_host_that_was_down_is_tried_again_later_and_by_one_request() {
    let (first, second) = (works().await, works().await);
    first.shut(true);
    let reader = reader_for(&[&first, &second]);
    reader.get(version()).await.unwrap();
    later(Duration::from_secs(31)).await;
    for _ in 0..3 {
        reader.get(version()).await.unwrap();
    }
    assert_eq!((first.connections(), second.seen().len()), (2, 4));
    first.shut(false);
    later(Duration::from_secs(61)).await;
    reader.get(version()).await.unwrap();
    reader.get(version()).await.unwrap();
    assert_eq!((first.seen().len(), second.seen().len()), (2, 4), "it is back");
}

#[tokio::test]
async fn a_host_that_does_not_answer_leaves_time_for_the_next() {
    for deadline in [None, Some(5)] {
        let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = hanging.local_addr().unwrap().port();
        let second = works().await;
        let mut reader = Reader::new(settings_for(&second, &[port, second.port]));
        if let Some(seconds) = deadline {
            reader = reader.until(Instant::now() + Duration::from_secs(seconds));
        }
        let asking = reader.clone();
        let request = tokio::spawn(async move { asking.get(version()).await });
        let _accepted = hanging.accept().await.unwrap();
        later(Duration::from_millis(if deadline.is_some() { 2600 } else { 3100 })).await;
        request.await.unwrap().unwrap();
        // It costs the next request nothing.
        reader.get(version()).await.unwrap();
        assert_eq!(second.seen().len(), 2);
    }
}

#[tokio::test]
async fn those_that_queue_for_a_host_that_hangs_do_not_find_it_out_one_by_one() {
    let hanging = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = hanging.local_addr().unwrap().port();
    let second = works().await;
    let reader = Reader::new(settings_for(&second, &[port, second.port]));
    let requests: Vec<_> = (0..12)
        .map(|_| {
            let reader = reader.clone();
            tokio::spawn(async move { reader.get(version()).await })
        })
        .collect();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(hanging.accept().await.unwrap());
    }
    later(Duration::from_millis(3100)).await;
    for request in requests {
        request.await.unwrap().unwrap();
    }
    assert_eq!(second.seen().len(), 12);
    assert!(second.most_at_once() <= 4, "{} at once", second.most_at_once());
}

#[tokio::test]
async fn each_host_is_verified_by_itself() {
    let (good, bad) =
        (Identity::self_signed(&["127.0.0.1"]), Identity::self_signed(&["127.0.0.1"]));
    let first = Server::start_with(&bad, |_| Reply::Send(server::version())).await;
    let second = Server::start_with(&good, |_| Reply::Send(server::version())).await;
    let mut settings = settings_for(&first, &[first.port, second.port]);
    settings.tls =
        Tls { trust: Trust::Pinned(vec![good.fingerprint().parse().unwrap()]), server_name: None };
    Reader::new(settings.clone()).get(version()).await.unwrap();
    assert!(first.seen().is_empty(), "the token was sent to a host that is not trusted");
    settings.tls.trust = Trust::Pinned(
        [&good, &bad].map(|identity| identity.fingerprint().parse().unwrap()).to_vec(),
    );
    Reader::new(settings).get(version()).await.unwrap();
    assert_eq!((first.seen().len(), second.seen().len()), (1, 1), "each may have its own pin");
    // A pin of one host is none of the other.
    let mut settings = settings_for(&first, &[first.port, second.port]);
    let [of_good, of_bad] = [&good, &bad].map(|it| it.fingerprint().parse().unwrap());
    settings.tls = Tls { trust: Trust::Pinned(vec![of_good, of_bad]), server_name: None };
    (settings.hosts[0].pins, settings.hosts[1].pins) = (vec![of_good], vec![of_good]);
    Reader::new(settings.clone()).get(version()).await.unwrap();
    assert_eq!((first.seen().len(), second.seen().len()), (1, 2));
    settings.hosts[0].pins = vec![of_bad];
    Reader::new(settings).get(version()).await.unwrap();
    assert_eq!((first.seen().len(), second.seen().len()), (2, 2));
}

#[tokio::test]
async fn each_host_has_the_name_that_its_certificate_is_for() {
    let authority = Authority::new("PVE Cluster Manager CA");
    let serve = |name: &'static str| {
        let identity = authority.identity(&[name]);
        async move { Server::start_with(&identity, |_| Reply::Send(server::version())).await }
    };
    let (first, second) = (serve("pve1").await, serve("pve2").await);
    let mut settings = settings_for(&first, &[first.port, second.port]);
    settings.tls = ca(&authority.pem());
    for (host, name) in settings.hosts.iter_mut().zip(["pve1", "pve2"]) {
        host.server_name = Some(name.parse().unwrap());
    }
    let reader = Reader::new(settings.clone());
    reader.get(version()).await.unwrap();
    first.shut(true);
    reader.get(version()).await.unwrap();
    // The other's name is no good, though the authority is the same.
    settings.hosts.truncate(1);
    settings.hosts[0].server_name = Some("pve2".parse().unwrap());
    first.shut(false);
    let error = Reader::new(settings).get(version()).await.unwrap_err();
    assert!(tls_problem(error).to_string().contains("not for `pve2` but for `pve1`"));
}

#[tokio::test]
async fn a_read_whose_host_dies_goes_to_one_more_host_and_a_write_to_none() {
    let half = || version_bytes(20);
    for bytes in [Vec::new(), half()] {
        let n_at_first = if bytes.is_empty() { 2 } else { 1 };
        let first = Server::start(move |_| Reply::Close(bytes.clone())).await;
        let second = works().await;
        reader_for(&[&first, &second]).get(version()).await.unwrap();
        assert_eq!((first.seen().len(), second.seen().len()), (n_at_first, 1));

        let operator = Operator::new(reader_for(&[&first, &second]));
        let error = operator.post(start()).await.unwrap_err();
        assert!(matches!(error, Error::Lost { why: LostWhy::Cut, .. }), "{error:?}");
        assert!(error.may_have_taken_effect());
        assert_eq!((first.seen().len(), second.seen().len()), (n_at_first + 1, 1));
    }
}

/// The beginning of an answer.
fn version_bytes(n_missing: usize) -> Vec<u8> {
    let mut bytes = server::version();
    bytes.truncate(bytes.len() - n_missing);
    bytes
}

#[tokio::test]
async fn a_read_that_breaks_everywhere_is_sent_to_two_hosts_and_no_more() {
    let broken = || Server::start(|_| Reply::Close(version_bytes(20)));
    let (first, second, third) = (broken().await, broken().await, broken().await);
    let reader = reader_for(&[&first, &second, &third]);
    let error = reader.get(version()).await.unwrap_err();
    let Error::Lost { host, others, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*host, format!("127.0.0.1:{}", second.port));
    assert_eq!(others[0].why, FailedWhy::Lost(LostWhy::Cut));
    let seen = [&first, &second, &third].map(|server| server.seen().len());
    assert_eq!(seen, [1, 1, 0]);
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_asked_for_nowhere_else() {
    let first = Server::start(|_| Reply::Stall(Vec::new())).await;
    let second = works().await;
    let reader = reader_for(&[&first, &second]);
    let request = tokio::spawn(async move { reader.get(version()).await.unwrap_err() });
    while first.seen().is_empty() {
        tokio::task::yield_now().await;
    }
    later(Duration::from_secs(36)).await;
    let error = request.await.unwrap();
    assert!(matches!(error, Error::Lost { why: LostWhy::TimedOut(_), .. }), "{error:?}");
    assert!(second.seen().is_empty(), "its time was over");
}

#[tokio::test]
async fn a_refusal_is_an_answer_and_not_asked_for_elsewhere() {
    let refusal = || pve("403 Permission check failed (/, Sys.Audit)", r#"{"data":null}"#);
    let first = Server::start(move |_| Reply::Send(refusal())).await;
    let second = works().await;
    let error = reader_for(&[&first, &second]).get(version()).await.unwrap_err();
    assert_eq!(error.refusal().unwrap().status, 403);
    assert!(second.seen().is_empty());
}

#[tokio::test]
async fn when_all_are_down_each_is_named_and_the_first_that_is_back_is_asked() {
    let (first, second) = (works().await, works().await);
    first.shut(true);
    second.shut(true);
    let (_socket, dead) = nobody();
    let ports = [dead, first.port, second.port];
    let operator = Operator::new(Reader::new(settings_for(&first, &ports)));
    for _ in 0..2 {
        let error = operator.post(start()).await.unwrap_err();
        assert!(!error.may_have_taken_effect());
        let shown = error.to_string();
        let Error::Unsent(unsent) = error else { panic!("{error:?}") };
        assert_eq!(unsent.kinds().next(), Some(&UnsentKind::Refused));
        let Unsent { host, others, .. } = unsent;
        assert_eq!((others.len(), host), (2, format!("127.0.0.1:{}", second.port)));
        assert!(shown.contains("none of 3 hosts"), "{shown}");
        assert!(shown.contains(&format!("`127.0.0.1:{dead}`: connection refused; ")), "{shown}");
    }
    second.shut(false);
    operator.reader().get(version()).await.unwrap();
    assert_eq!((first.seen().len(), second.seen().len()), (0, 1));
}

#[tokio::test]
async fn waiting_for_a_turn_takes_nothing_from_the_time_for_asking() {
    let server = Server::start(|_| Reply::Stall(Vec::new())).await;
    let mut settings = settings(&server);
    // Longer than PVE itself goes on with a request, so that what is given up keeps no place.
    settings.request_timeout = Duration::from_secs(35);
    let reader = Reader::new(settings).until(Instant::now() + Duration::from_secs(120));
    let mut requests = Vec::new();
    for n_sent in [4, 5] {
        let reader = reader.clone();
        let n_new = n_sent - requests.len();
        requests.extend((0..n_new).map(|_| {
            let reader = reader.clone();
            tokio::spawn(async move { reader.get(version()).await.unwrap_err() })
        }));
        while server.seen().len() < 4 {
            tokio::task::yield_now().await;
        }
    }
    tokio::task::yield_now().await;
    later(Duration::from_secs(36)).await;
    while server.seen().len() < 5 {
        tokio::task::yield_now().await;
    }
    later(Duration::from_secs(33)).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let last = requests.pop().unwrap();
    assert!(!last.is_finished(), "its own time is not over yet");
    later(Duration::from_secs(3)).await;
    let error = last.await.unwrap();
    let Error::Lost { why: LostWhy::TimedOut(waited), .. } = error else { panic!("{error:?}") };
    assert!(waited < Duration::from_secs(40), "the queue is charged to the host: {waited:?}");
}
