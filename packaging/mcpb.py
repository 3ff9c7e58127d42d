"""Makes the MCPB bundles, which a desktop client installs by a double click, with the official tool.

    mcpb.py OUT TOOL [--built FOLDER] [SYSTEM=FILE…]

TOOL is the `mcpb` of `@anthropic-ai/mcpb`; it validates each manifest and packs. A bundle cannot say for which
processor it is, so there is one for macOS that runs on both, and one each for the others. The token's secret is
marked sensitive: the client keeps it in the system's key chain.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import project
import universal

# What a bundle is for, the systems whose programs it needs, the platform in the client's words.
BUNDLES = (
    ("macos", ("darwin-arm64", "darwin-x64"), "darwin"),
    ("linux-x64", ("linux-x64",), "linux"),
    ("linux-arm64", ("linux-arm64",), "linux"),
    ("windows-x64", ("win32-x64",), "win32"),
)
# What the client asks the user for: title, setting, and how it is asked where that is not simply a text.
ASKED = (
    ("host", "Proxmox VE host", "PVE_HOST", {"required": True}),
    ("token_id", "API token ID", "PVE_TOKEN_ID", {"required": True, "description": "The full name of the token, such as mcp@pve!monitor"}),
    ("token_secret", "API token secret", "PVE_TOKEN_SECRET", {"required": True, "sensitive": True, "description": "What `pveum user token add` printed once"}),
    ("tls_ca_file", "Certificate authority (PEM file)", "PVE_TLS_CA_FILE", {"type": "file"}),
    ("tls_fingerprint", "Certificate fingerprint", "PVE_TLS_FINGERPRINT", {}),
    ("access_tier", "Access tier", "PVE_ACCESS_TIER", {"default": "read"}),
    # With defaults, since a guard that is not filled in is a mistake.
    ("allow_vms", "Where it may act", "PVE_ALLOW_VMS", {"default": "all"}),
    ("protect_vms", "Protected VMs and containers", "PVE_PROTECT_VMS", {"default": "none"}),
    ("timezone", "Time zone", "PVE_TIMEZONE", {}),
)


def manifest(system, platform, tools, meaning):
    """The bundle's manifest."""
    program = f"server/{system.program}"
    return {
        "manifest_version": "0.3",
        "name": project.NAME,
        "display_name": "Proxmox VE",
        "version": project.VERSION,
        "description": project.SUMMARY,
        "long_description": (
            "A Model Context Protocol server for Proxmox VE: one small program, an API token, nothing to install on your hosts. "
            "It reads unless you let it do more: with the access tier `write` it also starts, stops, shuts down and reboots, "
            "and asks first where something could be lost. Make a token with the role PVEAuditor; the documentation tells how."
        ),
        "author": {"name": "drmfar", "url": "https://github.com/drmfar"},
        "repository": {"type": "git", "url": f"{project.REPOSITORY}.git"},
        "homepage": project.REPOSITORY,
        "documentation": f"{project.REPOSITORY}#readme",
        "support": f"{project.REPOSITORY}/issues",
        "server": {
            "type": "binary",
            "entry_point": program,
            "mcp_config": {
                "command": f"${{__dirname}}/{program}",
                "args": [],
                "env": {variable: f"${{user_config.{key}}}" for key, _, variable, _ in ASKED},
            },
        },
        "tools": [{"name": tool["name"], "description": project.first_sentence(tool["description"])} for tool in tools],
        # The access tier and PVE_TOOLS decide which of them are offered.
        "tools_generated": True,
        "prompts_generated": True,
        "keywords": project.KEYWORDS,
        "license": project.LICENCE,
        "compatibility": {"platforms": [platform]},
        "user_config": {
            key: {"type": "string", "title": title, "description": meaning[variable], "required": False, **how}
            for key, title, variable, how in ASKED
        },
    }


def bundle(out, tool, name, files, contents):
    """Packs one bundle, and looks whether its program came through whole."""
    stage = Path(tempfile.mkdtemp(prefix="mcpb-"))
    try:
        folder = stage / "bundle"
        program = folder / contents["server"]["entry_point"]
        program.parent.mkdir(parents=True)
        if len(files) == 1:
            shutil.copyfile(files[0], program)
        else:
            universal.write(program, files)
        program.chmod(0o755)
        project.write(folder / "manifest.json", project.as_json(contents))
        for licence in project.LICENCES:
            project.put(project.ROOT / licence, folder / licence)
        target = out / f"{project.NAME}-{name}.mcpb"
        target.unlink(missing_ok=True)
        run(tool, "validate", folder / "manifest.json")
        run(tool, "pack", folder, target)
        run(tool, "unpack", target, stage / "again")
        again = stage / "again" / contents["server"]["entry_point"]
        if again.read_bytes() != program.read_bytes() or not project.is_executable(again):
            sys.exit(f"{target.name}: the program inside is not the one that went in")
        print(f"{target.name:48} {target.stat().st_size:>9} bytes")
    finally:
        shutil.rmtree(stage)


def run(tool, *words):
    """Runs the official tool; what it says is shown where it fails."""
    command = ["node", str(tool)] if not str(tool).endswith(".cmd") else [str(tool)]
    said = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, check=False)
    if said.returncode != 0:
        sys.exit(f"mcpb {words[0]} failed:\n{said.stdout}{said.stderr}")


def main(out, tool, words):
    """Makes those bundles that there are programs for."""
    found = project.programs(words)
    out.mkdir(parents=True, exist_ok=True)
    tools, meaning = project.tools(project.asked(found)), project.settings()
    for name, keys, platform in BUNDLES:
        missing = [key for key in keys if key not in found]
        if missing:
            print(f"not made, for lack of a program: {project.NAME}-{name}.mcpb ({', '.join(missing)})")
            continue
        contents = manifest(project.SYSTEMS[keys[0]], platform, tools, meaning)
        bundle(out, tool, name, [found[key] for key in keys], contents)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:])
