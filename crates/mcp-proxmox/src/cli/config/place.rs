//! Where clients keep their configuration on this system.

use std::path::PathBuf;

/// The folders that clients' files lie below, from the environment.
pub(super) struct Places<'a> {
    /// Reads a variable of the environment.
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Places<'_> {
    /// A folder that a variable names.
    pub(super) fn named(&self, variable: &str) -> Option<PathBuf> {
        (self.variable)(variable).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// The user's own folder.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.named(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
    }

    /// A file below the user's own folder.
    pub(super) fn below_home(&self, file: &str) -> Option<PathBuf> {
        Some(self.home()?.join(file))
    }

    /// A file below `~/.config`, or below the folder that stands for it; so do terminal programs on macOS.
    pub(super) fn below_config(&self, file: &str) -> Option<PathBuf> {
        let folder = self.named("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        folder.or_else(|| self.below_home(".config")).map(|folder| folder.join(file))
    }

    /// A file where desktop programs of this system keep theirs.
    pub(super) fn of_desktop_program(&self, file: &str) -> Option<PathBuf> {
        if cfg!(windows) {
            Some(self.named("APPDATA")?.join(file))
        } else if cfg!(target_os = "macos") {
            Some(self.below_home("Library/Application Support")?.join(file))
        } else {
            self.below_config(file)
        }
    }
}
