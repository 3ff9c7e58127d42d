//! Reads the files that settings name.
//!
//! **None is read without a bound**: a device never ends, a pipe waits for somebody who may never write, and what is
//! large is another file than the one that was meant.
//!
//! What editors on Windows put before a text is no part of it, and what they write in UTF-16 is called that: it looks
//! right to whoever opens it.

use std::{fs::File, io::Read as _, path::Path};

use zeroize::Zeroizing;

#[cfg(unix)]
use crate::answer::clean::label;

/// How large a file with a secret may be.
pub(super) const SECRET: u64 = 4096;
/// How large a file with certificates may be: all public authorities together are a fifth of it.
pub(super) const CERTIFICATES: u64 = 1 << 20;

/// What a file holds that is no larger than `limit` bytes.
///
/// # Errors
/// Why not, in words that follow the file's name.
pub(super) fn read(path: &Path, limit: u64) -> Result<Zeroizing<Vec<u8>>, String> {
    let unread = |error: std::io::Error| format!("cannot be read: {error}");
    let misfit = || "is not a small regular file".to_owned();
    // Before it is opened, which for a pipe is where the waiting begins.
    let data = std::fs::metadata(path).map_err(unread)?;
    if !data.is_file() || data.len() > limit {
        return Err(misfit());
    }
    let mut bytes = Zeroizing::new(Vec::new());
    // What the system makes up while it is read has no length before.
    File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(unread)?;
    if bytes.len() as u64 > limit {
        return Err(misfit());
    }
    if is_utf16(&bytes) {
        return Err("is UTF-16, as PowerShell and Windows' editors write it: save it as UTF-8 (in PowerShell, `Set-Content -Encoding ascii`)".to_owned());
    }
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    Ok(bytes)
}

/// The byte order mark of UTF-8.
const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// Whether this is UTF-16: by its mark, or since each second byte of a text in Latin letters is zero.
fn is_utf16(bytes: &[u8]) -> bool {
    let halves = || bytes.chunks_exact(2).map(|pair| matches!(pair, [0, _]));
    let others = || bytes.chunks_exact(2).map(|pair| matches!(pair, [_, 0]));
    let is_marked = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    is_marked
        || bytes.len() >= 4 && (halves().all(|is_zero| is_zero) || others().all(|is_zero| is_zero))
}

/// The same as text.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<Zeroizing<String>, String> {
    let bytes = read(path, limit)?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| "cannot be read: it does not hold text".to_owned())?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// What is to be said where others can read a file with a secret.
#[cfg(unix)]
pub(super) fn loose_permissions(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o077 != 0).then(|| {
        format!(
            "others can read `{}`, which holds the token's secret: chmod 600 it",
            label(&path.to_string_lossy())
        )
    })
}

#[cfg(not(unix))]
pub(super) fn loose_permissions(_path: &Path) -> Option<String> {
    None
}
