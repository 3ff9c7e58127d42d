//! The cluster's log: what the daemons of all nodes wrote down of who did what.

use crate::{Get, NodeName, form::Form, log_text::LogText, perl};

perl::answer! {
    /// An entry of the cluster's log.
    pub struct Entry {
        /// When, in seconds since 1970.
        pub time: Option<i64>,
        /// The node that wrote it.
        pub node: Option<NodeName>,
        /// Who did it, with the token's name.
        pub user: Option<String>,
        /// The daemon that wrote it, `pvedaemon`.
        pub tag: Option<String>,
        /// How severe, from 0 (emergency) to 7 (debug).
        pub pri: Option<u64>,
        /// What.
        pub msg: Option<LogText>,
    }
}

/// The newest entries, at most `max`. Without `Sys.Syslog` on `/` only the token's own, and nothing tells
/// that there are others.
pub fn entries(max: u32) -> Get<Vec<Entry>> {
    Get::many(Form::default().number("max", max.max(1)).after("/cluster/log"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorded_answer_is_read() {
        assert_eq!(entries(50).path(), "/cluster/log?max=50");
        let body = br#"{"data":[{"msg":"end task UPID:pve1:0000195B:000BA0E6:6B0D168B:qmstop:107:root@pam!lab: OK",
            "user":"root@pam!lab","pid":233,"uid":"253","time":1796019852,"tag":"pvedaemon",
            "node":"pve1","id":"253:pve1","pri":6}]}"#;
        let entry = entries(5).read(body).ok().unwrap().data.remove(0);
        assert_eq!((entry.pri, entry.time), (Some(6), Some(1_796_019_852)));
        assert!(entry.msg.unwrap().text.ends_with(": OK"));
    }
}
