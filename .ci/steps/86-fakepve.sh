# The console tools against an independent fake PVE, which runs as a process of its own.
set -euo pipefail
source .ci/environment
need_program
need_python
python .ci/checks/fakepve.py "$PROGRAM"
