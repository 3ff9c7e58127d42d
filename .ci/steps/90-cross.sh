# The program links for other systems: macOS on Apple's processors, and Windows. It is linked only, not run.
# `ci/full` builds all six as they are released.
set -euo pipefail
source .ci/environment
targets=(aarch64-apple-darwin x86_64-pc-windows-gnu)
need_targets "${targets[@]}"
# What is looked at is whether it links, so it is built quickly: the sizes are not those of a release.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=0
for target in "${targets[@]}"; do
    since=$SECONDS
    cargo zigbuild --quiet --release --locked --package mcp-proxmox --target "$target"
    file=$CARGO_TARGET_DIR/$target/release/mcp-proxmox
    [[ $target != *windows* ]] || file+=.exe
    python .ci/checks/binary.py "$file" "$target"
    printf '%-28s %d s\n' "$target" $((SECONDS - since))
done
left_out "running the programs for ${targets[*]}: they were linked, not run"
