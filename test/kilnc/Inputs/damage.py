# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages every entry of a kernel cache: damage.py FOLDER flip|cut|empty|swap."""
import sys
from pathlib import Path

entries = sorted(p for p in Path(sys.argv[1]).rglob("*") if p.is_file())
contents = [p.read_bytes() for p in entries]
if len(entries) < 2 or not all(contents):
    sys.exit(f"{len(entries)} entries in the cache, or empty ones")
for number, (path, data) in enumerate(zip(entries, contents)):
    middle = len(data) // 2
    path.write_bytes(
        {
            "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "cut": data[:middle],
            "empty": b"",
            "swap": contents[number - 1],
        }[sys.argv[2]]
    )
