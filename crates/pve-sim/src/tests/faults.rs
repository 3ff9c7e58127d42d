//! Rules and recordings over real TLS.

use std::time::Duration;

use serde_json::json;

use crate::{
    Cluster, LAB_SECRET, RecordedState, Recordings, Rule, Sim,
    recordings::Recording,
    tests::client::{Connection, ask, get},
};

const ROOT: (&str, &str) = ("root@pam!lab", LAB_SECRET);
const AUTHORIZATION: &str =
    "Authorization: PVEAPIToken=root@pam!lab=1ab00000-0000-4000-8000-000000000000";

async fn lab() -> Sim {
    Sim::start(Cluster::lab()).await.unwrap()
}

#[tokio::test]
async fn a_rule_answers_in_front_of_everything_as_often_as_it_says() {
    let sim = lab().await;
    sim.answer(Rule::get("/version").data(&json!({"version": "6.0-7"})));
    sim.answer(Rule::get("/version").status(595, "No route to host").times(1));
    let got = get(&sim, "/version", ("nobody@pve!x", "")).await;
    assert_eq!((got.status, got.reason.as_str(), got.body.len()), (595, "No route to host", 0));
    assert_eq!(got.header("connection"), ["close"]);
    let got = get(&sim, "/version", ROOT).await;
    assert_eq!(got.data()["version"], "6.0-7");
    assert_eq!(got.header("content-type"), ["application/json;charset=UTF-8"]);
    sim.forget_rules();
    assert_eq!(get(&sim, "/version", ROOT).await.data()["version"], "9.2.11");
}

#[tokio::test]
async fn a_rule_can_answer_like_something_that_is_not_pve() {
    let sim = lab().await;
    let page = Rule::get("/nodes").status(502, "Bad Gateway").body("<html>");
    sim.answer(
        page.header("Content-Type", "text/html").header("Server", "nginx").header("Pragma", ""),
    );
    let got = get(&sim, "/nodes", ROOT).await;
    assert_eq!(
        (got.status, got.header("server"), got.header("pragma").len()),
        (502, vec!["nginx"], 0)
    );
    assert_eq!(
        (got.header("content-type"), got.body.as_slice()),
        (vec!["text/html"], &b"<html>"[..])
    );
}

#[tokio::test]
async fn an_answer_can_be_cut_in_its_middle() {
    let sim = lab().await;
    sim.answer(Rule::get("/nodes").cut_after(10));
    let mut connection = Connection::open(&sim).await;
    connection.send("GET", "/nodes", &[AUTHORIZATION], "").await;
    assert!(connection.receive().await.is_none());
}

#[tokio::test]
async fn a_lost_answer_has_taken_effect_and_a_replaced_one_has_not() {
    let sim = lab().await;
    let path = "/nodes/pve1/qemu/107/status/start";
    let is_up = |sim: &Sim| sim.change(|lab| lab.guest(107).unwrap().is_up());
    sim.answer(Rule::post(path).lost());
    sim.answer(Rule::post(path).status(599, "Too many redirections").times(1));
    assert_eq!(ask(&sim, "POST", path, ROOT, "").await.status, 599);
    assert!(!is_up(&sim));
    let mut connection = Connection::open(&sim).await;
    connection.send("POST", path, &[AUTHORIZATION], "").await;
    assert!(connection.receive().await.is_none());
    assert!(is_up(&sim));
}

#[tokio::test]
async fn an_answer_can_be_replaced_although_the_request_takes_effect() {
    let path = "/nodes/pve1/qemu/107/status/start";
    for (rule, is_up) in [
        (Rule::post(path).status(599, "Too many redirections"), false),
        (Rule::post(path).status(599, "Too many redirections").carried_out(), true),
    ] {
        let sim = lab().await;
        sim.answer(rule);
        assert_eq!(ask(&sim, "POST", path, ROOT, "").await.status, 599);
        assert_eq!(sim.change(|lab| lab.guest(107).unwrap().is_up()), is_up);
        assert_eq!(sim.change(|lab| lab.deeds.len()), usize::from(is_up));
        assert_eq!(sim.n_requests(|seen| seen.path == path), 1);
    }
}

