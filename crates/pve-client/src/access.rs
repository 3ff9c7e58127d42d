//! What the token may do.

use std::{collections::BTreeMap, sync::Arc};

use serde::de::MapAccess;

use crate::{
    Get, UnreadableWhy, VmId,
    envelope::{self, Parsed},
    form::Form,
    perl::{Entries, FromPerl, Lenient},
};

/// Privileges by path. Proxmox VE names each member of a pool: ten thousand guests are ten thousand paths, most of
/// which share what is held there.
pub type Permissions = BTreeMap<String, Arc<Held>>;

/// What is held on a path. A privilege that is there is granted; its value tells whether it also holds below.
pub type Held = BTreeMap<String, bool>;

/// How many different holdings are looked through for one that is the same. Others take memory of their own.
const DIFFERENT: usize = 32;

/// The privileges of the token that asks: its own and its user's, as far as both have them. Empty
/// when it has none. Needs no privilege.
pub fn permissions() -> Get<Permissions> {
    Get::new("/access/permissions".to_owned(), read)
}

/// The same for one guest, with what its pool and everything above it give. Empty when it has none.
pub fn permissions_on(vmid: VmId) -> Get<Permissions> {
    let path = format!("/vms/{vmid}");
    Get::new(Form::default().text("path", &path).after("/access/permissions"), read)
}

fn read(body: &[u8]) -> Result<Parsed<Permissions>, UnreadableWhy> {
    envelope::read_entries(body, Permissions::is_empty)
}

impl FromPerl for Entries<Permissions> {
    fn from_text(_: &str) -> Option<Self> {
        None
    }

    fn from_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let (mut entries, mut different) = (Self::default(), Vec::<Arc<Held>>::new());
        while let Some((path, held)) = map.next_entry::<String, Option<Lenient<Held>>>()? {
            let Some(Lenient(Some(held))) = held else {
                entries.n_unreadable += usize::from(held.is_some());
                continue;
            };
            let held = match different.iter().find(|known| ***known == held) {
                Some(known) => Arc::clone(known),
                None => Arc::new(held),
            };
            if different.len() < DIFFERENT && Arc::strong_count(&held) == 1 {
                different.push(Arc::clone(&held));
            }
            entries.read.insert(path, held);
        }
        Ok(Some(entries))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(body: &str) -> Permissions {
        permissions().read(body.as_bytes()).ok().unwrap().data
    }

    #[test]
    fn each_path_has_its_privileges() {
        assert_eq!(permissions().path(), "/access/permissions");
        let read = read(r#"{"data":{"/nodes/pve1":{"VM.Audit":1,"Sys.Audit":"0"},"/vms/100":{}}}"#);
        assert!(read["/nodes/pve1"]["VM.Audit"]);
        assert!(!read["/nodes/pve1"]["Sys.Audit"]);
        assert!(read["/vms/100"].is_empty());
    }

    proptest! {
        #[test]
        fn nothing_but_a_yes_or_a_no_is_a_privilege(
            path in "/[a-z0-9/]{0,12}", name in "[A-Z][a-z]{1,8}\\.[A-Z][a-z]{1,8}", odd in "\\PC{0,8}", number in any::<i64>(),
        ) {
            for value in [json!(odd), json!(number), json!([odd]), json!({ name.as_str(): odd }), json!(null)] {
                let body = json!({ "data": { path.as_str(): { name.as_str(): value } } }).to_string();
                let read = permissions().read(body.as_bytes()).ok().unwrap().data;
                let is_said = ["", "0", "1", "true", "false", "yes", "no", "on", "off"]
                    .contains(&odd.trim().to_ascii_lowercase().as_str()) && value.is_string()
                    || value == json!(0) || value == json!(1);
                prop_assert_eq!(read.get(&path).is_some_and(|held| held.contains_key(&name)), is_said, "{}", value);
                // What is no set of privileges at all is told from having none.
                let body = json!({ "data": { path.as_str(): value } }).to_string();
                let read = permissions().read(body.as_bytes());
                prop_assert_eq!(read.is_ok(), value.is_null() || value.is_object(), "{}", value);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = permissions().read(&body).is_ok();
        }
    }

    #[test]
    fn paths_with_the_same_privileges_share_them() {
        let held = r#"{"VM.Audit":1,"VM.Console":1}"#;
        let paths: Vec<String> =
            (100..200).map(|vmid| format!(r#""/vms/{vmid}":{held},"/pool/{vmid}":{{}}"#)).collect();
        let read = read(&format!(r#"{{"data":{{{}}}}}"#, paths.join(",")));
        assert_eq!(read.len(), 200);
        let pointers = read.values().map(Arc::as_ptr);
        assert_eq!(pointers.collect::<std::collections::BTreeSet<_>>().len(), 2);
        assert!(read["/vms/150"]["VM.Console"] && read["/pool/150"].is_empty());
    }

    #[test]
    fn one_guest_is_asked_for_by_its_path() {
        let request = permissions_on(VmId::try_from(100u32).unwrap());
        assert_eq!(request.path(), "/access/permissions?path=%2Fvms%2F100");
    }

    #[test]
    fn a_token_without_rights_has_an_empty_map() {
        assert!(read(r#"{"data":{}}"#).is_empty());
        assert!(permissions().read(br#"{"data":"none"}"#).is_err());
    }
}
