//! What can be done where a connection is not safe.

use pve_client::TlsProblem;

/// The ways to trust a certificate, the safest first.
pub(super) fn advice(problem: &TlsProblem) -> &'static str {
    match problem {
        TlsProblem::UnknownIssuer { given, .. } if !given.is_empty() => {
            "only the user can mend this: the file of PVE_TLS_CA_FILE is from another cluster, or this is another server; copy \
             /etc/pve/pve-root-ca.pem from a node of this cluster, or leave the file out where a public authority signed, or set \
             PVE_TLS_FINGERPRINT instead of it, after comparing the fingerprint on the node (`pvenode cert info`)"
        }
        TlsProblem::UnknownIssuer { is_self_signed: true, .. } => {
            "only the user can mend this: set PVE_TLS_FINGERPRINT to the fingerprint after comparing it on the node (`pvenode cert info`); \
             PVE_TLS_REJECT_UNAUTHORIZED=false trusts anybody on the way"
        }
        TlsProblem::UnknownIssuer { .. } => {
            "only the user can mend this: set PVE_TLS_CA_FILE to a copy of that authority's file (and leave it out where that is a \
             public authority), or PVE_TLS_FINGERPRINT to the fingerprint after comparing it on the node (`pvenode cert info`); \
             PVE_TLS_REJECT_UNAUTHORIZED=false trusts anybody on the way"
        }
        TlsProblem::WrongName { .. } => {
            "only the user can mend this: set PVE_HOST to one of these names, or PVE_TLS_SERVER_NAME to the one to verify, or \
             PVE_TLS_FINGERPRINT (instead of PVE_TLS_CA_FILE, where that is set) to the fingerprint after comparing it on the node \
             (`pvenode cert info`)"
        }
        TlsProblem::NotPinned { .. } => {
            "only the user can mend this: if the node's certificate was renewed, compare the fingerprint there (`pvenode cert \
             info`) and set PVE_TLS_FINGERPRINT; if it was not, somebody may be in between"
        }
        TlsProblem::AuthorityAsServer { .. } | TlsProblem::UnusableCertificate { .. } => {
            "only the user can mend this: set PVE_TLS_FINGERPRINT (instead of PVE_TLS_CA_FILE, where that is set) to the fingerprint \
             after comparing it on the node (`pvenode cert info`)"
        }
        TlsProblem::Expired { .. } | TlsProblem::NotYetValid { .. } => {
            "only an administrator can mend this: check both clocks, then renew the certificate on the node, with `pvecm \
             updatecerts --force` where PVE has made it, with `pvenode acme cert renew` where ACME has; until then \
             PVE_TLS_FINGERPRINT (instead of PVE_TLS_CA_FILE, where that is set) trusts exactly this one, once its fingerprint is \
             compared"
        }
        TlsProblem::NotItsKey => {
            "only the user can mend this: somebody in between may be showing a certificate that is not theirs; do not go on \
             before it is known what stands there"
        }
        TlsProblem::TooOld => {
            "only the user can mend this: every PVE of the last ten years speaks TLS 1.2, so look at what else may stand at \
             PVE_HOST and PVE_PORT, such as an old proxy"
        }
        TlsProblem::NotTls => {
            "only the user can mend this: PVE_HOST and PVE_PORT must lead to the API of PVE, port 8006, or to a proxy that \
             speaks HTTPS; the token is never sent over plain HTTP"
        }
        _ => {
            "only the user can mend this: are PVE_HOST and PVE_PORT right? If they are, pveproxy may not let this machine in \
             (ALLOW_FROM in /etc/default/pveproxy on the node); `mcp-proxmox check` shows it step by step"
        }
    }
}
