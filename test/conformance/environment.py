# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the Python with onnx and numpy is."""
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def python_with_onnx():
    """That of tools/dev/setup, or else the one that runs this."""
    done = subprocess.run(
        [ROOT / "tools/dev/setup", "--env"], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    settings = dict(word.split("=", 1) for word in shlex.split(done.stdout) if "=" in word)
    return settings.get("KILN_PYTHON", sys.executable)
