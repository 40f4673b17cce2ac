# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""explain.py GRAPH [OPTION=VALUE]...: what kiln-apply-rules says it did, with these options of the pass."""
import subprocess
import sys

graph, *options = sys.argv[1:]
pipeline = f"builtin.module(func.func(kiln-apply-rules{{explain {' '.join(options)}}}))"
result = subprocess.run(["kiln-opt", graph, f"--pass-pipeline={pipeline}", "-o", "/dev/null"], capture_output=True, text=True)
sys.stdout.write(result.stderr)
sys.exit(result.returncode)
