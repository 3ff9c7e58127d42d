# Licences, banned crates and sources of everything that is linked in, by `deny.toml`; known vulnerabilities
# where the database can be had.
set -euo pipefail
source .ci/environment

tool=$(cargo_tool cargo-deny 0.20.2)
deny=("$tool" --locked --color never)
"${deny[@]}" check --hide-inclusion-graph bans licenses sources

database=$("$tool" --version)
if timeout 120 "${deny[@]}" fetch db >"$CI_CACHE/advisories.log" 2>&1; then
    "${deny[@]}" check --disable-fetch advisories
else
    left_out "known vulnerabilities: $database could not fetch the advisory database"
fi
