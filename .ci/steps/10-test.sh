# The tests that a fresh clone passes with nothing but Rust.
set -euo pipefail
source .ci/environment
# What the simulator is asked on the way is noted for the step `requests`.
rm -f "$CARGO_TARGET_DIR"/requests.jsonl*
SIM_REQUESTS_FILE=$CARGO_TARGET_DIR/requests.jsonl cargo test --workspace --locked
