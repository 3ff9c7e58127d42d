//! What goes over the wire, how often, and over which connection.

use pve_client::{Error, GuestRef, Kind, LostWhy, Reader, guest, lifecycle, version::version};

use crate::{
    server::{self, Reply, Server, pve},
    settings::{SECRET, operator, reader, settings},
};

fn web01() -> GuestRef {
    GuestRef { node: "pve1".parse().unwrap(), kind: Kind::Qemu, vmid: "100".parse().unwrap() }
}

fn started() -> Vec<u8> {
    pve(
        "200 OK",
        r#"{"data":"UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:100:root@pam!monitor:"}"#,
    )
}

#[tokio::test]
async fn a_get_carries_the_token_and_no_body() {
    let server = Server::start(|_| Reply::Send(pve("200 OK", r#"{"data":[]}"#))).await;
    reader(&server).get(guest::list()).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.line(), "GET /api2/json/cluster/resources?type=vm");
    assert_eq!(
        seen.header("authorization"),
        Some(&*format!("PVEAPIToken=root@pam!monitor={SECRET}"))
    );
    assert_eq!(seen.header("host"), Some(&*format!("127.0.0.1:{}", server.port)));
    assert!(seen.header("user-agent").unwrap().starts_with("pve-client/"));
    for absent in ["content-length", "content-type", "transfer-encoding", "accept-encoding"] {
        assert_eq!(seen.header(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn a_post_has_a_form_and_its_length_even_when_it_is_empty() {
    let server = Server::start(|_| Reply::Send(started())).await;
    operator(&server).post(lifecycle::start(&web01())).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.line(), "POST /api2/json/nodes/pve1/qemu/100/status/start");
    assert_eq!(seen.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!((seen.header("content-length"), seen.body.as_str()), (Some("0"), ""));
    assert_eq!(seen.header("transfer-encoding"), None);
}

#[tokio::test]
async fn the_prefix_of_a_proxy_and_our_own_name_are_sent() {
    let server = Server::start(|_| Reply::Send(server::version())).await;
    let mut settings = settings(&server);
    settings.hosts[0].prefix = "/pve".to_owned();
    settings.user_agent = "mcp-proxmox/1.0".to_owned();
    Reader::new(settings).get(version()).await.unwrap();
    let seen = &server.seen()[0];
    assert_eq!(seen.line(), "GET /pve/api2/json/version");
    assert_eq!(seen.header("user-agent"), Some("mcp-proxmox/1.0"));
}

#[tokio::test]
async fn reads_share_a_connection_and_clones_do_too() {
    let server = Server::start(|_| Reply::Send(server::version())).await;
    let reader = reader(&server);
    for _ in 0..3 {
        reader.clone().get(version()).await.unwrap();
    }
    assert_eq!((server.seen().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn a_read_on_a_connection_that_died_is_repeated_on_a_fresh_one() {
    // The second request finds its idle connection dead, as after Proxmox VE's five seconds.
    let server = Server::start(|seen| match seen.nth {
        2 => Reply::Close(Vec::new()),
        _ => Reply::Send(server::version()),
    })
    .await;
    let reader = reader(&server);
    reader.get(version()).await.unwrap();
    reader.get(version()).await.unwrap();
    let connections: Vec<_> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [1, 1, 2]);
}

#[tokio::test]
async fn connections_that_close_after_each_answer_do_not_matter() {
    let server = Server::start(|_| Reply::Close(server::version())).await;
    let reader = reader(&server);
    for _ in 0..10 {
        reader.get(version()).await.unwrap();
    }
    assert_eq!(server.seen().len(), 10);
}

#[tokio::test]
async fn a_read_is_repeated_exactly_once() {
    let server = Server::start(|_| Reply::Close(Vec::new())).await;
    let error = reader(&server).get(version()).await.unwrap_err();
    assert!(matches!(error, Error::Lost { why: LostWhy::Cut, .. }), "{error:?}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_write_is_never_repeated_and_its_outcome_is_open() {
    let server = Server::start(|_| Reply::Close(Vec::new())).await;
    let error = operator(&server).post(lifecycle::start(&web01())).await.unwrap_err();
    assert!(matches!(error, Error::Lost { why: LostWhy::Cut, .. }), "{error:?}");
    assert!(error.may_have_taken_effect());
    assert!(error.to_string().ends_with("it may have taken effect all the same"), "{error}");
    assert_eq!((server.seen().len(), server.connections()), (1, 1));
}

#[tokio::test]
async fn a_write_never_uses_a_connection_that_was_idle() {
    let server = Server::start(|seen| {
        let is_write = seen.head.starts_with("POST");
        Reply::Send(if is_write { started() } else { server::version() })
    })
    .await;
    let operator = operator(&server);
    operator.reader().get(version()).await.unwrap();
    operator.post(lifecycle::start(&web01())).await.unwrap();
    operator.post(lifecycle::start(&web01())).await.unwrap();
    operator.reader().get(version()).await.unwrap();
    let connections: Vec<_> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [1, 2, 3, 1]);
}

#[tokio::test]
async fn four_requests_are_at_the_server_at_once_and_no_more() {
    let server = Server::start(|_| Reply::WithThreeOthers(server::version())).await;
    let reader = reader(&server);
    let requests: Vec<_> = (0..16)
        .map(|_| {
            let reader = reader.clone();
            tokio::spawn(async move { reader.get(version()).await })
        })
        .collect();
    for request in requests {
        request.await.unwrap().unwrap();
    }
    assert_eq!((server.seen().len(), server.most_at_once()), (16, 4));
}
