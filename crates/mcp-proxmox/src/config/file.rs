//! Reads the files that settings name.
//!
//! **None is read without a bound**: a device never ends, a pipe waits for somebody who may never write, and what is
//! large is another file than the one that was meant.

use std::{fs::File, io::Read as _, path::Path};

use zeroize::Zeroizing;

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
    if bytes.len() as u64 > limit { Err(misfit()) } else { Ok(bytes) }
}

/// The same as text.
pub(super) fn read_text(path: &Path, limit: u64) -> Result<Zeroizing<String>, String> {
    let bytes = read(path, limit)?;
    let text = std::str::from_utf8(&bytes);
    let text = text.map_err(|_| "cannot be read: it does not hold text".to_owned())?;
    Ok(Zeroizing::new(text.to_owned()))
}
