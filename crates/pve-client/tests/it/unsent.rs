//! Requests that never leave this machine.

use pve_client::{Host, Reader, UnsentKind, version::version};

use crate::{
    server::{self, Reply, Server},
    settings::{settings, unsent},
};

/// What becomes of a request to a host.
async fn asking(host: &str, port: u16) -> (UnsentKind, String) {
    let server = Server::start(|_| Reply::Send(server::version())).await;
    let mut settings = settings(&server);
    settings.hosts = vec![Host::new(host, port)];
    // So that the name itself is not looked at before it is resolved.
    settings.tls.server_name = Some("pve1".parse().unwrap());
    let error = Reader::new(settings).get(version()).await.unwrap_err();
    let shown = error.to_string();
    (unsent(error), shown)
}

#[tokio::test]
async fn a_port_where_nobody_listens_refuses() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let (kind, shown) = asking("127.0.0.1", port).await;
    assert_eq!(kind, UnsentKind::Refused);
    assert!(shown.starts_with(&format!("nothing was sent to `127.0.0.1:{port}`: ")), "{shown}");
}

#[tokio::test]
async fn a_name_without_an_address_is_not_resolved() {
    // No label may have 64 letters, so that no name server is asked.
    let (kind, shown) = asking(&format!("{}.lan", "a".repeat(64)), 8006).await;
    assert_eq!(kind, UnsentKind::NotResolved, "{shown}");
}

#[tokio::test]
async fn an_address_that_is_none_is_told() {
    for host in ["a b", "pve/../x", "", "user@pve", "a\nb"] {
        let (kind, shown) = asking(host, 8006).await;
        assert_eq!(kind, UnsentKind::InvalidAddress, "{shown}");
    }
}
