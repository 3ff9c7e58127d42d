//! The commands, to be typed on a node, that let a token see and do what it does not.
//!
//! **Typed one after the other, they give everything, and none takes away what another one gives.** PVE gives a user what
//! the deepest path with an entry for them says, and nothing of what is said above. So a privilege is given on the path whose
//! entry decides; and an entry below `/` names every role that is needed there. What a pool gives, it adds to that.

use std::collections::{BTreeMap, BTreeSet};

use pve_client::access::Held;

use super::{
    ROOTS, Rights, grant,
    need::{Holding, Mend, NEEDS, Need},
    parent,
    view::{Seen, listed},
};
use crate::tier::Level;

/// On how many paths below `/` roles are given at once.
const PATHS: usize = 6;

/// What is to be typed, and what whoever does so has to know of PVE's list of permissions.
#[derive(Debug, Default)]
pub struct Mending {
    /// The commands, in their order.
    pub lines: Vec<String>,
    /// What has to be known.
    pub cautions: Vec<String>,
}

/// The roles that are to be given, by path; the paths nearest to `/` first.
type Roles = BTreeMap<(usize, String), BTreeSet<usize>>;

/// What lets the token of this name see and do what it lacks, as far as it is among `seen`.
pub fn mending(rights: &Rights, seen: &[Seen], token: &str) -> Mending {
    let tree = Tree::of(rights);
    let offered = |nth: &usize| {
        NEEDS.get(*nth).is_some_and(|need| seen.iter().any(|seen| seen.need.what == need.what))
    };
    let mut roles = tree.missing(&offered);
    let n_below = roles.keys().filter(|(depth, _)| *depth > 0).count();
    let at_root = roles.remove(&(0, "/".to_owned())).unwrap_or_default();
    let below: Vec<(String, BTreeSet<usize>)> = roles
        .into_iter()
        .filter(|((_, path), _)| is_plain(path))
        .take(PATHS)
        .map(|((_, path), missing)| {
            let all = (0..NEEDS.len()).filter(offered);
            // What is held there may come from above, as may what is given there now.
            let there = all.filter(|nth| {
                missing.contains(nth)
                    || tree.holds(&path, *nth)
                    || (at_root.contains(nth) && !tree.has_entry(&path) && is_of_use(&path, *nth))
            });
            let there = there.collect();
            (path, there)
        })
        .collect();

    let give = |path: &str, roles: &str| grant::for_token(&grant::command(path, roles), token);
    let mut lines = Vec::new();
    if at_root.iter().any(|nth| role(*nth).as_deref() == Some(AUDITOR)) {
        lines.push(give("/", AUDITOR));
    }
    let named: BTreeSet<usize> =
        below.iter().flat_map(|(_, roles)| roles).chain(&at_root).copied().collect();
    for (nth, need) in NEEDS.iter().enumerate().filter(|(nth, _)| named.contains(nth)) {
        let Mend::Own(privileges) = need.mend else { continue };
        lines.push(made(need, privileges, rights));
        if at_root.contains(&nth) {
            lines.push(give("/", &grant::role(privileges)));
        }
    }
    for (path, roles) in &below {
        let own = roles.iter().filter_map(|nth| role(*nth)).filter(|role| role != AUDITOR);
        let names: Vec<_> = [AUDITOR.to_owned()].into_iter().chain(own).collect();
        let line = give(path, &names.join(","));
        // To act is better given where it is meant than everywhere.
        let is_to_act =
            roles.iter().any(|nth| NEEDS.get(*nth).is_some_and(|need| need.level == Level::Write));
        lines.push(if path == "/vms" && is_to_act {
            format!("{line}   # or only where agents may act: /pool/NAME, /vms/VMID")
        } else {
            line
        });
    }
    let cautions = if lines.is_empty() { Vec::new() } else { cautions(&below, n_below) };
    Mending { lines, cautions }
}

/// PVE's own role for what only looks.
const AUDITOR: &str = "PVEAuditor";

/// The role that mends a need.
fn role(nth: usize) -> Option<String> {
    match NEEDS.get(nth)?.mend {
        Mend::Auditor => Some(AUDITOR.to_owned()),
        Mend::Own(privileges) => Some(grant::role(privileges)),
        Mend::Not => None,
    }
}

/// Whether a path can be typed as it is. What somebody is to type as root holds nothing that a shell reads otherwise.
fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte))
}

