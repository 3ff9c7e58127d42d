//! What comes back, and what it is taken for.

use std::{
    io::Write as _,
    time::{Duration, SystemTime},
};

use flate2::{Compression, write::GzEncoder};
use pve_client::{
    Error, GuestRef, Kind, LostWhy, Method, Refusal, RefusalKind, UnreadableWhy, guest, lifecycle,
    node,
    task::{self, Filter},
    version,
};

use crate::{
    server::{Reply, Server, http, pve},
    settings::{operator, reader},
};

const JSON: (&str, &str) = ("Content-Type", "application/json;charset=UTF-8");
const PVE: (&str, &str) = ("Server", "pve-api-daemon/3.0");

fn web01() -> GuestRef {
    GuestRef { node: "pve1".parse().unwrap(), kind: Kind::Qemu, vmid: "100".parse().unwrap() }
}

/// What a reader makes of these bytes as the answer to `/version`.
async fn version_of(answer: Vec<u8>) -> Result<version::Version, Error> {
    let server = Server::start(move |_| Reply::Close(answer.clone())).await;
    let result = reader(&server).get(version::version()).await;
    assert_eq!(server.seen().len(), 1, "an answer is an answer, and nothing is asked again");
    result
}

async fn refusal_of(answer: Vec<u8>) -> Refusal {
    match version_of(answer).await {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("not a refusal: {other:?}"),
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn what_was_asked_for_comes_with_the_total_and_the_time() {
    let upid = "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:100:root@pam!monitor:";
    let body = format!(r#"{{"data":[{{"upid":"{upid}","node":"pve1"}},null],"total":271}}"#);
    let server = Server::start(move |_| Reply::Send(pve("200 OK", &body))).await;
    let request = task::list(&"pve1".parse().unwrap(), &Filter::default());
    let answer = reader(&server).fetch(request).await.unwrap();
    assert_eq!((answer.data.len(), answer.unreadable, answer.total), (1, 1, Some(271)));
    assert_eq!(answer.changes, None);
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_796_019_958);
    assert_eq!(answer.date, Some(date));
}

#[tokio::test]
async fn two_connection_headers_do_not_disturb() {
    // As PVE 9.2.11 sends them with an answer that another worker made.
    let headers = [("Connection", "close"), ("Connection", "Keep-Alive"), JSON];
    let answer = http("200 OK", &headers, br#"{"data":{"version":"9.2.11"}}"#);
    assert_eq!(version_of(answer).await.unwrap().numbers(), (9, 2, 11));
}

#[tokio::test]
async fn a_compressed_answer_is_read_whatever_its_header_says() {
    let body = gzip(r#"{"data":{"version":"9.2.11"}}"#);
    for headers in [&[JSON, ("Content-Encoding", "gzip")][..], &[JSON]] {
        let version = version_of(http("200 OK", headers, &body)).await.unwrap();
        assert_eq!(version.numbers(), (9, 2, 11));
    }
    let torn = http("200 OK", &[JSON], &body[..20]);
    let error = version_of(torn).await.unwrap_err();
    assert!(
        matches!(error, Error::Unreadable { why: UnreadableWhy::Compression, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_answer_in_chunks_is_one_answer() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
        Transfer-Encoding: chunked\r\n\r\n10\r\n{\"data\":{\"versio\r\nb\r\nn\":\"9.2.11\"\r\n\
        2\r\n}}\r\n0\r\n\r\n";
    assert_eq!(version_of(answer.to_vec()).await.unwrap().numbers(), (9, 2, 11));
}

#[tokio::test]
async fn the_reason_phrase_tells_what_a_wrong_token_and_a_lost_header_are() {
    let refusal = refusal_of(http("401 No ticket", &[PVE], b"")).await;
    assert_eq!((refusal.reason.as_str(), refusal.kind()), ("No ticket", RefusalKind::NoTicket));
    let refusal = refusal_of(http("401 Authentication failed!", &[PVE], b"")).await;
    assert_eq!(refusal.kind(), RefusalKind::Unauthenticated);
    // Behind a proxy that hides who answered.
    let refusal = refusal_of(http("401 Authentication failed!", &[], b"")).await;
    assert_eq!(refusal.message, "Authentication failed!");
}

#[tokio::test]
async fn the_codes_of_a_broken_cluster_have_no_body() {
    let refusal = refusal_of(http("595 No route to host", &[PVE], b"")).await;
    assert_eq!(refusal.kind(), RefusalKind::NodeUnreachable);
    assert_eq!((refusal.status, refusal.message.as_str()), (595, "No route to host"));
    let refusal = refusal_of(http("596 Connection timed out", &[PVE], b"")).await;
    assert_eq!(refusal.kind(), RefusalKind::InternalTimeout);
    let refusal = refusal_of(http("599 Too many redirections", &[], b"")).await;
    assert_eq!(refusal.kind(), RefusalKind::OutcomeUnknown);
    let phrase = "500 RPCEnvironment init request failed: Unable to load access control list: \
                  Connection refused";
    let refusal = refusal_of(http(phrase, &[PVE], b"")).await;
    assert_eq!(refusal.kind(), RefusalKind::ClusterFilesystemDown);
    // A proxy has dropped the phrase.
    let refusal = refusal_of(http("595", &[], b"")).await;
    assert_eq!(refusal.message, "the node could not be reached");
}

#[tokio::test]
async fn a_missing_privilege_is_named() {
    let body = r#"{"message":"Permission check failed (/vms/100, VM.Audit)\n","data":null}"#;
    let answer = pve("403 Permission check failed (/vms/100, VM.Audit)", body);
    let refusal = refusal_of(answer).await;
    assert_eq!(
        refusal.kind(),
        RefusalKind::Forbidden {
            path: Some("/vms/100".to_owned()),
            privileges: vec!["VM.Audit".to_owned()]
        }
    );
    assert_eq!(
        refusal.to_string(),
        "proxmox ve refused `GET /version` (403): Permission check failed (/vms/100, VM.Audit)"
    );
}

#[tokio::test]
async fn the_errors_of_parameters_come_along_and_a_query_does_not() {
    let body = r#"{"message":"Parameter verification failed.\n","data":null,
        "errors":{"limit":"type check ('integer') failed - got 'ten'"}}"#;
    let server =
        Server::start(move |_| Reply::Close(pve("400 Parameter verification failed.", body))).await;
    let filter = Filter { user: Some("somebody".to_owned()), ..Filter::default() };
    let request = task::list(&"pve1".parse().unwrap(), &filter);
    let error = reader(&server).get(request).await.unwrap_err();
    let refusal = error.refusal().unwrap();
    assert_eq!(refusal.kind(), RefusalKind::BadParameters);
    assert_eq!(refusal.path, "/nodes/pve1/tasks");
    assert!(refusal.errors["limit"].ends_with("got 'ten'"));
}

#[tokio::test]
async fn a_refusal_in_plain_text_is_told_by_its_reason() {
    let answer = http("500 malformed JSON string at line 934.", &[PVE], b"malformed JSON string");
    let refusal = refusal_of(answer).await;
    assert_eq!(refusal.message, "malformed JSON string at line 934.");
}

#[tokio::test]
async fn a_refusal_whose_body_is_cut_is_a_refusal() {
    let answer = b"HTTP/1.1 500 CT 201 already running\r\nContent-Type: application/json\r\n\
        Content-Length: 500\r\n\r\n{\"mess";
    assert_eq!(refusal_of(answer.to_vec()).await.message, "CT 201 already running");
}

#[tokio::test]
async fn a_page_is_not_an_answer_and_is_not_shown() {
    let page = b"<!doctype html><title>Login to the intranet</title>";
    for status in ["200 OK", "401 Unauthorized", "502 Bad Gateway", "504 Gateway Timeout"] {
        let headers = [("Content-Type", "text/html; charset=utf-8"), ("Server", "nginx")];
        let error = version_of(http(status, &headers, page)).await.unwrap_err();
        let Error::Foreign { status: code, content_type, .. } = &error else { panic!("{error:?}") };
        assert!(status.starts_with(&code.to_string()));
        assert_eq!(content_type.as_deref(), Some("text/html"));
        let shown = error.to_string();
        assert!(shown.contains("`text/html`") && !shown.contains("intranet"), "{shown}");
    }
}

#[tokio::test]
async fn the_errors_of_other_servers_are_not_those_of_proxmox() {
    for answer in [
        http("502 Bad Gateway", &[], b""),
        http("504 Gateway Timeout", &[("Content-Type", "text/plain")], b"upstream"),
        http("503 Service Unavailable", &[JSON], br#"{"error":"no healthy upstream"}"#),
        http("403 Forbidden", &[("Content-Type", "text/plain")], b"blocked"),
        http("404 Not Found", &[], b"404 page not found"),
        http("401 Unauthorized", &[("WWW-Authenticate", "Basic")], b""),
        http("200 OK", &[JSON], br#"{"status":"ok"}"#),
        http("200 OK", &[("Content-Type", "text/plain")], b"hello"),
    ] {
        let error = version_of(answer).await.unwrap_err();
        assert!(matches!(error, Error::Foreign { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_redirection_is_named_and_never_followed() {
    let elsewhere = Server::start(|_| Reply::Close(crate::server::version())).await;
    for status in ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Moved"] {
        let target = format!("https://127.0.0.1:{}/api2/json/version?session=x", elsewhere.port);
        let answer = http(status, &[("Location", &target)], b"");
        let error = version_of(answer).await.unwrap_err();
        let Error::Foreign { redirect_to, .. } = &error else { panic!("{error:?}") };
        assert_eq!(redirect_to.as_deref(), Some(&*format!("127.0.0.1:{}", elsewhere.port)));
        assert!(!error.to_string().contains("session"), "{error}");
    }
    assert_eq!(elsewhere.connections(), 0, "the token is not for others");
}

#[tokio::test]
async fn an_empty_success_is_told_apart_from_a_null_one() {
    let why = |error| match error {
        Error::Unreadable { why, .. } => why,
        error => panic!("{error:?}"),
    };
    assert_eq!(
        why(version_of(http("200 OK", &[PVE], b"")).await.unwrap_err()),
        UnreadableWhy::Empty
    );
    assert_eq!(
        why(version_of(pve("200 OK", r#"{"data":null}"#)).await.unwrap_err()),
        UnreadableWhy::Null
    );
}

#[tokio::test]
async fn null_is_an_empty_list() {
    let server = Server::start(|_| Reply::Send(pve("200 OK", r#"{"data":null}"#))).await;
    assert!(reader(&server).get(guest::list()).await.unwrap().is_empty());
    assert!(reader(&server).get(node::list()).await.unwrap().is_empty());
}

#[tokio::test]
async fn an_answer_that_stops_in_the_middle_is_lost_and_not_asked_for_again() {
    let mut answer = crate::server::version();
    answer.truncate(answer.len() - 5);
    let error = version_of(answer).await.unwrap_err();
    assert!(matches!(error, Error::Lost { why: LostWhy::Cut, .. }), "{error:?}");
}

#[tokio::test]
async fn what_is_not_http_is_lost() {
    let error = version_of(b"SSH-2.0-OpenSSH_9.9\r\n\r\n".to_vec()).await.unwrap_err();
    assert!(matches!(error, Error::Lost { why: LostWhy::NotHttp, .. }), "{error:?}");
}

#[tokio::test]
async fn an_answer_has_a_limit_before_and_after_decompression() {
    let long = format!(r#"{{"data":[{}]}}"#, "null,".repeat(10_000) + "null");
    let plain = http("200 OK", &[JSON], long.as_bytes());
    let packed = http("200 OK", &[JSON], &gzip(&long));
    assert!(packed.len() < 1000);
    for answer in [plain, packed] {
        let server = Server::start(move |_| Reply::Close(answer.clone())).await;
        let reader = reader(&server);
        let error = reader.get(guest::list().at_most(1000)).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { limit: 1000, .. }), "{error:?}");
        // It is read to its end.
        let error = reader.get(guest::list().at_most(100_000)).await.unwrap_err();
        let why = UnreadableWhy::Entries { count: 10_001 };
        assert!(matches!(error, Error::Unreadable { why: is, .. } if is == why), "{error:?}");
    }
}

#[tokio::test]
async fn a_write_gives_its_task_and_a_refused_one_its_reason() {
    let server = Server::start(|seen| match seen.nth {
        1 => Reply::Send(pve(
            "200 OK",
            r#"{"data":"UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:100:root@pam!monitor:"}"#,
        )),
        _ => Reply::Close(pve(
            "500 cluster not ready - no quorum?",
            r#"{"message":"cluster not ready - no quorum?\n","data":null}"#,
        )),
    })
    .await;
    let operator = operator(&server);
    let upid = operator.post(lifecycle::start(&web01())).await.unwrap();
    assert_eq!((upid.node.as_str(), upid.kind.as_str()), ("pve1", "qmstart"));
    let error = operator.post(lifecycle::start(&web01())).await.unwrap_err();
    assert!(!error.may_have_taken_effect());
    let refusal = error.refusal().unwrap();
    assert_eq!((refusal.method, refusal.kind()), (Method::Post, RefusalKind::NoQuorum));
}

#[tokio::test]
async fn a_write_that_broke_inside_the_cluster_may_have_been_done() {
    for answer in [
        http("599 Too many redirections", &[PVE], b""),
        http("596 Connection timed out", &[PVE], b""),
        http("504 Gateway Timeout", &[("Content-Type", "text/html")], b"<html>"),
        http("200 OK", &[PVE], b""),
    ] {
        let server = Server::start(move |_| Reply::Close(answer.clone())).await;
        let error = operator(&server).post(lifecycle::start(&web01())).await.unwrap_err();
        assert!(error.may_have_taken_effect(), "{error:?}");
        assert_eq!(server.seen().len(), 1);
    }
}

/// It is read on another thread, as is what is large when it is decompressed.
#[tokio::test]
async fn an_answer_of_many_megabytes_is_read_as_a_small_one() {
    let body = format!(r#"{{"data":{{"version":"9.2.11","release":"{}"}}}}"#, "9".repeat(5 << 20));
    let length = body.len();
    let plain = pve("200 OK", &body);
    let packed = http("200 OK", &[JSON, PVE, ("Content-Encoding", "gzip")], &gzip(&body));
    for answer in [plain, packed] {
        let version = version_of(answer).await.unwrap();
        assert_eq!(version.version.as_deref(), Some("9.2.11"));
        assert!(length > 5 << 20);
    }
    let broken = body.replace("}}", "}");
    let error = version_of(pve("200 OK", &broken)).await.unwrap_err();
    assert!(matches!(error, Error::Unreadable { .. }), "{error:?}");
}
