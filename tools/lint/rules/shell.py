# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shell scripts stop at the first error."""
import re

from tree import Finding

NAME = "shell"
WHY = "a script that goes on after an error reports success"
MEND = "write set -euo pipefail below the opening comment"
SHELL = re.compile(r"#!.*\b(?:ba)?sh\b")


def check(tree):
    for path in tree.paths:
        text = tree.text(path)
        if SHELL.match(text) and not re.search(r"^set -euo pipefail$", text, re.M):
            yield Finding(path, 1, "no set -euo pipefail")


BAD = [{"x": "#!/usr/bin/env bash\necho\n"}]
GOOD = [{"x": "#!/usr/bin/env bash\nset -euo pipefail\n"}, {"y": "#!/usr/bin/env python3\n"}]
