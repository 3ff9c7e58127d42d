//! Failures of requests to PVE, in words that name the next step.

use std::net::IpAddr;

use pve_client::{Error, LostWhy, Method, Refusal, RefusalKind, Unsent, UnsentKind};

use super::{Failure, tls};
use crate::{
    answer::clean::{label, paragraph, quoted, sentence},
    rights::grant,
};

impl Failure {
    /// The failure of a request. `asked` completes "could not …".
    pub fn from_pve(asked: &str, error: &Error) -> Self {
        let failure = Self::new(format!("could not {asked}: {}", happened(error)));
        let kind = error.refusal().map(Refusal::kind);
        let is_missing = matches!(kind, Some(RefusalKind::UnknownNode | RefusalKind::NoSuchGuest));
        let failure = if is_missing { failure.missing() } else { failure };
        match advice(error) {
            Some(advice) => failure.hint(advice),
            None => failure,
        }
    }

    /// Why a request for a part of an answer failed, without what was asked: short, and the same for all
    /// nodes that do not answer, so that it can be told once.
    pub fn reason(error: &Error) -> String {
        if is_silence(error) {
            return SILENT.to_owned();
        }
        Self::of_part("ask", error).reason_of("ask").to_owned()
    }

    /// The failure of a part of an answer, other parts of which PVE gave to the same token.
    pub fn of_part(asked: &str, error: &Error) -> Self {
        let failure = Self::from_pve(asked, error);
        match error.refusal().map(Refusal::kind) {
            Some(RefusalKind::Unauthenticated) => Self::new(format!(
                "{}; other nodes accept it, so the clocks of the nodes may differ",
                failure.what()
            )),
            _ => failure,
        }
    }
}

/// What is said of whoever does not answer, whatever the number of seconds was.
pub const SILENT: &str = "no answer in time";

/// Whether the time was over before an answer came.
pub fn is_silence(error: &Error) -> bool {
    match error {
        Error::Lost { why: LostWhy::TimedOut(_), .. } => true,
        Error::Unsent(unsent) => {
            matches!(
                unsent.kind,
                UnsentKind::DeadlineOver | UnsentKind::ConnectTimedOut(_) | UnsentKind::Silent(_)
            )
        }
        _ => false,
    }
}

/// The request was a write, and nobody knows whether it was carried out.
fn is_lost_write(error: &Error) -> bool {
    let is_write = match error {
        Error::Lost { method, .. }
        | Error::Foreign { method, .. }
        | Error::Unreadable { method, .. } => *method == Method::Post,
        Error::Refused(refusal) => refusal.method == Method::Post,
        _ => false,
    };
    // Where the node could not even be reached, nothing was carried out.
    let is_unreached =
        error.refusal().is_some_and(|refusal| refusal.kind() == RefusalKind::NodeUnreachable);
    is_write && !is_unreached && error.may_have_taken_effect()
}

fn happened(error: &Error) -> String {
    match error {
        Error::Refused(refusal) => refused(refusal),
        other => paragraph(&other.to_string()),
    }
}

fn refused(refusal: &Refusal) -> String {
    let said = sentence(&refusal.message);
    match refusal.kind() {
        RefusalKind::NoTicket => "PVE saw no token in the request (401 No ticket)".to_owned(),
        RefusalKind::Unauthenticated => format!("PVE did not accept the API token (401 {said})"),
        RefusalKind::ConsoleTicket => {
            "PVE no longer took the ticket that it had given for this console (401)".to_owned()
        }
        RefusalKind::Forbidden { path: Some(path), privileges } => {
            let privileges =
                privileges.iter().map(|name| label(name)).collect::<Vec<_>>().join(" or ");
            format!("the API token lacks the privilege {privileges} on {} (403)", label(&path))
        }
        RefusalKind::BadParameters => {
            format!("PVE refused the parameters (400): {}", parameters(refusal))
        }
        RefusalKind::NodeUnreachable => {
            format!("the node, or PVE's service on it, cannot be reached (595 {said})")
        }
        RefusalKind::InternalTimeout => {
            format!("PVE waited 30 s for its own answer and gave up (596 {said})")
        }
        RefusalKind::OutcomeUnknown => {
            format!("a connection inside the cluster broke (599 {said})")
        }
        RefusalKind::NotImplemented => {
            format!(
                "this PVE does not have {} {} (501)",
                method(refusal.method),
                label(&refusal.path)
            )
        }
        RefusalKind::NoQuorum => format!("the cluster has no quorum ({} {said})", refusal.status),
        RefusalKind::ClusterFilesystemDown => {
            format!("PVE's cluster file system does not answer ({} {said})", refusal.status)
        }
        RefusalKind::NoSuchGuest => format!(
            "the guest is not on that node, or of the other kind ({} {said})",
            refusal.status
        ),
        RefusalKind::UnknownNode => format!("there is no such node ({} {said})", refusal.status),
        _ => format!("PVE refused ({} {said})", refusal.status),
    }
}

