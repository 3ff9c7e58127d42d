# What the program says on the wire, in every revision of the protocol, against the protocol's schemas.
set -euo pipefail
source .ci/environment
need_program
need_python
schemas=$PVE_MATERIAL/mcp-schema
if [[ -d $schemas ]]; then
    python .ci/checks/wire.py "$PROGRAM" "$schemas"
    python .ci/checks/dialogue.py "$PROGRAM" "$schemas"
else
    left_out "the validation against the protocol's schemas: there is no $schemas (PVE_MATERIAL says where it is)"
    python .ci/checks/wire.py "$PROGRAM"
    python .ci/checks/dialogue.py "$PROGRAM"
fi
