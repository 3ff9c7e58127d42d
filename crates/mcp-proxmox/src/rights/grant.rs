//! How a token's owner gives it a privilege that it lacks: the roles' names and the commands, the same
//! wherever a missing privilege is told, and in the documentation.

use super::view::AUDITOR;
use crate::answer::clean::label;

/// Where it is not known which privilege is missing, or where.
pub const SOME_ROLE: &str = "its owner can give its user a role that holds it";

/// The role for these privileges, as `pveum role add` makes it. PVE's own hold more than is needed.
pub fn role(privileges: &str) -> String {
    match privileges {
        "VM.PowerMgmt" => "MCPOperate".to_owned(),
        "VM.Monitor" => "MCPAgent".to_owned(),
        _ => {
            let last = privileges.rsplit(['.', ' ']).next().unwrap_or(privileges);
            format!("MCP{}", label(last))
        }
    }
}

/// How one privilege is given on one path.
pub fn advice(privilege: &str, path: &str) -> String {
    let (path, privilege) = (label(path), label(privilege));
    // One that changes nothing is in PVE's own role; for others that role would not help.
    let is_auditors = AUDITOR.contains(&privilege.as_str());
    let role = if is_auditors { "PVEAuditor".to_owned() } else { role(&privilege) };
    let make = if is_auditors {
        String::new()
    } else {
        format!("`pveum role add {role} --privs {privilege}`, then ")
    };
    // An entry on a deeper path takes the place of what is inherited there.
    let roles = if is_auditors || path == "/" { role } else { format!("PVEAuditor,{role}") };
    format!(
        "its owner can give its user a role with it: {make}`pveum acl modify {path} --users USER@REALM --roles {roles}`; a token with privilege separation needs the role too (`--tokens 'USER@REALM!TOKEN'`)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_needs_no_role_of_ones_own() {
        let told = advice("VM.Audit", "/vms/100");
        assert!(!told.contains("role add"), "{told}");
        assert!(told.contains("pveum acl modify /vms/100 --users USER@REALM --roles PVEAuditor`"));
    }

    #[test]
    fn below_the_root_the_role_for_looking_is_given_again() {
        let told = advice("VM.PowerMgmt", "/vms/100");
        assert!(told.contains("`pveum role add MCPOperate --privs VM.PowerMgmt`"), "{told}");
        assert!(told.contains("modify /vms/100 --users USER@REALM --roles PVEAuditor,MCPOperate`"));
        assert!(
            advice("Sys.Syslog", "/").contains("modify / --users USER@REALM --roles MCPSyslog`")
        );
    }

    #[test]
    fn the_page_on_tokens_makes_the_same_roles() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/access.md");
        let page = std::fs::read_to_string(page).unwrap();
        for line in page.lines().filter_map(|line| line.strip_prefix("# pveum role add ")) {
            let (name, privileges) = line.split_once(" --privs ").unwrap();
            assert_eq!(name, role(privileges.trim_matches('\'')), "{line}");
        }
    }
}
