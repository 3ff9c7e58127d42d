# Every trap that is known is in `docs/pve-behaviour.md`.
set -euo pipefail
source .ci/environment
cases=$PVE_MATERIAL/pve-cases.jsonl
if [[ ! -e $cases ]]; then
    left_out "whether docs/pve-behaviour.md has every known case: there is no $cases"
    exit 0
fi
known=$(python3 -c 'import json, sys; print("\n".join(sorted(json.loads(line)["id"] for line in open(sys.argv[1]))))' "$cases")
listed=$(cut -f 1 crates/mcp-proxmox/tests/it/cases/behaviour.tsv | sort)
missing=$(comm -23 <(printf '%s\n' "$known") <(printf '%s\n' "$listed"))
if [[ -n $missing ]]; then
    printf 'write lines into behaviour.tsv, and tests, for:\n%s\n' "$missing"
    exit 1
fi
printf '%d cases, all of them in the table\n' "$(wc -l <<<"$known")"
