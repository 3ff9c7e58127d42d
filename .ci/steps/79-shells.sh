# What fish and zsh complete of the commands. bash is asked by the tests.
set -euo pipefail
source .ci/environment
need_program
for shell in fish zsh; do
    if ! command -v "$shell" >/dev/null && command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
        stubborn apt-get update -qq
        stubborn env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$shell" >/dev/null
    fi
    if ! command -v "$shell" >/dev/null; then
        left_out "completion in fish and zsh: $shell is not here"
        exit 0
    fi
done
python3 .ci/checks/shells.py "$PROGRAM"
