# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every stage of two equal models is the same text: stages.py MODEL MODEL."""
import subprocess
import sys

for stage in ("onnx", "kiln", "fused", "plan", "kernels", "llvm", "asm"):
    texts = [
        subprocess.run(["kilnc", model, f"--emit={stage}", "-o", "-"], capture_output=True, check=True).stdout
        for model in sys.argv[1:]
    ]
    if len(texts[0]) < 50 or texts[0] != texts[1]:
        sys.exit(f"--emit={stage} differs")
