# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""flip.py FILE OFFSET COPY: a copy of the file with one bit changed; a negative offset counts from its end."""
import sys

source, offset, target = sys.argv[1:]
with open(source, "rb") as file:
    data = bytearray(file.read())
data[int(offset)] ^= 1
with open(target, "wb") as file:
    file.write(data)
