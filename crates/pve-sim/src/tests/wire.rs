//! What the connection itself does: certificates, status lines, errors, and when a connection ends.

use std::time::Duration;

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    CertificateKind, Cluster, Guest, LAB_SECRET, Options, Seen, Sim, State, Version,
    tests::client::{Connection, ask, ask_with, get},
};

const ROOT: (&str, &str) = ("root@pam!lab", LAB_SECRET);
const AUTHORIZATION: &str =
    "Authorization: PVEAPIToken=root@pam!lab=1ab00000-0000-4000-8000-000000000000";

async fn lab() -> Sim {
    Sim::start(Cluster::lab()).await.unwrap()
}

#[tokio::test]
async fn each_kind_of_certificate_fails_as_it_should() {
    use CertificateKind::{
        ClusterCa, Expired, ForeignCa, NotYetValid, SelfSigned, SelfSignedCa, WrongName,
    };
    let kinds = [
        (ClusterCa, None),
        (SelfSigned, None),
        (ForeignCa, Some("UnknownIssuer")),
        (SelfSignedCa, Some("CaUsedAsEndEntity")),
        (Expired, Some("Expired")),
        (NotYetValid, Some("NotValidYet")),
        (WrongName, Some("NotValidForName")),
    ];
    for (certificate, problem) in kinds {
        let options = Options { certificate, ..Options::default() };
        let sim = Sim::start_with(Cluster::lab(), options).await.unwrap();
        let outcome = Connection::to(sim.address(), sim.ca_pem()).await.err();
        match (outcome, problem) {
            (None, None) => {
                assert_eq!(get(&sim, "/version", ROOT).await.status, 200, "{certificate:?}");
            }
            (Some(error), Some(problem)) => {
                let text = format!("{error:?}");
                assert!(text.contains(problem), "{certificate:?}: {text}");
            }
            (outcome, _) => panic!("{certificate:?}: {outcome:?}"),
        }
    }
}

#[tokio::test]
async fn the_fingerprint_is_the_one_that_the_api_tells() {
    let sim = lab().await;
    let list = get(&sim, "/nodes/pve1/certificates/info", ROOT).await.data();
    let node = list
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["filename"] == "pve-ssl.pem")
        .unwrap()
        .clone();
    assert_eq!(node["fingerprint"], sim.fingerprint());
    assert!(node["san"].as_array().unwrap().contains(&json!("192.168.77.11")));
}

#[tokio::test]
async fn requests_are_noted_with_their_token_and_body() {
    let sim = lab().await;
    get(&sim, "/cluster/resources?type=vm", ROOT).await;
    ask(&sim, "POST", "/nodes/pve1/qemu/107/status/start", ("ops@pve!rw", "wrong"), "timeout=5")
        .await;
    let seen = |method: &str, path: &str, token: &str, body: &str| Seen {
        method: method.to_owned(),
        path: path.to_owned(),
        token: Some(token.to_owned()),
        body: body.to_owned(),
    };
    let expected = [
        seen("GET", "/cluster/resources?type=vm", "root@pam!lab", ""),
        seen("POST", "/nodes/pve1/qemu/107/status/start", "ops@pve!rw", "timeout=5"),
    ];
    assert_eq!(sim.requests(), expected);
    sim.forget_requests();
    assert!(sim.requests().is_empty());
}

#[tokio::test]
async fn a_connection_carries_many_requests_and_ends_after_an_error() {
    let sim = lab().await;
    let mut connection = Connection::open(&sim).await;
    for path in ["/version", "/nodes", "/nodes/pve1/qemu/100/status/current"] {
        connection.send("GET", path, &[AUTHORIZATION], "").await;
        assert_eq!(connection.receive().await.unwrap().status, 200, "{path}");
    }
    assert_eq!((sim.handshakes(), sim.connections()), (1, 1));
    connection.send("GET", "/bogus", &[AUTHORIZATION], "").await;
    let got = connection.receive().await.unwrap();
    assert_eq!((got.status, got.reason.as_str()), (501, "Method 'GET /bogus' not implemented"));
    assert_eq!(got.header("connection"), ["close"]);
    assert!(connection.is_over().await);
}

#[tokio::test]
async fn a_connection_ends_after_as_many_requests_as_pve_allows() {
    let sim = lab().await;
    let mut connection = Connection::open(&sim).await;
    for nth in 1..=100 {
        connection.send("GET", "/version", &[AUTHORIZATION], "").await;
        let got = connection.receive().await.unwrap();
        assert_eq!(
            got.header("connection"),
            [if nth == 100 { "close" } else { "Keep-Alive" }],
            "{nth}"
        );
    }
    assert!(connection.is_over().await);
}

