//! `--demo`: a simulated cluster inside the program, reached over real TLS like any other.

use pve_sim::{Cluster, DEMO_TOKEN_ID, DEMO_TOKEN_SECRET, Sim};

use crate::config::{
    Config, Mistakes,
    settings::{self, Setting},
};

/// Starts the cluster on a free port of this machine.
pub(super) async fn start() -> Result<Sim, String> {
    Sim::start(Cluster::demo())
        .await
        .map_err(|error| format!("mcp-proxmox: the demo cluster cannot start: {error}"))
}

/// The configuration for it: what the user wrote, but for where PVE is and who we are there.
pub(super) fn config(
    demo: &Sim,
    written: &dyn Fn(&Setting) -> Option<String>,
) -> Result<Config, Mistakes> {
    Config::read(&|setting| match setting.variable {
        name if name == settings::HOST.variable => Some(demo.address().to_string()),
        name if name == settings::TOKEN_ID.variable => Some(DEMO_TOKEN_ID.to_owned()),
        name if name == settings::TOKEN_SECRET.variable => Some(DEMO_TOKEN_SECRET.to_owned()),
        name if name == settings::TLS_FINGERPRINT.variable => Some(demo.fingerprint().to_owned()),
        _ if setting.is_of_the_connection() => None,
        _ => written(setting),
    })
}
