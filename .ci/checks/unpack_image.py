"""Unpacks the contents of an OCI image archive for this machine's processor, as a container engine would.

    unpack_image.py ARCHIVE FOLDER
"""

import gzip
import io
import json
import platform
import sys
import tarfile

with tarfile.open(sys.argv[1]) as archive:
    def read(name):
        """A file of the archive."""
        return archive.extractfile(name).read()

    def blob(descriptor):
        """What a descriptor names."""
        return read(f"blobs/{descriptor['digest'].replace(':', '/')}")

    wanted = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    [index] = json.loads(read("index.json"))["manifests"]
    [image] = [each for each in json.loads(blob(index))["manifests"] if each["platform"]["architecture"] == wanted]
    for layer in json.loads(blob(image))["layers"]:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob(layer)))) as files:
            files.extractall(sys.argv[2], filter="data")