/// How a role is made. Where something has its privileges, it may have been made before.
fn made(need: &Need, privileges: &str, rights: &Rights) -> String {
    let role = grant::role(privileges);
    let beware = match privileges {
        "Sys.Syslog" | "VM.PowerMgmt" => "",
        "VM.Console" => "; whoever has it may also type",
        _ => "; it also lets make backups and use space",
    };
    let is_held = |held: &Held| privileges.split(' ').all(|one| held.contains_key(one));
    let again =
        if rights.0.values().any(|held| is_held(held)) { "; may be there already" } else { "" };
    format!("pveum role add {role} --privs '{privileges}'   # for {}{beware}{again}", need.what)
}

/// Whether a role for this is of use on this path.
fn is_of_use(path: &str, nth: usize) -> bool {
    let all_of = NEEDS.get(nth).map_or(&[][..], |need| need.all_of);
    // What a pool gives, it gives on its guests and storages.
    all_of.iter().any(|holding| {
        is_within(path, holding.root)
            || (is_within(path, "/pool") && ["/vms", "/storage"].contains(&holding.root))
    })
}

/// Whether a path is this root or below it; of the cluster as a whole there is no part.
fn is_within(path: &str, root: &str) -> bool {
    let below = path.strip_prefix(root);
    path == root || (root != "/" && below.is_some_and(|below| below.starts_with('/')))
}

/// PVE's list of permissions as the rights show it, which name neither users nor roles.
struct Tree<'a> {
    rights: &'a Rights,
    /// What pools give. Many give the same.
    pools: Vec<&'a Held>,
}

impl<'a> Tree<'a> {
    fn of(rights: &'a Rights) -> Self {
        let all = rights.0.iter().filter(|(path, _)| is_within(path, "/pool"));
        let mut pools: Vec<&Held> = Vec::new();
        for (_, held) in all {
            if !pools.contains(&&**held) {
                pools.push(held);
            }
        }
        Self { rights, pools }
    }

    /// The roles that are missing, each where it has to be given.
    fn missing(&self, offered: &dyn Fn(&usize) -> bool) -> Roles {
        let mut roles = Roles::new();
        for (nth, need) in NEEDS.iter().enumerate().filter(|(nth, _)| offered(nth)) {
            if need.mend == Mend::Not {
                continue;
            }
            for holding in need.all_of {
                for path in self.lacking(holding) {
                    let place = match self.deciding(path) {
                        "/" if need.level == Level::Write => holding.root,
                        place => place,
                    };
                    let depth = place.trim_start_matches('/').split_terminator('/').count();
                    roles.entry((depth, place.to_owned())).or_default().insert(nth);
                }
            }
        }
        roles
    }

    /// The paths on which none of these privileges is held, as far as they are named, and the root itself.
    fn lacking<'b>(&'b self, Holding { root, any_of }: &'b Holding) -> Vec<&'b str> {
        if *root == "/" {
            return if self.rights.has("/", any_of) { Vec::new() } else { vec!["/"] };
        }
        let below = self.rights.0.keys().map(String::as_str);
        let below = below.filter(|path| path != root && is_within(path, root));
        let below = below.filter(|path| !self.rights.has(path, any_of));
        let is_given = self.rights.propagates(root, any_of);
        (!is_given).then_some(*root).into_iter().chain(below).collect()
    }

    /// The path whose entry decides what is held on this one.
    fn deciding<'b>(&self, path: &'b str) -> &'b str {
        let mut at = path;
        while at != "/" && !self.has_entry(at) {
            at = parent(at);
        }
        at
    }

    /// Whether something else is held on a path than what is above it and the guest's pool give. Only an entry of the path
    /// does that; one that says the same as they do cannot be told from none.
    fn has_entry(&self, path: &str) -> bool {
        let nothing = Held::new();
        let held = match self.rights.0.get(path) {
            Some(held) => held,
            None if ROOTS.contains(&path) => &nothing,
            None => return false,
        };
        let inherited = self.inherited(path);
        if !path.starts_with("/vms/") {
            return *held != inherited;
        }
        // Nothing is below a guest, so what holds there alone is no sign: what its pool gives does (read in PVE's source).
        let more = held.keys().filter(|name| !inherited.contains_key(*name));
        let more: Vec<_> = more.collect();
        let has_all = inherited.keys().all(|name| held.contains_key(name));
        let is_of = |pool: &&&Held| {
            more.iter().all(|name| pool.contains_key(*name))
                && pool.keys().all(|name| held.contains_key(name))
        };
        !(has_all && (more.is_empty() || self.pools.iter().any(|pool| is_of(&pool))))
    }

    /// What comes to a path from above.
    fn inherited(&self, path: &str) -> Held {
        let mut at = path;
        while at != "/" {
            at = parent(at);
            if let Some(held) = self.rights.0.get(at) {
                return held
                    .iter()
                    .filter(|(_, below)| **below)
                    .map(|(name, _)| (name.clone(), true))
                    .collect();
            }
            if ROOTS.contains(&at) {
                break;
            }
        }
        Held::new()
    }

    /// Whether what a role is for is held on this path, so that an entry there has to go on giving it.
    fn holds(&self, path: &str, nth: usize) -> bool {
        let Some(need) = NEEDS.get(nth) else { return false };
        let here = || need.all_of.iter().filter(|holding| is_within(path, holding.root));
        if is_within(path, "/pool") {
            let Mend::Own(privileges) = need.mend else { return false };
            return is_of_use(path, nth)
                && privileges.split(' ').all(|one| self.rights.has(path, &[one]));
        }
        here().next().is_some() && here().all(|holding| self.rights.has(path, holding.any_of))
    }
}

