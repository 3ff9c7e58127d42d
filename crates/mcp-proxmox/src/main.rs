//! The `mcp-proxmox` program. Everything it does is in the library; see [`mcp_proxmox::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_proxmox::cli::run(std::env::args_os())
}
