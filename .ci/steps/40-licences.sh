# Licences, banned crates and sources of everything that is linked in, by `deny.toml`; known vulnerabilities
# where the database can be had.
set -euo pipefail
source .ci/environment

version=0.20.2
tool=$CI_CACHE/cargo-deny-$version
if [[ ! -x $tool/bin/cargo-deny ]]; then
    # It is run, not shipped: quick to build counts for more than quick to run.
    CARGO_TARGET_DIR=$CI_CACHE/build-cargo-deny CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=0 \
        stubborn cargo install --quiet --locked cargo-deny --version "$version" --root "$tool"
    rm -rf "$CI_CACHE/build-cargo-deny"
fi
deny=("$tool/bin/cargo-deny" --locked --color never)
"${deny[@]}" check --hide-inclusion-graph bans licenses sources

database=$("$tool/bin/cargo-deny" --version)
if timeout 120 "${deny[@]}" fetch db >"$CI_CACHE/advisories.log" 2>&1; then
    "${deny[@]}" check --disable-fetch advisories
else
    left_out "known vulnerabilities: $database could not fetch the advisory database"
fi
