"""Makes `server.json`, what the MCP registry (registry.modelcontextprotocol.io) lists of this server.

    registry.py OUT [BUNDLE.mcpb…]

The format is that of 2025-12-11. npm and the container image are always named; an MCPB bundle is named with the
checksum of the file that is given. Whose the packages are, the registry sees by `mcpName` in the npm package, a
label of the image, and the address of the bundle.
"""

import hashlib
import sys
from pathlib import Path

import project

SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
# What a client should ask its user for; the rest is in the documentation.
ASKED = {
    "PVE_HOST": {"isRequired": True},
    "PVE_TOKEN_ID": {"isRequired": True},
    "PVE_TOKEN_SECRET": {"isRequired": True, "isSecret": True},
    "PVE_USERNAME": {},
    "PVE_TLS_CA_FILE": {"format": "filepath"},
    "PVE_TLS_FINGERPRINT": {},
    "PVE_TLS_REJECT_UNAUTHORIZED": {"format": "boolean", "default": "true"},
    "PVE_ACCESS_TIER": {"default": "read", "choices": ["read", "write"]},
    "PVE_ALLOW_VMS": {},
    "PVE_PROTECT_VMS": {},
}
STDIO = {"transport": {"type": "stdio"}}


def variables(names):
    """The environment variables of a package."""
    meaning = project.settings()
    return [{"name": name, "description": meaning[name], **ASKED[name]} for name in names]


def packages(bundles):
    """Every way to get the program."""
    environment = {"environmentVariables": variables(ASKED)}
    yield {
        "registryType": "npm",
        "registryBaseUrl": "https://registry.npmjs.org",
        "identifier": "@drmfar/mcp-proxmox",
        "version": project.VERSION,
        "runtimeHint": "npx",
        **STDIO,
        **environment,
    }
    # A container does not see the files of the machine it runs on.
    inside = [name for name, how in ASKED.items() if how.get("format") != "filepath"]
    yield {
        "registryType": "oci",
        "identifier": f"{project.IMAGE}:{project.VERSION}",
        "runtimeHint": "docker",
        **STDIO,
        "environmentVariables": variables(inside),
    }
    for bundle in bundles:
        yield {
            "registryType": "mcpb",
            "identifier": f"{project.REPOSITORY}/releases/download/v{project.VERSION}/{bundle.name}",
            "version": project.VERSION,
            "fileSha256": hashlib.sha256(bundle.read_bytes()).hexdigest(),
            **STDIO,
            **environment,
        }


def main(out, bundles):
    """Writes the file."""
    project.write(out, project.as_json({
        "$schema": SCHEMA,
        "name": project.REGISTRY_NAME,
        "title": "Proxmox VE",
        "description": project.SUMMARY,
        "version": project.VERSION,
        "websiteUrl": project.REPOSITORY,
        "repository": {"url": project.REPOSITORY, "source": "github"},
        "packages": list(packages(bundles)),
    }))
    print(f"{out.name}: npm, oci" + (f" and {len(bundles)} MCPB bundles" if bundles else ""))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), [Path(path) for path in sys.argv[2:]])
