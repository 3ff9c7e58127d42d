//! The record of writes: a file with one JSON line before a request is sent, and one with what came of it.
//!
//! **Invariants:** the first line is on the disk before anything is sent, and where it cannot be written
//! nothing is. Every first line gets its second one, also when the call is cancelled, the client leaves or
//! something panics: the outcome is then `unknown`, or `not_sent` where it had not come to that. No secret is in it.
//! A write that is refused, or that nobody agrees to, has one line that says so.

mod attempt;
mod writer;

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use pve_client::Reader;
use serde_json::{Map, Value, json};

pub use self::attempt::{Aim, Attempt};
use self::writer::Writer;
use crate::{
    answer::clean::label,
    call::Call,
    failure::Failure,
    lookup::guest::{Found, real_name},
    person::Agreed,
    sent::Sent,
};

/// Where writes are recorded.
#[derive(Debug)]
pub struct Audit {
    writer: Writer,
    n_writes: AtomicU64,
}

/// A write that was recorded before it was sent, and whose outcome is still open.
#[derive(Debug)]
pub struct Open<'a> {
    audit: &'a Audit,
    id: String,
    about: Map<String, Value>,
    sent: Sent,
    is_closed: bool,
}

/// What is recorded of every write: who, through which client and tool, with which arguments, on what, and
/// how it was agreed to.
pub fn about(
    pve: &Reader,
    call: &Call,
    tool: &str,
    arguments: &Value,
    found: &Found,
    agreed: Agreed,
) -> Map<String, Value> {
    let mut about = who(pve, call, tool);
    about.insert("arguments".to_owned(), arguments.clone());
    about.insert("consent".to_owned(), agreed.word().into());
    about.extend(target(found));
    about
}

/// Who asks for it, through which client and tool.
fn who(pve: &Reader, call: &Call, tool: &str) -> Map<String, Value> {
    let who = pve.token_id();
    let (user, token) = who.rsplit_once('!').unwrap_or((who, ""));
    let who = json!({ "user": user, "token": token, "client": call.client, "tool": tool });
    who.as_object().cloned().unwrap_or_default()
}

/// What it is done to.
fn target(found: &Found) -> Map<String, Value> {
    let target = json!({
        "target": found.guest.to_string(),
        "node": label(found.guest.node.as_str()),
        "name": real_name(&found.listed).map(label),
    });
    target.as_object().cloned().unwrap_or_default()
}

impl Audit {
    /// A record in this file, which is made when it is first written to.
    pub fn new(file: PathBuf) -> Self {
        Self { writer: Writer::new(file), n_writes: AtomicU64::new(0) }
    }

