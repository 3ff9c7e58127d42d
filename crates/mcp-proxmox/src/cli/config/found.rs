//! Whether a client finds the program that it is told to start. This one is named with its whole path; the place of others
//! may change with each of their versions, and they start more themselves, so it is told and not written.

use std::path::{Path, PathBuf};

use super::server::Via;

/// Where every client looks, however short its `PATH` is.
const EVERYWHERE: [&str; 2] = ["/usr/bin", "/bin"];

/// What the user should know of where the program is found that gets this one, with this `PATH`.
pub(super) fn note(via: Via, path: Option<&str>) -> Option<String> {
    let program = match via {
        Via::Npx if !cfg!(windows) => "npx",
        Via::Docker if !cfg!(windows) => "docker",
        // Windows has one PATH for all.
        _ => return None,
    };
    let Some(folder) = folder_of(program, path.unwrap_or_default()) else {
        return Some(format!(
            "`{program}` is not found here: the client looks for it in the PATH with which it was started itself"
        ));
    };
    if EVERYWHERE.iter().any(|everywhere| folder == Path::new(everywhere)) {
        return None;
    }
    let (file, folder) = (folder.join(program), folder.display());
    Some(format!(
        "here `{program}` is {}; a client that a desktop starts has a short PATH and may not find it: where that is so, write this \
         whole path as the command, and PATH={folder}:{} into its environment",
        file.display(),
        EVERYWHERE.join(":")
    ))
}

/// The first folder of a `PATH` that holds this program.
fn folder_of(program: &str, path: &str) -> Option<PathBuf> {
    let mut folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.find(|folder| is_program(&folder.join(program)))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    std::fs::metadata(file)
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}
