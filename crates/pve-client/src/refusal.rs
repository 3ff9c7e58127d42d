//! What Proxmox VE said when it refused.
//!
//! The text is in `message` since about PVE 8.4, and only in the reason phrase of the status line
//! before that; for 401, 595 and 596 the body is empty in all versions (recorded from PVE 9.2.11).

use std::{collections::BTreeMap, fmt};

use serde::Deserialize;

use crate::{Method, perl};

/// An answer with a status of 400 or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status, or one of Proxmox VE's own beyond 590.
    pub status: u16,
    /// The reason phrase of the status line: the first line of the message.
    pub reason: String,
    /// The message. It may have several lines.
    pub message: String,
    /// What is wrong with which parameter.
    pub errors: BTreeMap<String, String>,
    /// Below `/api2/json`, without the query.
    pub path: String,
    /// What was asked.
    pub method: Method,
}

/// The refusals that a caller treats differently.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The `Authorization` header did not arrive: something in between removed it.
    NoTicket,
    /// The token was not accepted. Proxmox VE does not tell whether its secret is wrong, it does not
    /// exist, or it has expired or been disabled.
    Unauthenticated,
    /// The ticket for a console was not taken: it is too old, or was given for another one.
    ConsoleTicket,
    /// The token lacks a privilege.
    Forbidden {
        /// What the privilege is needed for, such as `/vms/100`.
        path: Option<String>,
        /// Any one of these would do.
        privileges: Vec<String>,
    },
    /// A parameter is wrong, or not known to this version; see [`Refusal::errors`].
    BadParameters,
    /// There is no such guest on that node, or it is of the other kind.
    NoSuchGuest,
    /// There is no such node.
    UnknownNode,
    /// The node, or the daemon that would answer, cannot be reached from the node that was asked.
    NodeUnreachable,
    /// Proxmox VE gave up on its own answer, mostly after 30 s; the work may go on.
    InternalTimeout,
    /// A connection inside the cluster broke. A write may have been carried out.
    OutcomeUnknown,
    /// This version does not know the call.
    NotImplemented,
    /// The cluster has no quorum, so that nothing can be changed.
    NoQuorum,
    /// The cluster's file system is down on that node, and nothing works there.
    ClusterFilesystemDown,
    /// Anything else: the message says it.
    Other,
}

/// The body of a refusal, any part of which may be missing.
#[derive(Default, Deserialize)]
struct Body {
    #[serde(default, deserialize_with = "perl::field")]
    message: Option<String>,
    #[serde(default, deserialize_with = "perl::field")]
    errors: BTreeMap<String, String>,
}

impl Refusal {
    /// Puts together what the status line and the body say.
    pub(crate) fn read(
        method: Method,
        path: &str,
        status: u16,
        reason: Option<String>,
        body: &[u8],
    ) -> Self {
        let reason = reason.unwrap_or_default();
        let body: Body = serde_json::from_slice(body).unwrap_or_default();
        let said = |text: &str| {
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let message = body
            .message
            .as_deref()
            .and_then(said)
            .or_else(|| said(&reason))
            .unwrap_or_else(|| fixed(status).to_owned());
        let errors =
            body.errors.into_iter().map(|(name, text)| (name, text.trim().to_owned())).collect();
        Self { status, reason, message, errors, path: path.to_owned(), method }
    }

    /// What kind of refusal it is.
    pub fn kind(&self) -> RefusalKind {
        let message = self.message.as_str();
        match self.status {
            401 if message == "No ticket" => RefusalKind::NoTicket,
            401 if message.contains("PVEVNC ticket") => RefusalKind::ConsoleTicket,
            401 => RefusalKind::Unauthenticated,
            403 => forbidden(message),
            501 => RefusalKind::NotImplemented,
            595 => RefusalKind::NodeUnreachable,
            596 => RefusalKind::InternalTimeout,
            599 => RefusalKind::OutcomeUnknown,
            _ if message.starts_with("RPCEnvironment init request failed") => {
                RefusalKind::ClusterFilesystemDown
            }
            _ if is_no_quorum(message) => RefusalKind::NoQuorum,
            _ if message.starts_with("Configuration file 'nodes/")
                && message.contains(".conf' does not exist") =>
            {
                RefusalKind::NoSuchGuest
            }
            _ if message.starts_with("hostname lookup '") => RefusalKind::UnknownNode,
            400 => RefusalKind::BadParameters,
            _ => RefusalKind::Other,
        }
    }
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, path, status, message, .. } = self;
        write!(f, "proxmox ve refused `{method} {path}` ({status}): {message}")?;
        let mut separator = " ";
        for (name, text) in &self.errors {
            write!(f, "{separator}`{name}`: {text}")?;
            separator = "; ";
        }
        match self.kind() {
            RefusalKind::NoTicket => f.write_str(
                "; the authorization header did not arrive, so a proxy in between may remove it",
            ),
            RefusalKind::Unauthenticated => f.write_str(
                "; the user, the token's name or its secret is wrong, or it has expired or is \
                 disabled",
            ),
            RefusalKind::ConsoleTicket => {
                f.write_str("; a ticket opens one console, once and within seconds")
            }
            _ => Ok(()),
        }
    }
}

