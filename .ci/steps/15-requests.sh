# Every request that a tool, a prompt, a resource, a completion or `check` sends, against the schema that Proxmox VE reports of
# its own API; and the privileges that it demands, against those that we name.
#
# The step `test` notes what the simulator was asked by the whole suite. The test that tries every combination of arguments runs
# here once more, with more of them.
set -euo pipefail
source .ci/environment
schema=$PVE_MATERIAL/pve-api-schema.json
if [[ ! -e $schema ]]; then
    left_out "requests and privileges against PVE's schema: there is no $schema"
    exit 0
fi
requests=$CARGO_TARGET_DIR/requests.jsonl
export SIM_REQUESTS_FILE=$requests.new TOOL_REQUESTS_FILE=$requests.tools
rm -f "$SIM_REQUESTS_FILE" "$TOOL_REQUESTS_FILE"
if [[ ! -e $requests ]]; then
    left_out "requests that only other tests send: the step \`test\` did not run before"
fi
cargo test --quiet --workspace --locked --test it requests::
if [[ -e $requests ]]; then cat "$requests" >>"$SIM_REQUESTS_FILE"; fi
python3 .ci/checks/requests.py "$schema" "$SIM_REQUESTS_FILE" "$TOOL_REQUESTS_FILE"
