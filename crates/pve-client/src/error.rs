//! What can go wrong between us and Proxmox VE.
//!
//! **Invariant:** no message holds a body, a secret or a query.

use std::time::Duration;

use crate::{FailedHost, Method, Refusal, Unsent, failed_host::listed};

/// A failed request.
///
/// The variants are the cases that a caller treats differently. Whether a repetition is safe is one
/// of them, so [`Error::Unsent`] is apart from [`Error::Lost`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request never left this machine, which is certain.
    #[error(transparent)]
    Unsent(#[from] Unsent),
    /// The request was sent, and no whole answer came. It may have taken effect.
    #[error(
        "`{method} {path}` was sent to `{host}`, but {why}{}{}",
        elsewhere(.others),
        may_have_taken_effect(*.method)
    )]
    Lost {
        /// Where it was sent to.
        host: String,
        /// What it was.
        method: Method,
        /// Below `/api2/json`, without the query.
        path: String,
        /// How it was lost.
        why: LostWhy,
        /// The other hosts that were tried.
        others: Vec<FailedHost>,
    },
    /// Proxmox VE answered, and refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Something answered that is not the API of Proxmox VE: a proxy, a login page, another program.
    #[error(
        "something other than the Proxmox VE API answered `{method} {path}` at `{host}`: {}; check \
         the address, the port and what stands in front of it",
        foreign(*.status, .content_type.as_deref(), .redirect_to.as_deref())
    )]
    Foreign {
        /// Where it answered.
        host: String,
        /// What was asked.
        method: Method,
        /// Below `/api2/json`, without the query.
        path: String,
        /// The HTTP status.
        status: u16,
        /// The type of what it sent, which is not kept.
        content_type: Option<String>,
        /// The host that it wants asked instead. It was not asked, since the token is not for it.
        redirect_to: Option<String>,
    },
    /// Proxmox VE answered with something that we do not understand.
    #[error("the answer to `{method} {path}` could not be read: {why}")]
    Unreadable {
        /// What was asked.
        method: Method,
        /// Below `/api2/json`, without the query.
        path: String,
        /// What is wrong with it.
        why: UnreadableWhy,
    },
    /// The answer is larger than it may be.
    #[error("the answer to `{path}` is larger than {}; ask for less at once", size(*.limit))]
    TooLarge {
        /// Below `/api2/json`, without the query.
        path: String,
        /// How many bytes it may have, after decompression.
        limit: usize,
    },
}

/// The parameter that a ticket stands in.
pub(crate) const TICKET: &str = "vncticket";

/// How a request was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LostWhy {
    /// The time for the request was over.
    #[error("no answer came within {} s", seconds(*.0))]
    TimedOut(Duration),
    /// The connection broke, before or within the answer.
    #[error("the connection broke before the whole answer had come")]
    Cut,
    /// What came back was not HTTP.
    #[error("what came back was not HTTP")]
    NotHttp,
}

/// Why an answer could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnreadableWhy {
    /// Nothing at all came with a status that says success. Some endpoints of older versions do so
    /// for a parameter that they do not know.
    #[error("it is empty")]
    Empty,
    /// The data are `null`, where that means nothing.
    #[error("it holds no data")]
    Null,
    /// JSON, but without the key `data` that every answer has.
    #[error("it is not an answer of the Proxmox VE API: it has no `data`")]
    NoData,
    /// Not the JSON that is expected.
    #[error("it is not as expected at line {line}, column {column}")]
    Misunderstood {
        /// From 1 on.
        line: usize,
        /// From 1 on.
        column: usize,
    },
    /// A list with entries, none of which is what it should be.
    #[error("it has {count} entries, and none is as expected")]
    Entries {
        /// How many there are.
        count: usize,
    },
    /// The compression is broken.
    #[error("its compression is broken")]
    Compression,
}

impl Error {
    /// Whether a request that changes something may have done so, although it failed.
    ///
    /// For a GET this only means that the server may have been busy with it.
    pub fn may_have_taken_effect(&self) -> bool {
        match self {
            // The last two came with a status that says success.
            Self::Lost { .. } | Self::Unreadable { .. } | Self::TooLarge { .. } => true,
            Self::Refused(refusal) => (595..=599).contains(&refusal.status),
            // A gateway says so after it has passed the request on.
            Self::Foreign { status, .. } => *status >= 500,
            Self::Unsent(_) => false,
        }
    }

