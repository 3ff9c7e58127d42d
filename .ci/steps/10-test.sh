# The tests that a fresh clone passes with nothing but Rust.
set -euo pipefail
source .ci/environment
# What the simulator is asked on the way is noted for the step `requests`.
rm -f "$CARGO_TARGET_DIR"/requests.jsonl*
SIM_REQUESTS_FILE=$CARGO_TARGET_DIR/requests.jsonl cargo test --workspace --locked
# Its row in the table of ways to trust a server is not looked at where nothing can listen there.
python3 -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null ||
    left_out "TLS over IPv6: nothing can listen on ::1 here"
