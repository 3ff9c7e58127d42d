# Dependencies that nothing uses, in any crate of the workspace or of the fuzzing targets.
set -euo pipefail
source .ci/environment

tool=$(cargo_tool cargo-machete 0.9.2)
"$tool" crates fuzz