    /// Looks whether lines could be added to this file, and leaves none behind where there was none.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check(file: &Path) -> Result<(), String> {
        writer::look_now(file).map_err(|error| format!("it cannot be written: {error}"))
    }

    /// The same, and makes the file where it is not there.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn begin(file: &Path) -> Result<(), String> {
        writer::begin_now(file).map_err(|error| format!("it cannot be written: {error}"))
    }

    /// What the user should know of this file, though it can be written.
    pub fn cautions(file: &Path) -> Vec<String> {
        let shown = label(&file.to_string_lossy());
        let is_relative = file.is_relative().then(|| {
            format!("PVE_AUDIT_LOG: `{shown}` is below whatever folder a client starts this in: write the whole path")
        });
        let is_loose = writer::others_can_write(file)
            .then(|| format!("PVE_AUDIT_LOG: others can write to `{shown}`: chmod 600 it"));
        is_relative.into_iter().chain(is_loose).collect()
    }

    /// Tries whether a line could be added now.
    ///
    /// # Errors
    /// Why not; then nothing may be sent.
    pub async fn ready(&self) -> Result<(), Failure> {
        self.writer.write(None).await.map_err(|error| unwritable(&error))
    }

    fn next_id(&self) -> String {
        let nth = self.n_writes.fetch_add(1, Ordering::Relaxed);
        format!("{:x}-{nth}", std::process::id())
    }

    /// Adds a line about what has no second one.
    async fn note(&self, event: &str, about: Map<String, Value>) -> io::Result<()> {
        let mut line = Map::new();
        line.insert("event".into(), event.into());
        line.extend(about);
        self.writer.write(Some(stamped(&self.next_id(), line))).await
    }

    /// Records what is about to be sent. `sent` knows how far that came, where the call is given up.
    ///
    /// # Errors
    /// When the line cannot be written; then nothing may be sent.
    pub async fn open(&self, about: Map<String, Value>, sent: Sent) -> Result<Open<'_>, Failure> {
        let id = self.next_id();
        let mut line = Map::new();
        line.insert("event".into(), "send".into());
        line.extend(about.clone());
        let line = stamped(&id, line);
        // From here on it gets its end, also where this is given up while the line is being written.
        let mut open = Open { audit: self, id, about, sent, is_closed: false };
        match self.writer.write(Some(line)).await {
            Ok(()) => Ok(open),
            Err(error) => {
                open.is_closed = true;
                if error.kind() == io::ErrorKind::TimedOut {
                    // It may be written yet, when the storage comes back.
                    let why = Some(format!("{error}; nothing was sent"));
                    self.writer.leave(open.line("not_sent", &[("why", why)]));
                }
                Err(unwritable(&error))
            }
        }
    }
}

/// A line of the log.
fn stamped(id: &str, rest: Map<String, Value>) -> String {
    let mut line = Map::new();
    line.insert("time".into(), Timestamp::now().to_string().into());
    line.insert("id".into(), id.into());
    line.extend(rest);
    Value::Object(line).to_string()
}

fn unwritable(error: &io::Error) -> Failure {
    Failure::new(format!("nothing was sent, since the audit log cannot be written: {error}"))
        .hint("only the user can mend this: see PVE_AUDIT_LOG, the disk and the file's owner")
}

