# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths and words of one machine or office. (Each pattern is written so that it does not match itself.)"""
import re

from tree import Finding

NAME = "words"
WHY = "the repository is read and built anywhere"
MEND = "say it without the machine: a path relative to the checkout, $HOME, a package's name"
PATTERNS = [
    (re.compile(r"(?<![\w.$}])/(?:hom[e]|roo[t]|User[s]|wor[k])(?:/|(?=[\s\"'`)]|$))"), "path of one machine"),
    (re.compile(r"\b(?:wor[k]place|sub-?agen[t]s?|cod[i]ng agents?|co-authored-b[y])\b", re.I), "word of an office"),
    (re.compile(r"\b(?:py[p]i\.org|pytho[n]hosted\.org|deb\.debia[n]\.org)\b"), "host of a registry"),
]


def check(tree):
    for path in tree.paths:
        for number, line in tree.lines(path):
            for pattern, what in PATTERNS:
                if match := pattern.search(line):
                    yield Finding(path, number, f"{what}: {match.group(0)}")


BAD = [
    {"a.md": "cd /hom" + "e/me/kiln\n"},
    {"a.sh": 'x="/wor' + 'k"\n'},
    {"a.cpp": "// done by a sub" + "agent\n"},
    {"a.txt": "https://py" + "pi.org/x\n"},
]
GOOD = [{"a.md": "docs/workflow; a workspace; build/ho" + "me/x; mnt/ro" + "ot/y\n"}]
