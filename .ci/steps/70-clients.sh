# The official clients, each tool: TypeScript 2.x and 1.x, Python, and the Inspector with its strict lint.
set -euo pipefail
source .ci/environment
need_program
need_python
need_clients
failed=0
node "$CLIENTS/v2.mjs" "$PROGRAM" "$ROOT/.ci/examples.json" || failed=1
node "$CLIENTS/v1.mjs" "$PROGRAM" "$ROOT/.ci/examples.json" || failed=1
python .ci/checks/python_client.py "$PROGRAM" || failed=1
python .ci/checks/inspector.py "$PROGRAM" "$CLIENTS" || failed=1
exit "$failed"