/// `Permission check failed (/vms/100, VM.Audit|VM.GuestAgent.Unrestricted)`, and other texts that
/// name neither path nor privilege.
fn forbidden(message: &str) -> RefusalKind {
    let inside = message
        .lines()
        .next()
        .and_then(|line| line.split_once("Permission check failed ("))
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    let parts = inside.and_then(|inside| inside.split_once(", "));
    match parts {
        Some((path, privileges)) if is_path(path) => RefusalKind::Forbidden {
            path: Some(path.to_owned()),
            privileges: privileges
                .split(['|', ',', ' '])
                .filter(|privilege| is_privilege(privilege))
                .take(PRIVILEGES)
                .map(str::to_owned)
                .collect(),
        },
        _ => RefusalKind::Forbidden { path: None, privileges: Vec::new() },
    }
}

/// The most privileges of which one would do. PVE names three at most.
const PRIVILEGES: usize = 6;

/// Whether it is a path of PVE's access control. Others go into no command that somebody may repeat.
fn is_path(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"/_.-@:+".contains(&byte);
    text.starts_with('/') && text.len() <= 200 && text.bytes().all(is_part)
}

fn is_privilege(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=60).contains(&text.len()) && text.bytes().all(is_part)
}

/// Actions say so. A configuration that cannot be written only says that its file cannot, since the
/// cluster's file system is read-only then (recorded from PVE 9.2.11).
fn is_no_quorum(message: &str) -> bool {
    message.contains("no quorum")
        || (message.starts_with("unable to open file '/etc/pve/")
            && message.ends_with("Permission denied"))
}

