# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test format of lit.cfg.py."""
import os
import shlex

import lit.formats
import lit.TestRunner


class QuotedShTest(lit.formats.ShTest):
    """%s, %S and %t stay one word when the checkout's path has a blank."""

    def execute(self, test, litConfig):
        source = test.getSourcePath()
        temporary = lit.TestRunner.getTempPaths(test)[1] + ".tmp"
        words = [("%s", source), ("%S", os.path.dirname(source)), ("%t", temporary)]
        quoted = [(name, shlex.quote(path)) for name, path in words if " " in path]
        return lit.TestRunner.executeShTest(test, litConfig, self.execute_external, quoted)
