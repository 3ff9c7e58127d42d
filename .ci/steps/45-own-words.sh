# The project speaks of itself alone: no paths of the machine where it was written, no words about how the work
# on it is organised, no hosts of download mirrors in lock files.
set -euo pipefail
source .ci/environment
failed=0

# nowhere WHAT PATTERN [PATHSPEC…]: no file holds the pattern, a Perl expression. Patterns are written so that
# this file does not hold them itself.
nowhere() {
    local what=$1 pattern=$2 found
    shift 2
    found=$(git grep --untracked -nIP -e "$pattern" -- . ':!*.lock' "$@" || true)
    if [[ -n $found ]]; then
        printf 'FAILED: %s\n%s\n' "$what" "$found"
        failed=1
    fi
}

nowhere "a path of the machine where this was written" '(?<![\w.])/wor[k]/|(?<![\w.])/far[m]/|(?<![\w.])/(?:root|(?:home|Users)/(?!me/|you/)\w+)/' ':!crates/*/tests/*' ':!docs/*'
nowhere "a folder beside the checkout (only .ci/environment names its default)" '\.\./share[d]\b' ':!.ci/environment'
nowhere "a word about how the work is organised" '\bissue [#]\d+|\b(?:a|an|the|our|by|fresh|another) helper[s]?\b(?!-)|\b(?:CE[O]|COMPAS[S]|DEVELOPER[S]\.md)\b|\bfar[m]-\w|\bbefore-sto[p]\b' ':!.ci/clients/package-lock.json'
nowhere "a note on work left to do" '\b(?:TOD[O]|FIXM[E]|XX[X])\b' ':!.ci/clients/package-lock.json'

locks=$(git ls-files --cached --others --exclude-standard -- '*package-lock.json')
for lock in $locks; do
    if grep -nE '"resolved"|https?://[^"]*\.(tgz|tar\.gz)' "$lock" | head -n 5 | grep .; then
        echo "FAILED: $lock names the hosts from which it was downloaded: npm's omit-lockfile-registry-resolved leaves them out"
        failed=1
    fi
done
[[ $failed == 0 ]] && echo "nothing found"
exit "$failed"
