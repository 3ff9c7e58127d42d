//! Replaces a file without ever losing what it held: a copy beside it first, then all at once.
//!
//! **The file is whole at every moment**: the new text goes to a file of its own, is on disk, and then takes
//! the old one's place. A link stays a link: what it leads to is replaced.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

/// Replaces the text of `file`, which was `before` (`None`: there was none). Returns where the copy of the old
/// one lies.
pub(super) fn replace(
    file: &Path,
    before: Option<&str>,
    after: &str,
) -> io::Result<Option<PathBuf>> {
    let file = match fs::canonicalize(file) {
        Ok(file) if !fs::metadata(&file)?.is_file() => {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(file) => file,
        Err(_) if fs::symlink_metadata(file).is_ok() => {
            return Err(io::Error::other("it is a link that leads nowhere"));
        }
        Err(_) => file.to_owned(),
    };
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let (new, mut out) = fresh(&file, "new")?;
    let copied = (|| {
        out.write_all(after.as_bytes())?;
        if before.is_some() {
            fs::set_permissions(&new, fs::metadata(&file)?.permissions())?;
        }
        out.sync_all()?;
        drop(out);
        // The client may have written meanwhile.
        if fs::read_to_string(&file).ok().as_deref() != before {
            return Err(io::Error::other("it changed meanwhile; nothing was written"));
        }
        let copy = before.map(|_| backup(&file)).transpose()?;
        fs::rename(&new, &file)?;
        Ok(copy)
    })();
    if copied.is_err() {
        let _ = fs::remove_file(&new);
    }
    copied
}

/// Copies a file to a name beside it that nothing has yet.
fn backup(file: &Path) -> io::Result<PathBuf> {
    let (path, mut copy) = fresh(file, "backup")?;
    copy.write_all(&fs::read(file)?)?;
    fs::set_permissions(&path, fs::metadata(file)?.permissions())?;
    copy.sync_all()?;
    Ok(path)
}

/// A new file beside `file`, which only its owner can read.
fn fresh(file: &Path, kind: &str) -> io::Result<(PathBuf, File)> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
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
        let told = replace(&folder, None, "x").unwrap_err().to_string();
        assert!(told.contains("not a regular file"), "{told}");
        #[cfg(unix)]
        {
            let link = folder.join("link");
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(folder.join("nowhere"), &link).unwrap();
            let told = replace(&link, None, "x").unwrap_err().to_string();
            assert!(told.contains("leads nowhere"), "{told}");
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
