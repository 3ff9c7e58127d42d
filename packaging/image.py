"""Makes the container image without a container engine: the static program from scratch, and nothing else.

    image.py OUT [--built FOLDER] [SYSTEM=FILE…]

Leaves `mcp-proxmox-image.tar` in OUT, an OCI image archive with one image for each Linux program that is given
(`skopeo copy --all oci-archive:… docker://…` publishes it, `podman load` and `docker load` take it). The format:
https://github.com/opencontainers/image-spec. It runs as a user that is not root and owns nothing.
"""

import datetime
import gzip
import hashlib
import io
import sys
import tarfile
from pathlib import Path

import project

USER = "65532:65532"
OCI = "application/vnd.oci.image"


class Layout:
    """An OCI layout that grows: blobs by their digest."""

    def __init__(self):
        self.files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}'}

    def blob(self, data, media_type, **more):
        """Adds a blob; its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = data
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data), **more}

    def json(self, value, kind, **more):
        """Adds a JSON document; its descriptor."""
        return self.blob(project.as_json(value).encode(), f"{OCI}.{kind}+json", **more)


def archive(files, modes=None):
    """A tar archive of files by name, the same for the same contents."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(data), project.EPOCH, (modes or {}).get(name, 0o644)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def labels():
    """What the image says of itself; the first is what the MCP registry asks for to see whose it is."""
    return {
        "io.modelcontextprotocol.server.name": project.REGISTRY_NAME,
        "org.opencontainers.image.title": project.NAME,
        "org.opencontainers.image.description": project.SUMMARY,
        "org.opencontainers.image.version": project.VERSION,
        "org.opencontainers.image.licenses": project.LICENCE,
        "org.opencontainers.image.source": project.REPOSITORY,
        "org.opencontainers.image.url": project.REPOSITORY,
    }


def image(layout, system, program):
    """Adds the image for one system; its descriptor."""
    files = {project.NAME: Path(program).read_bytes()}
    files |= {f"licences/{name}": (project.ROOT / name).read_bytes() for name in project.LICENCES}
    tar = archive(files, {project.NAME: 0o755})
    layer = layout.blob(gzip.compress(tar, mtime=0), f"{OCI}.layer.v1.tar+gzip")
    created = datetime.datetime.fromtimestamp(project.EPOCH, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    config = layout.json({
        "created": created,
        "architecture": system.oci_arch,
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": [f"/{project.NAME}"],
            "WorkingDir": "/",
            "Labels": labels(),
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}"]},
        "history": [{"created": created, "created_by": "packaging/image.py"}],
    }, "config.v1")
    manifest = {"schemaVersion": 2, "mediaType": f"{OCI}.manifest.v1+json", "config": config, "layers": [layer], "annotations": labels()}
    return layout.json(manifest, "manifest.v1", platform={"architecture": system.oci_arch, "os": "linux"})


def main(out, words):
    """Makes the archive."""
    found = {key: program for key, program in project.programs(words).items() if project.SYSTEMS[key].oci_arch}
    if not found:
        print("no image was made, for lack of a Linux program")
        return
    out.mkdir(parents=True, exist_ok=True)
    layout = Layout()
    images = [image(layout, project.SYSTEMS[key], program) for key, program in found.items()]
    index = layout.json({
        "schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": images, "annotations": labels(),
    }, "index.v1", annotations={"org.opencontainers.image.ref.name": project.VERSION})
    layout.files["index.json"] = project.as_json({"schemaVersion": 2, "manifests": [index]}).encode()
    target = out / f"{project.NAME}-image.tar"
    target.write_bytes(archive(layout.files))
    print(f"{target.name:48} {target.stat().st_size:>9} bytes, for {', '.join(found)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
