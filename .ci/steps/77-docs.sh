# Every command of the documentation is run, against a simulated cluster, or compared with Proxmox VE's API.
set -euo pipefail
source .ci/environment
need_program
need_python
here=$(python -c 'import sys; sys.path.insert(0, "packaging"); import project; print(project.here())')
if [[ $here != linux-x64 ]]; then
    left_out "the commands of the documentation: they are those of Linux on x64"
    exit 0
fi
# The whole workspace, as the tests before it, so that nothing is built again.
cargo build --quiet --locked --workspace
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    python packaging/npm.py "$work" "$here=$PROGRAM"
    python packaging/archives.py "$work" "$here=$PROGRAM"
    python packaging/archives.py --checksums "$work"
} >/dev/null
python .ci/checks/docs.py "$PROGRAM" "$CARGO_TARGET_DIR/debug/pve-sim" "$work" "$PVE_MATERIAL/pve-api-schema.json" | tee "$work/said"
python .ci/checks/pictures.py "$PROGRAM"
while read -r line; do left_out "documentation: ${line#left out: }" >/dev/null; done < <(grep '^left out: ' "$work/said" || true)
