# The program against recorded answers of a real server, with every token and in every state of the cluster.
set -euo pipefail
source .ci/environment
need_program
if [[ ! -e $PVE_MATERIAL/replay/pve_replay.py || ! -d $PVE_MATERIAL/pve-recordings ]]; then
    left_out "the replay of recorded answers: there are none below $PVE_MATERIAL (PVE_MATERIAL says where they are)"
    exit 0
fi
need_python
python .ci/checks/replay.py "$PROGRAM" "$PVE_MATERIAL"
