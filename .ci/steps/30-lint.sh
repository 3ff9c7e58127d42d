# Lints, in tests and examples too.
set -euo pipefail
source .ci/environment
cargo clippy --workspace --all-targets --locked -- -D warnings
