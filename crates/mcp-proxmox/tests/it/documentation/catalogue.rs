//! The failures that the page on troubleshooting tells of: every kind that a user meets.
//!
//! **Each stands with work in which it really occurs.** Failures of requests are made here, and a test looks for
//! what was asked in the program's own text; what a tool refuses by itself is told by that tool, in a call.

mod refused;

use std::{collections::BTreeMap, time::Duration};

use mcp_proxmox::{cli::MUTE, failure::Failure};
use pve_client::{
    Error, Fingerprint, LostWhy, Method, Refusal, Silence, TlsProblem, UnreadableWhy, Unsent,
    UnsentKind,
};

/// What can be met: what it is called, why it happens, what is told.
pub(super) struct Entry {
    pub(super) title: &'static str,
    pub(super) why: &'static str,
    /// What completes "could not …", with what differs from case to case in braces; none where a tool told it.
    pub(super) asked: Option<&'static str>,
    /// As it is told, with its hint.
    pub(super) told: String,
    /// What to do, where what is told does not say it.
    pub(super) remedy: Option<&'static str>,
}

/// What a request failed with that was to do what is `asked`.
fn entry(
    title: &'static str,
    why: &'static str,
    asked: &'static str,
    error: impl Into<Error>,
) -> Entry {
    let told = Failure::from_pve(&asked.replace(['{', '}'], ""), &error.into()).to_string();
    Entry { title, why, asked: Some(asked), told, remedy: None }
}

impl Entry {
    /// Something that was told otherwise.
    fn told(title: &'static str, why: &'static str, told: String) -> Self {
        Self { title, why, asked: None, told, remedy: None }
    }

