//! The thread that writes the audit log, one line after the other, so that a storage that hangs holds up nobody
//! but who has to wait for it.
//!
//! **What was handed over is written when the storage comes back**, in the order in which it was handed over.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use tokio::{
    sync::oneshot,
    time::{Duration, timeout},
};

/// How long a line may take to be on the disk.
const PATIENCE: Duration = Duration::from_secs(5);
/// The same where the thread that waits serves others too.
const SHORT_PATIENCE: Duration = Duration::from_secs(2);

/// Who writes to one file.
#[derive(Debug)]
pub(super) struct Writer(mpsc::Sender<Job>);

struct Job {
    /// What is to be added; `None` to look only whether it could be.
    line: Option<String>,
    done: Box<dyn FnOnce(io::Result<()>) + Send>,
}

impl Writer {
    /// Begins a thread for this file. It ends with the last that could hand something over.
    pub(super) fn new(file: PathBuf) -> Self {
        let (jobs, queue) = mpsc::channel::<Job>();
        let work = move || {
            for Job { line, done } in queue {
                done(match line {
                    Some(line) => add(&file, &line),
                    None => begin(&file),
                });
            }
        };
        // Where no thread can be begun nothing takes the jobs, and each fails.
        drop(thread::Builder::new().name("audit log".to_owned()).spawn(work));
        Self(jobs)
    }

    /// Adds a line, or with `None` looks whether one could be added.
    pub(super) async fn write(&self, line: Option<String>) -> io::Result<()> {
        let (answer, answered) = oneshot::channel();
        self.hand_over(line, move |result| drop(answer.send(result)))?;
        timeout(PATIENCE, answered).await.map_err(|_| hangs())?.map_err(|_| gone())?
    }

    /// Adds a line, where nothing can be awaited.
    pub(super) fn write_now(&self, line: String) -> io::Result<()> {
        let (answer, answered) = mpsc::channel();
        self.hand_over(Some(line), move |result| drop(answer.send(result)))?;
        answered.recv_timeout(SHORT_PATIENCE).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => hangs(),
            mpsc::RecvTimeoutError::Disconnected => gone(),
        })?
    }

    /// Adds a line when it can be, and waits for nothing.
    pub(super) fn leave(&self, line: String) {
        // Who is not there to take it any more has said so before.
        drop(self.hand_over(Some(line), drop));
    }

    fn hand_over(
        &self,
        line: Option<String>,
        done: impl FnOnce(io::Result<()>) + Send + 'static,
    ) -> io::Result<()> {
        self.0.send(Job { line, done: Box::new(done) }).map_err(|_| gone())
    }

    /// One whose storage hangs for as long as the other half is kept.
    #[cfg(test)]
    pub(super) fn hanging() -> (Self, impl Sized) {
        let (jobs, queue) = mpsc::channel();
        (Self(jobs), queue)
    }
}

/// Looks whether lines could be added to this file, and leaves none behind where there was none.
pub(super) fn look_now(file: &Path) -> io::Result<()> {
    in_time(file, look)
}

/// Tries whether lines can be added to this file, which is made where it is not there, and writes none.
pub(super) fn begin_now(file: &Path) -> io::Result<()> {
    in_time(file, begin)
}

fn in_time(file: &Path, work: fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let (answer, answered) = mpsc::channel();
    let file = file.to_owned();
    let work = move || drop(answer.send(work(&file)));
    thread::Builder::new().name("audit log".to_owned()).spawn(work)?;
    answered.recv_timeout(PATIENCE).map_err(|_| hangs())?
}

fn hangs() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "its storage does not answer")
}

fn gone() -> io::Error {
    io::Error::other("the thread that writes it has ended")
}

fn begin(file: &Path) -> io::Result<()> {
    is_a_file(file)?;
    appending().open(file).map(drop)
}

fn look(file: &Path) -> io::Result<()> {
    is_a_file(file)?;
    match appending().create(false).open(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => could_be_made(file),
        opened => opened.map(drop),
    }
}

/// Tries it with a file of another name: one of this name could be taken away from who has begun to write to it.
fn could_be_made(file: &Path) -> io::Result<()> {
    let place = end_of_links(file);
    for number in 1..100 {
        let trial = place.with_file_name(format!(".mcp-proxmox-{}-{number}", std::process::id()));
        match appending().create_new(true).open(&trial) {
            Ok(made) => {
                drop(made);
                return std::fs::remove_file(trial);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there is no free name beside it"))
}

/// What a link leads to that is not there yet: that is what opening it would make.
fn end_of_links(file: &Path) -> PathBuf {
    let mut place = file.to_owned();
    for _ in 0..40 {
        let Ok(next) = std::fs::read_link(&place) else { break };
        place = place.parent().unwrap_or(Path::new("")).join(next);
    }
    place
}

/// Opened anew each time, so that the file can be rotated, and in one write, so that lines of two servers do not mix.
fn add(file: &Path, line: &str) -> io::Result<()> {
    is_a_file(file)?;
    let mut text = String::with_capacity(line.len() + 2);
    if last_byte(file).is_ok_and(|last| last != b'\n') {
        text.push('\n');
    }
    text.push_str(line);
    text.push('\n');
    let mut file = appending().open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

/// Opening a pipe would wait for its reader, and nothing but a file is kept on a disk.
fn is_a_file(file: &Path) -> io::Result<()> {
    match std::fs::metadata(file) {
        Ok(data) if !data.is_file() => Err(io::Error::other("it is not a regular file")),
        _ => Ok(()),
    }
}

/// The end of what was written so far: no line end where a disk was full. The next line is not to be a part of that.
fn last_byte(file: &Path) -> io::Result<u8> {
    let mut file = File::open(file)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    let [last] = last;
    Ok(last)
}

/// How the file is opened. A new one is for its owner alone.
fn appending() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Whether others than its owner may change what was recorded.
#[cfg(unix)]
pub(super) fn others_can_write(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::metadata(file).is_ok_and(|data| data.permissions().mode() & 0o022 != 0)
}

/// Only Unix tells.
#[cfg(not(unix))]
pub(super) fn others_can_write(_file: &Path) -> bool {
    false
}
