# Instructions of three key paths of the released program beside those of before, counted by valgrind.
set -euo pipefail
source .ci/environment
need_program
if ! command -v valgrind >/dev/null; then
    if command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
        stubborn apt-get update -qq
        stubborn env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends valgrind >/dev/null
    else
        left_out "instructions of key paths: there is no valgrind"
        exit 0
    fi
fi
# An old valgrind may not know what a new processor, or a new compiler, uses.
if ! said=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$PROGRAM" --version 2>&1); then
    left_out "instructions of key paths: $(valgrind --version) cannot run the program: $(grep -m1 -iE 'unhandled|unrecognised|illegal' <<<"$said" || tail -1 <<<"$said")"
    exit 0
fi
# The whole workspace, as the tests before it, so that nothing is built again.
said=$(cargo test --locked --workspace --test it -- --ignored --nocapture instructions_of_the_key_paths) || { printf '%s\n' "$said"; exit 1; }
printf '%s\n' "$said"
if grep -q '^left out: ' <<<"$said"; then
    left_out "instructions of key paths: nothing was counted before in this environment (.ci/instructions.tsv)"
fi
