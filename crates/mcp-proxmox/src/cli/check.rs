//! `mcp-proxmox check`: looks at the way to PVE step by step and says what is wrong where.

use std::process::ExitCode;

use pve_client::{
    Error, UnsentKind,
    access::{self, Permissions},
    version::{self, Version},
};

use super::{World, print};
use crate::{answer::clean::label, failure::Failure};

pub(super) async fn run(world: &World) -> ExitCode {
    let reader = world.access();
    let reader = reader.reader();
    print(&format!("settings    {}", world.config.summary()));
    let found = match reader.get(version::version()).await {
        Ok(version) => version,
        Err(error) => {
            for (step, ok) in steps(&error) {
                print(&format!("{step:<11} {ok}"));
            }
            print(&format!("\n{}", Failure::from_pve("ask PVE for its version", &error)));
            return ExitCode::FAILURE;
        }
    };
    print("address     ok\nTLS         ok\ntoken       ok");
    if let Some(complaint) = another_product(&found) {
        print(&format!("version     FAILED\n\n{complaint}"));
        return ExitCode::FAILURE;
    }
    print(&format!(
        "version     Proxmox VE {}",
        found.version.as_deref().map_or_else(|| "of an unknown version".to_owned(), label)
    ));
    match reader.get(access::permissions()).await {
        Ok(permissions) => privileges(&permissions, world.config.pve.token.id()),
        Err(error) => {
            let failure = Failure::from_pve("ask PVE for the token's privileges", &error);
            print(&format!("\n{failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Proxmox VE's version begins with its release (`9.2.11` and `9.2`); that of Proxmox Backup Server and of
/// Mail Gateway, which answer on the same path, does not.
fn another_product(found: &Version) -> Option<String> {
    let (version, release) = (found.version.as_deref()?, found.release.as_deref()?);
    (!version.starts_with(release)).then(|| {
        format!(
            "this is not a Proxmox VE: it calls itself version {}, release {}\n\n\
             hint: Proxmox Backup Server and Mail Gateway answer like this; PVE_HOST must lead to a Proxmox VE node",
            label(version),
            label(release)
        )
    })
}

/// What the tools need to see anything, and where.
const NEEDED: [(&str, &str, &[&str]); 2] = [
    ("VM.Audit", "list_vms, get_vm_status", &["/", "/vms", "/pool"]),
    ("Sys.Audit", "list_nodes, get_node_status", &["/", "/nodes"]),
];

/// Says what the token may see, and what would let it see more.
fn privileges(permissions: &Permissions, token: &str) -> ExitCode {
    print(&format!("privileges  on {} paths", permissions.len()));
    let mut missing = false;
    for (privilege, tools, roots) in NEEDED {
        let is_below = |path: &str| {
            roots.iter().any(|root| path == *root || path.starts_with(&format!("{root}/")))
        };
        let mut holding = permissions.iter().filter(|(_, held)| held.contains_key(privilege));
        if !holding.any(|(path, _)| is_below(path)) {
            missing = true;
            print(&format!("            no {privilege}: {tools} will show little or nothing"));
        }
    }
    if !missing {
        return ExitCode::SUCCESS;
    }
    print(&format!("\nhint: on a node: pveum acl modify / --tokens '{token}' --roles PVEAuditor"));
    print("      a token with privilege separation also needs its user to have the role");
    ExitCode::FAILURE
}

/// How far it came.
fn steps(error: &Error) -> Vec<(&'static str, &'static str)> {
    let failed_at = match error {
        Error::Unsent(unsent) if matches!(unsent.kind, UnsentKind::Tls(_)) => 1,
        Error::Unsent(_) => 0,
        _ => 2,
    };
    let verdict = |step: usize| match step.cmp(&failed_at) {
        std::cmp::Ordering::Less => "ok",
        std::cmp::Ordering::Equal => "FAILED",
        std::cmp::Ordering::Greater => "not reached",
    };
    ["address", "TLS", "token"]
        .into_iter()
        .enumerate()
        .map(|(step, name)| (name, verdict(step)))
        .collect()
}
