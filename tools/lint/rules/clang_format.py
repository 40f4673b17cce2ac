# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-format 22 with the tree's .clang-format."""
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tree import C_FAMILY, ROOT, Finding

NAME = "clang-format"
WHY = "one layout, chosen by a program"
MEND = "tools/lint/run --fix"
TOOL = "clang-format-22"
# How clang-format names a file that it would change.
LINE = re.compile(r"(.*?):(\d+):\d+: error: code should be clang-formatted", re.M)


def in_batches(paths, arguments, cwd):
    """Runs clang-format over the paths on all cores; the texts that it prints."""

    def one(batch):
        result = subprocess.run(
            [TOOL, *arguments, *batch], cwd=cwd, capture_output=True, text=True
        )
        if result.returncode not in (0, 1):
            raise OSError(f"{TOOL} ended with {result.returncode}: {result.stderr[-500:]}")
        return result.stderr

    batches = [paths[i : i + 16] for i in range(0, len(paths), 16)]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(one, batches))


def check(tree):
    paths = tree.with_suffix(*C_FAMILY)
    if tree.root is not None:
        return list(flagged(paths, tree.root))
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            (Path(folder) / path).write_text(tree.text(path))
        (Path(folder) / ".clang-format").write_text((ROOT / ".clang-format").read_text())
        return list(flagged(paths, folder))


def flagged(paths, cwd):
    seen = set()
    for text in in_batches(paths, ["--dry-run", "-Werror", "--style=file"], cwd):
        for path, line in LINE.findall(text):
            if path not in seen:  # the first place in each file is enough
                seen.add(path)
                yield Finding(path, int(line), "not formatted (first place)")


def fix(tree):
    in_batches(tree.with_suffix(*C_FAMILY), ["-i", "--style=file"], tree.root)


BAD = [{"a.cpp": "int  main( ){return 0 ;}\n"}]
GOOD = [{"a.cpp": "int main() { return 0; }\n"}]
