//! What the token may do.

use std::collections::BTreeMap;

use crate::{Get, VmId, form::Form};

/// Privileges by path. A privilege that is there is granted; its value tells whether it also holds
/// below that path.
pub type Permissions = BTreeMap<String, BTreeMap<String, bool>>;

/// The privileges of the token that asks: its own and its user's, as far as both have them. Empty
/// when it has none. Needs no privilege.
pub fn permissions() -> Get<Permissions> {
    Get::many("/access/permissions".to_owned())
}

/// The same for one guest, with what its pool and everything above it give. Empty when it has none.
pub fn permissions_on(vmid: VmId) -> Get<Permissions> {
    let path = format!("/vms/{vmid}");
    Get::many(Form::default().text("path", &path).after("/access/permissions"))
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
