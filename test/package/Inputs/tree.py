# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists the files of a folder, sorted."""
import sys
from pathlib import Path

root = Path(sys.argv[1])
print("\n".join(sorted(str(p.relative_to(root)) for p in root.rglob("*") if not p.is_dir())))
