//! Replaces a file without ever losing what it held: a copy beside it first, then all at once.
//!
//! **The file is whole at every moment**: the new text goes to a file of its own, is on disk, and then takes
//! the old one's place. A link stays a link: what it leads to is replaced. **Whose it is and who may read it stays
//! so**, but for others than its owner where it is to hold a secret: the copy may hold the one of before. **A file
//! that was not there is made by one alone**: who comes second has changed nothing.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// A file that is to be replaced, as it was found.
pub(super) struct Original {
    file: PathBuf,
    /// What it held; `None`: there was none.
    pub(super) text: Option<String>,
}

/// Why it was not replaced.
#[derive(Debug)]
pub(super) enum Unreplaced {
    /// Somebody else wrote it after it was read.
    Meanwhile,
    /// What the system said.
    Failed(io::Error),
}

impl From<io::Error> for Unreplaced {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Larger than any file of a client, which may keep much else in it.
const LARGEST: u64 = 64 << 20;

/// What came of replacing it.
#[derive(Debug)]
pub(super) struct Replaced {
    /// Where the copy of the old one lies.
    pub(super) copy: Option<PathBuf>,
    /// Others could read it before, and cannot any more.
    pub(super) is_tightened: bool,
}

impl Original {
    /// Finds a file and reads it. **The only place that looks what it is**: reading a pipe would wait for ever,
    /// and a device must not be replaced.
    ///
    /// # Errors
    /// Why not, in words.
    pub(super) fn open(file: &Path) -> Result<Self, String> {
        let unread = |error: io::Error| format!("it cannot be read: {error}");
        match fs::canonicalize(file) {
            Ok(file) => {
                let data = fs::metadata(&file).map_err(unread)?;
                if !data.is_file() {
                    return Err("it is not a regular file".to_owned());
                }
                if data.len() > LARGEST {
                    return Err("it is larger than 64 MiB".to_owned());
                }
                let text = Some(fs::read_to_string(&file).map_err(unread)?);
                Ok(Self { file, text })
            }
            Err(_) if fs::symlink_metadata(file).is_ok() => {
                Err("it is a link that leads nowhere, or it cannot be reached".to_owned())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self { file: file.to_owned(), text: None })
            }
            Err(error) => Err(unread(error)),
        }
    }

    /// Whether others than its owner can read it.
    pub(super) fn is_open_to_others(&self) -> bool {
        fs::metadata(&self.file).is_ok_and(|data| is_open_to_others(&data))
    }

    /// Whether its owner wants it to stay as it is. Replacing it would not even notice: that asks the folder alone.
    pub(super) fn is_read_only(&self) -> bool {
        fs::metadata(&self.file).is_ok_and(|data| data.permissions().readonly())
    }

    /// Replaces it. What `is_secret` is for its owner alone from then on.
    pub(super) fn replace(self, after: &str, is_secret: bool) -> Result<Replaced, Unreplaced> {
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let (new, out) = fresh(&self.file, "new")?;
        let replaced = self.exchange(&new, out, after, is_secret);
        if replaced.is_err() {
            let _ = fs::remove_file(&new);
        }
        replaced
    }

    fn exchange(
        &self,
        new: &Path,
        mut out: File,
        after: &str,
        is_secret: bool,
    ) -> Result<Replaced, Unreplaced> {
        out.write_all(after.as_bytes())?;
        let mut is_tightened = false;
        if self.text.is_some() {
            let data = fs::metadata(&self.file)?;
            is_tightened = is_secret && is_open_to_others(&data);
            keep(&data, &out, is_tightened)?;
        }
        out.sync_all()?;
        drop(out);
        let Some(before) = &self.text else {
            // The client may have made it meanwhile.
            settle(new, &self.file, after)?;
            return Ok(Replaced { copy: None, is_tightened });
        };
        let copy = backup(&self.file, before)?;
        // The client may have written meanwhile. Nothing that takes long is between this look and the exchange.
        let exchanged = match fs::read_to_string(&self.file) {
            Ok(now) if now == *before => fs::rename(new, &self.file).map_err(Unreplaced::from),
            _ => Err(Unreplaced::Meanwhile),
        };
        if exchanged.is_err() {
            let _ = fs::remove_file(&copy);
        }
        exchanged.map(|()| Replaced { copy: Some(copy), is_tightened })
    }
}

/// Gives a new file its name, unless something has it by now: renaming would put it in the place of that.
fn settle(new: &Path, file: &Path, text: &str) -> Result<(), Unreplaced> {
    match fs::hard_link(new, file) {
        Ok(()) => {
            // It is there; a second name that stays is no failure.
            let _ = fs::remove_file(new);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(Unreplaced::Meanwhile),
        // Some file systems give a file one name only.
        Err(_) => {
            write_new(file, text)?;
            let _ = fs::remove_file(new);
            Ok(())
        }
    }
}

/// Writes a file that is not there yet. Who reads it meanwhile may see a part of it.
fn write_new(file: &Path, text: &str) -> Result<(), Unreplaced> {
    let mut out = match for_owner().open(file) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Unreplaced::Meanwhile);
        }
        opened => opened?,
    };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(file);
    }
    Ok(written?)
}

