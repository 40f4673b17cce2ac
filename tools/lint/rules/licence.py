# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The licence line in every source."""
from tree import C_FAMILY, NOTICES, Finding

NAME = "licence"
WHY = "a file that travels alone says under which licence it is"
MEND = "tools/lint/run --fix puts the SPDX line at the top"
LINE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
SUFFIXES = C_FAMILY + (".td", ".pdll", ".py", ".S")


def is_source(tree, path):
    name = path.rsplit("/", 1)[-1]
    return path.endswith(SUFFIXES) or ("." not in name and tree.text(path).startswith("#!"))


def lacking(tree):
    for path in tree.paths:
        text = tree.text(path)
        if text and is_source(tree, path) and LINE not in "\n".join(text.splitlines()[:10]):
            yield path


def check(tree):
    for path in lacking(tree):
        yield Finding(path, 1, "no SPDX licence line among the first ten")
    for path in tree.vendored:
        if "SPDX-License-Identifier:" not in tree.text(path)[:500]:
            yield Finding(path, 1, "of another project: its SPDX licence is not named at the top")
        if path not in tree.files.get(NOTICES, ""):
            yield Finding(path, 1, f"of another project: not listed in {NOTICES}")


def fix(tree):
    for path in lacking(tree):
        lines = tree.text(path).splitlines(keepends=True)
        mark = "#" if lines[0].startswith("#!") or path.endswith(".py") else "//"
        line = f"/* {LINE} */\n" if path.endswith((".c", ".S")) else f"{mark} {LINE}\n"
        lines.insert(1 if lines[0].startswith("#!") else 0, line)
        tree.write(path, "".join(lines))


OTHER = "// Vendored, unchanged: X 1.0\n// SPDX-License-Identifier: MIT\n"
BAD = [{"lib/A.cpp": "int x;\n"}, {"tools/dev/x": "#!/bin/sh\n"}, {"a.td": "\n" * 12 + LINE}]
BAD += [{"include/x.h": OTHER}, {"include/x.h": OTHER[:30], NOTICES: "include/x.h"}]
GOOD = [{"include/x.h": OTHER, NOTICES: "include/x.h"}]
GOOD += [{"lib/A.cpp": f"// {LINE}\nint x;\n"}, {"test/a.mlir": "// RUN: true\n"}]
