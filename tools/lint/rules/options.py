# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""llvm::cl options only where a command line is."""
import re

from tree import C_FAMILY, Finding

NAME = "options"
WHY = "lld resets every llvm::cl option of the process when it links; a library's options are a struct"
MEND = "make it a field of the options struct, and the flag one line in tools/"
OPTION = re.compile(r"\bcl::(?:opt|list|bits|alias)\b")


def check(tree):
    for path in tree.with_suffix(*C_FAMILY):
        if path.startswith("tools/"):
            continue
        for number, line in tree.lines(path):
            if OPTION.search(line.split("//")[0]):
                yield Finding(path, number, "llvm::cl option outside tools/")


BAD = [{"lib/Pipeline/P.cpp": 'static llvm::cl::opt<int> level("O");\n'}]
GOOD = [{"tools/kilnc/kilnc.cpp": 'static cl::opt<int> level("O");\n'}]
