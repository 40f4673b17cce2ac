# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines of a file."""
from tree import C_FAMILY, Finding

NAME = "size"
WHY = "a file that does one thing is read in one go; a god file never shrinks by itself"
MEND = "split it by construct; no list of exceptions exists"
WISHED, REFUSED = 500, 1000
SUFFIXES = C_FAMILY + (".td", ".pdll", ".mlir", ".py", ".cmake", "CMakeLists.txt", ".test")


def check(tree):
    for path in tree.paths:
        script = "." not in path.rsplit("/", 1)[-1] and tree.text(path).startswith("#!")
        if not path.endswith(SUFFIXES) and not script:
            continue
        count = len(tree.text(path).splitlines())
        if count > REFUSED:
            yield Finding(path, count, f"{count} lines, at most {REFUSED}")
        elif count > WISHED:
            yield Finding(path, count, f"{count} lines, {WISHED} wished", refused=False)


BAD = [{"lib/A.cpp": "\n" * 1001}, {"tools/x/run": "#!/bin/sh\n" * 1001}]
GOOD = [{"lib/A.cpp": "\n" * 500}, {"LICENSE": "\n" * 2000}]