/// What has to be known where roles are given, on these of so many paths below `/`.
fn cautions(below: &[(String, BTreeSet<usize>)], n_below: usize) -> Vec<String> {
    let groups = "an entry of a user replaces what its groups have on the same path: give those roles to the user too";
    let mut cautions = vec![groups.to_owned()];
    if !below.is_empty() {
        let paths: Vec<_> = below.iter().map(|(path, _)| path.clone()).collect();
        cautions.push(format!(
            "what is given on a path below / takes the place there of what is given above it: on {} name every other role too that is \
             held above, and leave out what you leave out above",
            listed(&paths)
        ));
    }
    if n_below > below.len() {
        cautions.push(format!(
            "{} more paths have entries of their own: ask again afterwards",
            n_below - below.len()
        ));
    }
    cautions
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        catalog::ALL,
        rights::view::{AUDITOR, seen},
    };

    const ROOTS: [&str; 6] = ["/", "/nodes", "/pool", "/sdn", "/storage", "/vms"];

    fn rights(paths: &[(&str, &[&str], bool)]) -> Rights {
        let held = |names: &[&str], below: bool| -> Arc<Held> {
            Arc::new(names.iter().map(|name| ((*name).to_owned(), below)).collect())
        };
        let all =
            paths.iter().map(|(path, names, below)| ((*path).to_owned(), held(names, *below)));
        Rights(all.collect())
    }

    fn lines(rights: &Rights, level: Level) -> Vec<String> {
        let tools: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
        mending(rights, &seen(rights, level, &tools), "mcp@pve!monitor").lines
    }

    #[test]
    fn the_page_on_tokens_has_the_lines_that_are_told() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access.md");
        let page = std::fs::read_to_string(page).unwrap();
        let auditor = rights(&ROOTS.map(|root| (root, &AUDITOR[..], true)));
        let lines = lines(&auditor, Level::Read);
        assert_eq!(lines.len(), 6, "{lines:?}");
        for line in lines {
            let line = line.split("   #").next().unwrap_or_default();
            assert!(page.lines().any(|other| other == format!("# {line}")), "{line}");
        }
    }

    /// What a pool gives holds on its guests and not below them, also what comes from above (read in PVE's source).
    #[test]
    fn a_guest_of_a_pool_has_no_entry_of_its_own_for_that() {
        let acts = [&AUDITOR[..], &["VM.PowerMgmt"]].concat();
        let all = ROOTS.map(|root| (root, &AUDITOR[..], true));
        for (pool, guest) in [(&acts[..], &acts[..]), (&AUDITOR[..], &AUDITOR[..])] {
            let of_pool = [("/pool/ai", pool, true), ("/vms/112", guest, false)];
            let told = lines(&rights(&[&all[..], &of_pool].concat()), Level::Write);
            assert!(
                !told.is_empty() && told.iter().all(|line| !line.contains("/vms/112")),
                "{told:?}"
            );
        }
        // An entry of its own for other than what the pool gives.
        let own = [("/pool/ai", &["VM.PowerMgmt"][..], true), ("/vms/112", &["VM.Audit"], true)];
        let told = lines(&rights(&[&all[..], &own].concat()), Level::Write);
        assert!(told.iter().any(|line| line.contains(" modify /vms/112 ")), "{told:?}");
    }
}