    /// The same error, whose words hold neither these secrets nor a query with a ticket, however it is
    /// encoded.
    pub(crate) fn without(self, secrets: &[&str]) -> Self {
        let hide = |text: &mut String| {
            for secret in secrets.iter().filter(|secret| secret.len() >= 8) {
                *text = text.replace(secret, "***");
            }
            if let Some(at) = text.find(TICKET) {
                text.truncate(at);
                text.push('…');
            }
        };
        match self {
            Self::Refused(mut refusal) => {
                hide(&mut refusal.reason);
                hide(&mut refusal.message);
                refusal.errors.values_mut().for_each(hide);
                Self::Refused(refusal)
            }
            error => error,
        }
    }

    /// The refusal, where Proxmox VE refused.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused(refusal) => Some(refusal),
            _ => None,
        }
    }
}

fn may_have_taken_effect(method: Method) -> &'static str {
    match method {
        Method::Get => "",
        Method::Post => "; it may have taken effect all the same",
    }
}

fn elsewhere(others: &[FailedHost]) -> String {
    if others.is_empty() { String::new() } else { format!("; other hosts: {}", listed(others)) }
}

fn foreign(status: u16, content_type: Option<&str>, redirect_to: Option<&str>) -> String {
    match (redirect_to, content_type) {
        (Some(host), _) => format!("status {status}, a redirection to `{host}`"),
        (None, Some(kind)) => format!("status {status} with content of type `{kind}`"),
        (None, None) => format!("status {status}"),
    }
}

/// Whole seconds as they are, less than ten with one decimal.
pub(crate) fn seconds(duration: Duration) -> String {
    if duration.as_secs() >= 10 || duration.subsec_millis() == 0 {
        duration.as_secs().to_string()
    } else {
        format!("{:.1}", duration.as_secs_f64())
    }
}

/// A limit, in bytes, as it is told.
fn size(bytes: usize) -> String {
    const MIB: usize = 1 << 20;
    if bytes >= MIB && bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else {
        format!("{bytes} bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnsentKind;

    fn lost(method: Method) -> Error {
        let why = LostWhy::TimedOut(Duration::from_secs(35));
        let (host, path) = ("pve.lan:8006".to_owned(), "/version".to_owned());
        Error::Lost { host, method, path, why, others: Vec::new() }
    }

    #[test]
    fn only_a_lost_write_warns_of_its_effect() {
        assert_eq!(
            lost(Method::Get).to_string(),
            "`GET /version` was sent to `pve.lan:8006`, but no answer came within 35 s"
        );
        assert!(
            lost(Method::Post).to_string().ends_with("; it may have taken effect all the same")
        );
    }

    #[test]
    fn a_limit_is_told_in_a_unit_that_people_know() {
        assert_eq!((size(64 << 20), size(1 << 20)), ("64 MiB".to_owned(), "1 MiB".to_owned()));
        assert_eq!(
            (size(100), size((1 << 20) + 1)),
            ("100 bytes".to_owned(), "1048577 bytes".to_owned())
        );
    }

    #[test]
    fn of_several_hosts_each_is_told_in_a_few_words() {
        let refused = FailedHost { host: "a:8006".to_owned(), why: UnsentKind::Refused.into() };
        let Error::Lost { host, method, path, why, .. } = lost(Method::Get) else { panic!() };
        let others = vec![refused.clone()];
        assert_eq!(
            Error::Lost { host, method, path, why, others }.to_string(),
            "`GET /version` was sent to `pve.lan:8006`, but no answer came within 35 s; other hosts: `a:8006`: connection refused"
        );
        let (host, kind) =
            ("b:8006".to_owned(), UnsentKind::ConnectTimedOut(Duration::from_secs(3)));
        assert_eq!(
            Unsent { host, kind, others: vec![refused] }.to_string(),
            "nothing was sent, since none of 2 hosts could be asked: `a:8006`: connection refused; `b:8006`: no connection within 3 s"
        );
    }

    #[test]
    fn a_gateway_and_an_unreadable_success_leave_the_outcome_open() {
        let foreign = |status| Error::Foreign {
            host: "h:1".to_owned(),
            method: Method::Post,
            path: "/p".to_owned(),
            status,
            content_type: Some("text/html".to_owned()),
            redirect_to: None,
        };
        assert!(foreign(504).may_have_taken_effect());
        assert!(!foreign(302).may_have_taken_effect());
        assert!(!foreign(404).may_have_taken_effect());
        assert!(lost(Method::Post).may_have_taken_effect());
        let (method, path) = (Method::Post, "/p".to_owned());
        assert!(
            Error::Unreadable { method, path, why: UnreadableWhy::Null }.may_have_taken_effect()
        );
    }

    #[test]
    fn an_error_stays_small_enough_to_be_returned_everywhere() {
        assert!(size_of::<Error>() <= 128, "{}", size_of::<Error>());
    }
}