    fn mended_by(self, remedy: &'static str) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

fn unsent(kind: impl Into<UnsentKind>) -> Unsent {
    Unsent { host: "pve1.lan:8006".to_owned(), kind: kind.into(), others: Vec::new() }
}

fn refused(method: Method, path: &str, status: u16, message: &str) -> Refusal {
    Refusal {
        status,
        reason: message.to_owned(),
        message: message.to_owned(),
        errors: BTreeMap::new(),
        path: path.to_owned(),
        method,
    }
}

/// All of them, by where they come from.
pub(super) async fn catalogue() -> [(&'static str, Vec<Entry>); 6] {
    [
        ("The way there", way_there(refused::by_another_product().await)),
        ("TLS", tls()),
        ("The token", token(refused::by_one_node().await)),
        ("The cluster", cluster()),
        ("Starting, stopping and typing", refused::by_tools_that_write().await),
        ("Answers that are lost or unreadable", answers()),
    ]
}

fn get(status: u16, message: &str) -> Refusal {
    refused(Method::Get, "/nodes/pve1/status", status, message)
}

/// What many tools begin with.
const LIST: &str = "list the VMs and containers";
const VERSION: &str = "ask PVE for its version";
const JOURNAL: &str = "read the journal of {pve1}";
const STATE: &str = "read the state of {100}";

/// What keeps a request from leaving.
fn way_there(another_product: String) -> Vec<Entry> {
    vec![
        entry(
            "The name is not known",
            "`PVE_HOST` is misspelled, or this machine asks another name server than yours.",
            LIST,
            unsent(UnsentKind::NotResolved),
        ),
        entry(
            "The connection is refused",
            "The host is up and nothing listens on the port: another port, or pveproxy is down. `127.0.0.1` and `localhost` in a \
             container are that container.",
            LIST,
            unsent(UnsentKind::Refused),
        ),
        entry(
            "Nobody answers",
            "The host is off, or a firewall drops the packets. In a container: its network does not reach the host. A \
             browser may reach it all the same, through a proxy: [`HTTPS_PROXY` is not used](configuration.md#the-way-to-proxmox-ve).",
            "list the nodes",
            unsent(UnsentKind::ConnectTimedOut(Duration::from_secs(10))),
        ),
        entry(
            "There is no route",
            "This machine is in another network, or a VPN is down.",
            "list the nodes",
            unsent(UnsentKind::Unreachable),
        ),
        entry(
            "Something else answers",
            "A proxy, a login page or another program stands where the API should be. Proxmox Backup Server and Mail \
             Gateway answer like this to whatever they do not have.",
            VERSION,
            Error::Foreign {
                host: "pve1.lan:443".to_owned(),
                method: Method::Get,
                path: "/version".to_owned(),
                status: 302,
                content_type: Some("text/html".to_owned()),
                redirect_to: Some("login.lan".to_owned()),
            },
        ),
        entry(
            "It refuses before Proxmox VE does",
            "A proxy or a filter stands in front, and does not let this machine or this request in. No role of the token helps.",
            VERSION,
            refused(Method::Get, "/version", 403, "Forbidden"),
        ),
        Entry::told(
            "Another product of Proxmox answers",
            "`check` says so. The products have the same path for their version, and other ports: 8006 is Proxmox VE's \
             (and Mail Gateway's), 8007 Backup Server's.",
            another_product,
        ),
    ]
}

/// What is wrong with a certificate.
fn tls() -> Vec<Entry> {
    let fingerprint: Fingerprint = "5c".repeat(32).parse().unwrap();
    let other: Fingerprint = "a7".repeat(32).parse().unwrap();
    vec![
        entry(
            "The certificate is signed by somebody unknown",
            "Every fresh node is like that: its cluster signs its certificate.",
            VERSION,
            unsent(TlsProblem::UnknownIssuer {
                issuer: "PVE Cluster Manager CA".to_owned(),
                is_self_signed: false,
                given: Vec::new(),
                fingerprint,
            }),
        ),
        entry(
            "The certificate is not signed by the given authority",
            "The file of `PVE_TLS_CA_FILE` is of another cluster, or another server answers.",
            VERSION,
            unsent(TlsProblem::UnknownIssuer {
                issuer: "OU=…, O=PVE Cluster Manager CA".to_owned(),
                is_self_signed: false,
                given: vec!["O=Example, CN=Example CA".to_owned()],
                fingerprint,
            }),
        ),
        entry(
            "The certificate is signed by itself",
            "Somebody made it by hand (`openssl req -x509 -addext basicConstraints=critical,CA:FALSE`), or a proxy or an appliance made \
             its own. No authority stands behind it, so this one certificate is what can be trusted.",
            VERSION,
            unsent(TlsProblem::UnknownIssuer {
                issuer: "CN=pve1.lan".to_owned(),
                is_self_signed: true,
                given: Vec::new(),
                fingerprint,
            }),
        ),
        entry(
            "The certificate is that of an authority",
            "It was made with `openssl req -x509`, which makes the certificate of an authority unless it is told otherwise, and \
             given to the node as its own. Neither `PVE_TLS_CA_FILE` nor a right name helps.",
            VERSION,
            unsent(TlsProblem::AuthorityAsServer { fingerprint }),
        ),
        entry(
            "The certificate is for another name",
            "`PVE_HOST` is an address or an alias that the certificate does not name.",
            VERSION,
            unsent(TlsProblem::WrongName {
                asked: "192.0.2.7".to_owned(),
                names: vec!["pve1".to_owned(), "pve1.lan".to_owned()],
                fingerprint,
            }),
        ),
        entry(
            "Another certificate than the pinned one",
            "The node's certificate was renewed, another node answered, or somebody is in between.",
            LIST,
            unsent(TlsProblem::NotPinned { expected: vec![other], presented: fingerprint }),
        ),
        entry(
            "The certificate has expired",
            "It was not renewed, or a clock is wrong.",
            LIST,
            unsent(TlsProblem::Expired {
                issuer: "PVE Cluster Manager CA".to_owned(),
                is_self_signed: false,
                not_after: "2026-01-31".to_owned(),
                fingerprint,
            }),
        ),
        entry(
            "It does not speak TLS",
            "Plain HTTP, or another service, listens on that port.",
            VERSION,
            unsent(TlsProblem::NotTls),
        ),
        Entry::told(
            "Nothing answers the handshake",
            "`check` says so after some seconds. A pveproxy that hangs does it, and a port that something else forwards to nowhere.",
            MUTE.to_owned(),
        ),
        entry(
            "The handshake breaks off",
            "Something accepts the connection and hangs up: pveproxy that restarts or lets in nobody but `ALLOW_FROM` of \
             `/etc/default/pveproxy`, a firewall that looks into TLS, or the far end of a tunnel that is gone.",
            VERSION,
            unsent(TlsProblem::Closed),
        )
        .mended_by(
            "On the node, `systemctl status pveproxy` and `/etc/default/pveproxy` tell; from here, `openssl s_client \
             -connect pve1.lan:8006` shows whether anybody gets further. `mcp-proxmox check` goes step by step.",
        ),
    ]
}

/// What Proxmox VE says of the token.
fn token(in_part: String) -> Vec<Entry> {
    vec![
        entry(
            "The token is not accepted",
            "Proxmox VE says the same of a wrong secret and of a token that is unknown, disabled or expired.",
            LIST,
            get(401, "no such user ('mcp@pve')"),
        ),
        Entry::told(
            "One node does not accept the token",
            "The node that is asked hands the request on to the one that it is about, which looks at the token again, by \
             its own clock and its own copy of the cluster's files. What other nodes said is in the answer; what this one \
             did not is in `not_available`.",
            in_part,
        )
        .mended_by(
            "Compare the clocks: `get_cluster_health` names nodes whose clock is off, `timedatectl` on a node shows its own. \
             Where they agree, `systemctl status pve-cluster` on that node tells whether it follows the cluster.",
        ),
        entry(
            "The token did not arrive",
            "A proxy in front of Proxmox VE removes the `Authorization` header, or a Mail Gateway answers, which has the same port.",
            LIST,
            get(401, "No ticket"),
        ),
        entry(
            "A privilege is missing",
            "The token's role does not hold it on that path. With privilege separation the token needs the role itself, and so does its user.",
            JOURNAL,
            get(403, "Permission check failed (/nodes/pve1, Sys.Syslog)"),
        ),
    ]
}

/// What is wrong inside the cluster.
fn cluster() -> Vec<Entry> {
    vec![
        entry(
            "The node cannot be reached",
            "The node that was asked cannot reach the other one, or its daemon.",
            "read the state of {100}",
            get(595, "No route to host"),
        ),
        entry(
            "Proxmox VE waits for itself",
            "A node or a storage hangs, such as an NFS server that is gone.",
            "read the configuration of {100}",
            get(596, "Connection timed out"),
        ),
        entry(
            "The node has not answered before",
            "Proxmox VE goes on with a request for half a minute when nobody waits for it any more, and so keeps one of the \
             node's three workers. No more than two are asked of it until then, so that people can still look at it.",
            STATE,
            unsent(UnsentKind::Silent(Silence {
                node: Some("pve1".to_owned()),
                requests: 2,
                waited: Duration::from_secs(14),
            })),
        ),
        entry(
            "There is no quorum",
            "No more than half of the votes are there.",
            "start {web01 (VM 100 on pve1)}",
            refused(
                Method::Post,
                "/nodes/pve1/qemu/100/status/start",
                500,
                "cluster not ready - no quorum?",
            ),
        ),
        entry(
            "The cluster's file system does not answer",
            "pmxcfs is down or restarting on that node.",
            LIST,
            get(
                500,
                "RPCEnvironment init request failed: Unable to load access control list: Connection refused",
            ),
        ),
        entry(
            "The node is not known",
            "Its name is misspelled, or it has left the cluster.",
            "read the journal of {pve9}",
            get(
                500,
                "hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known",
            ),
        ),
        entry(
            "The guest is not there",
            "It was migrated or removed a moment ago.",
            STATE,
            get(500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"),
        ),
        entry(
            "This version does not have it",
            "An older Proxmox VE.",
            "read the state of the SDN zones on {pve1}",
            refused(
                Method::Get,
                "/nodes/pve1/sdn/zones",
                501,
                "Method 'GET /nodes/pve1/sdn/zones' not implemented",
            ),
        ),
    ]
}

/// What becomes of answers.
fn answers() -> Vec<Entry> {
    let lost = |method, path: &str, why| Error::Lost {
        host: "pve1.lan:8006".to_owned(),
        method,
        path: format!("/nodes/pve1/qemu/100/status/{path}"),
        why,
        others: Vec::new(),
    };
    vec![
        entry(
            "A read is not answered in time",
            "The node is overloaded or cut off.",
            STATE,
            lost(Method::Get, "current", LostWhy::TimedOut(Duration::from_secs(35))),
        ),
        entry(
            "The answer to a write is lost",
            "The connection broke after the request was sent. It is never sent a second time. The guest's tasks are looked \
             at to learn what became of it; where they do not tell, the outcome is `unknown`, with this as a note.",
            "start",
            lost(Method::Post, "start", LostWhy::Cut),
        ),
        entry(
            "The answer is too large",
            "More was asked for than fits.",
            JOURNAL,
            Error::TooLarge { path: "/nodes/pve1/journal".to_owned(), limit: 33_554_432 },
        ),
        entry(
            "The answer is empty",
            "Some endpoints of older versions answer so to a parameter that they do not know.",
            JOURNAL,
            Error::Unreadable {
                method: Method::Get,
                path: "/nodes/pve1/journal".to_owned(),
                why: UnreadableWhy::Empty,
            },
        ),
    ]
}