#[tokio::test]
async fn an_idle_connection_is_ended() {
    let options = Options { idle_timeout: Some(Duration::from_millis(5)), ..Options::default() };
    let sim = Sim::start_with(Cluster::lab(), options).await.unwrap();
    let mut connection = Connection::open(&sim).await;
    assert!(connection.is_over().await);
}

#[tokio::test]
async fn requests_that_pveproxy_does_not_look_at_are_refused() {
    let sim = lab().await;
    let odd = [
        ("HEAD", &[][..], "", "method 'HEAD' not available"),
        ("PATCH", &[][..], "", "method 'PATCH' not available"),
        ("GET", &["Content-Length: 2"][..], "", "Unexpected content for method 'GET'"),
        ("PUT", &["Transfer-Encoding: chunked"][..], "", "chunked transfer encoding not supported"),
    ];
    for (method, lines, body, reason) in odd {
        let mut connection = Connection::open(&sim).await;
        connection.send(method, "/version", lines, body).await;
        let got = connection.receive().await.unwrap();
        assert_eq!((got.status, got.reason.as_str()), (501, reason));
        assert!(got.body.is_empty());
    }
}

#[tokio::test]
async fn broken_json_is_answered_in_plain_text() {
    let sim = lab().await;
    let path = "/nodes/pve1/qemu/107/status/start";
    let got = ask_with(&sim, "POST", path, ROOT, ("application/json", "{\"timeout\":")).await;
    assert_eq!(got.status, 500);
    assert!(got.header("content-type").is_empty());
    assert!(String::from_utf8(got.body).unwrap().starts_with("malformed JSON string, "));
}

#[tokio::test]
async fn no_ticket_is_told_apart_from_a_wrong_one_and_both_forms_of_a_token_are_taken() {
    let sim = lab().await;
    let space = AUTHORIZATION.replace("PVEAPIToken=", "PVEAPIToken ");
    let headers = [
        ("X-Nothing: at all", 401, "No ticket"),
        ("Authorization: Bearer abc", 401, "No ticket"),
        ("Authorization: PVEAPIToken=root@pam!lab", 401, "Authentication failed!"),
        ("Cookie: PVEAuthCookie=abc", 401, "Authentication failed!"),
        (space.as_str(), 200, "OK"),
    ];
    for (header, status, reason) in headers {
        let mut connection = Connection::open(&sim).await;
        connection.send("GET", "/version", &[header], "").await;
        let got = connection.receive().await.unwrap();
        assert_eq!((got.status, got.reason.as_str()), (status, reason), "{header}");
    }
}

#[tokio::test]
async fn http_on_the_tls_port_is_redirected() {
    let sim = lab().await;
    let mut stream = TcpStream::connect(sim.address()).await.unwrap();
    stream.write_all(b"GET /api2/json/version HTTP/1.1\r\nHost: pve1:8006\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 301 Moved Permanently\r\n"), "{text}");
    assert!(
        text.contains(&format!("Location: https://pve1:{}/api2/json/version\r\n", sim.port())),
        "{text}"
    );
    assert_eq!(sim.handshakes(), 0);
}