fn parameters(refusal: &Refusal) -> String {
    if refusal.errors.is_empty() {
        return sentence(&refusal.message);
    }
    let told = refusal
        .errors
        .iter()
        .take(5)
        .map(|(name, text)| format!("{}: {}", quoted(name), sentence(text)));
    told.collect::<Vec<_>>().join("; ")
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
    }
}

fn advice(error: &Error) -> Option<String> {
    if is_lost_write(error) {
        let advice = "it may have been carried out: read the guest's state and its newest task before anything else";
        return Some(advice.to_owned());
    }
    let advice = match error {
        Error::Unsent(unsent) => unsent_advice(unsent),
        Error::Lost { why: LostWhy::NotHttp, .. } | Error::Foreign { .. } => NOT_PVE,
        Error::Lost { .. } => {
            "the node may be overloaded or cut off: list_nodes tells how the nodes are; ask again later"
        }
        Error::Refused(refusal) => return refusal_advice(refusal),
        Error::TooLarge { path, .. } if path == VERSION => NOT_PVE,
        Error::TooLarge { .. } => "ask for less: a shorter time, fewer lines, one node",
        // An empty answer to a question that an older version does not understand.
        _ => {
            "this may be a version of PVE that answers otherwise, or not PVE at all: `mcp-proxmox check` tells"
        }
    };
    Some(advice.to_owned())
}

/// What is said where something else than PVE seems to answer.
const NOT_PVE: &str = "only the user can mend this: PVE_HOST must lead to a Proxmox VE node (port 8006), and a proxy in between must pass requests on unchanged";

/// A short answer, which needs no privilege.
const VERSION: &str = "/version";

fn unsent_advice(unsent: &Unsent) -> &'static str {
    // Of several hosts, the one with a certificate to look at is the one that something can be done about.
    let is_tls = |kind: &&UnsentKind| matches!(kind, UnsentKind::Tls(_));
    match unsent.kinds().find(is_tls).unwrap_or(&unsent.kind) {
        UnsentKind::DeadlineOver | UnsentKind::NoPlace(_) => {
            "too much was asked at once, or a node hangs: ask for less"
        }
        UnsentKind::Silent(_) => {
            "the node may be overloaded or cut off: list_nodes tells how the nodes are; ask again in half a minute"
        }
        UnsentKind::Tls(problem) => tls::advice(problem),
        UnsentKind::NotResolved => {
            "only the user can mend this: is PVE_HOST spelt as this machine's name server knows it? An IP address of the node works too, and its \
             own certificate names it; `mcp-proxmox check` shows it step by step"
        }
        _ if is_refused_by_this_machine(unsent) => {
            "only the user can mend this: PVE_HOST is this machine itself (where a tunnel may be down), and within a container that \
             container; name the node as it is reached from there. What runs around a container is `host.docker.internal` in Docker Desktop, and \
             elsewhere with `--network host`; `mcp-proxmox check` shows it step by step"
        }
        _ if !unsent.others.is_empty() => {
            "only the user can mend this: is one of these hosts up, and are PVE_HOST and PVE_PORT right? `mcp-proxmox check` shows each"
        }
        _ => {
            "only the user can mend this: is the host up, and are PVE_HOST and PVE_PORT right? `mcp-proxmox check` shows it step by step"
        }
    }
}

/// Whether nothing listens at an address that means another machine wherever it is used.
fn is_refused_by_this_machine(unsent: &Unsent) -> bool {
    let hosts = unsent.others.iter().map(|other| &other.host).chain([&unsent.host]);
    unsent.kinds().any(|kind| *kind == UnsentKind::Refused)
        && hosts.map(String::as_str).any(is_this_machine)
}