/// Keeps what a file held under a name beside it that nothing has yet. It is for its owner alone: nobody else reads it, and
/// secrets outlive in it the day on which the file loses them.
fn backup(file: &Path, before: &str) -> io::Result<PathBuf> {
    let (path, mut copy) = fresh(file, "backup")?;
    let written = copy
        .write_all(before.as_bytes())
        .and_then(|()| keep(&fs::metadata(file)?, &copy, true))
        .and_then(|()| copy.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(&path);
    }
    written.map(|()| path)
}

/// Gives a new file the owner and the mode of the old one; where it is `tightened`, nobody else may read it.
#[cfg(unix)]
fn keep(old: &Metadata, new: &File, is_tightened: bool) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};

    let own = new.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        fchown(new, Some(old.uid()), Some(old.gid())).map_err(|error| {
            io::Error::new(error.kind(), format!("its owner and group cannot be kept: {error}"))
        })?;
    }
    let mode = old.permissions().mode() & if is_tightened { 0o700 } else { 0o7777 };
    new.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn keep(old: &Metadata, new: &File, _is_tightened: bool) -> io::Result<()> {
    new.set_permissions(old.permissions())
}

#[cfg(unix)]
fn is_open_to_others(data: &Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o077 != 0
}

/// Elsewhere the folder decides.
#[cfg(not(unix))]
fn is_open_to_others(_data: &Metadata) -> bool {
    false
}

/// How a file is made that was not there, which only its owner can read.
fn for_owner() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A new file beside `file`, which only its owner can read.
fn fresh(file: &Path, kind: &str) -> io::Result<(PathBuf, File)> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let options = for_owner();
    for number in 1.. {
        let path = file.with_file_name(format!("{name}.{kind}-{number}"));
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("there is no free name beside it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("writing-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let told = |file: &Path| Original::open(file).map(|_| ()).unwrap_err();
        assert!(told(&folder).contains("not a regular file"));
        #[cfg(unix)]
        {
            let link = folder.join("link");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(folder.join("nowhere"), &link).unwrap();
            assert!(told(&link).contains("leads nowhere"));
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_somebody_wrote_meanwhile_stays() {
        let file = std::env::temp_dir().join(format!("writing-meanwhile-{}", std::process::id()));
        fs::write(&file, "old").unwrap();
        let original = Original::open(&file).unwrap();
        fs::write(&file, "theirs").unwrap();
        let told = original.replace("ours", false);
        assert!(matches!(told, Err(Unreplaced::Meanwhile)), "{told:?}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        for kind in ["backup-1", "new-1"] {
            let name = format!("writing-meanwhile-{}.{kind}", std::process::id());
            assert!(!file.with_file_name(name).exists(), "{kind} is left behind");
        }
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn of_several_who_make_a_file_at_once_one_does_and_the_others_are_told() {
        for round in 0..20 {
            let folder = std::env::temp_dir()
                .join(format!("writing-at-once-{}-{round}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            let file = folder.join("mcp.json");
            let barrier = std::sync::Barrier::new(4);
            let made: Vec<_> = std::thread::scope(|scope| {
                let writers: Vec<_> = (0..4)
                    .map(|nth| {
                        let (file, barrier) = (&file, &barrier);
                        scope.spawn(move || {
                            let original = Original::open(file).unwrap();
                            barrier.wait();
                            original.replace(&format!("of {nth}"), false)
                        })
                    })
                    .collect();
                writers.into_iter().map(|writer| writer.join().unwrap()).collect()
            });
            let winners: Vec<_> = (0..4).filter(|nth| made[*nth].is_ok()).collect();
            let [winner] = winners[..] else { panic!("{made:?}") };
            assert_eq!(fs::read_to_string(&file).unwrap(), format!("of {winner}"));
            let others = made.iter().filter(|made| matches!(made, Err(Unreplaced::Meanwhile)));
            assert_eq!(others.count(), 3, "{made:?}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left behind");
            fs::remove_dir_all(&folder).unwrap();
        }
    }

    #[test]
    fn what_is_there_by_now_is_not_overwritten_in_either_way() {
        let folder = std::env::temp_dir().join(format!("writing-either-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, new) = (folder.join("file"), folder.join("new"));
        fs::write(&file, "theirs").unwrap();
        fs::write(&new, "ours").unwrap();
        for told in [settle(&new, &file, "ours"), write_new(&file, "ours")] {
            assert!(matches!(told, Err(Unreplaced::Meanwhile)), "{told:?}");
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "theirs");
        fs::remove_file(&file).unwrap();
        write_new(&file, "ours").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "ours");
        fs::remove_dir_all(&folder).unwrap();
    }
}
