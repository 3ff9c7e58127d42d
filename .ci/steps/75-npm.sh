# Everything that is published is packed, and what is for this system is installed as a user would and used: the npm
# packages, with a fresh cache and no network; an MCPB bundle; the container image; the program alone.
set -euo pipefail
source .ci/environment
need_program
need_python
need_clients
need_packing

here=$(python -c 'import sys; sys.path.insert(0, "packaging"); import project; print(project.here())')
# The program for this system is the one under test; those for others are what a run of `ci/full` left.
programs=(--built "$CARGO_TARGET_DIR" "$here=$PROGRAM")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
packed=$work/packed

echo "--- packing"
{
    python packaging/npm.py "$packed" "${programs[@]}"
    python packaging/mcpb.py "$packed" "$MCPB" "${programs[@]}"
    python packaging/image.py "$packed" "${programs[@]}"
    python packaging/archives.py "$packed" "${programs[@]}"
} | tee "$work/said"
while read -r line; do left_out "packages: $line"; done < <(grep '^not made' "$work/said" || true)
python packaging/registry.py "$packed/server.json" "$packed"/*.mcpb
python packaging/sbom.py "$packed/mcp-proxmox.cdx.json"
python packaging/archives.py --checksums "$packed"
(cd "$packed" && sha256sum --quiet --check SHA256SUMS)
python .ci/checks/packages.py "$packed" "$REGISTRY_SCHEMA"

echo "--- the launcher, with $("${NODES[0]}" --version) to $("${NODES[-1]}" --version)"
for node in "${NODES[@]}"; do
    "$node" --test npm/test/launcher.test.mjs >"$work/tested" 2>&1 || { cat "$work/tested"; exit 1; }
    printf '%s: %s passed, %s failed, %s skipped\n' "$("$node" --version)" \
        $(sed -nE 's/^(# |ℹ )(pass|fail|skipped) ([0-9]+)$/\3/p' "$work/tested")
done

echo "--- each way to start it"
launch() { node "$CLIENTS/launch.mjs" "$@" --demo; }
launch "the program alone" "$PROGRAM"

# An address that nobody listens on stands for the registry: whatever asks for it fails.
mkdir "$work/user"
export npm_config_cache=$work/npm-cache npm_config_registry=http://127.0.0.1:9 npm_config_offline=true npm_config_fetch_retries=0
version=$(python -c 'import sys; sys.path.insert(0, "packaging"); import project; print(project.VERSION)')
(
    cd "$work/user"
    npm install --silent "$packed/drmfar-mcp-proxmox-$version.tgz" "$packed/drmfar-mcp-proxmox-$here-$version.tgz"
    launch "npx" npx -y @drmfar/mcp-proxmox
    for node in "${NODES[@]}"; do
        launch "npm's launcher under Node $("$node" --version)" "$node" node_modules/@drmfar/mcp-proxmox/dist/index.js
    done
)
# Without the package for the system there is a message, and no trace of anything else.
mkdir "$work/bare"
(
    cd "$work/bare"
    npm install --silent --omit=optional "$packed/drmfar-mcp-proxmox-$version.tgz"
    if npx -y @drmfar/mcp-proxmox --version >out 2>errors; then echo "FAILED: it started without its program"; exit 1; fi
    [[ ! -s out ]] && grep -q -- '--include=optional' errors || { echo "FAILED: it does not say what to do"; cat errors; exit 1; }
)

bundle=$packed/mcp-proxmox-$here.mcpb
if [[ -e $bundle ]]; then
    node "$MCPB" unpack "$bundle" "$work/bundle" >/dev/null
    launch "the MCPB bundle's program" "$work/bundle/server/mcp-proxmox"
else
    left_out "running an MCPB bundle: there is none for $here"
fi

echo "--- the container image"
if ! command -v skopeo >/dev/null && command -v apt-get >/dev/null && [[ $(id -u) == 0 ]]; then
    stubborn apt-get update -qq && stubborn env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends skopeo >/dev/null
fi
if command -v skopeo >/dev/null; then
    # Another's eyes on the format: it reads the archive, checks every digest and writes it anew.
    skopeo copy --quiet --all "oci-archive:$packed/mcp-proxmox-image.tar" "dir:$work/image"
    skopeo inspect --format 'image {{.Name}} {{.Architecture}}, {{index .Labels "org.opencontainers.image.version"}}' "oci-archive:$packed/mcp-proxmox-image.tar"
else
    left_out "the image read by skopeo: it is not there"
fi
static=$CARGO_TARGET_DIR/x86_64-unknown-linux-musl/release/mcp-proxmox
if [[ -x $static && $here == linux-x64 && $(id -u) == 0 ]]; then
    # What a container engine does with it, but for the walls around it: this root, this user, this entry point.
    python packaging/image.py "$work/static" "linux-x64=$static"
    python .ci/checks/unpack_image.py "$work/static/mcp-proxmox-image.tar" "$work/root"
    launch "the image's contents" chroot --userspec=65532:65532 "$work/root" /mcp-proxmox
    left_out "the container image run by a container engine: its contents were run in a chroot"
else
    left_out "the container image run: \`ci/full x86_64-unknown-linux-musl\` makes the static program that it takes"
fi
