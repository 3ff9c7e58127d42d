//! The secret is nowhere but in its header. What is traced has a test binary of its own.

use std::fmt::Write as _;

use pve_client::{Operator, Reader, Tls, version::version};

use crate::{
    server::{Reply, Server, http},
    settings::{SECRET, reader_with, settings},
};

#[tokio::test]
async fn nothing_that_can_be_shown_shows_the_secret() {
    let server = Server::start(|seen| match seen.nth {
        1 => Reply::Close(http("401 Authentication failed!", &[], b"")),
        _ => Reply::Close(Vec::new()),
    })
    .await;
    let settings = settings(&server);
    let reader = Reader::new(settings.clone());
    let operator = Operator::new(reader.clone());
    let refused = reader.get(version()).await.unwrap_err();
    let lost = reader.get(version()).await.unwrap_err();
    let untrusted = reader_with(&server, "127.0.0.1", Tls::default());
    let unsent = untrusted.get(version()).await.unwrap_err();
    let mut text = format!("{settings:?} {settings:#?} {reader:?} {operator:?} {operator:#?}");
    for error in [refused, lost, unsent] {
        write!(text, "{error} {error:?} {error:#?}").unwrap();
    }
    for part in [SECRET, "5ec2e7aa", "5f0c6f1a2b3c", "PVEAPIToken"] {
        assert!(!text.contains(part), "{text}");
    }
    assert!(text.contains("root@pam!monitor"));
    assert_eq!(reader.token_id(), "root@pam!monitor");
    assert_eq!(reader.host(), format!("127.0.0.1:{}", server.port));
}
