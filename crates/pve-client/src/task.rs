//! Tasks: the lists of them.

use crate::{Get, NodeName, Upid, VmId, form::Form, ids::segment, perl};

/// Which tasks a list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// Those that run and those that ended.
    #[default]
    All,
    /// Those that run.
    Active,
    /// Those that ended.
    Archive,
}

/// How a task ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Well.
    Ok,
    /// Well, with warnings in its log.
    Warning,
    /// With an error.
    Error,
    /// Nobody knows: its worker was killed.
    Unknown,
}

/// What a list is narrowed to. [`Filter::default`] is everything, 50 at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Running, ended, or both.
    pub source: Source,
    /// Only tasks of this guest.
    pub vmid: Option<VmId>,
    /// Only tasks of this exact type, such as `qmstart`.
    pub kind: Option<String>,
    /// Only tasks of users whose name has this in it.
    pub user: Option<String>,
    /// Only tasks that ended like one of these. Empty for all.
    pub outcomes: Vec<Outcome>,
    /// Only tasks that started at this time or later, in seconds since 1970.
    pub since: Option<i64>,
    /// Only tasks that started at this time or before, in seconds since 1970.
    pub until: Option<i64>,
    /// How many of the newest to leave out.
    pub start: Option<u32>,
    /// How many to list at most, 50 where nothing is said. 0 is sent as 1, since Proxmox VE lists
    /// nothing for it.
    pub limit: Option<u32>,
}

perl::answer! {
    /// A task of a list.
    ///
    /// One that runs is written in two ways (recorded from PVE 9.2.11): in a node's list with the
    /// status `RUNNING`, in the cluster's without a status; neither has an end.
    pub struct Listed known by upid {
        /// Its identifier. Absent when it could not be read.
        pub upid: Option<Upid>,
        /// Its node.
        pub node: Option<NodeName>,
        /// What it does, such as `qmstart`.
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// What it is done to: often a guest's number.
        pub id: Option<String>,
        /// Who asked, with the token's name in some lists and without it in others; see
        /// [`Listed::who`].
        pub user: Option<String>,
        /// The token's name, where it is not in `user`.
        pub tokenid: Option<String>,
        /// When it started, in seconds since 1970.
        pub starttime: Option<i64>,
        /// When it ended, in seconds since 1970. Absent while it runs.
        pub endtime: Option<i64>,
        /// How it ended: `OK`, `WARNINGS: 2` or the text of the error; see [`Listed::exit`].
        pub status: Option<String>,
    }
}

impl Listed {
    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.endtime.is_none() && matches!(self.status.as_deref(), None | Some("RUNNING"))
    }

    /// How it ended: `OK`, `WARNINGS: 2` or the text of the error. `None` while it runs, and when
    /// nobody knows.
    pub fn exit(&self) -> Option<&str> {
        self.status.as_deref().filter(|_| !self.is_running())
    }

    /// Who asked, always with the token's name: `ops@pve!rw`.
    pub fn who(&self) -> Option<String> {
        let user = self.user.as_deref()?;
        Some(match self.tokenid.as_deref() {
            Some(token) => format!("{user}!{token}"),
            None => user.to_owned(),
        })
    }
}

/// The tasks of a node, the newest first. Without `Sys.Audit` on it only those of the token itself.
///
/// [`crate::Answer::total`] says how many there are in all. An empty list may lack it.
pub fn list(node: &NodeName, filter: &Filter) -> Get<Vec<Listed>> {
    let mut form = Form::default().text("source", filter.source.as_str());
    if let Some(vmid) = filter.vmid {
        form = form.number("vmid", vmid.get());
    }
    if let Some(kind) = &filter.kind {
        form = form.text("typefilter", kind);
    }
    if let Some(user) = &filter.user {
        form = form.text("userfilter", user);
    }
    if !filter.outcomes.is_empty() {
        let outcomes: Vec<_> = filter.outcomes.iter().map(|outcome| outcome.as_str()).collect();
        form = form.text("statusfilter", &outcomes.join(","));
    }
    if let Some(since) = filter.since {
        form = form.number("since", since);
    }
    if let Some(until) = filter.until {
        form = form.number("until", until);
    }
    if let Some(start) = filter.start {
        form = form.number("start", start);
    }
    form = form.number("limit", filter.limit.unwrap_or(50).max(1));
    Get::many(form.after(&format!("/nodes/{}/tasks", segment(node.as_str()))))
}

impl Source {
    fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Active => "active",
            Self::Archive => "archive",
        }
    }
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(filter: &Filter) -> String {
        list(&"pve1".parse().unwrap(), filter).path().to_owned()
    }

    #[test]
    fn running_tasks_are_asked_for_unless_somebody_does_not_want_them() {
        assert_eq!(path(&Filter::default()), "/nodes/pve1/tasks?source=all&limit=50");
        let filter = Filter { source: Source::Active, limit: Some(0), ..Filter::default() };
        assert_eq!(path(&filter), "/nodes/pve1/tasks?source=active&limit=1");
    }

    #[test]
    fn every_filter_has_its_parameter() {
        let filter = Filter {
            source: Source::Archive,
            vmid: Some(VmId::try_from(107u32).unwrap()),
            kind: Some("qmstart&x".to_owned()),
            user: Some("ops@pve".to_owned()),
            outcomes: vec![Outcome::Error, Outcome::Warning],
            since: Some(1_796_000_000),
            until: Some(1_796_100_000),
            start: Some(5),
            limit: Some(20),
        };
        assert_eq!(
            path(&filter),
            "/nodes/pve1/tasks?source=archive&vmid=107&typefilter=qmstart%26x&userfilter=ops%40pve\
             &statusfilter=error%2Cwarning&since=1796000000&until=1796100000&start=5&limit=20"
        );
    }

    #[test]
    fn the_recorded_rows_are_read_in_both_forms() {
        let body = br#"{"data":[{"id":"107","starttime":1796020073,"pid":7402,
            "upid":"UPID:pve1:00001CEA:000BF765:6B0D1769:qmshutdown:107:ops@pve!rw:",
            "node":"pve1","pstart":784229,"status":"RUNNING","saved":"0","user":"ops@pve!rw",
            "type":"qmshutdown"},{"tokenid":"rw",
            "upid":"UPID:pve1:00001CEA:000BF765:6B0D1768:qmstart:107:ops@pve!rw:","user":"ops@pve","type":"qmstart",
            "status":"VM 107 already running","id":"107","node":"pve1","starttime":1796020072,
            "endtime":1796020072},{"id":"","node":"pve1","starttime":1796020071,
            "upid":"UPID:pve1:00001CEA:000BF765:6B0D1767:aptupdate::root@pam:",
            "type":"aptupdate","user":"root@pam"},{"upid":"?","status":"unexpected status",
            "endtime":1}],"total":271}"#;
        let parsed = list(&"pve1".parse().unwrap(), &Filter::default()).read(body).ok().unwrap();
        assert_eq!(parsed.total, Some(271));
        assert_eq!(parsed.n_unreadable, 1);
        let [running, failed, unsaved] = parsed.data.as_slice() else { panic!() };
        assert!(running.is_running() && running.exit().is_none());
        assert_eq!(running.upid.as_ref().unwrap().kind, "qmshutdown");
        assert_eq!(running.who().as_deref(), Some("ops@pve!rw"));
        assert_eq!(failed.who().as_deref(), Some("ops@pve!rw"));
        assert_eq!(failed.exit(), Some("VM 107 already running"));
        assert!(unsaved.is_running());
        assert_eq!((unsaved.id.as_deref(), unsaved.who().as_deref()), (None, Some("root@pam")));
    }
}
