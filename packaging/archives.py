"""Makes the archives that people download, one for each program, and the list of checksums of a whole folder.

    archives.py OUT [--built FOLDER] [SYSTEM=FILE…]
    archives.py --checksums OUT

An archive holds one folder, `mcp-proxmox-TRIPLE`, with the program, the licences and the README: what
`[package.metadata.binstall]` in the program's manifest says.
"""

import gzip
import hashlib
import io
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import project

CHECKSUMS = "SHA256SUMS"


def contents(system, program):
    """The files of an archive: name, bytes, mode."""
    folder = f"{project.NAME}-{system.triple}"
    yield f"{folder}/{system.program}", Path(program).read_bytes(), 0o755
    for name in (*project.LICENCES, "README.md"):
        yield f"{folder}/{name}", (project.ROOT / name).read_bytes(), 0o644


def tgz(target, files):
    """Writes a `.tar.gz`."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data, mode in files:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(data), project.EPOCH, mode
            tar.addfile(member, io.BytesIO(data))
    target.write_bytes(gzip.compress(out.getvalue(), mtime=0))


def zipped(target, files):
    """Writes a `.zip`, for Windows."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in files:
            member = zipfile.ZipInfo(name, time.gmtime(project.EPOCH)[:6])
            member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(member, data)


def checksums(out):
    """Writes the checksums of all files there, in the form that `sha256sum --check` reads."""
    files = sorted(path for path in out.iterdir() if path.is_file() and path.name != CHECKSUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / CHECKSUMS).write_text("".join(lines), encoding="utf-8")
    print(f"{CHECKSUMS}: {len(lines)} files")


def main(out, words):
    """Makes them all."""
    out.mkdir(parents=True, exist_ok=True)
    for key, program in project.programs(words).items():
        system = project.SYSTEMS[key]
        is_windows = system.npm_os == "win32"
        target = out / f"{project.NAME}-{system.triple}{'.zip' if is_windows else '.tar.gz'}"
        (zipped if is_windows else tgz)(target, contents(system, program))
        print(f"{target.name:48} {target.stat().st_size:>9} bytes")


if __name__ == "__main__":
    if sys.argv[1] == "--checksums":
        checksums(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]).resolve(), sys.argv[2:])
