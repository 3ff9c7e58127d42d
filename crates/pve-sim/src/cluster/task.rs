//! A task of PVE, and the identifier that carries everything about it but its end.

/// A task: something that PVE does, or did, in a process of its own.
#[derive(Debug, Clone)]
pub struct Task {
    /// The node it runs on.
    pub node: String,
    /// Its process.
    pub pid: u32,
    /// When the process started, in hundredths of a second since the node booted.
    pub pstart: u64,
    /// When it started, in Unix seconds.
    pub starttime: u64,
    /// What it is: `qmstart`, `vzdump`, …
    pub kind: String,
    /// What it is about, often a guest's number; may be empty.
    pub id: String,
    /// Who started it: a user, or a token with its whole id.
    pub user: String,
    /// When it ended, in Unix seconds; `None` while it runs.
    pub endtime: Option<u64>,
    /// How it ended: `OK`, `WARNINGS: 1`, or the text of an error.
    pub status: String,
    /// What it wrote.
    pub log: Vec<String>,
    /// How many uneventful lines stand before those; they need no memory.
    pub filler: u64,
}

impl Task {
    /// A task that ended.
    pub fn ended(
        node: &str,
        kind: &str,
        id: &str,
        user: &str,
        (starttime, endtime): (u64, u64),
        status: &str,
    ) -> Self {
        // Process numbers and start times only have to differ from task to task.
        let pid = u32::try_from((starttime * 7 + endtime) % 4_000_000).unwrap_or(1) + 1000;
        Self {
            node: node.to_owned(),
            pid,
            pstart: starttime % 10_000_000 * 100 % 0xFFFF_FFFF,
            starttime,
            kind: kind.to_owned(),
            id: id.to_owned(),
            user: user.to_owned(),
            endtime: Some(endtime),
            status: status.to_owned(),
            log: Vec::new(),
            filler: 0,
        }
    }

    /// The same task, still running.
    #[must_use]
    pub fn still_running(mut self) -> Self {
        self.endtime = None;
        self.status = String::new();
        self
    }

    /// The same task with these lines in its log.
    #[must_use]
    pub fn with_log(mut self, lines: &[&str]) -> Self {
        self.log = lines.iter().map(|line| (*line).to_owned()).collect();
        self
    }

    /// The identifier: `UPID:pve1:000001B0:00038A1E:6B0D01D6:qmstart:107:root@pam!lab:`.
    pub fn upid(&self) -> String {
        let Self { node, pid, pstart, starttime, kind, id, user, .. } = self;
        format!("UPID:{node}:{pid:08X}:{pstart:08X}:{starttime:08X}:{kind}:{id}:{user}:")
    }

    /// How many lines its log has.
    pub fn n_lines(&self) -> u64 {
        self.filler + u64::try_from(self.log.len()).unwrap_or(0)
    }

    /// The line of this number, from 0 on.
    pub fn line(&self, nth: u64) -> Option<std::borrow::Cow<'_, str>> {
        match nth.checked_sub(self.filler) {
            Some(real) => {
                self.log.get(usize::try_from(real).ok()?).map(|line| line.as_str().into())
            }
            None => Some(
                format!(
                    "INFO: block {nth} of the volume was read, checked and written to the archive"
                )
                .into(),
            ),
        }
    }

    /// Whether it ended well, with or without warnings.
    pub fn is_fine(&self) -> bool {
        self.status == "OK" || self.status.starts_with("WARNINGS: ")
    }

    /// The user without the token's name, and the token's name.
    pub fn user_and_token(&self) -> (&str, Option<&str>) {
        match self.user.split_once('!') {
            Some((user, token)) => (user, Some(token)),
            None => (&self.user, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identifier_is_written_as_pve_writes_it() {
        let mut task = Task::ended(
            "pve1",
            "qmstart",
            "107",
            "root@pam!lab",
            (1_796_015_574, 1_796_015_575),
            "OK",
        );
        (task.pid, task.pstart) = (0x1B0, 0x0003_8A1E);
        assert_eq!(task.upid(), "UPID:pve1:000001B0:00038A1E:6B0D05D6:qmstart:107:root@pam!lab:");
    }
}
