# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tabs, blanks at the end of a line, the last newline."""
from tree import Finding

NAME = "blanks"
WHY = "invisible characters make invisible differences"
MEND = "tools/lint/run --fix"


def check(tree):
    for path in tree.paths:
        text = tree.text(path)
        for number, line in enumerate(text.split("\n"), 1):
            if "\t" in line:
                yield Finding(path, number, "tab")
            if line != line.rstrip():
                yield Finding(path, number, "blank or carriage return at the end of the line")
        if text and not text.endswith("\n"):
            yield Finding(path, text.count("\n") + 1, "no newline at the end of the file")


def fix(tree):
    for path in {f.path for f in check(tree)}:
        lines = [line.expandtabs(8).rstrip() for line in tree.text(path).splitlines()]
        tree.write(path, "\n".join(lines).rstrip("\n") + "\n")


BAD = [{"a.py": "\tx\n"}, {"a.md": "x \n"}, {"a.td": "x"}, {"a.c": "x\r\n"}]
GOOD = [{"a.py": "x\n"}, {"empty": ""}]
