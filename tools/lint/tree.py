# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules look at: the checkout, or a sample of a self-test with the same face."""
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
C_FAMILY = (".c", ".h", ".cpp", ".cu", ".cuh")


@dataclass
class Finding:
    path: str
    line: int
    text: str
    refused: bool = True  # else a warning


class Sample:
    """Files given as {path: text}."""

    root = None

    def __init__(self, files):
        self.files = files
        self.paths = sorted(files)

    def text(self, path):
        return self.files[path]

    def lines(self, path):
        """(number, line) pairs."""
        return enumerate(self.text(path).splitlines(), 1)

    def with_suffix(self, *suffixes):
        return [path for path in self.paths if path.endswith(suffixes)]


class Checkout(Sample):
    """What git knows or would add: build folders and caches are ignored by .gitignore."""

    root = ROOT

    def __init__(self):
        listed = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True,
            check=True,
        ).stdout.decode()
        files = {}
        for path in listed.split("\0"):
            if path and (ROOT / path).is_file() and not (ROOT / path).is_symlink():
                try:
                    files[path] = (ROOT / path).read_bytes().decode()
                except UnicodeDecodeError:
                    pass  # binary: no rule reads it
        super().__init__(files)

    def write(self, path, text):
        (ROOT / path).write_text(text)
