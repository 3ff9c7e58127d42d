# Lints, in tests and examples too.
set -euo pipefail
source .ci/environment
cargo clippy --workspace --all-targets --locked -- -D warnings
# Each crate by itself: what it uses of a library it must ask for, and not find because another crate did.
for crate in crates/*/; do
    cargo clippy --quiet --package "$(basename "$crate")" --all-targets --locked -- -D warnings
done
