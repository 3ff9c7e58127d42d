//! The bound of a whole call, whatever it waits for: a PVE that takes every request and answers none.
//!
//! The clock is stopped once a request has arrived, and goes to the next moment that somebody waits for.

use std::sync::Arc;

use mcp_proxmox::{
    config::Confirm,
    policy::Policy,
    server::Server,
    tier::{Access, Level},
};
use pve_client::Reader;
use pve_sim::{DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Rule, Seen, Sim};
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams};
use serde_json::Value;
use tokio::time::{Duration, Instant};

use crate::{
    faults::{TOOLS, gives_nothing_away, ready, world::still},
    support::{connect, server, settings, text},
};

/// How long a call may take, and what its answer may need on its way.
const BOUND: Duration = Duration::from_millis(50_500);

/// A server for which no single request is too slow, so that only the call's own bound can end it.
fn patient(sim: &Sim) -> Server {
    let mut settings = settings(sim, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET);
    settings.request_timeout = Duration::from_secs(3600);
    let access = Access::new(Level::Write, Reader::new(settings));
    let policy = Policy::new(None, "".parse().unwrap(), Confirm::Never, None);
    server(access).under(Arc::new(policy))
}

/// What comes of this, and how long it takes by a clock that is stopped when such a request has arrived.
async fn timed<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
    sim: &Sim,
    is_meant: impl Fn(&Seen) -> bool,
) -> (T, Duration) {
    let began = Instant::now();
    let work = tokio::spawn(work);
    while sim.n_requests(&is_meant) == 0 {
        assert!(!work.is_finished(), "it ended without the request");
        tokio::task::yield_now().await;
    }
    tokio::time::pause();
    let done = work.await.unwrap();
    let took = began.elapsed();
    tokio::time::resume();
    (done, took)
}

#[tokio::test]
async fn a_call_under_a_pve_that_hangs_everywhere_is_answered_within_its_bound() {
    for (tool, arguments, action) in TOOLS {
        let sim = Sim::start(still()).await.unwrap();
        ready(&sim, action);
        let upid = sim.change(|cluster| cluster.tasks[0].upid());
        let arguments: Value = serde_json::from_str(&arguments.replace("$UPID", &upid)).unwrap();
        let client = connect(patient(&sim)).await;
        sim.answer(Rule::everything().hang());
        let mut request = CallToolRequestParams::new(*tool);
        request.arguments = arguments.as_object().cloned();
        let call = async move { client.call_tool(request).await.unwrap() };
        let (result, took) = timed(call, &sim, |_| true).await;
        let told = text(&result);
        assert!(took <= BOUND, "{tool} took {took:?}: {told}");
        assert_eq!(result.is_error, Some(true), "{tool}: {told}");
        gives_nothing_away(&told);
        assert_eq!(sim.n_requests(|seen| seen.method != "GET"), 0, "{tool}: nothing was known");
    }
}

#[tokio::test]
async fn a_write_that_is_never_answered_is_told_as_unknown_within_the_bound() {
    for (tool, arguments, action) in TOOLS.iter().filter(|(.., action)| !action.is_empty()) {
        let sim = Sim::start(still()).await.unwrap();
        ready(&sim, action);
        let client = connect(patient(&sim)).await;
        let post = || Rule { method: Some("POST".to_owned()), ..Rule::under("/nodes/") };
        sim.answer(post().hang());
        let mut request = CallToolRequestParams::new(*tool);
        request.arguments = serde_json::from_str(arguments).unwrap();
        let call = async move { client.call_tool(request).await.unwrap() };
        let (result, took) = timed(call, &sim, |seen| seen.method == "POST").await;
        let told = text(&result);
        assert!(took <= BOUND, "{tool} took {took:?}: {told}");
        assert_eq!(sim.n_requests(|seen| seen.method == "POST"), 1, "{tool}: {told}");
        let outcome = result.structured_content.map(|answer| answer["outcome"].clone());
        assert_ne!(outcome, Some("done".into()), "{tool}: {told}");
        assert!(!told.contains("nothing was sent") || told.contains("sent again"), "{told}");
    }
}

#[tokio::test]
async fn a_resource_of_a_pve_that_hangs_is_answered_within_the_bound() {
    for uri in
        ["pve://cluster/health", "pve://nodes/pve1", "pve://vms/100", "pve://vms/100/screenshot"]
    {
        let sim = Sim::start(still()).await.unwrap();
        let client = connect(patient(&sim)).await;
        sim.answer(Rule::everything().hang());
        let read = async move { client.read_resource(ReadResourceRequestParams::new(uri)).await };
        let (read, took) = timed(read, &sim, |_| true).await;
        assert!(took <= BOUND, "{uri} took {took:?}");
        assert!(read.is_err(), "{uri}: {read:?}");
    }
}
