# The tests that a fresh clone passes with nothing but Rust.
set -euo pipefail
source .ci/environment
cargo test --workspace --locked