/// Whether `127.0.0.1:8006`, `[::1]:8006` or `localhost:8006/pve` stands for whoever uses it.
fn is_this_machine(host: &str) -> bool {
    let authority = host.split('/').next().unwrap_or_default();
    let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn refusal_advice(refusal: &Refusal) -> Option<String> {
    let advice = match refusal.kind() {
        RefusalKind::NoTicket => {
            "a proxy in between removes the Authorization header, or this is a Proxmox Mail Gateway, which looks for another one; only the user can mend that"
        }
        RefusalKind::Unauthenticated => {
            "PVE does not tell whether the secret is wrong, or the token unknown, disabled or expired; only the user can mend PVE_TOKEN_ID and the secret (PVE_TOKEN_SECRET, or the file of PVE_TOKEN_SECRET_FILE). Do not try again before"
        }
        RefusalKind::ConsoleTicket => {
            "it is good for some seconds, so PVE or the way to it may be slow: try again"
        }
        // Whoever has a valid token may read the version; a PVE that refuses it names what is missing.
        RefusalKind::Forbidden { path: None, .. } if refusal.path == VERSION => {
            "PVE tells its version to every token that it accepts, so something in front of it refused (a proxy, or a filter of addresses); only the user can mend that"
        }
        RefusalKind::Forbidden { path, privileges } => {
            return Some(forbidden_advice(path.as_deref(), &privileges));
        }
        RefusalKind::NodeUnreachable => {
            "list_nodes tells which nodes are online; if this one is, pvedaemon on it may be down: an administrator can look with `systemctl status pvedaemon`"
        }
        RefusalKind::InternalTimeout | RefusalKind::OutcomeUnknown | RefusalKind::Other
            if refusal.method == Method::Post && (596..=599).contains(&refusal.status) =>
        {
            "it may have been carried out: read the guest's state and its newest task before anything else"
        }
        RefusalKind::InternalTimeout => {
            "a node or a storage hangs; ask for less, or for another node"
        }
        RefusalKind::OutcomeUnknown => {
            "it may have been carried out: read the state and the newest task before anything else"
        }
        RefusalKind::NoQuorum => {
            "guests keep running; nothing can be started or changed until enough nodes are back (list_nodes)"
        }
        RefusalKind::ClusterFilesystemDown => {
            "pmxcfs on that node is down or restarting: try again in a minute; if it stays, an administrator has to look at `systemctl status pve-cluster`"
        }
        RefusalKind::NoSuchGuest => {
            "it may just have been migrated or removed: list_vms tells where it is"
        }
        RefusalKind::UnknownNode => "list_nodes shows the nodes",
        RefusalKind::NotImplemented => {
            "a newer PVE may have it; `mcp-proxmox check` shows the version"
        }
        RefusalKind::Other if refusal.status == 404 => {
            "only the user can mend this: what answers does not have the API there; where PVE_HOST holds a path (`host/path`), leave it out, unless a proxy serves PVE under it"
        }
        _ => return None,
    };
    Some(advice.to_owned())
}

fn forbidden_advice(path: Option<&str>, privileges: &[String]) -> String {
    let grant = match (path, privileges.first()) {
        (Some(path), Some(privilege)) => grant::advice(privilege, path),
        _ => grant::SOME_ROLE.to_owned(),
    };
    format!("{grant}. Just granted? It takes some seconds")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, time::Duration};

    use pve_client::{Fingerprint, TlsProblem};

    use super::*;

    fn refusal(status: u16, message: &str) -> Error {
        let errors = BTreeMap::from([("limit".to_owned(), "type check failed".to_owned())]);
        Error::Refused(Refusal {
            status,
            reason: message.to_owned(),
            message: message.to_owned(),
            errors,
            path: "/nodes/pve1/status".to_owned(),
            method: Method::Get,
        })
    }

    fn unsent(kind: UnsentKind) -> Error {
        Error::Unsent(Unsent { host: "pve.lan:8006".to_owned(), kind, others: Vec::new() })
    }

    fn every_kind() -> Vec<Error> {
        let fingerprint: Fingerprint = "ab".repeat(32).parse().unwrap();
        let lost = |method| Error::Lost {
            host: "pve.lan:8006".to_owned(),
            method,
            path: "/version".to_owned(),
            why: LostWhy::TimedOut(Duration::from_secs(35)),
            others: Vec::new(),
        };
        vec![
            refusal(401, "No ticket"),
            refusal(401, "Authentication failed!"),
            refusal(403, "Permission check failed (/vms/100, VM.Audit|VM.Monitor)"),
            refusal(400, "Parameter verification failed."),
            refusal(500, "Configuration file 'nodes/pve1/qemu-server/9.conf' does not exist"),
            refusal(500, "hostname lookup 'nope' failed - failed to get address info"),
            refusal(500, "cluster not ready - no quorum?"),
            refusal(500, "RPCEnvironment init request failed: Connection refused"),
            refusal(501, "Method 'GET /x' not implemented"),
            refusal(595, "No route to host"),
            refusal(596, "Connection timed out"),
            refusal(599, "Too many redirections"),
            refusal(500, &"very long ".repeat(1000)),
            lost(Method::Get),
            lost(Method::Post),
            unsent(UnsentKind::Refused),
            unsent(UnsentKind::DeadlineOver),
            unsent(
                TlsProblem::UnknownIssuer {
                    issuer: "PVE Cluster Manager CA".to_owned(),
                    is_self_signed: false,
                    given: Vec::new(),
                    fingerprint,
                }
                .into(),
            ),
            unsent(
                TlsProblem::NotPinned { expected: vec![fingerprint], presented: fingerprint }
                    .into(),
            ),
        ]
    }

    #[test]
    fn every_failure_says_what_was_asked_and_what_to_do_in_a_hundred_words() {
        for error in every_kind() {
            let told = Failure::from_pve("read the state of 100", &error).to_string();
            assert!(told.starts_with("could not read the state of 100: "), "{told}");
            let n_words = told.split_whitespace().count();
            assert!(n_words <= 120, "{n_words} words: {told}");
            let is_hopeless = matches!(&error, Error::Refused(refusal) if matches!(refusal.kind(), RefusalKind::Other | RefusalKind::BadParameters));
            assert!(is_hopeless || told.contains("\n\nhint: "), "no advice: {told}");
            for type_name in ["Refusal", "Error::", "Unsent", "TlsProblem", "Some("] {
                assert!(!told.contains(type_name), "{told}");
            }
        }
    }

    #[test]
    fn what_is_not_pve_is_told_as_that_and_not_as_a_busy_node_or_a_missing_role() {
        let forbidden = |path: &str, message: &str| {
            let Error::Refused(refusal) = refusal(403, message) else { unreachable!() };
            Error::Refused(Refusal { path: path.to_owned(), ..refusal })
        };
        let told = |error| Failure::from_pve("ask", &error).advice().unwrap_or_default().to_owned();
        let too_large = |path: &str| Error::TooLarge { path: path.to_owned(), limit: 64 };
        let not_http = Error::Lost {
            host: "pve.lan:8006".to_owned(),
            method: Method::Get,
            path: "/version".to_owned(),
            why: LostWhy::NotHttp,
            others: Vec::new(),
        };
        assert_eq!(told(not_http), NOT_PVE);
        assert_eq!(told(too_large("/version")), NOT_PVE);
        assert!(told(too_large("/nodes/pve1/tasks")).starts_with("ask for less"));
        assert!(told(forbidden("/version", "Forbidden")).contains("in front of it refused"));
        assert!(told(forbidden("/nodes/pve1/status", "Forbidden")).contains("PVEAuditor"));
    }

    #[test]
    fn nobody_is_sent_from_check_to_check_and_advice_stays_advice() {
        let mut n_shortened = 0;
        for error in every_kind() {
            let failure = Failure::from_pve("ask", &error);
            let told = failure.clone().for_person().to_string();
            let within = failure.within_check().to_string();
            assert!(!within.contains("mcp-proxmox check"), "{within}");
            assert!(told.starts_with(&within), "{told}");
            assert_eq!(told.contains("hint: "), within.contains("hint: "), "{within}");
            n_shortened += usize::from(told != within);
        }
        assert!(n_shortened > 0, "no error of these points to it");
    }

    #[test]
    fn who_names_this_machine_is_told_what_that_is_in_a_container() {
        let told = |host: &str, kind| {
            let host = host.to_owned();
            let error = Error::Unsent(Unsent { host, kind, others: Vec::new() });
            Failure::from_pve("ask", &error).to_string().contains("within a container")
        };
        for host in ["127.0.0.1:8006", "localhost:8006", "[::1]:8006", "127.1.2.3:443/pve"] {
            assert!(told(host, UnsentKind::Refused), "{host}");
            assert!(!told(host, UnsentKind::NotResolved), "{host}");
        }
        for host in ["pve.lan:8006", "192.0.2.1:8006", "[fd00::1]:8006", "localhost.lan:8006"] {
            assert!(!told(host, UnsentKind::Refused), "{host}");
        }
    }

    #[test]
    fn a_reason_is_short_and_names_no_node_where_it_is_only_silence() {
        let lost = Error::Lost {
            host: "pve.lan:8006".to_owned(),
            method: Method::Get,
            path: "/nodes/pve7/status".to_owned(),
            why: LostWhy::TimedOut(Duration::from_secs(6)),
            others: Vec::new(),
        };
        assert_eq!(Failure::reason(&lost), SILENT);
        assert_eq!(Failure::reason(&unsent(UnsentKind::DeadlineOver)), SILENT);
        let refused = refusal(403, "Permission check failed (/vms/100, VM.Audit)");
        assert_eq!(
            Failure::reason(&refused),
            "the API token lacks the privilege VM.Audit on /vms/100 (403)"
        );
    }

    #[test]
    fn a_missing_privilege_is_named_with_its_path_and_how_to_grant_it() {
        let error = refusal(403, "Permission check failed (/vms/100, VM.Audit)");
        let told = Failure::from_pve("read it", &error).to_string();
        assert!(told.contains("lacks the privilege VM.Audit on /vms/100"), "{told}");
        assert!(
            told.contains("`pveum acl modify /vms/100 --users 'USER@REALM' --tokens "),
            "{told}"
        );
    }
}
