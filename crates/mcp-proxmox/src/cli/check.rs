//! `mcp-proxmox check`: looks at the way to PVE step by step and says what is wrong where.

use std::process::ExitCode;

use pve_client::{Error, UnsentKind, access, version};

use super::{World, print};
use crate::failure::Failure;

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
    print(&format!(
        "version     Proxmox VE {}",
        found.version.as_deref().unwrap_or("of an unknown version")
    ));
    match reader.get(access::permissions()).await {
        Ok(permissions) if permissions.is_empty() => {
            print("\nprivileges  none: PVE knows the token but lets it see nothing");
            print(&format!(
                "hint: on a node: pveum acl modify / --tokens '{}' --roles PVEAuditor",
                world.config.pve.token.id()
            ));
            print("      a token with privilege separation also needs its user to have the role");
            ExitCode::FAILURE
        }
        Ok(permissions) => {
            print(&format!("privileges  on {} paths", permissions.len()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            print(&format!(
                "\n{}",
                Failure::from_pve("ask PVE for the token's privileges", &error)
            ));
            ExitCode::FAILURE
        }
    }
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
