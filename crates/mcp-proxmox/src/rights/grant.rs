//! How a token's owner gives it a privilege that it lacks: the roles' names and the commands, the same
//! wherever a missing privilege is told, and in the documentation.

use super::view::AUDITOR;
use crate::answer::clean::label;

/// Where it is not known which privilege is missing, or where.
pub const SOME_ROLE: &str = "its owner can give it and its user a role that holds what was asked, such as PVEAuditor for what only looks";

/// What stands for the token's user until it is known whose token it is.
const USER: &str = "USER@REALM";
/// What stands for the token.
const TOKEN: &str = "USER@REALM!TOKEN";

/// The command that gives roles on a path. With privilege separation user and token both need them, without it the
/// user alone does: naming both fits both.
pub fn command(path: &str, roles: &str) -> String {
    format!("pveum acl modify {path} --users '{USER}' --tokens '{TOKEN}' --roles {roles}")
}

/// The same text for the token of this name, which is no secret.
pub fn for_token(text: &str, token: &str) -> String {
    let user = token.split('!').next().unwrap_or(token);
    text.replace(TOKEN, token).replace(USER, user)
}

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
    let again = if is_auditors || path == "/" {
        ""
    } else {
        " (with what other roles they have above, which it replaces there)"
    };
    format!(
        "its owner can give it and its user a role with it: {make}`{}`{again}",
        command(&path, &roles)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_needs_no_role_of_ones_own() {
        let told = advice("VM.Audit", "/vms/100");
        assert!(!told.contains("role add"), "{told}");
        let whole = "`pveum acl modify /vms/100 --users 'USER@REALM' --tokens 'USER@REALM!TOKEN' --roles PVEAuditor`";
        assert!(told.ends_with(whole), "{told}");
        let told = for_token(&told, "mcp@pve!monitor");
        assert!(told.contains("--users 'mcp@pve' --tokens 'mcp@pve!monitor' --roles"), "{told}");
    }

    #[test]
    fn below_the_root_the_role_for_looking_is_given_again() {
        let told = advice("VM.PowerMgmt", "/vms/100");
        assert!(told.contains("`pveum role add MCPOperate --privs VM.PowerMgmt`"), "{told}");
        assert!(told.contains("--roles PVEAuditor,MCPOperate` (with what other roles"), "{told}");
        assert!(advice("Sys.Syslog", "/").ends_with("--roles MCPSyslog`"));
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
