//! Whether the token holds a privilege, where Proxmox VE shows less without it and does not say so.

use pve_client::{
    Reader,
    access::{self, Permissions},
};

/// What the token may do, where that could be read.
#[derive(Debug)]
pub struct Rights(Option<Permissions>);

impl Rights {
    /// Asks for them.
    pub async fn ask(pve: &Reader) -> Self {
        Self(pve.get(access::permissions()).await.ok())
    }

    /// Whether they could not be read.
    pub fn are_unknown(&self) -> bool {
        self.0.is_none()
    }

    /// Whether the token certainly lacks this privilege on this path.
    pub fn lacks(&self, privilege: &str, path: &str) -> bool {
        self.0.as_ref().is_some_and(|permissions| !holds(permissions, privilege, path))
    }
}

/// The entry nearest to the path counts: its own, or one above it that holds below too.
fn holds(permissions: &Permissions, privilege: &str, path: &str) -> bool {
    let mut at = path;
    loop {
        if let Some(held) = permissions.get(if at.is_empty() { "/" } else { at }) {
            let propagates = held.get(privilege).copied();
            return propagates.is_some_and(|propagates| propagates || at == path);
        }
        if at.is_empty() || at == "/" {
            return false;
        }
        at = at.rsplit_once('/').map_or("", |(above, _)| above);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn permissions(paths: &[(&str, bool)]) -> Permissions {
        let held = |propagates| BTreeMap::from([("Sys.Audit".to_owned(), propagates)]).into();
        paths.iter().map(|(path, propagates)| ((*path).to_owned(), held(*propagates))).collect()
    }

    #[test]
    fn what_holds_above_may_hold_below() {
        assert!(holds(&permissions(&[("/", true)]), "Sys.Audit", "/nodes/pve1"));
        assert!(!holds(&permissions(&[("/", false)]), "Sys.Audit", "/nodes/pve1"));
        assert!(holds(&permissions(&[("/", false)]), "Sys.Audit", "/"));
        assert!(holds(&permissions(&[("/nodes/pve1", false)]), "Sys.Audit", "/nodes/pve1"));
        assert!(!holds(&permissions(&[("/nodes/pve1", true)]), "Sys.Audit", "/nodes/pve2"));
        assert!(!holds(&permissions(&[("/", true)]), "Sys.Syslog", "/"));
        assert!(!holds(&Permissions::new(), "Sys.Audit", "/"));
    }
}
