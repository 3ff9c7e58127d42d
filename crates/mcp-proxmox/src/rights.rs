//! What a token may do, as PVE tells it: privileges by path, from which those of other paths follow.
//!
//! PVE names the roots of its tree, every path of an entry of the access control list, and the members of
//! pools; what is below a named path has what propagates from there. **A root that is not named has no
//! privilege.**

pub mod grant;
pub mod mending;
pub mod need;
pub mod view;

use pve_client::access::Permissions;

/// The roots that PVE always names where the token has anything on them (recorded from PVE 9.2.11).
const ROOTS: [&str; 8] =
    ["/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"];

/// The rights of a token.
#[derive(Debug, Default)]
pub struct Rights(pub Permissions);

/// On how much of what is below a path a privilege is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extent {
    /// On everything.
    All,
    /// On everything but these paths.
    AllBut(Vec<String>),
    /// On these paths only.
    Only(Vec<String>),
    /// On nothing.
    None,
}

impl Rights {
    /// Whether any one of these privileges is held on this path.
    pub fn has(&self, path: &str, any_of: &[&str]) -> bool {
        any_of.iter().any(|privilege| self.holds(path, privilege))
    }

    /// Whether it may do everything: who may also give rights to whom they like lacks none for long.
    pub fn may_everything(&self) -> bool {
        ["Permissions.Modify", "Sys.Modify", "VM.Allocate"].iter().all(|all| self.holds("/", all))
    }

    fn holds(&self, path: &str, privilege: &str) -> bool {
        if let Some(held) = self.0.get(path) {
            return held.contains_key(privilege);
        }
        let mut at = path;
        while !ROOTS.contains(&at) {
            at = parent(at);
            if let Some(held) = self.0.get(at) {
                return held.get(privilege) == Some(&true);
            }
        }
        false
    }

    /// Whether any one of these privileges is held on this path, which is named, and on what is below it.
    fn propagates(&self, path: &str, any_of: &[&str]) -> bool {
        let held = self.0.get(path);
        held.is_some_and(|held| any_of.iter().any(|privilege| held.get(*privilege) == Some(&true)))
    }

    /// On how much of what is below `root` any one of these privileges is held.
    pub fn extent(&self, root: &str, any_of: &[&str]) -> Extent {
        let propagates = self.propagates(root, any_of);
        let prefix = format!("{}/", root.trim_end_matches('/'));
        // Of nested paths the outermost tells enough.
        let below =
            self.0.keys().filter(|path| path.starts_with(&prefix) && path.len() > prefix.len());
        let (with, without): (Vec<&String>, Vec<&String>) =
            below.partition(|path| self.has(path, any_of));
        let named = |paths: Vec<&String>| paths.into_iter().cloned().collect();
        match (propagates, with.is_empty(), without.is_empty()) {
            (true, _, true) => Extent::All,
            (true, _, false) => Extent::AllBut(named(without)),
            (false, false, _) => Extent::Only(named(with)),
            (false, true, _) => Extent::None,
        }
    }
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        None | Some(("", _)) => "/",
        Some((parent, _)) => parent,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rights(paths: &[(&str, &[(&str, bool)])]) -> Rights {
        let held = |held: &[(&str, bool)]| {
            held.iter()
                .map(|(name, below)| ((*name).to_owned(), *below))
                .collect::<BTreeMap<_, _>>()
        };
        Rights(paths.iter().map(|(path, of)| ((*path).to_owned(), held(of).into())).collect())
    }

    #[test]
    fn what_propagates_holds_below_and_what_does_not_holds_there_alone() {
        let rights = rights(&[
            ("/storage", &[("Datastore.Audit", true), ("Datastore.Allocate", false)]),
            ("/storage/nas", &[("Datastore.AllocateSpace", true)]),
        ]);
        assert!(rights.has("/storage/local", &["Datastore.Audit"]));
        assert!(!rights.has("/storage/local", &["Datastore.Allocate"]));
        assert!(rights.has("/storage", &["Datastore.Allocate"]));
        assert!(!rights.has("/storage/nas", &["Datastore.Audit"]));
        assert!(rights.has("/storage/nas", &["Datastore.Audit", "Datastore.AllocateSpace"]));
    }

    #[test]
    fn a_root_that_is_not_named_has_nothing_whatever_is_above() {
        let rights = rights(&[("/", &[("VM.Audit", true)])]);
        assert!(!rights.has("/vms/100", &["VM.Audit"]));
        assert!(!rights.has("/mapping", &["Sys.Audit"]) && rights.has("/mapping", &["VM.Audit"]));
    }

    #[test]
    fn the_extent_tells_all_from_some_from_none() {
        let audit = &["VM.Audit"][..];
        let all = rights(&[("/vms", &[("VM.Audit", true)]), ("/vms/100", &[("VM.Audit", true)])]);
        assert_eq!(all.extent("/vms", audit), Extent::All);
        let but = rights(&[("/vms", &[("VM.Audit", true)]), ("/vms/100", &[("VM.Console", true)])]);
        assert_eq!(but.extent("/vms", audit), Extent::AllBut(vec!["/vms/100".to_owned()]));
        let only = rights(&[("/vms/100", &[("VM.Audit", true)])]);
        assert_eq!(only.extent("/vms", audit), Extent::Only(vec!["/vms/100".to_owned()]));
        assert_eq!(only.extent("/storage", audit), Extent::None);
        assert_eq!(only.extent("/", audit), Extent::Only(vec!["/vms/100".to_owned()]));
    }
}
