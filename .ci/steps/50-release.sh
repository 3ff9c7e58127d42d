# The program as it is released.
set -euo pipefail
source .ci/environment
cargo build --release --locked --package mcp-proxmox
printf '%s: %s bytes\n' "$PROGRAM" "$(stat -c %s "$PROGRAM")"
"$PROGRAM" --version
