//! The failures that the page on troubleshooting tells of: every kind that a user meets.

use std::{collections::BTreeMap, time::Duration};

use pve_client::{
    Error, Fingerprint, LostWhy, Method, Refusal, TlsProblem, UnreadableWhy, Unsent, UnsentKind,
};

/// What can be met: what it is called, why it happens, the failure itself.
pub(super) struct Entry {
    pub(super) title: &'static str,
    pub(super) why: &'static str,
    pub(super) error: Error,
}

fn entry(title: &'static str, why: &'static str, error: impl Into<Error>) -> Entry {
    Entry { title, why, error: error.into() }
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
pub(super) fn catalogue() -> [(&'static str, Vec<Entry>); 5] {
    [
        ("The way there", way_there()),
        ("TLS", tls()),
        ("The token", token()),
        ("The cluster", cluster()),
        ("Answers that are lost or unreadable", answers()),
    ]
}

fn get(status: u16, message: &str) -> Refusal {
    refused(Method::Get, "/nodes/pve1/status", status, message)
}

/// What keeps a request from leaving.
fn way_there() -> Vec<Entry> {
    vec![
        entry(
            "The name is not known",
            "`PVE_HOST` is misspelled, or this machine asks another name server than yours.",
            unsent(UnsentKind::NotResolved),
        ),
        entry(
            "The connection is refused",
            "The host is up and nothing listens on the port: another port, or pveproxy is down.",
            unsent(UnsentKind::Refused),
        ),
        entry(
            "Nobody answers",
            "The host is off, or a firewall drops the packets. In a container: its network does not reach the host.",
            unsent(UnsentKind::ConnectTimedOut(Duration::from_secs(10))),
        ),
        entry(
            "There is no route",
            "This machine is in another network, or a VPN is down.",
            unsent(UnsentKind::Unreachable),
        ),
        entry(
            "Something else answers",
            "A proxy, a login page or another program stands where the API should be.",
            Error::Foreign {
                host: "pve1.lan:443".to_owned(),
                method: Method::Get,
                path: "/version".to_owned(),
                status: 302,
                content_type: Some("text/html".to_owned()),
                redirect_to: Some("login.lan".to_owned()),
            },
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
            unsent(TlsProblem::UnknownIssuer {
                issuer: "OU=…, O=PVE Cluster Manager CA".to_owned(),
                is_self_signed: false,
                given: vec!["O=Example, CN=Example CA".to_owned()],
                fingerprint,
            }),
        ),
        entry(
            "The certificate is for another name",
            "`PVE_HOST` is an address or an alias that the certificate does not name.",
            unsent(TlsProblem::WrongName {
                asked: "192.0.2.7".to_owned(),
                names: vec!["pve1".to_owned(), "pve1.lan".to_owned()],
                fingerprint,
            }),
        ),
        entry(
            "Another certificate than the pinned one",
            "The node's certificate was renewed, another node answered, or somebody is in between.",
            unsent(TlsProblem::NotPinned { expected: vec![other], presented: fingerprint }),
        ),
        entry(
            "The certificate has expired",
            "It was not renewed, or a clock is wrong.",
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
            unsent(TlsProblem::NotTls),
        ),
    ]
}

/// What Proxmox VE says of the token.
fn token() -> Vec<Entry> {
    vec![
        entry(
            "The token is not accepted",
            "Proxmox VE says the same of a wrong secret and of a token that is unknown, disabled or expired.",
            get(401, "no such user ('mcp@pve')"),
        ),
        entry(
            "The token did not arrive",
            "A proxy in front of Proxmox VE removes the `Authorization` header.",
            get(401, "No ticket"),
        ),
        entry(
            "A privilege is missing",
            "The token's role does not hold it on that path. With privilege separation the token needs the role itself, and so does its user.",
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
            get(595, "No route to host"),
        ),
        entry(
            "Proxmox VE waits for itself",
            "A node or a storage hangs, such as an NFS server that is gone.",
            get(596, "Connection timed out"),
        ),
        entry(
            "There is no quorum",
            "No more than half of the votes are there.",
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
            get(
                500,
                "RPCEnvironment init request failed: Unable to load access control list: Connection refused",
            ),
        ),
        entry(
            "The node is not known",
            "Its name is misspelled, or it has left the cluster.",
            get(
                500,
                "hostname lookup 'pve9' failed - failed to get address info for: pve9: Name or service not known",
            ),
        ),
        entry(
            "The guest is not there",
            "It was migrated or removed a moment ago.",
            get(500, "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist"),
        ),
        entry(
            "This version does not have it",
            "An older Proxmox VE.",
            get(501, "Method 'GET /nodes/pve1/x' not implemented"),
        ),
    ]
}

/// What becomes of answers.
fn answers() -> Vec<Entry> {
    let lost = |method, why| Error::Lost {
        host: "pve1.lan:8006".to_owned(),
        method,
        path: "/nodes/pve1/qemu/100/status/start".to_owned(),
        why,
        others: Vec::new(),
    };
    vec![
        entry(
            "A read is not answered in time",
            "The node is overloaded or cut off.",
            lost(Method::Get, LostWhy::TimedOut(Duration::from_secs(35))),
        ),
        entry(
            "The answer to a write is lost",
            "The connection broke after the request was sent. It is never sent a second time.",
            lost(Method::Post, LostWhy::Cut),
        ),
        entry(
            "The answer is too large",
            "More was asked for than fits.",
            Error::TooLarge { path: "/nodes/pve1/journal".to_owned(), limit: 33_554_432 },
        ),
        entry(
            "The answer is empty",
            "Some endpoints of older versions answer so to a parameter that they do not know.",
            Error::Unreadable {
                method: Method::Get,
                path: "/nodes/pve1/journal".to_owned(),
                why: UnreadableWhy::Empty,
            },
        ),
    ]
}
