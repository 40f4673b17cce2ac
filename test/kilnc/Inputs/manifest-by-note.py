# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads an artefact's manifest at the place that its note names (kiln-c/ArtefactNote.h)."""
import json
import struct
import sys

data = open(sys.argv[1], "rb").read()
at = data.index(b"\1\0\0\0Kiln\0\0\0\0") + 12
major, minor, _, _, _, offset, size = struct.unpack_from("<HHIIIII", data, at)
assert (major, minor) == (1, 1), (major, minor)
assert data[offset + size] == 0
manifest = json.loads(data[offset : offset + size])
assert manifest["format"] == "kiln-manifest 1.0", manifest["format"]
