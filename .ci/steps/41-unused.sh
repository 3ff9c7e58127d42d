# Dependencies that nothing uses, in any crate of the workspace or of the fuzzing targets.
set -euo pipefail
source .ci/environment

version=0.9.2
tool=$CI_CACHE/cargo-machete-$version
if [[ ! -x $tool/bin/cargo-machete ]]; then
    # It is run, not shipped: quick to build counts for more than quick to run.
    CARGO_TARGET_DIR=$CI_CACHE/build-cargo-machete CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
        stubborn cargo install --quiet --locked cargo-machete --version "$version" --root "$tool"
    rm -rf "$CI_CACHE/build-cargo-machete"
fi
"$tool/bin/cargo-machete" crates fuzz
