//! What is traced holds no secret, no header and no body.
//!
//! This is a test binary of its own, with a single test, since `tracing` decides once for the whole
//! process, and by whoever comes first, whether a line is of interest.

#![expect(clippy::unwrap_used, reason = "a test that fails should fail loudly")]

#[path = "../it/certificates.rs"]
#[expect(dead_code, reason = "the other binary uses all of it")]
mod certificates;
#[path = "../it/server.rs"]
#[expect(dead_code, reason = "the other binary uses all of it")]
mod server;
#[path = "../it/settings.rs"]
#[expect(dead_code, clippy::panic, reason = "the other binary uses all of it")]
mod settings;

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use pve_client::{GuestRef, Kind, Operator, Tls, guest, lifecycle, version::version};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::{
    server::{Reply, Server, http, pve},
    settings::{SECRET, reader, reader_with},
};

/// Writes down everything that anything in this process traces.
#[derive(Clone, Default)]
struct Notebook(Arc<Mutex<String>>);

struct Writer<'a>(&'a mut String);

impl Visit for Writer<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Notebook {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
        let mut text = self.0.lock().unwrap();
        text.push_str(attributes.metadata().name());
        attributes.record(&mut Writer(&mut text));
        text.push('\n');
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, values: &span::Record<'_>) {
        values.record(&mut Writer(&mut self.0.lock().unwrap()));
    }

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = self.0.lock().unwrap();
        text.push_str(event.metadata().target());
        event.record(&mut Writer(&mut text));
        text.push('\n');
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn nothing_that_is_traced_holds_the_secret_a_header_or_a_body() {
    let notebook = Notebook::default();
    let _guard = tracing::subscriber::set_default(notebook.clone());
    let server = Server::start(|seen| match seen.nth {
        1 => Reply::Send(server::version()),
        2 => Reply::Send(pve("403 Permission check failed", r#"{"message":"confidential"}"#)),
        3 => Reply::Close(http("401 Authentication failed!", &[], b"")),
        _ => Reply::Close(Vec::new()),
    })
    .await;
    let operator = Operator::new(reader(&server));
    operator.reader().get(version()).await.unwrap();
    operator.reader().get(guest::list()).await.unwrap_err();
    operator.reader().get(version()).await.unwrap_err();
    operator.reader().get(version()).await.unwrap_err();
    let guest =
        GuestRef { node: "pve1".parse().unwrap(), kind: Kind::Qemu, vmid: "100".parse().unwrap() };
    operator.post(lifecycle::start(&guest)).await.unwrap_err();
    reader_with(&server, "127.0.0.1", Tls::default()).get(version()).await.unwrap_err();

    let text = notebook.0.lock().unwrap().clone();
    for part in [SECRET, "5ec2e7aa", "5f0c6f1a2b3c", "PVEAPIToken"] {
        assert!(!text.contains(part), "{text}");
    }
    for absent in ["confidential", "9.2.11", "type=vm", "max-age"] {
        assert!(!text.contains(absent), "{absent} is in {text}");
    }
    let ours: Vec<_> = text.lines().filter(|line| line.starts_with("pve_client")).collect();
    assert_eq!(ours.len(), 6, "one line for each request: {text}");
    assert!(ours[0].contains(r#" message=answered method="GET" path="/version" status=200 "#));
    assert!(ours[0].contains(" milliseconds=") && ours[0].contains(" bytes=65"), "{}", ours[0]);
    assert!(ours[1].contains(r#"path="/cluster/resources" status=403"#), "{}", ours[1]);
    assert!(ours[4].contains(r#"method="POST" path="/nodes/pve1/qemu/100/status/start""#));
}
