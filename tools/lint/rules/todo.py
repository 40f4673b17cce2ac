# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is to be done is in an issue."""
import re

from tree import Finding

NAME = "todo"
WHY = "a note without an issue is done by nobody"
MEND = "do it now, or file an issue and write its number: TO" + "DO(#12)"
MARK = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b(?!\(#\d+\))")


def check(tree):
    for path in tree.paths:
        if path.endswith(".md"):
            continue
        for number, line in tree.lines(path):
            if match := MARK.search(line):
                yield Finding(path, number, f"{match.group(0)} without the number of an issue")


BAD = [{"a.cpp": "// TO" + "DO: later\n"}, {"a.py": "# FIX" + "ME\n"}]
GOOD = [{"a.cpp": "// TO" + "DO(#7): later\n"}]
