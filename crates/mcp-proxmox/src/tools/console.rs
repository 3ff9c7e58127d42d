//! What the tools for consoles share: the words for a guest, and for a console that PVE does not open.

use pve_client::{Error, RefusalKind};

use crate::{
    answer::clean::label,
    failure::Failure,
    lookup::guest::{Found, real_name},
};

/// The failure of a request for a console. The usual advice for a missing privilege names a role that
/// does not hold this one.
pub(super) fn refused(asked: &str, error: &Error) -> Failure {
    let is_missing = matches!(error, Error::Refused(refusal)
        if matches!(refusal.kind(), RefusalKind::Forbidden { privileges, .. }
            if privileges.iter().any(|privilege| privilege == "VM.Console")));
    let failure = Failure::from_pve(asked, error);
    if is_missing {
        failure.hint(
            "PVEAuditor does not hold VM.Console: the token's owner can make a role with it (`pveum role add ConsoleReader --privs VM.Console`) \
             and give it to the token on /vms; with privilege separation the user needs it too",
        )
    } else {
        failure
    }
}

/// `web01` (100), as failures name it.
pub(super) fn named(found: &Found) -> String {
    match real_name(&found.listed) {
        Some(name) => format!("`{}` ({})", label(name), found.guest.vmid),
        None => found.guest.vmid.to_string(),
    }
}
