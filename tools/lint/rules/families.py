# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A folder of an op family: its .td, its source, its tests."""
import re

from tree import Finding

NAME = "families"
WHY = "CMake discovers dialects/<Dialect>/ops/<Family>/<Family>.td and passes over anything else in silence"
MEND = "name the files after the folder; write test/ops/<Family>/*.mlir"
FAMILY = re.compile(r"dialects/([^/]+)/ops/([^/]+)/")


def check(tree):
    have = set(tree.paths)
    families = {m.groups(): m.group(0) for p in tree.paths if (m := FAMILY.match(p))}
    for (_, family), folder in sorted(families.items()):
        for wanted in (f"{folder}{family}.td", f"{folder}{family}.cpp"):
            if wanted not in have:
                yield Finding(wanted, 1, f"family {family} has no such file")
        if not any(p.startswith(f"test/ops/{family}/") for p in have):
            yield Finding(f"test/ops/{family}", 1, f"family {family} has no test")


FILES = {"dialects/Kiln/ops/Cast/Cast.td": "", "dialects/Kiln/ops/Cast/Cast.cpp": ""}
BAD = [FILES, {"dialects/Kiln/ops/Cast/Casts.td": "", "test/ops/Cast/verify.mlir": ""}]
GOOD = [FILES | {"test/ops/Cast/verify.mlir": ""}]
