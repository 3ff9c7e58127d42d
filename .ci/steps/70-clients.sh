# The official clients, each tool, prompt, resource and completion: TypeScript 2.x and 1.x, Python, and the Inspector with its strict lint.
set -euo pipefail
source .ci/environment
need_program
need_python
need_clients
# The whole workspace, as the tests before it, so that nothing is built again: the simulator is a part of it.
cargo build --quiet --locked --workspace
# Side by side, since they mostly wait for the simulated cluster's tasks; what they say is shown in order.
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT
running=()
start() {
    local name=$1
    shift
    "$@" >"$said/$name" 2>&1 &
    running+=("$name:$!")
}
start v2 node "$CLIENTS/v2.mjs" "$PROGRAM" "$ROOT/.ci/examples.json"
start v1 node "$CLIENTS/v1.mjs" "$PROGRAM" "$ROOT/.ci/examples.json"
start python python .ci/checks/python_client.py "$PROGRAM"
start inspector python .ci/checks/inspector.py "$PROGRAM" "$CARGO_TARGET_DIR/debug/pve-sim" "$CLIENTS"
failed=0
for each in "${running[@]}"; do
    wait "${each#*:}" || failed=1
    cat "$said/${each%%:*}"
done
exit "$failed"
