# Whatever reads bytes of others takes three thousand inputs that chance makes of its seeds. The fuzzer itself, which is led by
# what an input reaches and is a build of its own, is run by `ci/full`; here only its lock file is looked at.
set -euo pipefail
source .ci/environment
cargo metadata --quiet --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null
MCP_PROXMOX_FUZZ_INPUTS=${MCP_PROXMOX_FUZZ_INPUTS:-3000} \
    cargo test --workspace --locked --test it -- --nocapture --test-threads=1 fuzzed::