impl Open<'_> {
    /// Records what came of it. Says so where that failed.
    pub async fn close(
        mut self,
        outcome: &str,
        details: &[(&str, Option<String>)],
    ) -> Option<String> {
        self.is_closed = true;
        let line = self.line(outcome, details);
        let error = self.audit.writer.write(Some(line)).await.err()?;
        Some(format!("the outcome is not in the audit log, which cannot be written: {error}"))
    }

    fn line(&self, outcome: &str, details: &[(&str, Option<String>)]) -> String {
        let mut line = Map::new();
        line.insert("event".into(), "outcome".into());
        for name in ["tool", "target"] {
            line.insert(name.into(), self.about.get(name).cloned().unwrap_or_default());
        }
        line.insert("outcome".into(), json!(outcome));
        for (name, value) in details {
            line.extend(value.as_ref().map(|value| ((*name).to_owned(), json!(value))));
        }
        stamped(&self.id, line)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.is_closed {
            return;
        }
        let why = self.sent.why_given_up().unwrap_or("the call ended");
        let line = match self.sent.told() {
            None => self.line("not_sent", &[("why", Some(format!("{why}; nothing was sent")))]),
            Some(sent) => {
                let why = format!("{why}; its outcome was not waited for");
                let details =
                    [("sent", Some(sent)), ("upid", self.sent.task()), ("why", Some(why))];
                self.line("unknown", &details)
            }
        };
        if let Err(error) = self.audit.writer.write_now(line) {
            tracing::error!(%error, "the audit log cannot be written");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &PathBuf) -> Vec<Value> {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn every_write_has_a_line_before_and_one_after_also_when_it_was_given_up() {
        let file = std::env::temp_dir().join(format!("mcp-proxmox-audit-{}", std::process::id()));
        let audit = Audit::new(file.clone());
        let about = || Map::from_iter([("tool".to_owned(), json!("stop_vm"))]);
        let open = audit.open(about(), Sent::default()).await.unwrap();
        assert_eq!(lines(&file).len(), 1, "the line is there before the request is sent");
        let after = ("after", Some("stopped".to_owned()));
        assert_eq!(open.close("done", &[after]).await, None);
        let sent = Sent::default();
        let open = audit.open(about(), sent.clone()).await.unwrap();
        sent.begins("stop qemu/100");
        sent.has_task(&"UPID:pve1:1");
        sent.is_given_up("the client cancelled it");
        drop(open);
        drop(audit.open(about(), Sent::default()).await.unwrap());
        let lines = lines(&file);
        std::fs::remove_file(&file).unwrap();
        let of = |nth: usize, name: &str| lines[nth][name].as_str().unwrap_or_default();
        assert_eq!([of(0, "event"), of(1, "event")], ["send", "outcome"]);
        assert_eq!(
            (of(1, "outcome"), of(1, "after"), of(1, "tool")),
            ("done", "stopped", "stop_vm")
        );
        assert_eq!((of(3, "outcome"), of(0, "id") == of(1, "id")), ("unknown", true));
        assert_eq!(of(3, "sent"), "stop qemu/100 (task UPID:pve1:1)");
        assert_eq!(of(3, "upid"), "UPID:pve1:1");
        assert_eq!(of(3, "why"), "the client cancelled it; its outcome was not waited for");
        assert_ne!(of(1, "id"), of(2, "id"));
        assert_eq!(of(5, "outcome"), "not_sent", "it was given up before it was sent");
    }

    #[test]
    fn a_file_is_tried_without_writing_to_it() {
        let file = std::env::temp_dir().join(format!("mcp-proxmox-try-{}", std::process::id()));
        std::fs::write(&file, "kept\n").unwrap();
        assert!(Audit::cautions(Path::new("audit.log"))[0].contains("write the whole path"));
        #[cfg(unix)]
        for (mode, n_cautions) in [(0o600, 0), (0o640, 0), (0o620, 1), (0o666, 1)] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(Audit::cautions(&file).len(), n_cautions, "{mode:o}");
        }
        Audit::check(&file).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept\n");
        std::fs::remove_file(&file).unwrap();
        Audit::check(&file).unwrap();
        assert!(!file.exists(), "a look leaves nothing behind");
        Audit::begin(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        #[cfg(unix)]
        {
            // What counts is where the file would be made.
            for (leads_to, is_fine) in [("../nowhere/at/all/audit.log", false), ("missing", true)] {
                std::os::unix::fs::symlink(leads_to, &file).unwrap();
                assert_eq!(Audit::check(&file).is_ok(), is_fine, "{leads_to}");
                std::fs::remove_file(&file).unwrap();
            }
        }
        assert!(Audit::check(&std::env::temp_dir()).unwrap_err().contains("not a regular file"));
        let nowhere = Audit::check(Path::new("/nowhere/at/all/audit.log")).unwrap_err();
        assert!(nowhere.starts_with("it cannot be written: "), "{nowhere}");
        assert_eq!(Audit::begin(Path::new("/nowhere/at/all/audit.log")).unwrap_err(), nowhere);
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_written_stops_the_write() {
        let audit = Audit::new(PathBuf::from("/nowhere/at/all/audit.log"));
        let told = audit.open(Map::new(), Sent::default()).await.unwrap_err().to_string();
        assert!(told.contains("nothing was sent") && told.contains("PVE_AUDIT_LOG"), "{told}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_storage_that_hangs_holds_up_no_other_call_and_stops_the_write() {
        let (writer, _storage) = Writer::hanging();
        let audit = Audit { writer, n_writes: AtomicU64::new(0) };
        let began = tokio::time::Instant::now();
        let (ready, other) = tokio::join!(audit.ready(), async {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            began.elapsed().as_secs()
        });
        assert_eq!(other, 1, "what else goes on is not held up");
        let told = ready.unwrap_err().to_string();
        assert!(
            told.contains("its storage does not answer") && told.contains("nothing was sent"),
            "{told}"
        );
        assert_eq!(began.elapsed().as_secs(), 5);
    }
}
