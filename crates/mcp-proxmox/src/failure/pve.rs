//! Failures of requests to PVE, in words that name the next step.

use pve_client::{Error, Method, Refusal, RefusalKind, TlsProblem, Unsent, UnsentKind};

use super::Failure;
use crate::answer::clean::{label, paragraph, sentence};

impl Failure {
    /// The failure of a request. `asked` completes "could not …".
    pub fn from_pve(asked: &str, error: &Error) -> Self {
        let failure = Self::new(format!("could not {asked}: {}", happened(error)));
        match advice(error) {
            Some(advice) => failure.hint(advice),
            None => failure,
        }
    }
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
        .map(|(name, text)| format!("`{}`: {}", label(name), sentence(text)));
    told.collect::<Vec<_>>().join("; ")
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
    }
}

fn advice(error: &Error) -> Option<String> {
    let advice = match error {
        Error::Unsent(unsent) => return unsent_advice(unsent),
        Error::Lost { method: Method::Get, .. } => {
            "the node may be overloaded or cut off: list_nodes tells how the nodes are; ask again later"
        }
        Error::Lost { .. } => {
            "it may have been carried out: read the guest's state and its newest task before anything else"
        }
        Error::Refused(refusal) => return refusal_advice(refusal),
        Error::Foreign { .. } => {
            "only the user can mend this: PVE_HOST must lead to a Proxmox VE node (port 8006), and a proxy in between must pass requests on unchanged"
        }
        Error::TooLarge { .. } => "ask for less: a shorter time, fewer lines, one node",
        // An empty answer to a question that an older version does not understand.
        _ => {
            "this may be a version of PVE that answers otherwise, or not PVE at all: `mcp-proxmox check` tells"
        }
    };
    Some(advice.to_owned())
}

fn unsent_advice(unsent: &Unsent) -> Option<String> {
    let advice = match &unsent.kind {
        UnsentKind::DeadlineOver => "too much was asked at once, or a node hangs: ask for less",
        UnsentKind::Tls(problem) => tls_advice(problem),
        _ => {
            "only the user can mend this: is the host up, and are PVE_HOST and PVE_PORT right? `mcp-proxmox check` shows it step by step"
        }
    };
    Some(advice.to_owned())
}

/// The ways to trust a certificate, the safest first.
fn tls_advice(problem: &TlsProblem) -> &'static str {
    match problem {
        TlsProblem::UnknownIssuer { .. } => {
            "only the user can mend this: set PVE_TLS_CA_FILE to a copy of that authority's file, or PVE_TLS_FINGERPRINT to the \
             fingerprint after comparing it on the node; PVE_TLS_REJECT_UNAUTHORIZED=false trusts anybody on the way"
        }
        TlsProblem::WrongName { .. } => {
            "only the user can mend this: set PVE_HOST to one of these names, or PVE_TLS_SERVER_NAME to the one to verify, or pin \
             the certificate with PVE_TLS_FINGERPRINT"
        }
        TlsProblem::NotPinned { .. } => {
            "only the user can mend this: if the node's certificate was renewed, compare the fingerprint there and set \
             PVE_TLS_FINGERPRINT; if it was not, somebody may be in between"
        }
        TlsProblem::AuthorityAsServer { .. } | TlsProblem::UnusableCertificate { .. } => {
            "only the user can mend this: set PVE_TLS_FINGERPRINT to the fingerprint after comparing it on the node"
        }
        TlsProblem::Expired { .. } | TlsProblem::NotYetValid { .. } => {
            "only an administrator can mend this: `pvecm updatecerts --force` on the node renews its certificate; check the clocks first"
        }
        _ => {
            "only the user can mend this: are PVE_HOST and PVE_PORT right? `mcp-proxmox check` shows it step by step"
        }
    }
}

fn refusal_advice(refusal: &Refusal) -> Option<String> {
    let advice = match refusal.kind() {
        RefusalKind::NoTicket => {
            "a proxy in between removes the Authorization header; only the user can mend that"
        }
        RefusalKind::Unauthenticated => {
            "PVE does not tell whether the secret is wrong, or the token unknown, disabled or expired; only the user can mend PVE_TOKEN_ID and PVE_TOKEN_SECRET. Do not try again before"
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
        _ => return None,
    };
    Some(advice.to_owned())
}

fn forbidden_advice(path: Option<&str>, privileges: &[String]) -> String {
    let grant = match (path, privileges.first()) {
        (Some(path), Some(_)) => {
            format!(
                "its owner can give the token a role with it, such as `pveum acl modify {} --tokens 'USER@REALM!TOKEN' --roles PVEAuditor`",
                label(path)
            )
        }
        _ => "its owner can give the token a role that holds it".to_owned(),
    };
    format!(
        "{grant}; with privilege separation the user needs the role too. Just granted? It takes some seconds"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_is_longer_than_a_hundred_words() {
        for advice in [forbidden_advice(Some("/vms/100"), &["VM.Audit".to_owned()])] {
            assert!(advice.split(' ').count() < 60, "{advice}");
        }
    }
}