#[tokio::test]
async fn a_delayed_answer_takes_its_time_and_many_wait_at_once() {
    let sim = lab().await;
    let delay = Duration::from_millis(30);
    sim.answer(Rule::everything().delay(delay));
    let before = std::time::Instant::now();
    let (first, second) = tokio::join!(get(&sim, "/version", ROOT), get(&sim, "/nodes", ROOT));
    assert_eq!((first.status, second.status), (200, 200));
    assert!(before.elapsed() >= delay);
    assert_eq!(sim.peak_in_flight(), 2);
}

#[tokio::test]
async fn an_answer_that_never_comes_leaves_the_connection_open() {
    let sim = lab().await;
    sim.answer(Rule::get("/nodes").hang());
    let mut connection = Connection::open(&sim).await;
    connection.send("GET", "/nodes", &[AUTHORIZATION], "").await;
    let waited = tokio::time::timeout(Duration::from_millis(20), connection.receive()).await;
    assert!(waited.is_err());
    assert_eq!((sim.requests().len(), sim.connections()), (1, 1));
}

#[tokio::test]
async fn recordings_are_served_byte_for_byte() {
    let sim = Sim::replay(Recordings::load()).await.unwrap();
    let first = |recording: &&Recording| {
        let same = |other: &&Recording| {
            (&other.path, &other.token, &other.method)
                == (&recording.path, &recording.token, &recording.method)
        };
        let all = Recording::all().iter().filter(|other| other.state == RecordedState::Normal);
        all.clone().find(same).is_some_and(|found| found.name == recording.name)
    };
    let reads = Recording::all().iter().filter(|recording| recording.method == "GET");
    for recording in reads.filter(first) {
        let got = get(&sim, &recording.path, (&recording.token, "any")).await;
        let name = &recording.name;
        assert_eq!((got.status, &got.reason), (recording.status, &recording.reason), "{name}");
        let zipped = !got.header("content-encoding").is_empty();
        assert!(zipped || got.body == recording.body.as_bytes(), "{name}");
        let headers: Vec<(&str, String)> =
            got.headers.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        assert_eq!(headers, recording.headers(got.body.len()), "{name}");
    }
}

#[tokio::test]
async fn recordings_know_their_tokens_and_what_was_never_asked() {
    let sim = Sim::replay(Recordings::load()).await.unwrap();
    let refused = |status: u16, reason: &str| (status, reason.to_owned());
    let ask = async |path: &str, token: (&str, &str)| {
        let got = get(&sim, path, token).await;
        (got.status, got.reason)
    };
    assert_eq!(
        ask("/version", ("root@pam!lab", "wrong")).await,
        refused(401, "Authentication failed!")
    );
    assert_eq!(ask("/version", ("who@pve!x", "y")).await, refused(401, "Authentication failed!"));
    assert_eq!(ask("/never", ROOT).await, refused(501, "Method 'GET /never' not implemented"));
}

#[tokio::test]
async fn recorded_states_of_the_cluster_can_be_chosen() {
    let sim = Sim::replay(Recordings::of(RecordedState::NoQuorum)).await.unwrap();
    let status = get(&sim, "/cluster/status", ROOT).await.data();
    let cluster =
        status.as_array().unwrap().iter().find(|row| row["type"] == "cluster").unwrap().clone();
    assert_eq!(cluster["quorate"], 0);
    let sim = Sim::replay(Recordings::of(RecordedState::Paused)).await.unwrap();
    let current = get(&sim, "/nodes/pve1/qemu/107/status/current", ROOT).await.data();
    assert_eq!(current["qmpstatus"], "paused");
    let sim = Sim::replay(Recordings::of(RecordedState::Remote)).await.unwrap();
    assert_eq!(get(&sim, "/nodes/pve2/status", ROOT).await.status, 200);
    let sim = Sim::replay(Recordings::of(RecordedState::PmxcfsDown)).await.unwrap();
    assert_eq!(get(&sim, "/version", ROOT).await.status, 500);
    let sim = Sim::replay(Recordings::of(RecordedState::PvedaemonDown)).await.unwrap();
    assert_eq!(get(&sim, "/nodes/pve1/qemu", ROOT).await.status, 595);
    assert_eq!(get(&sim, "/version", ROOT).await.status, 200);
}
