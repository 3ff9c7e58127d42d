# What this run uses. Rust of the version that `rust-toolchain.toml` names is installed where it is missing.
set -euo pipefail
source .ci/environment
cargo --version >/dev/null 2>&1 || stubborn rustup toolchain install
rustc --version
cargo --version
for tool in python3 node npm git openssl; do
    printf '%-8s %s\n' "$tool" "$({ "$tool" --version || "$tool" version; } 2>/dev/null || echo 'missing: a later step needs it')"
done
printf 'cache    %s\ntarget   %s\nmaterial %s\n' "$CI_CACHE" "$CARGO_TARGET_DIR" "$PVE_MATERIAL"
