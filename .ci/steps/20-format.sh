# Formatting.
set -euo pipefail
source .ci/environment
cargo fmt --all --check
