# A thousand faults that strike, a quarter as many under the real program, and half a minute of calls with what they cost in memory and connections.
set -euo pipefail
source .ci/environment
export MCP_PROXMOX_FAULTS=${MCP_PROXMOX_FAULTS:-1000}
export MCP_PROXMOX_SOAK_SECONDS=${MCP_PROXMOX_SOAK_SECONDS:-30}
cargo test --workspace --locked --test it -- --nocapture --test-threads=1 faults::under_every faults::memory load::calls_for
