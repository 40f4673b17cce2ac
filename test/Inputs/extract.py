# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program that a page shows: extract.py PAGE HEADING FILE writes the first block below
`## HEADING` that is in the language of the file's suffix."""
import pathlib
import sys

page, heading, target = sys.argv[1:]
with open(page) as file:
    section = file.read().split(f"\n## {heading}\n")[1].split("\n## ")[0]
with open(target, "w") as file:
    language = pathlib.Path(target).suffix[1:]
    file.write(section.split(f"\n```{language}\n")[1].split("\n```\n")[0] + "\n")
