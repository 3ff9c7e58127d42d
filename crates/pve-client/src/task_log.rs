//! One task: how it is, and its log. Both are kept by the node that ran it, which the task's identifier
//! names, so that a wrong node cannot be asked.

use crate::{Get, NodeName, Upid, form::Form, ids::segment, log_text::LogText, perl};

perl::answer! {
    /// How a task is.
    pub struct Status {
        /// Its identifier.
        pub upid: Option<Upid>,
        /// Its node.
        pub node: Option<NodeName>,
        /// What it does, such as `qmstart`.
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// What it is done to: often a guest's number.
        pub id: Option<String>,
        /// Who asked, without the token's name.
        pub user: Option<String>,
        /// The token's name.
        pub tokenid: Option<String>,
        /// When it started, in seconds since 1970.
        pub starttime: Option<i64>,
        /// `running` or `stopped`. Stopped means ended, well or not.
        pub status: Option<String>,
        /// How it ended: `OK`, `WARNINGS: 2` or the text of the error. Absent while it runs.
        pub exitstatus: Option<String>,
    }
}

perl::answer! {
    /// A line of a task's log.
    pub struct Line {
        /// Its number, from 1 on.
        pub n: Option<u64>,
        /// Its text.
        pub t: Option<LogText>,
    }
}

impl Status {
    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        self.status.as_deref() == Some("running")
    }

    /// Whether it has certainly ended.
    pub fn is_over(&self) -> bool {
        self.status.as_deref() == Some("stopped") || self.exitstatus.is_some()
    }
}

/// How a task is. Without `Sys.Audit` on its node only the token's own. One that the node does not know
/// is refused.
pub fn status(upid: &Upid) -> Get<Status> {
    Get::one(path(upid, "status"))
}

/// Lines of a task's log: at most `limit`, after the first `start`.
///
/// [`crate::Answer::total`] says how many there are. A limit of 0 is sent as 1, since it means all lines
/// to newer versions and none to older ones.
pub fn log(upid: &Upid, start: u64, limit: u32) -> Get<Vec<Line>> {
    let mut form = Form::default();
    if start > 0 {
        form = form.text("start", &start.to_string());
    }
    form = form.number("limit", limit.max(1));
    Get::many(form.after(&path(upid, "log")))
}

fn path(upid: &Upid, what: &str) -> String {
    let (node, upid) = (segment(upid.node.as_str()), upid.to_string());
    format!("/nodes/{node}/tasks/{}/{what}", segment(&upid))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn upid() -> Upid {
        "UPID:pve1:00001C09:000BF48D:6B0D1761:vzreboot:201:ops@pve!rw".parse().unwrap()
    }

    #[test]
    fn the_node_comes_from_the_identifier() {
        let path =
            "/nodes/pve1/tasks/UPID:pve1:00001C09:000BF48D:6B0D1761:vzreboot:201:ops@pve%21rw:";
        assert_eq!(status(&upid()).path(), format!("{path}/status"));
        assert_eq!(log(&upid(), 40, 20).path(), format!("{path}/log?start=40&limit=20"));
        assert_eq!(log(&upid(), 0, 0).path(), format!("{path}/log?limit=1"));
    }

    #[test]
    fn the_recorded_answers_are_read() {
        let body = br#"{"data":{"status":"stopped","starttime":1796020065,"user":"ops@pve",
            "upid":"UPID:pve1:00001C09:000BF48D:6B0D1761:vzreboot:201:ops@pve!rw:","tokenid":"rw",
            "type":"vzreboot","pstart":783501,"node":"pve1","exitstatus":"WARNINGS: 1","id":"201",
            "pid":7177}}"#;
        let ended = status(&upid()).read(body).ok().unwrap().data;
        assert!(ended.is_over() && !ended.is_running());
        assert_eq!(ended.exitstatus.as_deref(), Some("WARNINGS: 1"));
        let running = br#"{"data":{"id":"107","user":"ops@pve","pid":6919,"tokenid":"rw",
            "pstart":781572,"node":"pve1","starttime":1796020046,"type":"qmshutdown",
            "status":"running"}}"#;
        let running = status(&upid()).read(running).ok().unwrap().data;
        assert!(running.is_running() && !running.is_over());
        let body = br#"{"data":[{"n":1,"t":"WARN: Systemd 257 detected."},
            {"n":2,"t":"TASK WARNINGS: 1"}],"total":2}"#;
        let parsed = log(&upid(), 0, 50).read(body).ok().unwrap();
        assert_eq!((parsed.data.len(), parsed.total), (2, Some(2)));
        assert_eq!(parsed.data[1].t.as_ref().unwrap().text, "TASK WARNINGS: 1");
    }

    proptest! {
        #[test]
        fn lines_come_as_they_were_written_and_odd_ones_lose_only_themselves(
            texts in prop::collection::vec("[ -~]{0,40}", 1..9),
            odd in any::<Option<f64>>(),
        ) {
            let mut rows: Vec<_> =
                (1_u64..).zip(&texts).map(|(n, t)| serde_json::json!({ "n": n, "t": t })).collect();
            rows.push(serde_json::json!(odd));
            let body = serde_json::json!({ "data": rows, "total": texts.len() }).to_string();
            let read = log(&upid(), 0, 50).read(body.as_bytes()).ok().unwrap();
            let shown = read.data.iter().filter(|line| line.n.is_some());
            let shown: Vec<_> =
                shown.map(|line| line.t.as_ref().map_or("", |line| line.text.as_str()).trim()).collect();
            let written: Vec<_> = texts.iter().map(|text| text.trim()).collect();
            prop_assert_eq!(shown, written);
        }
    }
}
