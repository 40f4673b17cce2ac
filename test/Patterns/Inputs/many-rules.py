# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes N rules that share a root and differ in a constant: an operand's number, or an attribute.

    many-rules.py N operand|attribute FOLDER
"""
import os
import sys

count, kind, folder = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.makedirs(folder, exist_ok=True)
# Products are all over the graph; 1000 and more are not in it.
PATTERN = {
    "operand": 'let c: Value;\n  let root = op<kiln.mul>(x, c);\n  Splat(c, attr<"%d.0 : f64">);',
    "attribute": 'let root = op<kiln.mul>(op<kiln.elu>(x) {alpha = attr<"%d.0 : f64">}, x);',
}
for i in range(count):
    body = PATTERN[kind] % (1000 + i)
    with open(os.path.join(folder, f"many_{kind}_{i}.pdll"), "w") as file:
        file.write(f"// One of many: {i}.\n#include \"kiln.pdll\"\n\nPattern Many {{\n  let x: Value;\n  {body}\n"
                   "  rewrite root with { replace root with op<kiln.relu>(x); };\n}\n")