#[tokio::test]
async fn plain_http_can_be_had() {
    let options = Options { plain_http: true, ..Options::default() };
    let sim = Sim::start_with(Cluster::lab(), options).await.unwrap();
    let mut stream = TcpStream::connect(sim.address()).await.unwrap();
    let text =
        format!("GET /api2/json/version HTTP/1.1\r\n{AUTHORIZATION}\r\nConnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("9.2.11"), "{text}");
}

#[tokio::test]
async fn states_of_the_cluster_are_told_as_pve_tells_them() {
    let sim = lab().await;
    let refused = |status: u16, reason: &str| (status, reason.to_owned());
    let ask = async |method: &str, path: &str| {
        let got = ask(&sim, method, path, ROOT, "").await;
        (got.status, got.reason)
    };
    assert_eq!(ask("GET", "/nodes/pve2/status").await, refused(595, "No route to host"));

    sim.change(|lab| lab.quorate = false);
    let start = "/nodes/pve1/qemu/107/status/start";
    assert_eq!(ask("POST", start).await, refused(500, "cluster not ready - no quorum?"));
    assert_eq!(ask("GET", "/cluster/status").await, refused(200, "OK"));
    sim.change(|lab| lab.quorate = true);

    sim.change(|lab| lab.pvedaemon_down = true);
    for path in
        ["/version", "/cluster/resources", "/nodes/pve1/status", "/nodes/pve1/tasks?limit=1"]
    {
        assert_eq!(ask("GET", path).await, refused(200, "OK"), "{path}");
    }
    for (method, path) in [("GET", "/nodes/pve1/qemu"), ("POST", start)] {
        assert_eq!(ask(method, path).await, refused(595, "Connection refused"), "{path}");
    }

    sim.change(|lab| lab.pmxcfs_down = true);
    let reason = "RPCEnvironment init request failed: Unable to load access control list: Connection refused";
    assert_eq!(ask("GET", "/version").await, refused(500, reason));
}

#[tokio::test]
async fn a_start_is_a_task_and_the_guest_runs() {
    let sim = lab().await;
    let start = async |vmid: u32| {
        let path = format!("/nodes/pve1/qemu/{vmid}/status/start");
        let upid = ask(&sim, "POST", &path, ("ops@pve!rw", LAB_SECRET), "").await.data();
        let upid = upid.as_str().unwrap().to_owned();
        let list = get(&sim, "/nodes/pve1/tasks?source=all", ROOT).await.data();
        let task =
            list.as_array().unwrap().iter().find(|task| task["upid"] == upid).unwrap().clone();
        (upid, task["status"].as_str().unwrap().to_owned())
    };
    let (upid, status) = start(107).await;
    assert!(upid.starts_with("UPID:pve1:") && upid.ends_with(":qmstart:107:ops@pve!rw:"), "{upid}");
    assert_eq!(status, "OK");
    let current = get(&sim, "/nodes/pve1/qemu/107/status/current", ROOT).await.data();
    assert_eq!((&current["status"], &current["qmpstatus"]), (&json!("running"), &json!("running")));
    assert_eq!(start(107).await.1, "VM 107 already running");
    assert_eq!(start(105).await.1, "VM is locked (backup)");
    assert_eq!(start(102).await.1, "you can't start a vm if it's a template");
    assert_eq!(start(106).await.1, "storage 'nas' is not online");
    assert_eq!(
        start(999).await.1,
        "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist"
    );
}

#[tokio::test]
async fn a_paused_guest_is_told_by_qemu_alone() {
    let sim = lab().await;
    sim.change(|lab| lab.guest_mut(100).unwrap().state = State::Paused);
    let row = |list: serde_json::Value| {
        list.as_array().unwrap().iter().find(|row| row["vmid"] == 100).unwrap().clone()
    };
    for path in ["/cluster/resources?type=vm", "/nodes/pve1/qemu"] {
        let row = row(get(&sim, path, ROOT).await.data());
        assert_eq!((&row["status"], row.get("qmpstatus")), (&json!("running"), None), "{path}");
    }
    assert_eq!(row(get(&sim, "/nodes/pve1/qemu?full=1", ROOT).await.data())["qmpstatus"], "paused");
    let current = get(&sim, "/nodes/pve1/qemu/100/status/current", ROOT).await.data();
    assert_eq!(current["qmpstatus"], "paused");
}

#[tokio::test]
async fn an_older_version_says_less() {
    let mut cluster = Cluster::lab();
    cluster.version =
        Version { major: 8, minor: 2, patch: 4, repoid: "faa83925c9641325".to_owned() };
    let sim = Sim::start(cluster).await.unwrap();
    let got = get(&sim, "/bogus", ROOT).await;
    assert_eq!(got.reason, "Method 'GET /bogus' not implemented");
    assert_eq!(got.json(), json!({"data": null}));
    let current = get(&sim, "/nodes/pve1/qemu/100/status/current", ROOT).await.data();
    assert!(current.get("memhost").is_none() && current.get("pressurecpusome").is_none());
}

#[tokio::test]
async fn a_host_that_stands_alone_is_no_cluster() {
    let mut cluster = Cluster::of_nodes(None, &["pve"]);
    cluster.token("root@pam!lab", LAB_SECRET);
    cluster.guests.push(Guest { name: None, ..Guest::vm(100, "pve", "") });
    let sim = Sim::start(cluster).await.unwrap();
    let status = get(&sim, "/cluster/status", ROOT).await.data();
    assert_eq!(status.as_array().unwrap().len(), 1);
    assert_eq!((&status[0]["type"], &status[0]["nodeid"]), (&json!("node"), &json!(0)));
    assert_eq!(get(&sim, "/nodes/pve/qemu", ROOT).await.data()[0]["name"], "VM 100");
}

#[tokio::test]
async fn encoded_slashes_are_decoded_before_routing_and_empty_parts_are_skipped() {
    let sim = lab().await;
    assert_eq!(get(&sim, "/nodes%2Fpve1//version", ROOT).await.status, 200);
}

#[tokio::test]
async fn a_dropped_simulator_ends_its_connections() {
    let sim = lab().await;
    let mut connection = Connection::open(&sim).await;
    drop(sim);
    assert!(connection.is_over().await);
}
