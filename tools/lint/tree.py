# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rules look at: the checkout, or a sample of a self-test with the same face."""
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NOTICES = "THIRD_PARTY_NOTICES.md"
C_FAMILY = (".c", ".h", ".cpp", ".cu", ".cuh")


def is_vendored(text):
    return re.match(r"(/\*|//|#) Vendored\b", text) is not None


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
        # Files of other projects, kept as they are: rules look at them only where they ask for them.
        self.vendored = sorted(path for path in files if is_vendored(files[path]))
        self.paths = sorted(set(files) - set(self.vendored))

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
            ["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
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
