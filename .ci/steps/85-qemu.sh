# The console tools on the serial port and the VNC server of a real QEMU, which boots its firmware.
set -euo pipefail
source .ci/environment
if ! command -v qemu-system-x86_64 >/dev/null; then
    if command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
        stubborn apt-get update -qq
        stubborn env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends qemu-system-x86 >/dev/null
    else
        left_out "consoles of a real QEMU: there is no qemu-system-x86_64"
        exit 0
    fi
fi
# The whole workspace, as the tests before it, so that nothing is built again.
cargo test --locked --workspace --test it -- --ignored real_qemu
