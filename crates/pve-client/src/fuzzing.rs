//! Ways in for fuzzing, to what reads bytes of others and is private. Behind the feature `fuzzing`, which no release
//! has.
//!
//! **Invariant:** nothing here is a shortcut: bytes go the way on which they come from a network.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{body::Incoming, client::conn::http1};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

pub use crate::console::fuzzed::{frames, screen};

use crate::{
    Error, Get, GuestRef, Kind, Method, NodeName, Refusal, Secret, StorageId, Token, Upid, VmId,
    access,
    answer::{self, Question},
    backup, body, ceph, cluster, cluster_log,
    guest::{self, agent},
    journal, network, node, replication, rrd, storage, task, task_log, version,
};

/// As much as is sent at once; nothing that is worth trying is longer.
pub(crate) const MOST: usize = 1 << 20;

/// The secret that no answer may bring back.
pub const SECRET: &str = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

fn reads<T>(request: &Get<T>, body: &[u8]) -> bool {
    request.read(body).is_ok()
}

/// Reads a body as the answer of every endpoint, and tells how many take it.
pub fn answers(body: &[u8]) -> Option<usize> {
    let node: NodeName = "pve1".parse().ok()?;
    let vmid: VmId = "100".parse().ok()?;
    let guest = GuestRef { node: node.clone(), kind: Kind::Qemu, vmid };
    let storage: StorageId = "local".parse().ok()?;
    let upid: Upid = "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:ops@pve!rw:".parse().ok()?;
    let ask = journal::Ask { last: 10, end: journal::End::Now, filter: journal::Filter::default() };
    let history = rrd::Target::Guest(guest.clone());
    let (hour, average) = (rrd::Timeframe::Hour, rrd::Consolidation::Average);
    let taken = [
        reads(&access::permissions(), body),
        reads(&backup::jobs(), body),
        reads(&backup::not_backed_up(), body),
        reads(&ceph::status(), body),
        reads(&cluster::status(), body),
        reads(&cluster::config_nodes(), body),
        reads(&cluster::ha_status_current(), body),
        reads(&cluster::node_resources(), body),
        reads(&cluster_log::entries(10), body),
        reads(&agent::info(&guest), body),
        reads(&agent::os_info(&guest), body),
        reads(&agent::host_name(&guest), body),
        reads(&agent::interfaces(&guest), body),
        reads(&agent::file_systems(&guest), body),
        reads(&agent::container_interfaces(&guest), body),
        reads(&guest::config(&guest), body),
        reads(&guest::pending(&guest), body),
        reads(&guest::snapshots(&guest), body),
        reads(&guest::current(&guest), body),
        reads(&guest::list(), body),
        reads(&guest::list_full(&node), body),
        reads(&journal::text(&node, &ask), body),
        reads(&journal::structured(&node, &ask), body),
        reads(&network::ifaces(&node), body),
        reads(&network::bridges(&node), body),
        reads(&network::zones(), body),
        reads(&network::vnets(), body),
        reads(&network::zone_status(&node), body),
        reads(&network::traffic(&node), body),
        reads(&network::node_traffic(&node), body),
        reads(&network::report(&node), body),
        reads(&node::list(), body),
        reads(&node::status(&node), body),
        reads(&node::services(&node), body),
        reads(&node::apt_updates(&node), body),
        reads(&node::certificates(&node), body),
        reads(&node::subscription(&node), body),
        reads(&node::clock(&node), body),
        reads(&replication::jobs(), body),
        reads(&replication::on_node(&node), body),
        reads(&rrd::history(&history, hour, average), body),
        reads(&rrd::node(&node, hour), body),
        reads(&storage::list(), body),
        reads(&storage::configured(), body),
        reads(&storage::on_node(&node), body),
        reads(&storage::status(&node, &storage), body),
        reads(&storage::content(&node, &storage, None), body),
        reads(&task::list(&node, &task::Filter::default()), body),
        reads(&task_log::status(&upid), body),
        reads(&version::version(), body),
    ];
    Some(taken.into_iter().filter(|is_taken| *is_taken).count())
}

/// The lines of a journal, from a body that may be compressed.
pub fn journal(body: &[u8]) -> Vec<String> {
    let Ok(body) = body::decompress(Bytes::copy_from_slice(body), MOST) else { return Vec::new() };
    let Ok(node) = "pve1".parse() else { return Vec::new() };
    let ask = journal::Ask { last: 10, end: journal::End::Now, filter: journal::Filter::default() };
    let Ok(read) = journal::structured(&node, &ask).read(&body) else { return Vec::new() };
    let text = |entry| match entry {
        journal::Entry::Line(line) => Some(line.text),
        journal::Entry::Record(record) => Some(record.message.text),
        journal::Entry::Reboot(_) => None,
    };
    read.data.entries.into_iter().filter_map(text).collect()
}

/// The lines of a task's log.
pub fn task_log(body: &[u8]) -> Vec<String> {
    let upid = "UPID:pve1:00001AC5:000BE8D7:6B0D1743:qmstart:107:ops@pve!rw:".parse::<Upid>();
    let Ok(upid) = upid else { return Vec::new() };
    let Ok(read) = task_log::log(&upid, 0, 50).read(body) else { return Vec::new() };
    read.data.into_iter().filter_map(|line| line.t.map(|line| line.text)).collect()
}

/// An answer as it comes over a connection: status line, headers and body. What is known of it then, or the error.
pub fn http(answer: &[u8]) -> Option<Result<usize, Error>> {
    run(async {
        let response = asked(answer).await?;
        let token = Token::new("a@pve", "t", Secret::new(SECRET.to_owned())).ok()?;
        let question =
            Question { host: "pve1:8006", method: Method::Get, path: "/nodes", token: &token };
        let response = match answer::judge(&question, response).await {
            Ok(response) => response,
            Err(error) => return Some(Err(error)),
        };
        let whole = body::collect(response.into_body(), MOST).await.ok()?;
        let whole = token.hidden_in(body::decompress(whole, MOST).ok()?);
        node::list().read(&whole).ok().map(|read| Ok(read.data.len()))
    })
}

/// A refusal with this status, reason and body.
pub fn refusal(status: u16, reason: &str, body: &[u8]) -> Refusal {
    Refusal::read(Method::Get, "/nodes", status, Some(reason.to_owned()), body)
}

/// Asks somebody who answers with these bytes, whatever was asked, and hangs up.
pub(crate) async fn asked(answer: &[u8]) -> Option<http::Response<Incoming>> {
    let (near, far) = tokio::io::duplex(2 * MOST);
    let (mut sender, connection) =
        http1::handshake::<_, Full<Bytes>>(TokioIo::new(near)).await.ok()?;
    tokio::spawn(connection.with_upgrades());
    let answer = answer.get(..answer.len().min(MOST))?.to_vec();
    tokio::spawn(async move {
        let (mut input, mut output) = tokio::io::split(far);
        let mut ignored = [0; 4096];
        if input.read(&mut ignored).await.is_ok() && output.write_all(&answer).await.is_ok() {
            // Whoever still writes may do so: only this side has nothing more to say.
            let _ = output.shutdown().await;
        }
        while matches!(input.read(&mut ignored).await, Ok(read) if read > 0) {}
    });
    let request = http::Request::get("/api2/json/nodes").header("host", "pve1");
    let request = request.body(Full::new(Bytes::new())).ok()?;
    sender.send_request(request).await.ok()
}

pub(crate) fn run<T>(work: impl Future<Output = Option<T>>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().ok()?;
    runtime.block_on(work)
}