/// For the rare answer that says nothing itself, as behind a proxy that drops the reason phrase.
fn fixed(status: u16) -> &'static str {
    match status {
        400 => "the parameters were not accepted",
        401 => "the token was not accepted",
        403 => "the token lacks a privilege",
        404 => "there is no such thing",
        500 => "the server failed and did not say why",
        501 => "the call is not implemented",
        595 => "the node could not be reached",
        596 => "the node did not answer within 30 s",
        599 => "the connection inside the cluster broke",
        _ => "no reason was given",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(status: u16, reason: &str, body: &str) -> Refusal {
        let reason = Some(reason.to_owned()).filter(|reason| !reason.is_empty());
        Refusal::read(Method::Get, "/p", status, reason, body.as_bytes())
    }

    fn kind(status: u16, message: &str) -> RefusalKind {
        refusal(status, message, "").kind()
    }

    #[test]
    fn the_message_wins_over_the_reason_and_loses_its_newline() {
        let read = refusal(500, "first line", r#"{"data":null,"message":"first line\nsecond\n"}"#);
        assert_eq!(read.message, "first line\nsecond");
        assert_eq!(read.reason, "first line");
    }

    #[test]
    fn a_ticket_that_is_not_taken_says_nothing_of_the_token() {
        let said = "permission denied - invalid PVEVNC ticket";
        assert_eq!(kind(401, said), RefusalKind::ConsoleTicket);
        let shown = refusal(401, said, "").to_string();
        assert!(shown.ends_with("once and within seconds"), "{shown}");
        assert_eq!(kind(401, "Authentication failed!"), RefusalKind::Unauthenticated);
    }

    #[test]
    fn older_versions_say_it_in_the_reason_only() {
        let read = refusal(500, "storage 'nfs1' is disabled", r#"{"data":null}"#);
        assert_eq!(read.message, "storage 'nfs1' is disabled");
        assert_eq!(refusal(596, "", "").message, "the node did not answer within 30 s");
        assert_eq!(refusal(500, "x", "not json at line 934.").message, "x");
    }

    #[test]
    fn the_errors_of_parameters_are_shown_with_their_names() {
        let read = refusal(
            400,
            "Parameter verification failed.",
            r#"{"message":"Parameter verification failed.\n","data":null,"errors":{
                "timeout":"value must have a minimum value of 0\n",
                "forceStop":"type check ('boolean') failed - got 'maybe'"}}"#,
        );
        assert_eq!(read.kind(), RefusalKind::BadParameters);
        assert_eq!(
            read.to_string(),
            "proxmox ve refused `GET /p` (400): Parameter verification failed. `forceStop`: type \
             check ('boolean') failed - got 'maybe'; `timeout`: value must have a minimum value of 0"
        );
    }

    #[test]
    fn a_missing_privilege_is_named_with_its_path() {
        assert_eq!(
            kind(403, "Permission check failed (/vms/100, VM.Audit|VM.GuestAgent.Unrestricted)"),
            RefusalKind::Forbidden {
                path: Some("/vms/100".to_owned()),
                privileges: vec!["VM.Audit".to_owned(), "VM.GuestAgent.Unrestricted".to_owned()],
            }
        );
        assert_eq!(
            kind(403, "Permission check failed (/, Sys.Audit)"),
            RefusalKind::Forbidden {
                path: Some("/".to_owned()),
                privileges: vec!["Sys.Audit".to_owned()]
            }
        );
        for text in ["Permission check failed", "Permission check failed (user != root@pam)", "no"]
        {
            assert_eq!(
                kind(403, text),
                RefusalKind::Forbidden { path: None, privileges: Vec::new() },
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_path_and_no_privilege_is_none() {
        let forbidden = |inside: &str| kind(403, &format!("Permission check failed ({inside})"));
        let nothing = RefusalKind::Forbidden { path: None, privileges: Vec::new() };
        for path in ["/vms/100`; reboot `", "/vms/1 00", "vms/100", "/vms/\u{202e}1"] {
            assert_eq!(forbidden(&format!("{path}, VM.Audit")), nothing, "{path}");
        }
        assert_eq!(forbidden(&format!("/{}, VM.Audit", "x".repeat(300))), nothing);
        let many = vec!["VM.Audit"; 500].join("|");
        let path = Some("/vms/100".to_owned());
        let privileges = vec!["VM.Audit".to_owned(); PRIVILEGES];
        assert_eq!(
            forbidden(&format!("/vms/100, $(reboot)|{many}")),
            RefusalKind::Forbidden { path, privileges }
        );
    }

    #[test]
    fn each_recorded_refusal_is_known() {
        use RefusalKind as Kind;
        for (status, message, expected) in [
            (401, "No ticket", Kind::NoTicket),
            (401, "Authentication failed!", Kind::Unauthenticated),
            (401, "permission denied - invalid PVE ticket", Kind::Unauthenticated),
            (400, "Parameter verification failed.", Kind::BadParameters),
            (
                500,
                "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist",
                Kind::NoSuchGuest,
            ),
            (500, "Configuration file 'nodes/pve1/lxc/100.conf' does not exist", Kind::NoSuchGuest),
            (500, "hostname lookup 'nope' failed - failed to get address info", Kind::UnknownNode),
            (595, "No route to host", Kind::NodeUnreachable),
            (595, "Connection refused", Kind::NodeUnreachable),
            (596, "Connection timed out", Kind::InternalTimeout),
            (599, "Too many redirections", Kind::OutcomeUnknown),
            (501, "Method 'GET /bogus' not implemented", Kind::NotImplemented),
            (500, "cluster not ready - no quorum?", Kind::NoQuorum),
            (
                500,
                "unable to open file '/etc/pve/nodes/pve1/qemu-server/107.conf.tmp.3430' - \
                 Permission denied",
                Kind::NoQuorum,
            ),
            (
                500,
                "RPCEnvironment init request failed: Unable to load access control list: \
                 Connection refused",
                Kind::ClusterFilesystemDown,
            ),
            (500, "CT 201 already running", Kind::Other),
        ] {
            assert_eq!(kind(status, message), expected, "{status} {message}");
        }
    }

    #[test]
    fn a_wrong_token_and_a_lost_header_get_different_advice() {
        assert!(refusal(401, "No ticket", "").to_string().contains("did not arrive"));
        assert!(refusal(401, "Authentication failed!", "").to_string().contains("expired"));
    }

    proptest! {
        #[test]
        fn whatever_is_refused_has_a_message_and_a_kind(
            status in 100_u16..1000,
            reason in any::<Option<String>>(),
            body in prop::collection::vec(any::<u8>(), 0..200),
            message in any::<String>(),
        ) {
            let json = serde_json::json!({ "message": message, "errors": { message.clone(): message } });
            for body in [body, json.to_string().into_bytes()] {
                let refusal = Refusal::read(Method::Get, "/p", status, reason.clone(), &body);
                prop_assert_eq!(refusal.message.trim(), refusal.message.as_str());
                prop_assert!(!refusal.message.is_empty());
                let _ = (refusal.kind(), refusal.to_string());
            }
        }

        #[test]
        fn what_is_forbidden_is_read_as_it_was_written(
            path in "(/[a-z0-9]{1,9}){1,4}",
            privileges in prop::collection::vec("[A-Z][a-z]{1,8}\\.[A-Z][a-z]{1,8}", 1..5),
        ) {
            let said = format!("Permission check failed ({path}, {})", privileges.join("|"));
            let expected = RefusalKind::Forbidden { path: Some(path), privileges };
            prop_assert_eq!(kind(403, &said), expected);
        }
    }
}
