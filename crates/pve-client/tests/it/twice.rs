//! Answers that come twice, as from a proxy that repeats itself: none is taken for the answer to another
//! request.

use pve_client::{node, version::version};

use crate::{
    server::{self, Reply, Server, http},
    settings::reader,
};

async fn repeating() -> Server {
    Server::start(|seen| {
        let is_version = seen.head.starts_with("GET /api2/json/version ");
        let nodes = http("200 OK", &[], br#"{"data":[{"node":"a"},{"node":"b"}]}"#);
        let once = if is_version { server::version() } else { nodes };
        Reply::Send([once.clone(), once].concat())
    })
    .await
}

#[tokio::test]
async fn the_second_of_two_answers_is_never_taken_for_that_to_the_next_request() {
    let server = repeating().await;
    let reader = reader(&server);
    for _ in 0..50 {
        assert_eq!(reader.get(version()).await.unwrap().version.as_deref(), Some("9.2.11"));
        assert_eq!(reader.get(node::list()).await.unwrap().len(), 2);
    }
}

#[tokio::test]
async fn nor_is_it_where_several_requests_wait_for_a_connection() {
    let server = repeating().await;
    let reader = reader(&server);
    for _ in 0..50 {
        let (first, second, third) =
            tokio::join!(reader.get(version()), reader.get(node::list()), reader.get(version()));
        assert_eq!(first.unwrap().version.as_deref(), Some("9.2.11"));
        assert_eq!(second.unwrap().len(), 2);
        assert_eq!(third.unwrap().version.as_deref(), Some("9.2.11"));
    }
}
