# The documentation builds, and no link in it is dead.
set -euo pipefail
source .ci/environment
RUSTDOCFLAGS=-Dwarnings cargo doc --no-deps --workspace --locked
